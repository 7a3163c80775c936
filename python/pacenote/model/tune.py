"""A search for better settings: what it may change, what it has raced, and what it has found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from pacenote.model.codec import Integer, Number, Seed, Stored, check_seed, decode, encode
from pacenote.model.comparison import MetricId
from pacenote.model.custom_metrics import Direction, QualityDirection, known_direction
from pacenote.model.experiment import MachineFacts, Options, RaceOutcome
from pacenote.model.experiment_result import ExperimentResult

TUNE_FORMAT = 1
"""Version of `tune.json` and of the document of a result."""

DEFAULT = 0
"""Number of the candidate that changes nothing."""

Relation = Literal["<", ">"]
"""On which side of its limit a metric must stay."""

Origin = Literal["default", "drawn", "suggested"]
"""Where a candidate comes from: it changes nothing, its values are spread over the knobs, or the optimiser
suggests it.
"""

TuneAnswer = Literal["better", "probably better", "not shown", "limit broken", "default", "void", "none yet"]
"""What a search has found: a confirmed winner, one that is probably better, one that the confirmation does
not show to be better, one that breaks a limit, no better one than the default, races that must not be
compared, or nothing yet.
"""

LimitWord = Literal["kept", "broken", "unclear"]
"""Whether a metric stays within its limit, with its uncertainty."""


class Knob(Stored, frozen=True):
    """Something that a search may change."""

    name: str
    """Its name."""

    option: str
    """What it sets: an option of a race, `OPTION.KEY` of a table, `set:NAME`, `env:NAME` or `jvm`."""

    values: tuple[object, ...]
    """The values that it may have."""

    default: object = None
    """The one of `values` that the engine and the track have without it, so that it is not set. None if that
    is none of them or not known: then leaving the option alone is one more value.
    """

    is_ordered: bool = False
    """Whether the values are in order, so that neighbours are alike."""

    source: str = ""
    """Where its range comes from."""

    durability: bool = False
    """Whether a value may lose acknowledged documents in a crash; such knobs are off unless asked for."""

    line: Integer = 0
    """The line of the file on which it begins."""

    @property
    def levels(self) -> tuple[object, ...]:
        """The values of the search; None leaves the option alone."""
        if self.default is None:
            return (None, *self.values)
        return tuple(None if value == self.default else value for value in self.values)


class TuneObjective(Stored, frozen=True):
    """The metric that is to become better."""

    metric: str
    """Its name in options, such as `throughput:index-append`."""

    direction: Direction | None = None
    """In which direction it is better, if an option says so; None if its name does."""

    @property
    def higher_is_better(self) -> bool:
        """Whether an increase is an improvement."""
        key = self.metric.partition(":")[0]
        if self.direction is not None:
            return self.direction == "higher"
        return key.startswith("throughput") or known_direction(key) == "higher"


class Constraint(Stored, frozen=True):
    """A limit that a winner must keep."""

    metric: str
    """The name of the metric in options, such as `p99:search`."""

    relation: Relation
    """On which side of the limit the metric must stay."""

    limit: Number
    """The limit in the unit of the metric."""

    def __str__(self) -> str:
        return f"{self.metric} {self.relation} {self.limit:g}{self.unit}"

    @property
    def unit(self) -> str:
        """The unit after a value, with a space before it; empty for a rate."""
        if self.is_error_rate:
            return " %"
        return " ms" if self.is_time else ""

    @property
    def is_time(self) -> bool:
        """Whether the metric is a percentile of times."""
        return self.metric[:1] == "p" and self.metric[1:2].isdigit()

    @property
    def is_error_rate(self) -> bool:
        """Whether the metric is an error rate."""
        return self.metric.partition(":")[0] == "error-rate"

    def is_broken_by(self, value: float) -> bool:
        """Returns whether a value is on the wrong side of the limit."""
        return value >= self.limit if self.relation == "<" else value <= self.limit


class Candidate(Stored, frozen=True):
    """Settings to race."""

    number: Integer
    """Its number; 0 changes nothing."""

    levels: tuple[Integer, ...]
    """The number of the level of each knob."""

    origin: Origin
    """Where it comes from."""


class Drop(Stored, frozen=True):
    """A candidate that does not race any more."""

    candidate: Integer
    """Its number."""

    text: str
    """Why."""

    p: Number | None = None
    """The p-value of its comparison with the best one; None if it dropped out for another reason."""


class TunePlan(Stored, frozen=True, kw_only=True):
    """What a search does, which never changes once it has begun (`tune.json`)."""

    format: Integer = TUNE_FORMAT
    """The version of the format."""

    tune_id: str
    """The id of the search."""

    created: str
    """When it began, in UTC (ISO 8601)."""

    seed: Seed
    """The seed of candidates, orders and races."""

    folder: str
    """The folder in which it was started; paths of its options are relative to it."""

    objective: TuneObjective
    """What is to become better."""

    constraints: tuple[Constraint, ...] = ()
    """The limits."""

    quality: tuple[QualityDirection, ...] = ()
    """In which direction custom metrics are better; before what the track declares."""

    budget_s: Number
    """Seconds for all races, those of the confirmation included."""

    knobs: tuple[Knob, ...]
    """What may be changed."""

    machine: MachineFacts
    """The machine that it began on."""

    race: Options = field(default_factory=dict)
    """The options of all races."""

    confirm_blocks: Integer = 10
    """Blocks of the confirmation."""

    def __post_init__(self) -> None:
        """Raises ValueError for a seed that is too large."""
        check_seed(self.seed)

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready `tune.json`."""
        document: dict[str, Any] = encode(self)
        return document

    @classmethod
    def from_document(cls, document: object) -> TunePlan:
        """Reads `tune.json`. Raises PacenoteError."""
        return decode(cls, document, "tune")


TuneEventKind = (
    Literal["suggested", "started", "ended", "judged", "chosen", "confirming"]
    | Literal["stopped", "retried", "repeated", "machine"]
)
"""What a line of the journal is about."""


class TuneEvent(Stored, frozen=True, kw_only=True):
    """One line of the journal of a search."""

    event: TuneEventKind
    """What happened: candidates were chosen to race, a race began or ended, candidates dropped out after a
    block, the winner of the search was chosen, its confirmation began, the search cannot go on, the user
    resumed it nevertheless, an incomplete block is raced again, or the machine is not as it was.
    """

    at: str
    """When, in UTC (ISO 8601)."""

    candidates: tuple[Candidate, ...] = ()
    """The candidates that race from now on."""

    dropped: tuple[Drop, ...] = ()
    """The candidates that do not race any more."""

    candidate: Integer = 0
    """The number of the candidate that raced or was chosen."""

    block: Integer = 0
    """The block of the race, or the one after which this happened; 0 for the race of the default before the
    first block.
    """

    race: Integer = 0
    """The number of the race."""

    race_id: str = ""
    """The id of the race."""

    outcome: RaceOutcome | None = None
    """How the race ended."""

    verdict: str = ""
    """The verdict on the race: valid, suspect or void."""

    seconds: Number = 0.0
    """How long the race took, with its engine."""

    objective: Number | None = None
    """The objective in the race; None without results."""

    limits: tuple[Number, ...] = ()
    """The metrics of the constraints in the race."""

    operations: tuple[Integer, ...] = ()
    """Of each of `limits`, the number of measured operations if it is an error rate; 0 for others. Searches
    of older versions do not have it.
    """

    experiment_id: str = ""
    """The id of the experiment that confirms the winner; of a `retried`, of one that gave no answer."""

    budget_s: Number | None = None
    """The budget from now on, with what is used; None if it is not changed."""

    text: str = ""
    """Why a race failed, why the search ended, what is different on the machine, or why another confirmation
    begins.
    """

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready line, without values that say nothing."""
        return {key: value for key, value in encode(self).items() if value not in (None, "", ())}

    @classmethod
    def from_document(cls, document: object) -> TuneEvent:
        """Reads a line. Raises PacenoteError."""
        return decode(cls, document, "journal")


class TriedCandidate(Struct, frozen=True):
    """A candidate and what the search has seen of it."""

    number: int
    """Its number."""

    settings: Mapping[str, object]
    """The values of the knobs that it changes, by name."""

    origin: Origin
    """Where it comes from."""

    blocks: int
    """Number of blocks with a valid race."""

    change: float | None
    """The estimated change of the objective against the default, such as 0.05; a screening value and no
    claim. None without races.
    """

    limits: tuple[float | None, ...]
    """The median of each metric with a limit."""

    dropped: str = ""
    """Why it dropped out; empty if it did not."""


class LimitResult(Struct, frozen=True):
    """A limit in the races of the confirmation."""

    constraint: Constraint
    """The limit."""

    value: float
    """The mean of the metric in the winner's races (geometric, unless it is an error rate or one is not above
    0).
    """

    bound: float
    """The bound of its one-sided 95 % interval on the side of the limit."""

    word: LimitWord
    """Whether the winner keeps it."""


class TuneResult(Struct, frozen=True, kw_only=True):
    """What a search has found so far."""

    format: int = TUNE_FORMAT
    """The version of the format."""

    tune_id: str
    """The id of the search."""

    objective: TuneObjective
    """What is to become better."""

    constraints: tuple[Constraint, ...]
    """The limits."""

    metric: MetricId | None
    """The metric of the confirmation that the objective names; None before."""

    answer: TuneAnswer
    """The answer."""

    reason: str
    """Why there is no answer yet, or why the search ended."""

    winner: int | None
    """The candidate that the search has chosen; None before that."""

    settings: Mapping[str, object]
    """The values of the knobs that the winner changes."""

    options: tuple[str, ...]
    """The arguments of `pacenote race` that set them, with what else was given for the same options."""

    limits: tuple[LimitResult, ...]
    """The limits in the confirmation."""

    confirmation: ExperimentResult | None
    """The confirmation; None before it began."""

    candidates: tuple[TriedCandidate, ...]
    """All candidates: those that still race first, the best first."""

    races: int
    """Number of races of the search that have ended."""

    seconds: float
    """Seconds of the races of the search."""

    budget_s: float
    """Seconds of the budget."""

    machine_changes: tuple[str, ...] = ()
    """What changed on the machine during the search."""

    needed_s: float = 0.0
    """Seconds that it needs at least from now on, if its budget was too small; otherwise 0."""

    earlier_confirmations: tuple[str, ...] = ()
    """The ids of confirmations that gave no answer, so that another one began, each with the reason."""

    is_running: bool = False
    """Whether a process runs it."""

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready result; `docs/reference/tuning.md` describes it."""
        document: dict[str, Any] = encode(self)
        return document

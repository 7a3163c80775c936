"""An experiment: what it asks, what it races, and the races that it has planned and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from pacenote.model.codec import Integer, Number, Seed, Stored, check_seed, decode, encode
from pacenote.model.custom_metrics import QualityDirection
from pacenote.model.machine_memory import is_same_memory
from pacenote.units import format_bytes

PLAN_FORMAT = 1
"""Version of `plan.json`."""

DesignKind = Literal["pair", "ladder", "matrix", "sweep", "screening", "noise", "duet"]
"""How the races of an experiment are arranged."""

PAIRED: tuple[DesignKind, ...] = ("pair", "duet")
"""Designs that compare each variant with the first one, and that may end early."""

COMPARING: tuple[DesignKind, ...] = (*PAIRED, "ladder")
"""Designs whose answers are comparisons of two variants each."""

OUT_OF_BUDGET = "the budget of "
"""How the reason begins for which an experiment pauses whose budget is used."""

REPEATS_TAG = "repeats"
"""User tag of a race with the id of the disturbed one that it repeats."""

EngineUse = Literal["restart", "keep"]
"""Whether each race starts its own engine, or all races use one that the experiment starts."""

RaceOutcome = Literal["raced", "failed", "interrupted", "killed", "skipped", "disturbed"]
"""How a planned race ended: it has results, it could not run, it was stopped, its process was killed, it was
left out, or it has results that do not count, because it was disturbed from outside, and is repeated.
"""

Options = Mapping[str, object]
"""Options of `pacenote race` by their long names without dashes."""

BEST = "best"
"""Name of the first variant of each step of a ladder: the steps that were adopted before."""


class Variant(Struct, frozen=True):
    """One configuration to race."""

    name: str
    """The name, which is also the user tag `variant` of its races."""

    options: Options = field(default_factory=dict)
    """The options by which it differs from the others."""

    line: int = 0
    """The line of the file on which it begins, 0 if it is not in the file."""


class Factor(Struct, frozen=True):
    """Something that an experiment varies, such as the size of the heap."""

    name: str
    """The name."""

    levels: tuple[Variant, ...]
    """The values that it takes; the first is the baseline."""

    line: int = 0
    """The line of the file on which it begins."""


class Experiment(Struct, frozen=True, kw_only=True):
    """An experiment as its file describes it."""

    name: str
    """The name, with which its id begins."""

    question: str = ""
    """What it is to find out, in one line."""

    design: DesignKind = "pair"
    """How its races are arranged."""

    blocks: int = 10
    """Number of blocks, at most if the experiment may end earlier."""

    looks: tuple[int, ...] = ()
    """Numbers of blocks after which the experiment may end; empty if it never ends early."""

    precision: float | None = None
    """Half the width of the interval, as a fraction, at which the experiment has seen enough."""

    detect: float | None = None
    """The smallest change, as a fraction, that the blocks are planned to see; None if not planned."""

    smallest_effect: float | None = None
    """The smallest change that matters, as a fraction; None for the default of each metric."""

    primary: tuple[str, ...] = ()
    """Metrics that decide; empty for those that follow from the tasks."""

    quality: tuple[QualityDirection, ...] = ()
    """In which direction custom metrics are better; before what the track declares."""

    seed: int | None = None
    """Seed of the order of the races and of the seeds of the blocks; None if it is drawn at the beginning."""

    budget_s: float | None = None
    """Seconds that all races may take."""

    cool_down_s: float = 0.0
    """Seconds to wait before each race."""

    warm_up: int = 0
    """Races before the first block that are not evaluated, at most; fewer if they become steady."""

    engine: EngineUse = "restart"
    """Whether each race starts its own engine."""

    race: Options = field(default_factory=dict)
    """The options of all races."""

    variants: tuple[Variant, ...] = ()
    """The configurations of a pair or a duet, the steps of a ladder; the first is the baseline."""

    factors: tuple[Factor, ...] = ()
    """What a matrix, a sweep or a screening varies."""


class PlannedRace(Stored, frozen=True):
    """One race of a plan."""

    number: Integer
    """Its position in the plan, from 1."""

    block: Integer
    """The block that it belongs to, from 1; 0 for races that warm up."""

    variant: str
    """The name of its variant."""

    seed: Seed
    """Its seed, which the races of a block share."""

    stage: Integer = 1
    """The step of a ladder that it belongs to, from 1; 1 for all races of other designs."""

    half: Integer = 0
    """The half of the machine on which it runs, 1 or 2, while the other race of its block runs on the other;
    0 if it runs alone.
    """

    def __post_init__(self) -> None:
        """Raises ValueError for a seed that is too large."""
        check_seed(self.seed)


class Half(Stored, frozen=True):
    """A half of the machine, on which one engine of a duet runs."""

    node_cpus: str
    """The CPUs of the nodes, such as `0-2`."""

    driver_cpus: str
    """The CPUs of the driver; those of the nodes if the half has only one core."""


class MachineFacts(Stored, frozen=True):
    """What must not change between the races of an experiment; a fact that could not be read is None."""

    host: str | None = None
    """The name of the host."""

    kernel: str | None = None
    """The version of the kernel."""

    cpu: str | None = None
    """The model of the processor."""

    cores: Integer | None = None
    """Hardware threads that may be used."""

    memory_bytes: Integer | None = None
    """Memory in bytes."""

    def changes(self, now: MachineFacts) -> tuple[str, ...]:
        """Returns what has changed since, one text for each fact."""
        names = (("host", "host"), ("kernel", "kernel"), ("cpu", "CPU"), ("cores", "cores"))
        pairs = [(label, getattr(self, name), getattr(now, name)) for name, label in names]
        changes = [f"{label} {before} → {after}" for label, before, after in pairs if before != after]
        if not is_same_memory(self.memory_bytes, now.memory_bytes):
            changes.append(f"memory {_bytes(self.memory_bytes)} → {_bytes(now.memory_bytes)}")
        return tuple(changes)


def _bytes(count: int | None) -> str:
    return "unknown" if count is None else format_bytes(count)


class ExperimentPlan(Stored, frozen=True, kw_only=True):
    """The races of an experiment in their order, which is drawn once and then never changes."""

    format: Integer = PLAN_FORMAT
    """The version of the format."""

    experiment_id: str
    """The id of the experiment."""

    created: str
    """When the plan was made, in UTC (ISO 8601)."""

    seed: Seed
    """The seed that the order was drawn from."""

    folder: str
    """The folder in which the experiment was started; paths of its options are relative to it."""

    machine: MachineFacts = MachineFacts()
    """The machine that the plan was made on."""

    cool_down_s: Number = 0.0
    """Seconds to wait before each race."""

    file_digest: str = ""
    """SHA-256 of the file of the experiment; empty if it is not known."""

    halves: tuple[Half, ...] = ()
    """The halves of the machine of a duet; empty for other designs."""

    races: tuple[PlannedRace, ...] = ()
    """The races in their order."""

    def __post_init__(self) -> None:
        """Raises ValueError for a seed that is too large."""
        check_seed(self.seed)

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready `plan.json`."""
        document: dict[str, Any] = encode(self)
        return document

    @classmethod
    def from_document(cls, document: object) -> ExperimentPlan:
        """Reads `plan.json`. Raises PacenoteError."""
        return decode(cls, document, "plan")

    def block(self, number: int) -> tuple[PlannedRace, ...]:
        """Returns the races of a block."""
        return tuple(race for race in self.races if race.block == number)


class JournalEntry(Stored, frozen=True, kw_only=True):
    """One line of `journal.jsonl`: something that happened while an experiment ran."""

    event: Literal["started", "ended", "adopted", "machine", "stopped", "repeated", "retried"]
    """What happened: a race began or ended, a step of a ladder was decided, the machine differs from that of
    the plan, the experiment ended before all planned races had run, the races of a block that was left long
    ago are repeated, or the variants that could not be raced are raced again.
    """

    at: str
    """When, in UTC (ISO 8601)."""

    race: Integer = 0
    """The number of the planned race."""

    race_id: str = ""
    """The id of the race."""

    outcome: RaceOutcome | None = None
    """How the race ended."""

    verdict: str = ""
    """The verdict on the race: valid, suspect or void."""

    seconds: Number = 0.0
    """How long the race took, with its engine; of races at the same time, the share of each."""

    block: Integer = 0
    """The block that is repeated."""

    stage: Integer = 0
    """The step of a ladder that was decided."""

    adopted: bool = False
    """Whether the step is kept."""

    text: str = ""
    """Why a race failed, what disturbed it, what has changed, or why the experiment ended."""

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready line, without values that say nothing."""
        return {key: value for key, value in encode(self).items() if value not in (None, "", 0, 0.0, False)}

    @classmethod
    def from_document(cls, document: object) -> JournalEntry:
        """Reads a line. Raises PacenoteError."""
        return decode(cls, document, "journal")

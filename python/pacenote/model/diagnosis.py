"""The diagnosis of a race: what each rule answers, what to try, and where the time of the engine goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from pacenote.model.codec import encode
from pacenote.model.race_record import VerdictState

DIAGNOSIS_FORMAT = 1
"""Version of the document with diagnoses."""

RuleState = Literal["fired", "ruled out", "not applicable"]
"""What a rule answers: it fires; it does not; it cannot tell, because evidence is missing or because it is
about something else.
"""


class EvidenceItem(Struct, frozen=True):
    """A figure that an answer rests on."""

    name: str
    """Name of the figure in the catalogue."""

    text: str
    """Its value with its unit."""

    source: str
    """Where it comes from."""

    value: float | str | bool
    """Its value, in the unit of the catalogue."""


class MissingFigure(Struct, frozen=True):
    """A figure that was not observed."""

    name: str
    """Name of the figure, or what could not be computed."""

    reason: str
    """Why it is missing."""


class Expectation(Struct, frozen=True):
    """A figure that changes too if advice works for the stated reason."""

    figure: str
    """Name of the figure."""

    direction: str
    """`rises` or `falls`."""

    now: str
    """Its value in this race with its unit, or `not observed`."""


class RuleAdvice(Struct, frozen=True):
    """What to try."""

    text: str
    """What to do."""

    options: Mapping[str, object] = field(default_factory=dict)
    """Options of `pacenote race` that do it; empty if it needs to be done by hand."""


class RuleAnswer(Struct, frozen=True, kw_only=True):
    """What a rule answers about a race."""

    id: str
    """Id of the rule."""

    title: str
    """What the rule finds."""

    state: RuleState
    """Whether it fired."""

    text: str
    """What it found with its figures, or why it is ruled out or not applicable."""

    tasks: tuple[str, ...] = ()
    """Tasks for which it fired, the worst first; empty for the whole race."""

    node: str = ""
    """The node that shows it most, if there are several."""

    severe: bool = False
    """Whether what it found is severe."""

    evidence: tuple[EvidenceItem, ...] = ()
    """The figures that it rests on."""

    missing: tuple[MissingFigure, ...] = ()
    """The figures that it lacks."""

    bound: float | None = None
    """The largest improvement of `metric` that removing the cause can bring, relative: 0.1 for 10 %; None if
    nothing bounds it.
    """

    assumes: str = ""
    """Under which assumption that is the largest one."""

    excludes: str = ""
    """What the same advice can bring besides, which `bound` does not include."""

    metric: str = ""
    """What the advice is to improve, such as `throughput:index-append`."""

    confidence: float = 1.0
    """How often the advice helps if the rule fires, from 0 to 1."""

    advice: tuple[RuleAdvice, ...] = ()
    """What to try, the best first."""

    withheld: tuple[str, ...] = ()
    """Why advice is withheld, one sentence each."""

    expected: tuple[Expectation, ...] = ()
    """What changes too if the advice works."""

    source: str = ""
    """Where the rule comes from."""

    doubts: tuple[str, ...] = ()
    """Why the answer is less certain, one sentence each."""

    doubtful: bool = False
    """Whether a validity rule doubts its evidence, so that it is not one of the first findings."""

    @property
    def largest_change(self) -> float | None:
        """The largest relative change of `metric` that `bound` stands for: times fall, throughput rises."""
        return self.bound if self.bound is None or self.metric.startswith("throughput") else -self.bound

    @property
    def is_fired(self) -> bool:
        """Whether the rule fired."""
        return self.state == "fired"


class TimeShare(Struct, frozen=True):
    """A part of the time of a node during a task."""

    cause: str
    """What the time was used for."""

    share: float
    """Its part of the time of all cores that the node may use, from 0 to 1."""

    source: str
    """The figures that it was computed from."""


class TaskTime(Struct, frozen=True):
    """Where the time of a node went during a task."""

    task: str
    """Name of the task."""

    node: str
    """Name of the node; empty for the only one."""

    shares: tuple[TimeShare, ...]
    """The parts, the largest first; together with `unexplained` they are 1."""

    unexplained: float
    """The part for which there is no evidence."""

    waits: tuple[TimeShare, ...] = ()
    """Parts of the window in which something waited; they overlap with each other and with `shares`."""

    missing: tuple[MissingFigure, ...] = ()
    """What is not told apart, because figures are missing."""

    excess: float = 0.0
    """By how much the counters of busy cores add up to more than 1; the last ones of `shares` lack it."""

    of_all_cores: bool = True
    """Whether the node may use all cores of its machine, as far as is known."""

    @property
    def whole(self) -> str:
        """What the shares are parts of, in words."""
        return "time of all cores" if self.of_all_cores else "time of the cores that the engine may use"


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The diagnosis of one race, or of races that are compared."""

    races: tuple[str, ...]
    """Ids of the races; the answers are about the first one, unless they are about the comparison."""

    verdict: VerdictState = "valid"
    """Whether the results of the first race may be used, as its record says."""

    reasons: tuple[str, ...] = ()
    """Why not, one sentence each."""

    unread: tuple[str, ...] = ()
    """What could not be read of the files of the first race, so that rules lack its figures."""

    validity: tuple[RuleAnswer, ...] = ()
    """The answers of validity rules: those that fired first, and among these what voids most."""

    findings: tuple[RuleAnswer, ...] = ()
    """The answers of the other rules that fired, ranked by the largest improvement; doubtful ones last."""

    ruled_out: tuple[RuleAnswer, ...] = ()
    """The rules that do not fire."""

    not_applicable: tuple[RuleAnswer, ...] = ()
    """The rules that cannot tell."""

    time: tuple[TaskTime, ...] = ()
    """Where the time went, by task and node."""

    @property
    def leading(self) -> tuple[RuleAnswer, ...]:
        """The findings that no validity rule doubts."""
        return tuple(answer for answer in self.findings if not answer.doubtful)

    @property
    def warnings(self) -> tuple[RuleAnswer, ...]:
        """The answers of validity rules that fired."""
        return tuple(answer for answer in self.validity if answer.is_fired)

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready document."""
        document: dict[str, Any] = encode(self)
        return document


def diagnoses_document(diagnoses: Sequence[Diagnosis]) -> dict[str, Any]:
    """Returns the JSON-ready document of the diagnoses of several races."""
    return {"format": DIAGNOSIS_FORMAT, "diagnoses": [diagnosis.to_document() for diagnosis in diagnoses]}

"""What an experiment has found so far, as data; docs/experiments.md explains it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from pacenote.model.codec import encode
from pacenote.model.comparison import Comparison, EstimatedChange, MetricId, MetricWord
from pacenote.model.experiment import COMPARING, DesignKind, RaceOutcome

RESULT_FORMAT = 1
"""Version of the document of a result."""

ENOUGH_RACES = 10
"""The smallest number of races whose noise is planned with as it was estimated."""

ExperimentState = Literal["complete", "ended early", "unfinished", "running"]
"""How far an experiment is."""


class VariantResult(Struct, frozen=True):
    """One variant, and its comparison with the baseline."""

    name: str
    """Its name; of a step of a ladder, that of the step."""

    races: int
    """Number of its races with results."""

    comparison: Comparison | None = None
    """The comparison of the races of common blocks; None for the baseline, and if there are none."""

    failure: str = ""
    """Why the last one of its races that failed did so; empty if none failed."""

    failed: int = 0
    """Number of its races that failed."""

    void_races: tuple[str, ...] = ()
    """Ids of the void races whose blocks the comparison leaves out."""

    is_left_out: bool = False
    """Whether it failed so often that it is not raced any more."""

    adopted: bool | None = None
    """Whether a step of a ladder is kept; None if that is not decided, and for other designs."""

    cumulative: float | None = None
    """The main metric relative to the first variant of a ladder, such as 1.31 for 31 % more; None for other
    designs, and if it is not known.
    """

    failed_race: str = ""
    """Id of the last of its races that failed; empty if none was stored."""


class CellValue(Struct, frozen=True):
    """The main metric of one configuration of a matrix or a sweep."""

    name: str
    """The names of its levels, joined by `+`."""

    levels: tuple[str, ...]
    """The names of its levels, in the order of the factors."""

    races: int
    """Number of races with results."""

    value: float | None
    """Geometric mean of the main metric, without the differences between blocks and the drift as soon as
    there are enough blocks; None without results that count.
    """

    is_best: bool = False
    """Whether no other one that may be the best has a better mean."""

    in_best_region: bool = False
    """Whether it is not shown to be worse than the best one."""

    lost: int = 0
    """Number of its races that failed, are void, or have no main metric that counts."""

    is_void: bool = False
    """Whether so many races are lost that the others stand for themselves only: it cannot be the best."""

    is_left_out: bool = False
    """Whether it failed so often that it is not raced any more: it cannot be the best."""


class FactorEffect(Struct, frozen=True):
    """The effect of the second level of a factor of a screening."""

    factor: str
    """The name of the factor."""

    low: str
    """The name of its first level."""

    high: str
    """The name of its second level."""

    word: MetricWord
    """The verdict on the main metric."""

    change: EstimatedChange | None
    """The change from the first level to the second, or None with too few blocks."""


class NoiseValue(Struct, frozen=True):
    """The spread of one metric over races of the same configuration."""

    metric: MetricId
    """The metric."""

    races: int
    """Number of races."""

    mean: float
    """Mean over the races."""

    spread: float
    """Standard deviation of the logarithms, about the relative standard deviation: 0.014 is 1.4 %."""

    detectable: tuple[tuple[int, float], ...] = ()
    """For numbers of blocks, the relative effect that an experiment with two variants sees with a probability
    of 80 %; from fewer than ten races, with the upper bound of `block_interval`.
    """

    block_spread: float = 0.0
    """Standard deviation of the logarithm of a race divided by the one before it, without a drift: the noise
    of a block.
    """

    block_interval: tuple[float, float] = (0.0, 0.0)
    """The 95 % interval of `block_spread`."""


class ExperimentRace(Struct, frozen=True):
    """A planned race that has ended."""

    race_id: str
    """Its id; empty if it was left out before it began."""

    variant: str
    """The name of its variant."""

    block: int
    """Its block, from 1; 0 if it warms up."""

    outcome: RaceOutcome
    """How it ended."""

    verdict: str = ""
    """The verdict on it: valid, suspect or void; empty without results."""

    values: Mapping[MetricId, float] = field(default_factory=dict)
    """Its values of the metrics that decide, those that it makes doubtful included."""


class RepeatedRace(Struct, frozen=True):
    """A race that was disturbed from outside and repeated, so that its results do not count."""

    race_id: str
    """Its id."""

    variant: str
    """The name of its variant."""

    block: int
    """Its block."""

    reason: str
    """What disturbed it."""


class ExperimentResult(Struct, frozen=True, kw_only=True):
    """What an experiment has found so far."""

    experiment_id: str
    """The id of the experiment."""

    question: str
    """What it is to find out."""

    design: DesignKind
    """How its races are arranged."""

    state: ExperimentState
    """How far it is."""

    reason: str = ""
    """Why it ended before all planned races had run; empty if it has not."""

    paused: str = ""
    """Why no further race runs now, although some are left; empty if that is not known."""

    retryable: tuple[str, ...] = ()
    """The variants that `resume` tries again, because the experiment has ended without them."""

    baseline: str = ""
    """The variant that the others are compared with."""

    races_done: int = 0
    """Planned races that have ended."""

    races_planned: int = 0
    """Planned races."""

    blocks: int = 0
    """Blocks that have ended."""

    seconds: float = 0.0
    """Seconds of all races."""

    order: tuple[tuple[str, ...], ...] = ()
    """The variants of each block that has begun, in the order in which they were raced."""

    main_metric: MetricId | None = None
    """The primary metric that tables show; None without results."""

    variants: tuple[VariantResult, ...] = ()
    """The variants with their comparisons; of a screening and a noise experiment, without."""

    confirmation: Comparison | None = None
    """Of a ladder, the comparison of its best with its start, in blocks of their own; None before them."""

    cells: tuple[CellValue, ...] = ()
    """The configurations of a matrix or a sweep."""

    factors: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The factors of a matrix or a sweep with the names of their levels."""

    effects: tuple[FactorEffect, ...] = ()
    """The effects of a screening, largest first."""

    noise: tuple[NoiseValue, ...] = ()
    """The spread of the metrics, of a noise experiment."""

    aliases: tuple[tuple[tuple[str, str], ...], ...] = ()
    """The groups of interactions of two factors that a screening cannot tell apart."""

    machine_changes: tuple[str, ...] = ()
    """What changed on the machine while the experiment ran."""

    repeated: tuple[RepeatedRace, ...] = ()
    """The races that were disturbed from outside and repeated."""

    notes: tuple[str, ...] = ()
    """What could not be evaluated, one sentence each."""

    @property
    def has_races(self) -> bool:
        """Whether there is something to evaluate: races with results, of a pair or a ladder of both sides."""
        if self.design in COMPARING:
            return any(variant.comparison for variant in self.variants)
        return any(variant.races for variant in self.variants)

    @property
    def is_void(self) -> bool:
        """Whether it has races, but none may be compared."""
        if self.design in COMPARING:
            compared = [variant.comparison for variant in self.variants if variant.comparison]
            return bool(compared) and all(comparison.answer == "void" for comparison in compared)
        if self.cells:
            return not any(cell.is_best for cell in self.cells)
        if self.design == "noise" and self.state in ("complete", "ended early"):
            return self.has_races and not self.noise
        return self.has_races and self.main_metric is None

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready document."""
        document: dict[str, Any] = encode(self)
        for shown, variant in zip(document["variants"], self.variants, strict=True):
            shown["comparison"] = variant.comparison.to_document() if variant.comparison else None
        document["confirmation"] = self.confirmation.to_document() if self.confirmation else None
        return {"format": RESULT_FORMAT, **document}

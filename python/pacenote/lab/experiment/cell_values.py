"""The main metric over the configurations of a matrix or a sweep, and the effects of a screening; pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from pacenote.compare.metrics import smallest_effect_of
from pacenote.lab.experiment.design import cells, screening_cells
from pacenote.lab.experiment.progress import MAX_LOST_SHARE
from pacenote.model.comparison import EstimatedChange, MetricId
from pacenote.model.experiment import Experiment
from pacenote.model.experiment_result import CellValue, FactorEffect
from pacenote.stats.effect import CONFIDENCE, Effect
from pacenote.stats.multiplicity import holm_confidences
from pacenote.stats.screening import screening_design, screening_effects
from pacenote.stats.sweep import BestRegion, best_region
from pacenote.stats.words import word_of


class CellRaces(Struct, frozen=True):
    """The races of an experiment with factors."""

    values: Mapping[tuple[str, int], Mapping[MetricId, float]]
    """The metrics that count of the races that are not void, by configuration and block."""

    places: Mapping[tuple[str, int], float]
    """How many races of the plan come before, by configuration and block."""

    ended: Mapping[str, int]
    """Number of races of the blocks that have ended, also of those that failed, by configuration."""

    left_out: frozenset[str]
    """The configurations that are not raced any more."""

    deciding: Collection[int]
    """The blocks that decide: those that have ended. A block that runs would be one more time to look."""

    level: Callable[[float], float]
    """The significance level of what they say, for that of all that the experiment says at any time."""

    def of(self, name: str, metric: MetricId) -> list[float]:
        """Returns the values of a metric of one configuration."""
        return [
            metrics[metric]
            for (cell, _), metrics in self.values.items()
            if cell == name and metric in metrics
        ]

    def by_block(
        self, names: Sequence[str], metric: MetricId
    ) -> tuple[list[list[float | None]], list[list[float]]]:
        """Returns the values of a metric and the places, by block that decides and configuration."""
        blocks = sorted({block for _, block in self.values}.intersection(self.deciding))
        return (
            [[self.values.get((name, block), {}).get(metric) for name in names] for block in blocks],
            [[self.places[name, block] for name in names] for block in blocks],
        )


def cell_values(experiment: Experiment, races: CellRaces, main: MetricId | None) -> tuple[CellValue, ...]:
    """Returns the main metric of each configuration of a matrix or a sweep, with the best region."""
    if experiment.design not in ("matrix", "sweep") or main is None:
        return ()
    rows = itertools.product(*([level.name for level in factor.levels] for factor in experiment.factors))
    values = [
        _cell(cell.name, levels, races, main) for cell, levels in zip(cells(experiment), rows, strict=True)
    ]
    rivals = [
        cell.name for cell in values if cell.value is not None and not cell.is_void and not cell.is_left_out
    ]
    region = best_region(
        *races.by_block(rivals, main),
        higher_is_better=bool(main.higher_is_better),
        confidence=1 - races.level(1 - CONFIDENCE),
    )
    means = {cell.name: cell.value for cell in values if cell.name in rivals}
    if region is not None:
        means = {name: math.exp(mean) for name, mean in zip(rivals, region.fit.means, strict=True)}
    choose = max if main.higher_is_better else min
    best = choose(rivals, key=lambda name: means[name] or 0.0, default="")
    in_region = _region(rivals, region)
    return tuple(
        replace(
            cell,
            value=means.get(cell.name, cell.value),
            is_best=cell.name == best,
            in_best_region=cell.name in in_region,
        )
        for cell in values
    )


def _cell(name: str, levels: tuple[str, ...], races: CellRaces, main: MetricId) -> CellValue:
    values = races.of(name, main)
    lost = races.ended.get(name, 0) - len(values)
    known = bool(values) and all(value > 0 for value in values)
    return CellValue(
        name,
        levels,
        len(values),
        math.exp(fmean(map(math.log, values))) if known else None,
        lost=lost,
        is_void=lost > MAX_LOST_SHARE * races.ended.get(name, 0),
        is_left_out=name in races.left_out,
    )


def _region(rivals: Sequence[str], region: BestRegion | None) -> frozenset[str]:
    """Returns the configurations that may be the best: all of them with too few blocks to leave one out."""
    if region is None:
        return frozenset(rivals)
    return frozenset(name for name, may_be in zip(rivals, region.may_be_best, strict=True) if may_be)


def factor_effects(
    experiment: Experiment, races: CellRaces, main: MetricId | None
) -> tuple[tuple[FactorEffect, ...], str]:
    """Returns the main effect of each factor of a screening, the largest first, with Holm's correction, and
    why they are not known; empty if they are.
    """
    if experiment.design != "screening" or main is None:
        return (), ""
    names = [variant.name for variant in screening_cells(experiment)]
    design = screening_design([factor.name for factor in experiment.factors])
    # The noise is that between replicates. Only if one is planned, it is derived from the effects.
    values, positions = races.by_block(names, main)
    missing = [name for at, name in enumerate(names) if values and all(row[at] is None for row in values)]
    is_known = not missing and len(values) >= min(2, experiment.blocks)
    effects = screening_effects(design, values, positions) if is_known else None
    corrected: Sequence[Effect | None] = [None] * len(experiment.factors)
    if effects is not None:
        confidences = holm_confidences([effect.p for effect in effects], level=races.level)
        corrected = [effect.at(confidence) for effect, confidence in zip(effects, confidences, strict=True)]
    smallest = experiment.smallest_effect or smallest_effect_of(main)
    results = []
    for factor, effect in zip(experiment.factors, corrected, strict=True):
        word = word_of(effect, smallest, higher_is_better=main.higher_is_better)
        first, second = (level.name for level in factor.levels)
        results.append(FactorEffect(factor.name, first, second, word, _change(effect)))
    reason = "" if effects else _reason(missing, len(values))
    return tuple(
        sorted(results, key=lambda result: -abs(result.change.value if result.change else 0.0))
    ), reason


def _reason(missing: Sequence[str], blocks: int) -> str:
    if missing:
        return f"the effects are not known: no race counts of {', '.join(missing)}"
    return f"the effects are not known: too few blocks have races that count ({blocks})"


def aliases(experiment: Experiment) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Returns the groups of interactions of two factors that a screening cannot tell apart."""
    if experiment.design != "screening":
        return ()
    return screening_design([factor.name for factor in experiment.factors]).aliases


def _change(effect: Effect | None) -> EstimatedChange | None:
    if effect is None:
        return None
    high = effect.high - 1 if math.isfinite(effect.high) else None
    detectable = effect.detectable if math.isfinite(effect.detectable) else None
    return EstimatedChange(effect.ratio - 1, effect.low - 1, high, effect.confidence, effect.p, detectable)

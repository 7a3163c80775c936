"""Screening many knobs: which of them matter, from few races.

Every knob has two levels. Each run sets all knobs, and the effect of one is the mean of the runs at its upper
level compared with those at its lower one, so that every race counts for every knob. The design is a regular
two-level fractional factorial of resolution IV: the effect of a knob is not mixed up with the interaction of
two others, but interactions of two knobs are mixed up with each other (`ScreeningDesign.aliases`). Source:
G. E. P. Box, W. G. Hunter and J. S. Hunter, "Statistics for Experimenters", Wiley 1978, chapter 12.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from msgspec import Struct

from pacenote.stats.effect import Effect, bounded_effect
from pacenote.stats.layout import Values, level_means
from pacenote.stats.student import StudentEstimate

MOST_FACTORS = 16
"""The largest number of knobs, which needs 32 runs."""

_MIN_CONTRASTS = 5
"""The smallest number of contrasts from which the noise of a single replicate is estimated."""


class ScreeningDesign(Struct, frozen=True):
    """The levels of all factors in each run."""

    factors: tuple[str, ...]
    """Names of the knobs."""

    columns: tuple[int, ...]
    """Per factor, the basic factors of whose product its column consists, as bits."""

    basic: int
    """Number of basic factors; there are two to the power of it runs."""

    @property
    def runs(self) -> tuple[tuple[bool, ...], ...]:
        """Per run and factor, whether it has its upper level."""
        return tuple(tuple(_is_high(run, column) for column in self.columns) for run in range(2**self.basic))

    @property
    def aliases(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """The groups of interactions of two factors that cannot be distinguished from each other."""
        groups: dict[int, list[tuple[str, str]]] = {}
        pairs = itertools.combinations(zip(self.factors, self.columns, strict=True), 2)
        for (factor, column), (other_factor, other_column) in pairs:
            groups.setdefault(column ^ other_column, []).append((factor, other_factor))
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def screening_design(factors: Sequence[str]) -> ScreeningDesign:
    """Returns the smallest design of resolution IV for so many factors: 8 runs for 3 or 4, 16 for up to 8,
    32 for up to 16.
    """
    if not 1 <= len(factors) <= MOST_FACTORS:
        raise ValueError(f"a screening needs 1 to {MOST_FACTORS} factors, not {len(factors)}")
    basic = 1 + math.ceil(math.log2(len(factors)))
    # Products of an odd number of basic factors: the product of two of them is never one of them.
    odd = [column for column in range(1, 2**basic) if column.bit_count() % 2]
    columns = sorted(odd, key=lambda column: (column.bit_count(), column))[: len(factors)]
    return ScreeningDesign(tuple(factors), tuple(columns), basic)


def screening_effects(
    design: ScreeningDesign,
    values: Values,
    positions: Sequence[Sequence[float]] | None = None,
) -> tuple[Effect, ...] | None:
    """Returns the effect of each factor, upper compared with lower level, from values by replicate and
    run; None for a run that is missing.

    `positions` has, by replicate and run, how many races of the experiment came before. The noise is that
    between replicates. A single replicate has none, so that most effects are assumed to be noise: R. V.
    Lenth, "Quick and easy analysis of unreplicated factorials", Technometrics 31, 1989. Returns None if there
    are too few runs, or if a value is not a number above 0.
    """
    if any(len(replicate) != 2**design.basic for replicate in values):
        raise ValueError(f"each replicate must have {2**design.basic} runs")
    if len(values) == 1:
        return _unreplicated(design, values[0])
    fit = level_means(values, positions)
    if fit is None:
        return None
    return tuple(fit.contrast(_weights(design, column)) for column in design.columns)


def _unreplicated(design: ScreeningDesign, values: Sequence[float | None]) -> tuple[Effect, ...] | None:
    count = 2**design.basic
    logs = [math.log(value) for value in values if value is not None and 0 < value < math.inf]
    if count - 1 < _MIN_CONTRASTS or len(logs) < count:
        return None
    contrasts = [
        math.fsum(weight * log for weight, log in zip(_weights(design, column), logs, strict=True))
        for column in range(1, count)
    ]
    typical = 1.5 * _median([abs(contrast) for contrast in contrasts])
    small = [abs(contrast) for contrast in contrasts if abs(contrast) <= 2.5 * typical]
    error, degrees = 1.5 * _median(small), len(contrasts) / 3
    return tuple(
        bounded_effect(
            StudentEstimate(contrasts[column - 1], error, degrees),
            count // 2,
            paired=False,
            drift_excluded=False,
        )
        for column in design.columns
    )


def _weights(design: ScreeningDesign, column: int) -> list[float]:
    """Returns the weight of each run in the effect of a column."""
    runs = 2**design.basic
    return [(1 if _is_high(run, column) else -1) * 2 / runs for run in range(runs)]


def _is_high(run: int, column: int) -> bool:
    """Returns whether a column is high in a run: the product of the signs of its basic factors, each of which
    is high if its bit of the run is set.
    """
    return (column.bit_count() - (run & column).bit_count()) % 2 == 0


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2

"""Successive racing: candidates race in blocks, and those that are shown to be weaker drop out.

After each block, an F test asks whether the candidates differ at all; only then, each one is compared with
the best one. This is done with the ranks within the blocks, which is Friedman's test (in the form of Iman
and Davenport) with Conover's comparisons, and with the values themselves: ranks are robust against a single
odd race, but hardly see one good candidate among many equal ones, however good it is. This is the idea of
F-Race: M. Birattari, T. Stützle, L. Paquete and K. Varrentrapp, "A racing algorithm for configuring
metaheuristics", GECCO 2002. Tests: W. J. Conover, "Practical Nonparametric Statistics", 3rd edition, 1999,
section 5.8, here by least squares, which are the same if all blocks have all candidates.

This is a filter and no claim: the best of many candidates looks better than it is, and it is tested again and
again. What is found must be raced against the default again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

LEVEL = 0.05
"""Level of each test."""

MIN_BLOCKS = 3
"""Blocks of a candidate before which it is not tested."""

DRIFT_DEGREES = 10
"""Degrees of freedom that must be left if the drift is fitted: one from few values fits their noise, so that
candidates would seem to differ.
"""

_NOTHING = 1e-18
"""Sums of squares below which values are equal."""


class RacedValue(Struct, frozen=True):
    """The value of one race."""

    candidate: int
    """Number of the candidate."""

    block: int
    """Number of the block."""

    position: int
    """Number of races before it."""

    value: float
    """The value, above 0."""


class CandidateMeans(Struct, frozen=True):
    """What each candidate reached, without the differences between blocks and the drift of the machine."""

    means: Mapping[int, float]
    """Logarithm of the ratio to the first candidate, by candidate; higher is better."""

    blocks: Mapping[int, int]
    """Number of blocks, by candidate."""

    scores: Mapping[tuple[int, int], float]
    """Logarithm of each value without the drift, by candidate and block; higher is better."""

    spread: float = 0.0
    """Standard deviation of the logarithm of a value; 0 if there are too few values to know it."""

    def lower_bound(self, candidate: int) -> float:
        """Returns the mean of a candidate less its standard error: of means of few blocks, the highest ones
        are mostly lucky.
        """
        return self.means[candidate] - self.spread / math.sqrt(self.blocks[candidate])


def candidate_means(values: Sequence[RacedValue], *, higher_is_better: bool) -> CandidateMeans:
    """Fits the logarithm of the values as block + candidate + drift × position; without the drift if there
    are few values.

    Candidates may lack blocks. All are compared with the one with the lowest number; one that shares no block
    with it, not even through others, has the mean of the fit with the smallest norm.
    """
    import numpy as np

    if not values:
        return CandidateMeans({}, {}, {})
    candidates = sorted({raced.candidate for raced in values})
    blocks = sorted({raced.block for raced in values})
    sign = 1.0 if higher_is_better else -1.0
    logs = sign * np.log([raced.value for raced in values])
    matrix = np.zeros((len(values), len(blocks) + len(candidates)))
    for row, raced in enumerate(values):
        matrix[row, blocks.index(raced.block)] = 1.0
        if raced.candidate != candidates[0]:
            matrix[row, len(blocks) + candidates.index(raced.candidate) - 1] = 1.0
        matrix[row, -1] = raced.position - values[0].position
    rank = int(np.linalg.matrix_rank(matrix))
    if len(values) - rank < DRIFT_DEGREES or rank < matrix.shape[1]:
        matrix[:, -1] = 0.0
    solution = np.linalg.lstsq(matrix, logs, rcond=None)[0]
    scores = logs - matrix[:, -1] * solution[-1]
    degrees = len(values) - rank
    rest = float(np.sum((logs - matrix @ solution) ** 2))
    means = {candidates[0]: 0.0}
    means |= {candidate: float(solution[len(blocks) + at]) for at, candidate in enumerate(candidates[1:])}
    return CandidateMeans(
        means,
        {
            candidate: len({raced.block for raced in values if raced.candidate == candidate})
            for candidate in candidates
        },
        {(raced.candidate, raced.block): float(score) for raced, score in zip(values, scores, strict=True)},
        math.sqrt(rest / degrees) if degrees > 0 else 0.0,
    )


def weaker_candidates(
    means: CandidateMeans, candidates: Collection[int], *, level: float = LEVEL
) -> dict[int, float]:
    """Returns the candidates that are shown to be weaker than the best one, with the p-value of each.

    Compared are those of `candidates` with enough blocks; each of them may lack some.
    """
    tested = sorted(candidate for candidate in candidates if means.blocks.get(candidate, 0) >= MIN_BLOCKS)
    rows: dict[int, dict[int, float]] = {}
    for (candidate, block), score in means.scores.items():
        if candidate in tested:
            rows.setdefault(block, {})[candidate] = score
    weaker: dict[int, float] = {}
    for scores in _connected([row for row in rows.values() if len(row) > 1]):
        for used in (list(map(_ranks, scores)), scores):
            for candidate, p in _weaker(used, level / 2).items():
                weaker[candidate] = min(p, weaker.get(candidate, 1.0))
    return dict(sorted(weaker.items()))


def _connected(rows: Iterable[Mapping[int, float]]) -> list[list[Mapping[int, float]]]:
    """Returns the rows in groups that share no candidate: candidates of different ones cannot be compared."""
    groups: list[list[Mapping[int, float]]] = []
    for row in rows:
        near = [group for group in groups if any(row.keys() & other.keys() for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*itertools.chain(*near), row])
    return groups


class _Fit(Struct, frozen=True):
    """The fit of values as row + candidate."""

    candidates: tuple[int, ...]
    """The numbers of the candidates."""

    means: tuple[float, ...]
    """The mean of each candidate less that of the first one."""

    between: float
    """Sum of squares of the differences between candidates."""

    within: float
    """Sum of squares of the rest."""

    degrees: int
    """Degrees of freedom of the rest."""

    covariance: Any
    """The covariances of the means, for a rest with a variance of 1."""

    def error(self, place: int, other: int) -> float:
        """Returns the standard error of the difference between two means, by their places."""
        shares = self.covariance
        share = shares[place, place] + shares[other, other] - 2 * shares[place, other]
        return math.sqrt(max(self.within, _NOTHING) / self.degrees * share)


def _weaker(rows: Sequence[Mapping[int, float]], level: float) -> dict[int, float]:
    """Returns the candidates that are shown to be weaker than the best one, with their p-values: an
    analysis of variance of blocks and candidates, and Fisher's least significant difference. Each row is a
    block; the rows are connected.
    """
    from scipy.special import fdtrc, stdtr

    fit = _fitted(rows)
    if fit is None or fit.between <= _NOTHING:
        return {}
    groups = len(fit.candidates) - 1
    ratio = fit.between / groups / max(fit.within, _NOTHING) * fit.degrees
    if fit.within > _NOTHING and fdtrc(groups, fit.degrees, ratio) > level:
        return {}
    best = max(range(len(fit.means)), key=lambda at: fit.means[at])
    weaker: dict[int, float] = {}
    for at, candidate in enumerate(fit.candidates):
        if at != best:
            p = 2 * float(stdtr(fit.degrees, (fit.means[at] - fit.means[best]) / fit.error(at, best)))
            weaker |= {candidate: p} if p <= level else {}
    return weaker


def _fitted(rows: Sequence[Mapping[int, float]]) -> _Fit | None:
    """Fits connected rows; returns None if there are too few values."""
    import numpy as np

    candidates = sorted(set[int]().union(*rows))
    values = [(at, candidate, value) for at, row in enumerate(rows) for candidate, value in row.items()]
    matrix = np.zeros((len(values), len(rows) + len(candidates) - 1))
    for line, (at, candidate, _) in enumerate(values):
        matrix[line, at] = 1.0
        if candidate != candidates[0]:
            matrix[line, len(rows) + candidates.index(candidate) - 1] = 1.0
    degrees = len(values) - matrix.shape[1]
    if degrees < MIN_BLOCKS - 1:
        return None
    observed = np.array([value for _, _, value in values])
    solution = np.linalg.lstsq(matrix, observed, rcond=None)[0]
    within = float(np.sum((observed - matrix @ solution) ** 2))
    middles = [math.fsum(row.values()) / len(row) for row in rows]
    covariance = np.zeros((len(candidates), len(candidates)))
    covariance[1:, 1:] = np.linalg.inv(matrix.T @ matrix)[len(rows) :, len(rows) :]
    return _Fit(
        tuple(candidates),
        (0.0, *(float(mean) for mean in solution[len(rows) :])),
        math.fsum((value - middles[at]) ** 2 for at, _, value in values) - within,
        within,
        degrees,
        covariance,
    )


def _ranks(row: Mapping[int, float]) -> dict[int, float]:
    """Returns the rank of each value, with the same mean and spread for rows of any length; equal values have
    the mean of their ranks.

    The ranks 1 … n have a sum of squares of n (n² - 1) / 12 about their mean (Conover, section 5.8), which is
    n (n + 1) / 12 for each of their n - 1 degrees of freedom.
    """
    scale = math.sqrt(12 / (len(row) * (len(row) + 1)))
    return {
        candidate: scale
        * (
            sum(other < value for other in row.values())
            + sum(other == value for other in row.values()) / 2
            - len(row) / 2
        )
        for candidate, value in row.items()
    }

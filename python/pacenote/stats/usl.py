"""The Universal Scalability Law, fitted to throughput by concurrency.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

lambda is the throughput of one client alone, sigma the share of the work that waits its turn (contention),
kappa what it costs that everybody has to agree with everybody (coherency); with kappa above 0 throughput
peaks at N = sqrt((1 - sigma) / kappa). Source: N. J. Gunther, "Guerrilla Capacity Planning", Springer 2007,
chapters 4 to 6.

N / X is linear in 1/lambda, sigma/lambda and kappa/lambda, none of them negative, so that the best fit is
exact and needs no search. Errors of throughput are taken to be relative. Intervals come from resampling the
measurements of each level.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence

from pacenote.model.saturation import Estimate, UslFit

LEVELS = 6
"""Fewer levels of concurrency do not tell contention from coherency."""

RESAMPLES = 1_000
_CONFIDENCE = 0.95

_Curve = tuple[float, float, float]
"""lambda, sigma, kappa."""


def fit_usl(measured: Mapping[int, Sequence[float]], seed: int) -> UslFit | None:
    """Fits the law to work per second by number of clients, several measurements each.

    None with fewer than `LEVELS` levels or where a throughput is not above 0. `seed` fixes the resampling.
    """
    if len(measured) < LEVELS or any(not rates or min(rates) <= 0 for rates in measured.values()):
        return None
    best = _solve({clients: _mean(rates) for clients, rates in measured.items()})
    chance = random.Random(seed)
    curves = [
        _solve({clients: _mean(chance.choices(rates, k=len(rates))) for clients, rates in measured.items()})
        for _ in range(RESAMPLES)
    ]
    alone, contention, coherency = (
        _interval(value, [curve[place] for curve in curves]) for place, value in enumerate(best)
    )
    peaks = [_peak_clients(curve) for curve in curves] if coherency.low > 0 else []
    peak_clients = peak_rate = None
    if peaks:
        peak_clients = _interval(_peak_clients(best), peaks)
        rates = [_throughput(curve, peak) for curve, peak in zip(curves, peaks, strict=True)]
        peak_rate = _interval(_throughput(best, peak_clients.value), rates)
    deviations = [_throughput(best, clients) / _mean(rates) - 1 for clients, rates in measured.items()]
    residual = math.sqrt(_mean([deviation**2 for deviation in deviations]))
    return UslFit(alone, contention, coherency, peak_clients, peak_rate, residual)


def _throughput(curve: _Curve, clients: float) -> float:
    alone, contention, coherency = curve
    return alone * clients / (1 + contention * (clients - 1) + coherency * clients * (clients - 1))


def _peak_clients(curve: _Curve) -> float:
    _, contention, coherency = curve
    return math.sqrt(max(0.0, 1 - contention) / coherency) if coherency > 0 else math.inf


def _solve(rates: Mapping[int, float]) -> _Curve:
    """The least squares fit of N / X by its three terms, none negative: of all subsets of terms whose best
    fit keeps them so, the closest. The constant term is in every one, or lambda would be infinite.
    """
    rows = [
        ((1.0, clients - 1.0, clients * (clients - 1.0)), clients / rate) for clients, rate in rates.items()
    ]
    # Relative errors: each equation is divided by its right side.
    rows = [((a / y, b / y, c / y), 1.0) for (a, b, c), y in rows]
    best: tuple[float, tuple[float, ...]] | None = None
    for terms in ((0,), (0, 1), (0, 2), (0, 1, 2)):
        solution = _least_squares([[row[term] for term in terms] for row, _ in rows])
        if solution is None or min(solution) < 0 or solution[0] <= 0:
            continue
        whole = [0.0, 0.0, 0.0]
        for term, value in zip(terms, solution, strict=True):
            whole[term] = value
        error = sum((sum(map(_times, row, whole)) - one) ** 2 for row, one in rows)
        if best is None or error < best[0]:
            best = (error, tuple(whole))
    # The constant alone always fits: all its rows are positive.
    base, slope, bend = best[1] if best is not None else (math.inf, 0.0, 0.0)
    return 1 / base, slope / base, bend / base


def _times(one: float, other: float) -> float:
    return one * other


def _least_squares(rows: Sequence[Sequence[float]]) -> list[float] | None:
    """The solution of rows   x = 1 by the normal equations and Gaussian elimination; None where it is not
    unique.
    """
    size = len(rows[0])
    matrix = [
        [sum(row[i] * row[j] for row in rows) for j in range(size)] + [sum(row[i] for row in rows)]
        for i in range(size)
    ]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(matrix[row][column]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        if abs(matrix[column][column]) < 1e-12 * max(1.0, abs(matrix[0][0])):
            return None
        for row in range(size):
            if row != column:
                share = matrix[row][column] / matrix[column][column]
                matrix[row] = [a - share * b for a, b in zip(matrix[row], matrix[column], strict=True)]
    return [matrix[row][size] / matrix[row][row] for row in range(size)]


def _interval(value: float, resampled: Sequence[float]) -> Estimate:
    ordered = sorted(resampled)
    cut = round((1 - _CONFIDENCE) / 2 * (len(ordered) - 1))
    return Estimate(value, ordered[cut], ordered[-1 - cut])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def doubling(most: int) -> tuple[int, ...]:
    """The levels 1, 2, 4, … up to `most`, which is the last."""
    levels = itertools.takewhile(lambda level: level < most, (2**power for power in itertools.count()))
    return (*levels, most)

"""The Universal Scalability Law, fitted to throughput by number of clients.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

lambda is the throughput of one client, sigma the fraction of the work that is serialized (contention), and
kappa the cost of keeping the participants consistent with each other (coherency). With kappa above 0,
throughput peaks at N = sqrt((1 - sigma) / kappa). Source: N. J. Gunther, "Guerrilla Capacity Planning",
Springer 2007, chapters 4 to 6.

N / X is a linear function of 1/lambda, sigma/lambda and kappa/lambda. None of them is negative, so the fit is
a non-negative least squares problem, whose solution is the unlimited one of the terms that are above 0. The
errors of throughput are assumed to be relative, and equal for all levels. Without the limit at 0, the errors
of the three coefficients follow Student's distribution. The 95 % intervals follow from it: directly for
lambda, by Fieller's method for ratios of coefficients. Their coverage is simulated in
`benchmarks/scalability_intervals.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from pacenote.model.saturation import Estimate, UslFit

MIN_LEVELS = 6
"""Minimum number of concurrency levels that can distinguish contention from coherency."""

_CONFIDENCE = 0.95

_PEAK_CONFIDENCE = 0.99
"""Confidence of the interval of kappa that excludes 0 if a peak is reported. It is higher than that of the
other intervals, because a peak that is hardly visible is usually estimated too low.
"""

_MISFIT_LEVEL = 0.05
"""Significance level of the test whether the means deviate from the law more than their scatter explains."""

_Weights = tuple[float, float, float]
"""Weights of the three coefficients in a sum."""

_TERMS = ([0, 1, 2], [0, 1], [0, 2], [0])
"""Sets of terms that may be above 0; all contain the constant term, as lambda must be finite."""


class _Curve(Struct, frozen=True):
    """The parameters of the law."""

    alone: float
    """lambda: work per second of one client."""

    contention: float
    """sigma: fraction of the work that is serialized."""

    coherency: float
    """kappa: cost of consistency between each pair of clients."""

    def throughput(self, clients: float) -> float:
        """Returns the work per second with this number of clients."""
        queueing = self.contention * (clients - 1)
        return self.alone * clients / (1 + queueing + self.coherency * clients * (clients - 1))

    @property
    def peak_clients(self) -> float:
        """The number of clients with the highest throughput; infinite if kappa is 0."""
        return math.sqrt(max(0.0, 1 - self.contention) / self.coherency) if self.coherency > 0 else math.inf


def fitted_throughput(fit: UslFit, clients: float) -> float:
    """Returns the work per second that the law expects with a number of clients."""
    return _Curve(fit.rate_alone.value, fit.contention.value, fit.coherency.value).throughput(clients)


def fit_usl(measured: Mapping[int, Sequence[float]]) -> UslFit | None:
    """Fits the law to measurements of throughput, in work per second, by number of clients.

    Returns None with fewer than `MIN_LEVELS` levels, if a throughput is not above 0, or if the measurements
    are so scattered that they do not show that the throughput of one client is finite.
    """
    if len(measured) < MIN_LEVELS or any(not rates or min(rates) <= 0 for rates in measured.values()):
        return None
    means = {clients: _mean(rates) for clients, rates in measured.items()}
    best, line = _fit(means), _line(measured)
    base = line.interval(0)
    contention, coherency = line.ratio_interval((0, 1, 0)), line.ratio_interval((0, 0, 1))
    if base.low <= 0 or contention is None or coherency is None:
        return None
    peak, largest = _peak(best, line), max(measured)
    # Beyond the largest level, the law is an extrapolation.
    beyond = peak is not None and peak.clients.high > largest
    deviations = [best.throughput(clients) / mean - 1 for clients, mean in means.items()]
    return UslFit(
        rate_alone=_estimate(best.alone, _Interval(1 / base.high, 1 / base.low)),
        contention=_estimate(best.contention, contention),
        coherency=_estimate(best.coherency, coherency),
        peak_clients=peak.clients if peak and not beyond else None,
        peak_rate=peak.rate if peak and not beyond else None,
        residual=math.sqrt(_mean([deviation**2 for deviation in deviations])),
        peak_beyond=largest if beyond else None,
    )


class _Interval(Struct, frozen=True):
    """A range of values."""

    low: float
    high: float


class _Peak(Struct, frozen=True):
    """The highest throughput."""

    clients: Estimate
    rate: Estimate


class _Line(Struct, frozen=True):
    """N / X as a linear function of 1, N - 1 and N (N - 1), without limits for the coefficients.

    The coefficients are 1/lambda, sigma/lambda and kappa/lambda. Their errors follow Student's distribution.
    """

    coefficients: tuple[float, float, float]
    covariance: tuple[tuple[float, ...], ...]
    degrees: int
    """Degrees of freedom of the variance."""

    def t(self, confidence: float) -> float:
        """Returns the quantile of Student's distribution that bounds a two-sided interval."""
        from scipy.special import stdtrit

        return float(stdtrit(self.degrees, (1 + confidence) / 2))

    def interval(self, index: int, confidence: float = _CONFIDENCE) -> _Interval:
        """Returns the interval of one coefficient."""
        half = self.t(confidence) * math.sqrt(self.covariance[index][index])
        return _Interval(self.coefficients[index] - half, self.coefficients[index] + half)

    def ratio_interval(self, above: _Weights, below: _Weights = (1, 0, 0)) -> _Interval | None:
        """Returns the interval of the ratio of two sums of coefficients, or None if it has no bounds.

        It contains the ratios r for which above - r below does not differ from 0. Source: E. C. Fieller,
        "Some problems in interval estimation", Journal of the Royal Statistical Society B 16, 1954.
        """
        square = self.t(_CONFIDENCE) ** 2
        over, under = self.weighted(above), self.weighted(below)
        a = under**2 - square * self.shared_variance(below, below)
        b = over * under - square * self.shared_variance(above, below)
        c = over**2 - square * self.shared_variance(above, above)
        if a <= 0:
            return None
        root = math.sqrt(max(0.0, b**2 - a * c))
        return _Interval((b - root) / a, (b + root) / a)

    def weighted(self, weights: _Weights) -> float:
        """Returns a weighted sum of the coefficients."""
        return math.fsum(weight * value for weight, value in zip(weights, self.coefficients, strict=True))

    def shared_variance(self, weights: _Weights, other: _Weights) -> float:
        """Returns the covariance of two weighted sums."""
        return math.fsum(
            weights[row] * other[column] * self.covariance[row][column]
            for row in range(3)
            for column in range(3)
        )


def _line(measured: Mapping[int, Sequence[float]]) -> _Line:
    """Returns the line with the least squared relative deviations, and the errors of its coefficients."""
    import numpy as np

    counts = np.array([len(rates) for rates in measured.values()])
    means = {clients: _mean(rates) for clients, rates in measured.items()}
    # A mean of n measurements has n times the weight of one.
    scale = np.sqrt(counts)
    rows = _rows(means) * scale[:, None]
    solution = np.linalg.lstsq(rows, scale, rcond=None)[0]
    misfit = float(np.sum((scale - rows @ solution) ** 2))
    scatter = math.fsum(
        (rate / means[clients] - 1) ** 2 for clients, rates in measured.items() for rate in rates
    )
    variance, degrees = _variance(misfit, len(measured) - len(solution), scatter, int(sum(counts - 1)))
    covariance = np.linalg.inv(rows.T @ rows) * variance
    base, slope, bend = map(float, solution)
    return _Line((base, slope, bend), tuple(tuple(map(float, row)) for row in covariance), degrees)


def _variance(misfit: float, misfit_degrees: int, scatter: float, scatter_degrees: int) -> tuple[float, int]:
    """Returns the relative variance of a measurement, and its degrees of freedom, from the sum of squares of
    the means around the line and that of the measurements around their means.

    If the means deviate from the line more than their scatter explains, only these deviations count: the
    levels differ for another reason, or do not follow the law.
    """
    from scipy.special import fdtrc

    if scatter_degrees and scatter > 0:
        ratio = misfit / misfit_degrees / (scatter / scatter_degrees)
        if fdtrc(misfit_degrees, scatter_degrees, ratio) < _MISFIT_LEVEL:
            return misfit / misfit_degrees, misfit_degrees
    degrees = misfit_degrees + scatter_degrees
    return (misfit + scatter) / degrees, degrees


def _peak(best: _Curve, line: _Line) -> _Peak | None:
    """Returns the peak, or None if the measurements do not show that there is one."""
    if best.coherency <= 0 or line.interval(2, _PEAK_CONFIDENCE).low <= 0:
        return None
    squared = line.ratio_interval((1, -1, 0), (0, 0, 1))
    if squared is None:
        return None
    # With a contention of 1 or more, throughput falls from the first client on.
    bounds = _Interval(*(math.sqrt(max(1.0, bound)) for bound in (squared.low, squared.high)))
    clients = _estimate(max(1.0, best.peak_clients), bounds)
    return _Peak(clients, _estimate(best.throughput(clients.value), _peak_rate(line)))


def _peak_rate(line: _Line) -> _Interval:
    """Returns the interval of the highest throughput, from the first derivatives of its logarithm."""
    base, slope, bend = line.coefficients
    rest = base - slope
    if rest <= bend:
        return _Interval(0.0, 1 / base)
    # N / X at N = sqrt(rest / bend), divided by N.
    inverse = 2 * math.sqrt(rest * bend) + slope - bend
    ratio = math.sqrt(bend / rest)
    gradient = (ratio, 1 - ratio, 1 / ratio - 1)
    half = line.t(_CONFIDENCE) * math.sqrt(line.shared_variance(gradient, gradient)) / inverse
    return _Interval(math.exp(-half) / inverse, math.exp(half) / inverse)


def _fit(rates: Mapping[int, float]) -> _Curve:
    """Returns the curve with the least squared relative deviations of N / X."""
    # Importing NumPy takes time and starts threads, so it is imported only after the last measurement.
    import numpy as np

    rows = _rows(rates)
    smallest = math.inf
    base, slope, bend = math.inf, 0.0, 0.0
    for terms in _TERMS:
        solution = np.linalg.lstsq(rows[:, terms], np.ones(len(rows)), rcond=None)[0]
        residual = float(np.sum((1 - rows[:, terms] @ solution) ** 2))
        if solution[0] > 0 and min(solution) >= 0 and residual < smallest:
            smallest = residual
            whole = np.zeros(3)
            whole[terms] = solution
            base, slope, bend = map(float, whole)
    return _Curve(1 / base, slope / base, bend / base)


def _rows(rates: Mapping[int, float]) -> Any:
    """Returns the terms of the equations, each divided by its right-hand side, N / X, so that deviations are
    relative.
    """
    import numpy as np

    return np.array([
        (rate / clients, (clients - 1) * rate / clients, (clients - 1) * rate)
        for clients, rate in rates.items()
    ])


def _estimate(value: float, bounds: _Interval) -> Estimate:
    """Returns a parameter, which cannot be negative, with its interval.

    The value lies outside of the bounds if it would be negative without this limit.
    """
    return Estimate(value, min(value, max(0.0, bounds.low)), max(value, bounds.high))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def powers_of_two(highest: int) -> tuple[int, ...]:
    """Returns the levels 1, 2, 4, … below `highest`, and `highest` itself."""
    levels = itertools.takewhile(lambda level: level < highest, (2**power for power in itertools.count()))
    return (*levels, highest)


def sweep_levels(highest: int) -> tuple[int, ...]:
    """Returns the powers of two up to `highest`, and `highest` itself; if these are fewer than `MIN_LEVELS`,
    also the middle of the widest gaps, as far as there are such numbers.
    """
    levels = list(powers_of_two(highest))
    while len(levels) < min(MIN_LEVELS, highest):
        below, above = max(itertools.pairwise(levels), key=lambda pair: pair[1] - pair[0])
        levels.append((below + above) // 2)
        levels.sort()
    return tuple(levels)


def sweep_order(highest: int, repeats: int) -> tuple[int, ...]:
    """Returns the levels of all repeats in the order in which they are measured: ascending, then descending.

    If all were ascending, a steady drift, such as that of a growing index, would look like contention.
    """
    levels = sweep_levels(highest)
    orders = (levels if repeat % 2 == 0 else levels[::-1] for repeat in range(repeats))
    return tuple(itertools.chain.from_iterable(orders))

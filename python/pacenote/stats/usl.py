"""The Universal Scalability Law, fitted to throughput by number of clients.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))

lambda is the throughput of one client, sigma the fraction of the work that is serialized (contention), and
kappa the cost of keeping the participants consistent with each other (coherency). With kappa above 0,
throughput peaks at N = sqrt((1 - sigma) / kappa). Source: N. J. Gunther, "Guerrilla Capacity Planning",
Springer 2007, chapters 4 to 6.

N / X is a linear function of 1/lambda, sigma/lambda and kappa/lambda. None of them is negative, so the fit is
a non-negative least squares problem. The errors of throughput are assumed to be relative. The 95 % intervals
come from bootstrapping: the measurements of each level are resampled with replacement.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pacenote.model.saturation import Estimate, UslFit

MIN_LEVELS = 6
"""Minimum number of concurrency levels that can distinguish contention from coherency."""

RESAMPLES = 1_000
"""Number of bootstrap samples."""

_CONFIDENCE = 0.95

_TERMS = ([0, 1, 2], [0, 1], [0, 2], [0])
"""Sets of terms that may be positive; all contain the constant term, as lambda must be finite."""


@dataclass(frozen=True, slots=True)
class _Curve:
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


def fit_usl(measured: Mapping[int, Sequence[float]], seed: int) -> UslFit | None:
    """Fits the law to measurements of throughput, in work per second, by number of clients.

    Returns None with fewer than `MIN_LEVELS` levels, or if a throughput is not above 0. `seed` fixes the
    bootstrap samples.
    """
    if len(measured) < MIN_LEVELS or any(not rates or min(rates) <= 0 for rates in measured.values()):
        return None
    best = _fit({clients: _mean(rates) for clients, rates in measured.items()})
    rng = random.Random(seed)
    resampled = [
        _fit({clients: _mean(rng.choices(rates, k=len(rates))) for clients, rates in measured.items()})
        for _ in range(RESAMPLES)
    ]
    coherency = _interval(best.coherency, [curve.coherency for curve in resampled])
    peak_clients = peak_rate = None
    if coherency.low > 0:
        peak_clients = _interval(best.peak_clients, [curve.peak_clients for curve in resampled])
        peak_rate = _interval(
            best.throughput(best.peak_clients),
            [curve.throughput(curve.peak_clients) for curve in resampled],
        )
    deviations = [best.throughput(clients) / _mean(rates) - 1 for clients, rates in measured.items()]
    return UslFit(
        rate_alone=_interval(best.alone, [curve.alone for curve in resampled]),
        contention=_interval(best.contention, [curve.contention for curve in resampled]),
        coherency=coherency,
        peak_clients=peak_clients,
        peak_rate=peak_rate,
        residual=math.sqrt(_mean([deviation**2 for deviation in deviations])),
    )


def _fit(rates: Mapping[int, float]) -> _Curve:
    """Returns the curve with the least squared relative deviations of N / X."""
    # Importing SciPy takes almost a second and starts threads, so it is imported only after the last
    # measurement.
    import numpy as np
    from scipy.optimize import nnls

    # Each equation is divided by its right-hand side, N / X, so the deviations are relative.
    rows = np.array([
        (rate / clients, (clients - 1) * rate / clients, (clients - 1) * rate)
        for clients, rate in rates.items()
    ])
    smallest = math.inf
    base, slope, bend = math.inf, 0.0, 0.0
    for terms in _TERMS:
        solution, residual = nnls(rows[:, terms], np.ones(len(rows)))
        if solution[0] > 0 and residual < smallest:
            smallest = float(residual)
            whole = np.zeros(3)
            whole[terms] = solution
            base, slope, bend = map(float, whole)
    return _Curve(1 / base, slope / base, bend / base)


def _interval(value: float, resampled: Sequence[float]) -> Estimate:
    ordered = sorted(resampled)
    excluded = round((1 - _CONFIDENCE) / 2 * (len(ordered) - 1))
    return Estimate(value, ordered[excluded], ordered[-1 - excluded])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def powers_of_two(highest: int) -> tuple[int, ...]:
    """Returns the levels 1, 2, 4, … below `highest`, and `highest` itself."""
    levels = itertools.takewhile(lambda level: level < highest, (2**power for power in itertools.count()))
    return (*levels, highest)

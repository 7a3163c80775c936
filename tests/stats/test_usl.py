"""The scalability law is recovered from throughput that follows it."""

import random

import pytest

from pacenote.stats.usl import doubling, fit_usl


def throughput(clients: int, alone: float, contention: float, coherency: float) -> float:
    return alone * clients / (1 + contention * (clients - 1) + coherency * clients * (clients - 1))


def measured(alone: float, contention: float, coherency: float, noise: float) -> dict[int, list[float]]:
    chance = random.Random(5)
    return {
        clients: [
            throughput(clients, alone, contention, coherency) * chance.gauss(1, noise) for _ in range(3)
        ]
        for clients in doubling(64)
    }


def test_exact_throughput_gives_the_law_back() -> None:
    fit = fit_usl(measured(1000, 0.05, 0.001, 0), seed=1)
    assert fit is not None
    found = (fit.rate_alone.value, fit.contention.value, fit.coherency.value)
    assert found == pytest.approx((1000, 0.05, 0.001), rel=1e-6)
    assert fit.peak_clients is not None
    assert fit.peak_clients.value == pytest.approx((0.95 / 0.001) ** 0.5)
    assert fit.residual < 1e-6


def test_noise_widens_the_intervals_and_the_truth_is_inside() -> None:
    fit = fit_usl(measured(1000, 0.05, 0.002, 0.02), seed=1)
    assert fit is not None
    assert fit.contention.low < 0.05 < fit.contention.high
    assert fit.coherency.low < 0.002 < fit.coherency.high
    assert fit.coherency.high > fit.coherency.low
    assert fit_usl(measured(1000, 0.05, 0.002, 0.02), seed=1) == fit, "one seed, one answer"


def test_without_coherency_there_is_no_peak_to_tell() -> None:
    fit = fit_usl(measured(1000, 0.1, 0.0, 0.01), seed=1)
    assert fit is not None
    assert fit.peak_clients is None
    assert fit.coherency.value >= 0


def test_throughput_that_scales_better_than_linear_is_no_negative_contention() -> None:
    fit = fit_usl({clients: [clients**1.1 * 100] for clients in doubling(64)}, seed=1)
    assert fit is not None
    assert (fit.contention.value, fit.coherency.value) == (0, 0)


def test_too_little_says_nothing() -> None:
    assert fit_usl({clients: [100.0] for clients in (1, 2, 4, 8, 16)}, seed=1) is None
    assert fit_usl({**measured(1000, 0.1, 0, 0), 2: [0.0]}, seed=1) is None


def test_levels_end_with_the_last() -> None:
    assert doubling(1) == (1,)
    assert doubling(48) == (1, 2, 4, 8, 16, 32, 48)

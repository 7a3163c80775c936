"""The fit recovers the parameters of the scalability law from throughput that follows it."""

import random
import subprocess
import sys

import numpy as np
import pytest

from pacenote.stats.usl import fit_usl, powers_of_two


def throughput(clients: int, alone: float, contention: float, coherency: float) -> float:
    return alone * clients / (1 + contention * (clients - 1) + coherency * clients * (clients - 1))


def measured(alone: float, contention: float, coherency: float, noise: float) -> dict[int, list[float]]:
    rng = random.Random(5)
    return {
        clients: [throughput(clients, alone, contention, coherency) * rng.gauss(1, noise) for _ in range(3)]
        for clients in powers_of_two(64)
    }


MEASURED = {
    1: [980.0, 1015.5, 1003.2],
    2: [1890.1, 1921.7, 1875.0],
    4: [3390.4, 3312.2, 3401.9],
    8: [5241.0, 5333.3, 5120.8],
    16: [6010.5, 6122.2, 5987.1],
    32: [4809.9, 4701.3, 4888.8],
}


def test_the_law_is_recovered_from_exact_throughput() -> None:
    fit = fit_usl(measured(1000, 0.05, 0.001, 0), seed=1)
    assert fit is not None
    found = (fit.rate_alone.value, fit.contention.value, fit.coherency.value)
    assert found == pytest.approx((1000, 0.05, 0.001), rel=1e-6)
    assert fit.peak_clients is not None
    assert fit.peak_clients.value == pytest.approx((0.95 / 0.001) ** 0.5)
    assert fit.residual < 1e-6


def test_intervals_become_wider_with_noise_and_contain_the_true_values() -> None:
    fit = fit_usl(measured(1000, 0.05, 0.002, 0.02), seed=1)
    assert fit is not None
    assert fit.contention.low < 0.05 < fit.contention.high
    assert fit.coherency.low < 0.002 < fit.coherency.high
    assert fit.coherency.high > fit.coherency.low
    assert fit_usl(measured(1000, 0.05, 0.002, 0.02), seed=1) == fit, "the same seed gives a different result"


def test_the_fit_agrees_with_the_normal_equations_solved_by_gaussian_elimination() -> None:
    fit = fit_usl(MEASURED, seed=7)
    assert fit is not None
    assert fit.peak_clients is not None
    assert fit.peak_rate is not None
    found = [
        (interval.value, interval.low, interval.high)
        for interval in (fit.rate_alone, fit.contention, fit.coherency, fit.peak_clients, fit.peak_rate)
    ]
    assert np.array(found) == pytest.approx(
        np.array([
            (993.9278452753899, 983.045017564116, 1004.3904738933609),
            (0.03900525469397593, 0.03404214955198117, 0.04368522546352225),
            (0.004431105442017842, 0.004250801477643651, 0.004646830178087007),
            (14.726666916956495, 14.420325937466812, 15.009442028408202),
            (6020.704383898474, 5960.352802850085, 6082.35537609414),
        ]),
        rel=1e-9,
    )
    assert fit.residual == pytest.approx(0.005068124715452095, rel=1e-9)


def test_the_throughput_of_one_client_is_never_infinite() -> None:
    """An infinite throughput for one client would fit more closely, but is meaningless."""
    rates = {1: 5.0, 2: 900.0, 4: 1700.0, 8: 3000.0, 16: 2500.0, 32: 2000.0}
    fit = fit_usl({clients: [rate] for clients, rate in rates.items()}, seed=7)
    assert fit is not None
    found = (fit.rate_alone.value, fit.contention.value, fit.coherency.value)
    assert found == pytest.approx((468.0987876884408, 0.0, 0.006826188144354259), rel=1e-9)


def test_a_fit_without_coherency_has_no_peak() -> None:
    fit = fit_usl(measured(1000, 0.1, 0.0, 0.01), seed=1)
    assert fit is not None
    assert fit.peak_clients is None
    assert fit.coherency.value >= 0


def test_superlinear_throughput_does_not_give_negative_contention() -> None:
    fit = fit_usl({clients: [clients**1.1 * 100] for clients in powers_of_two(64)}, seed=1)
    assert fit is not None
    assert (fit.contention.value, fit.coherency.value) == (0, 0)


def test_nothing_is_fitted_to_too_few_levels_or_zero_throughput() -> None:
    assert fit_usl({clients: [100.0] for clients in (1, 2, 4, 8, 16)}, seed=1) is None
    assert fit_usl({**measured(1000, 0.1, 0, 0), 2: [0.0]}, seed=1) is None


def test_the_number_of_clients_doubles_up_to_the_maximum() -> None:
    assert powers_of_two(1) == (1,)
    assert powers_of_two(48) == (1, 2, 4, 8, 16, 32, 48)


def test_numpy_is_imported_only_for_the_fit() -> None:
    """Importing it and running its threads must not disturb the measurements before the fit."""
    program = "import sys, pacenote.cli.saturate, pacenote.lab.saturate; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

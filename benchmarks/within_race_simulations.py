"""Simulates tasks whose operations depend on each other: how often intervals contain the truth.

The intervals are those of percentiles and of error rates. docs/measuring.md has a part of the tables; all are
in `results/within_race_simulations.json`. The simulations need no engine and take some minutes. The method is
that of crates/stats/src/dependence.rs and crates/record/src/stretches.rs, for probes of `saturate` that
of pacenote/stats/dependence.py.
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter
from simulations import Rows, print_tables, share_with_interval

from pacenote.stats import dependence
from pacenote.stats.binomial import most_failures, upper_bound
from pacenote.stats.student import t_quantile

PERCENTILES = (50.0, 90.0, 99.0, 99.9)

SETTINGS = ((30, 20), (30, 200), (30, 2_000), (120, 20), (120, 200), (120, 2_000))
"""Seconds of a task, and its operations per second."""

PROBES = ((20, 100), (60, 100), (20, 1_000), (60, 1_000))
"""Seconds of a probe of `saturate`, and its operations per second."""

PROBE_PERCENTILES = (50.0, 99.0)

BATCHES = (30, 15, 8)
MIN_BATCHES = 8

_TAIL = 0.025
_NORMAL_QUANTILE = 1.959963984540054
_SLOW_SHARE = 0.0125
"""Share of operations that pauses make slow, if these come at random times."""

_TRUTH_OPERATIONS = 2_000_000

Numbers = Any
"""An array of numbers."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval of a share, or of a percentile; None if a bound does not exist."""

    low: float | None
    high: float | None


def design_effect(operations: Numbers, exceeding: Numbers) -> float | None:
    """Returns the design effect of operations that exceed a value, from their numbers in consecutive seconds;
    None if too few seconds have operations.
    """
    if np.count_nonzero(operations) < MIN_BATCHES:
        return None
    effects = [1.0]
    for batches in BATCHES:
        starts = np.arange(0, len(operations), max(1, len(operations) // batches))
        sizes, slow = np.add.reduceat(operations, starts), np.add.reduceat(exceeding, starts)
        slow, sizes = slow[sizes > 0], sizes[sizes > 0]
        part = slow.sum() / sizes.sum()
        if len(sizes) < MIN_BATCHES or not 0 < part < 1:
            continue
        variance = ((slow - part * sizes) ** 2).sum() * len(sizes) / (len(sizes) - 1)
        quantile = t_quantile(len(sizes) - 1, 0.975)
        effects.append(
            float(variance / (sizes.sum() * part * (1 - part)) * (quantile / _NORMAL_QUANTILE) ** 2)
        )
    return max(effects)


@functools.lru_cache(maxsize=1_000)
def exceedances(count: int, share: float) -> tuple[int | None, int]:
    """Returns the 95 % bounds of the number of `count` independent operations that exceed a quantile, which a
    share of them does.
    """
    numbers = np.arange(count + 1)
    logs = _log_factorials()[: count + 1]
    logs = logs[-1] - logs - logs[::-1] + numbers * math.log(share) + (count - numbers) * math.log1p(-share)
    cumulative = np.exp(logs).cumsum()
    few = int(np.searchsorted(cumulative, _TAIL, side="right")) - 1
    return (few if few >= 0 else None), int(np.searchsorted(cumulative, 1 - _TAIL))


@functools.cache
def _log_factorials() -> Numbers:
    most = max(seconds * rate for seconds, rate in SETTINGS)
    return np.concatenate(([0.0], np.log(np.arange(1, most + 1)).cumsum()))


def percentile_bounds(ordered: Numbers, q: float, effect: float) -> Bounds:
    """Returns the interval of a percentile of sorted durations."""
    count = len(ordered)
    independent = int(count / effect)
    if not independent:
        return Bounds(None, None)
    few, many = exceedances(independent, round(1 - q / 100, 6))
    low = count - math.ceil(many * count / independent)
    high = None if few is None else count - int(few * count / independent)
    return Bounds(
        float(ordered[low - 1]) if low >= 1 else None, None if high is None else float(ordered[high - 1])
    )


def independent_times(seconds: float, rate: int, random: np.random.Generator) -> Numbers:
    """Returns log-normal durations in ms."""
    return 5 * np.exp(0.3 * random.standard_normal(int(seconds * rate)))


def resembling_times(seconds: float, rate: int, random: np.random.Generator, correlation_s: float) -> Numbers:
    """Returns log-normal durations, each of which resembles those before it (AR(1)); after `correlation_s`,
    the correlation is 1/e.
    """
    keep = math.exp(-1 / (rate * correlation_s))
    fresh = random.standard_normal(int(seconds * rate))
    fresh[1:] *= math.sqrt(1 - keep * keep)
    return 5 * np.exp(0.3 * lfilter([1.0], [1.0, -keep], fresh))


def times_with_bursts(seconds: float, rate: int, random: np.random.Generator) -> Numbers:
    """Returns durations of which some are in pauses at random times, each of 15 to 40 operations in a row."""
    durations = independent_times(seconds, rate, random)
    gap = 27.5 / _SLOW_SHARE - 27.5
    begin = int(random.exponential(gap))
    while begin < len(durations):
        length = int(random.integers(15, 41))
        waited = np.arange(length)[: len(durations) - begin]
        durations[begin : begin + length] += 200 * length / 27.5 * (1 - waited / length)
        begin += length + int(random.exponential(gap))
    return durations


def times_with_period(seconds: float, rate: int, random: np.random.Generator, period_s: float) -> Numbers:
    """Returns durations with a pause of 75 ms at regular intervals."""
    durations = independent_times(seconds, rate, random)
    # A schedule in step with the pauses would always meet them at the same times.
    sent = (np.arange(len(durations)) + random.random(len(durations))) / rate
    within = (sent + random.uniform(0, period_s)) % period_s
    return durations + np.maximum(0.0, 75.0 - 1000 * within)


Times = Callable[[float, int, np.random.Generator], Numbers]

KINDS: dict[str, Times] = {
    "independent": independent_times,
    "pauses at random": times_with_bursts,
    "pauses every 1 s": functools.partial(times_with_period, period_s=1.0),
    "pauses every 3 s": functools.partial(times_with_period, period_s=3.0),
    "pauses every 10 s": functools.partial(times_with_period, period_s=10.0),
    "AR(1), 0.5 s": functools.partial(resembling_times, correlation_s=0.5),
    "AR(1), 2 s": functools.partial(resembling_times, correlation_s=2.0),
}


@dataclass(frozen=True, slots=True)
class Coverage:
    """Whether intervals of many races contain the truth."""

    independent: list[bool]
    """Those of as many independent operations."""
    dependent: list[bool]
    """Those with the design effect."""
    bounded: list[bool]
    """Whether these have an upper bound."""


def covered(bounds: Bounds, truth: float) -> bool:
    """Returns whether an interval contains a value; a bound that does not exist excludes none."""
    return (bounds.low is None or bounds.low <= truth) and (bounds.high is None or truth <= bounds.high)


def coverage(
    times: Times, setting: tuple[int, int], races: int, random: np.random.Generator
) -> dict[float, Coverage]:
    """Returns the coverage of each percentile of which independent operations have an interval."""
    seconds, rate = setting
    truths = np.percentile(times(_TRUTH_OPERATIONS / rate, rate, random), PERCENTILES)
    wanted = [
        (q, float(truth))
        for q, truth in zip(PERCENTILES, truths, strict=True)
        if seconds * rate * math.log(q / 100) <= math.log(_TAIL)
    ]
    covers = {q: Coverage([], [], []) for q, _ in wanted}
    for _ in range(races):
        durations = times(seconds, rate, random)
        ordered, by_second = np.sort(durations), durations.reshape(seconds, rate)
        for q, truth in wanted:
            value = ordered[math.ceil(round(q / 100 * len(ordered), 6)) - 1]
            effect = design_effect(np.full(seconds, rate), (by_second > value).sum(axis=1))
            bounds = percentile_bounds(ordered, q, effect or math.inf)
            covers[q].independent.append(covered(percentile_bounds(ordered, q, 1.0), truth))
            covers[q].dependent.append(covered(bounds, truth))
            covers[q].bounded.append(bounds.high is not None)
    return covers


def percentiles(options: argparse.Namespace) -> Rows:
    """Returns the coverage of intervals of percentiles."""
    random = np.random.default_rng(options.seed)
    rows = [("operations", "task", "percentile", "as if independent", "interval", "with an upper bound")]
    for name, times in KINDS.items():
        for seconds, rate in SETTINGS:
            covers = coverage(times, (seconds, rate), options.experiments, random)
            rows += [
                (
                    name,
                    f"{seconds} s, {rate:,}/s",
                    f"p{q:g}",
                    f"{np.mean(cover.independent):.0%}".replace("%", " %"),
                    share_with_interval(cover.dependent),
                    f"{np.mean(cover.bounded):.0%}".replace("%", " %"),
                )
                for q, cover in covers.items()
            ]
    return rows


def probe_bound(ordered: Numbers, slow: Sequence[int], q: float) -> float | None:
    """Returns the upper bound of a percentile of sorted durations that a probe of `saturate` shows, from the
    operations above it in consecutive seconds of equally many; None if it does not exist.
    """
    count = len(ordered)
    blocks = [dependence.Block(count // len(slow), int(number)) for number in slow]
    effect = dependence.design_effect(blocks)
    few = most_failures(int(count / effect), 1 - q / 100)
    above = count if few is None else int(few * effect)
    return None if above >= count else float(ordered[count - above - 1])


def probes(options: argparse.Namespace) -> Rows:
    """Returns how often the upper bound of a percentile that a probe shows is not below the true one."""
    random = np.random.default_rng(options.seed)
    rows = [("operations", "probe", "percentile", "as if independent", "upper bound", "that exist")]
    for name, times in KINDS.items():
        for seconds, rate in PROBES:
            truths = np.percentile(times(_TRUTH_OPERATIONS / rate, rate, random), PROBE_PERCENTILES)
            races = [times(seconds, rate, random) for _ in range(options.experiments)]
            for q, truth in zip(PROBE_PERCENTILES, map(float, truths), strict=True):
                plain, own = [], []
                for durations in races:
                    ordered = np.sort(durations)
                    value = ordered[math.ceil(round(q / 100 * len(ordered), 6)) - 1]
                    slow = (durations.reshape(seconds, rate) > value).sum(axis=1)
                    plain.append(percentile_bounds(ordered, q, 1.0))
                    own.append(Bounds(None, probe_bound(ordered, slow, q)))
                independent = np.mean([bounds.high is None or truth <= bounds.high for bounds in plain])
                exist = np.mean([bounds.high is not None for bounds in own])
                cells = (
                    f"{independent:.0%}".replace("%", " %"),
                    share_with_interval([covered(bounds, truth) for bounds in own]),
                    f"{exist:.0%}".replace("%", " %"),
                )
                rows.append((name, f"{seconds} s, {rate:,}/s", f"p{q:g}", *cells))
    return rows


def errors(options: argparse.Namespace) -> Rows:
    """Returns how often the upper bound of an error rate is not below the true one."""
    random = np.random.default_rng(options.seed)
    rows = [("failures", "task", "as if independent", "upper bound")]
    for length in (1, 20):
        for seconds, rate in SETTINGS[2:]:
            plain, own = [], []
            for _ in range(options.experiments):
                failed, share = _failures(seconds * rate, length, random)
                by_second = failed.reshape(seconds, rate).sum(axis=1)
                effect = design_effect(np.full(seconds, rate), by_second) or math.inf
                count = int(by_second.sum())
                plain.append(upper_bound(count, len(failed)) >= share)
                few = math.ceil(count / effect)
                own.append(upper_bound(few, max(few, 1, int(len(failed) / effect))) >= share)
            name = "independent" if length == 1 else f"{length} in a row"
            cells = (f"{np.mean(plain):.1%}".replace("%", " %"), share_with_interval(own))
            rows.append((name, f"{seconds} s, {rate:,}/s", *cells))
    return rows


def _failures(count: int, length: int, random: np.random.Generator) -> tuple[Numbers, float]:
    """Returns which operations fail, in bursts of a length, and the share that fails on average."""
    share = 0.01
    starts = random.random(count + length) < share / length
    failed = np.zeros(count, bool)
    for shift in range(length):
        failed |= starts[shift : shift + count]
    return failed, 1 - (1 - share / length) ** length


SIMULATIONS = {"percentiles": percentiles, "errors": errors, "probes": probes}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 200, Path(__file__))

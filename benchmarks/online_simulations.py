"""How soon a trend finds a worsening, and how often it finds one that does not exist, beside Apache Otava.

Every simulated series is judged after each of its races, as a nightly job does. "Online" is the detector of
`stats/online_detection.py` alone, "gate" is `pacenote trend --fail-on=regression` (both detectors), "Otava"
is Apache Otava with its defaults, if a Python that has `apache-otava` is named by `--otava`: it is started
as a process of its own. A regression stays one until it is gone, as Otava reports a change again and again,
so that what counts of both is what they say newly: what they did not say the night before. The tables are
those of docs/trend.md; `--store` writes them to `results/online_simulations.json`, each with its number of
series.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

import numpy as np
from simulations import race_noise, share_with_interval, store, table

from pacenote.compare.metric_scale import MetricScale
from pacenote.compare.metric_trend import NEAR, TrendCriteria, metric_trend
from pacenote.compare.metrics import Datum
from pacenote.compare.trend import ALARMS_PER_YEAR
from pacenote.model.comparison import MetricId
from pacenote.model.trend import MetricTrend, TrendOptions, TrendPoint
from pacenote.stats.absolute_effect import OperationCount
from pacenote.stats.change_points import LEVEL
from pacenote.stats.effect import RESOLUTION
from pacenote.stats.error_rate_alarms import find_error_rate_alarms
from pacenote.stats.online_detection import AlarmOptions, find_alarms

NOISE = 0.02
"""Standard deviation of the logarithm of a race."""

NIGHTS = 30
"""Nights after the races before, in which alarms are counted."""

METRIC = MetricId("index", "throughput", "docs/s", "throughput", "throughput", higher_is_better=True)
OPTIONS = AlarmOptions(ALARMS_PER_YEAR, math.log1p(0.03), RESOLUTION, increase_is_worse=False)

_OTAVA = """
import json, sys
from otava.analysis import compute_change_points
given = json.load(sys.stdin)
found = []
for values in given["series"]:
    own = []
    for count in range(given["before"], len(values) + 1):
        points, _ = compute_change_points(list(values[:count]))
        own.append([[int(each.index), float(each.stats.mean_2 < each.stats.mean_1)] for each in points])
    found.append(own)
json.dump(found, sys.stdout)
"""

Nights = list[bool]
"""For each night, whether a worsening is known, or found."""

Places = Sequence[float]
"""The first races of the new levels of all changes that a night reports, NaN of a drift."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How the races of a series vary."""

    name: str
    """What the tables call it."""

    correlation: float = 0.0
    """Correlation between a race and the race before it."""

    tail: str = "normal"
    """Distribution of the noise, as in `race_noise`; with outliers, every tenth race is up to 40 % slower."""

    def logs(self, count: int, random: np.random.Generator) -> Any:
        """Returns the logarithms of consecutive races."""
        # The first races of an autoregressive series do not vary like the later ones.
        noise = NOISE * race_noise(count + 50, self.correlation, self.tail, random)[50:]
        if self.tail == "outliers":
            noise -= np.where(random.random(count) < 0.1, 0.35 * random.random(count), 0)
        return noise


KINDS = (
    Kind("independent"),
    Kind("autocorrelation 0.3", 0.3),
    Kind("autocorrelation 0.6", 0.6),
    Kind("heavy tails (t, 3 degrees of freedom)", tail="t3"),
    Kind("every tenth race is up to 30 % slower", tail="outliers"),
)


def values(logs: Any) -> list[float]:
    """Returns races with these logarithms."""
    races: list[float] = (100 * np.exp(logs)).tolist()
    return races


def alarm_races(races: Sequence[float]) -> list[int]:
    """Returns the races that raised an alarm of the online detector."""
    return [alarm.raised for alarm in find_alarms([math.log(value) for value in races], OPTIONS)]


def online(races: Sequence[float], before: int) -> Nights:
    """Returns, for each night after the races before, whether an alarm was raised since."""
    raised = alarm_races(races)
    return [any(before <= race <= night for race in raised) for night in range(before, len(races))]


def judged(races: Sequence[float], level: float = LEVEL, per_year: float = ALARMS_PER_YEAR) -> MetricTrend:
    """Returns what a trend says of the races of one metric."""
    points = [(TrendPoint(race, value), Datum(value)) for race, value in enumerate(races)]
    criteria = TrendCriteria(level, per_year, len(races), max(0, len(races) - 10))
    return metric_trend(MetricScale.of(METRIC, TrendOptions()), points, criteria)


def gate(races: Sequence[float], before: int) -> Nights:
    """Returns, for each night, whether the gate fails."""
    return [judged(races[:count]).is_worse for count in range(before + 1, len(races) + 1)]


def gate_newly(races: Sequence[float], before: int) -> Nights:
    """Returns, for each night, whether the gate fails for a regression that is none of the night before."""
    return newly([_regressions(judged(races[:count])) for count in range(before, len(races) + 1)])


def _regressions(trend: MetricTrend) -> Places:
    places: list[float] = [change.after for change in trend.regressions]
    return places if len(places) or not trend.is_worse else [math.nan]


def newly(nights: Sequence[Places]) -> Nights:
    """Returns, for each night but the first one, whether it reports one that is none of the night before."""
    return [any(map(_is_new, now, repeat(before))) for before, now in pairwise(nights)]


def _is_new(place: float, before: Places) -> bool:
    """Returns whether a change is none of those before. A place moves with the races that are added, and a
    drift may be any of them.
    """
    return not any(math.isnan(other - place) or abs(other - place) <= NEAR for other in before)


def otava(python: str, series: Sequence[Sequence[float]], before: int) -> list[tuple[Nights, Nights]]:
    """Returns, for each series and night, whether Otava newly reports a worsening, and whether any change."""
    given = json.dumps({"series": series, "before": before})
    done = subprocess.run([python, "-c", _OTAVA], input=given, capture_output=True, text=True, check=True)
    return [
        (
            newly([[place for place, worse in night if worse] for night in nights]),
            newly([[place for place, _ in night] for night in nights]),
        )
        for nights in json.loads(done.stdout)
    ]


def simulated(
    given: argparse.Namespace, kind: Kind, before: int, step: float, nights: int
) -> list[list[float]]:
    """Returns series with a step after the races before."""
    random = np.random.default_rng(given.seed)
    series = []
    for _ in range(given.experiments):
        logs = kind.logs(before + nights, random)
        logs[before:] += math.log1p(step)
        series.append(values(logs))
    return series


def _any(nights: Sequence[Nights], until: int) -> str:
    return share_with_interval([any(each[:until]) for each in nights])


def false_alarms(given: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Series without a change: how many have an alarm in 30 nights after 30 races."""
    yield (
        "series",
        "online",
        "online, in 365 races",
        "gate, newly red",
        "Otava, worse",
        "Otava, any change",
    )
    for kind in KINDS:
        series = simulated(given, kind, 30, 0.0, NIGHTS)
        year = simulated(given, kind, 30, 0.0, 365)[: max(given.experiments // 5, 1)]
        raised = [len([race for race in alarm_races(each) if race >= 30]) for each in year]
        others = otava(given.otava, series[: given.slow], 30) if given.otava else []
        yield (
            kind.name,
            _any([online(each, 30) for each in series], NIGHTS),
            f"{np.mean(raised):.2f} ± {1.96 * np.std(raised) / math.sqrt(len(raised)):.2f}",
            _any([gate_newly(each, 30) for each in series[: given.slow]], NIGHTS),
            *(_any([each[number] for each in others], NIGHTS) if others else "–" for number in (0, 1)),
        )


def delay(given: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """A step: in how many series it is found until a night."""
    yield ("series", "step", "races before", "found by", *(f"night {night}" for night in _NIGHTS))
    rows: tuple[tuple[Kind, float, int], ...] = (
        *((KINDS[0], step, 30) for step in (-0.03, -0.05, -0.1)),
        (KINDS[0], -0.05, 12),
        (KINDS[1], -0.05, 30),
        (KINDS[2], -0.05, 30),
        (KINDS[3], -0.05, 30),
    )
    for kind, step, before in rows:
        series = simulated(given, kind, before, step, max(_NIGHTS))
        methods: list[tuple[str, list[Nights]]] = [
            ("online", [online(each, before) for each in series]),
            ("gate, newly red", [gate_newly(each, before) for each in series[: given.slow]]),
        ]
        if given.otava:
            detected = otava(given.otava, series[: given.slow], before)
            methods.append(("Otava, worse", [each[0] for each in detected]))
        for name, nights in methods:
            found_by = (_any(nights, night) for night in _NIGHTS)
            yield (kind.name, f"{100 * step:g} %", str(before), name, *found_by)


_NIGHTS = (1, 2, 3, 5, 10, 20)


def memory(given: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """A step that stays: whether the gate stays red. One that is made up for: whether it becomes green."""
    yield ("series", "ever red", "green again although the level stays", "green 15 nights after it is back")
    for step in (-0.03, -0.05, -0.1):
        stays, back = [], []
        random = np.random.default_rng(given.seed)
        for _ in range(given.slow):
            logs = KINDS[0].logs(60, random)
            logs[20:] += math.log1p(step)
            stays.append(gate(values(logs), 20))
            logs[35:] -= math.log1p(step)
            back.append(gate(values(logs), 20))
        red = [nights for nights in stays if any(nights)]
        yield (
            f"{100 * step:g} % after 20 races",
            share_with_interval([any(nights) for nights in stays]),
            share_with_interval([not all(nights[nights.index(True) :]) for nights in red]),
            share_with_interval([not nights[29] for nights in back]),
        )


def stairs(given: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Several small steps: whether the gate fires on the last night, and what is said of them."""
    yield ("series after 20 races", "red", "a drift", "steps")
    for count, size, races in ((5, 0.025, 12), (5, 0.02, 8), (2, 0.05, 10), (4, 0.04, 6)):
        random = np.random.default_rng(given.seed)
        trends = []
        for _ in range(given.slow):
            logs = KINDS[0].logs(20 + count * races, random)
            logs[20:] += math.log1p(-size) * (1 + np.arange(count * races) // races)
            trends.append(judged(values(logs)))
        yield (
            f"{count} × -{100 * size:g} %, one after {races} races",
            share_with_interval([each.is_worse for each in trends]),
            share_with_interval([each.drift is not None for each in trends]),
            f"{np.mean([len(each.levels) - 1 for each in trends if each.levels]):.1f}",
        )


def resolution(given: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Steps of the stated resolution: in how many series the gate fires by the third race."""
    yield ("series", "races before", "metrics", "stated resolution (median)", "found by the third race")
    for kind, before, metrics in (
        *((KINDS[0], before, 1) for before in (8, 12, 20, 50)),
        (KINDS[0], 30, 10),
        (KINDS[0], 30, 50),
        (KINDS[2], 30, 1),
    ):
        random = np.random.default_rng(given.seed)
        level, rate = min(LEVEL, 0.01 / metrics), ALARMS_PER_YEAR / metrics
        series = [kind.logs(before + 3, random) for _ in range(given.slow)]
        stated = [judged(values(logs[:before]), level, rate).detectable for logs in series]
        step = float(np.median([each for each in stated if each is not None]))
        fired = []
        for logs in series:
            logs[before:] -= math.log1p(step)
            nights = (judged(values(logs[: before + night]), level, rate).is_worse for night in (1, 2, 3))
            fired.append(any(nights))
        row = (kind.name, str(before), str(metrics), f"{100 * step:.1f} %", share_with_interval(fired))
        yield row


@dataclass(frozen=True, slots=True)
class FailureKind:
    """How the operations of a series of races fail."""

    name: str
    """What the table calls it."""

    rate: float
    """Share of operations that fail on average, without bursts."""

    spread: float = 0.0
    """Standard deviation of the rates of races, relative to their mean (a gamma distribution)."""

    burst_share: float = 0.0
    """Share of races in which `BURST` operations more fail."""

    def races(self, count: int, random: np.random.Generator) -> list[OperationCount]:
        """Returns consecutive races."""
        rates = np.full(count, self.rate)
        if self.spread:
            rates = random.gamma(self.spread**-2, self.rate * self.spread**2, count)
        failed = random.binomial(OPERATIONS, np.minimum(rates, 1.0))
        failed += BURST * (random.random(count) < self.burst_share)
        return [OperationCount(int(number), OPERATIONS) for number in failed]


OPERATIONS = 10_000
"""Operations of a race whose error rate is looked at."""

BURST = 50
"""Operations that fail together."""

FAILURES = (
    FailureKind("0.1 %, independent", 0.001),
    FailureKind("0.1 %, rates vary by 50 %", 0.001, spread=0.5),
    FailureKind("0.1 %, rates vary by 100 %", 0.001, spread=1.0),
    FailureKind("none, 50 at once in 2 % of the races", 0.0, burst_share=0.02),
    FailureKind("none, 50 at once in 10 % of the races", 0.0, burst_share=0.1),
    FailureKind("0.1 %, 50 at once in 10 % of the races", 0.001, burst_share=0.1),
)


def error_rates(given: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Error rates: false alarms in 365 races after 30, and by which night 0.5 % more failures are found."""
    yield (
        "failures of 10,000 operations",
        "alarms in 365 races",
        *(f"night {night}" for night in (1, 2, 3, 5)),
    )
    options = AlarmOptions(ALARMS_PER_YEAR, 0.1, RESOLUTION, increase_is_worse=True)
    for kind in FAILURES:
        random = np.random.default_rng(given.seed)
        raised, nights = [], []
        for _ in range(given.slow):
            alarms = find_error_rate_alarms(kind.races(30 + 365, random), options)
            raised.append(len([alarm for alarm in alarms if alarm.raised >= 30]))
            worse = [
                OperationCount(race.failed + 50 * (number >= 30), race.operations)
                for number, race in enumerate(kind.races(35, random))
            ]
            known = [alarm.raised for alarm in find_error_rate_alarms(worse, options)]
            nights.append([any(30 <= race <= night for race in known) for night in range(30, 35)])
        yield (
            kind.name,
            f"{np.mean(raised):.2f} ± {1.96 * np.std(raised) / math.sqrt(len(raised)):.2f}",
            *(_any(nights, night) for night in (1, 2, 3, 5)),
        )


SIMULATIONS: dict[str, Callable[[argparse.Namespace], Iterator[tuple[str, ...]]]] = {
    "false-alarms": false_alarms,
    "delay": delay,
    "memory": memory,
    "stairs": stairs,
    "resolution": resolution,
    "error-rates": error_rates,
}


def main() -> None:
    """Prints the tables that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--experiments", type=int, default=4_000, help="series of each row (4000)")
    parser.add_argument(
        "--slow", type=int, default=400, help="series of each row of the gate and of Otava, at most (400)"
    )
    parser.add_argument("--seed", type=int, default=20, help="seed of the random numbers (20)")
    parser.add_argument("--only", choices=SIMULATIONS, help="print only this table")
    parser.add_argument("--otava", help="a Python that has apache-otava, such as otava/bin/python")
    parser.add_argument("--store", action="store_true", help="store the tables")
    given = parser.parse_args()
    for name, simulate in SIMULATIONS.items():
        if given.only in {None, name}:
            print(f"{(simulate.__doc__ or '').partition(chr(10))[0]}\n")
            rows = list(simulate(given))
            table(*rows)
            if given.store:
                options = {"experiments": given.experiments, "slow": given.slow, "seed": given.seed}
                store(Path(__file__), name, rows, options)


if __name__ == "__main__":
    main()

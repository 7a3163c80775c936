"""Simulates comparisons of many tasks of which one became slower, or none, and counts what is said of them.

The printed tables are those of docs/comparing.md. The last column of each is exact to the interval beside it
(Clopper and Pearson, 95 %). The simulations need no engine and take about five minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from simulations import Rows, print_tables, share_with_exact_interval

from pacenote.stats.effect import Effect, paired_effect, unpaired_effect
from pacenote.stats.multiplicity import holm_confidences
from pacenote.stats.order import block_orders, lag
from pacenote.stats.student import StudentEstimate
from pacenote.stats.weighted_holm import weighted_holm_confidences
from pacenote.stats.words import word_of

SMALLEST = 0.05
"""The smallest change of a latency that matters."""

TASKS = 20
"""Number of tasks of a race."""

ONE_NOISY: dict[int, float] = {3: 0.1}
"""A task whose races differ by 10 %."""

Logs = Any
"""An array of logarithms: of races and tasks."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """Comparisons of races with several tasks, each of which has one metric that decides."""

    races: int = 5
    """Number of races of each side, or of blocks."""

    paired: bool = False
    """Whether races are compared within blocks."""

    changed: dict[int, float] = field(default_factory=dict)
    """The true changes of tasks, such as 0.1 for 10 %."""

    noise: float = 0.02
    """Standard deviation of the logarithm of a race."""

    noisy: dict[int, float] = field(default_factory=dict)
    """The noise of tasks that have another one."""

    shared: float = 0.0
    """Correlation between the noise of two tasks of a race."""

    tail: str = "normal"
    """Distribution of the noise: normal, or t3 (Student's with 3 degrees of freedom)."""

    tasks: int = TASKS
    """Number of tasks."""

    drift: float = 0.003
    """Change of the machine from each race to the next."""

    def run(self, comparisons: int, seed: int) -> Iterator[list[Effect]]:
        """Yields the effects on the tasks of simulated comparisons."""
        random = np.random.default_rng(seed)
        true = np.array([math.log1p(self.changed.get(task, 0.0)) for task in range(self.tasks)])
        for comparison in range(comparisons):
            logs = self._logs(random)
            # The order of groups that are interleaved is drawn, too.
            orders = block_orders((0, 1), self.races, comparison)
            lags = [lag(order, 0, 1) for order in orders]
            first = [2 * block for block in range(self.races)]
            old = np.exp([logs[at + (step < 0)] for at, step in zip(first, lags, strict=True)])
            new = np.exp([logs[at + (step > 0)] + true for at, step in zip(first, lags, strict=True)])
            effects = (
                paired_effect(one, other, lags=lags) if self.paired else unpaired_effect(one, other)
                for one, other in zip(old.T.tolist(), new.T.tolist(), strict=True)
            )
            yield [effect for effect in effects if effect is not None]

    def _logs(self, random: np.random.Generator) -> Logs:
        shape = (2 * self.races, self.tasks)
        has_tails = self.tail == "t3"
        own = random.standard_t(3, shape) / math.sqrt(3) if has_tails else random.standard_normal(shape)
        common = random.standard_normal((2 * self.races, 1))
        noise = np.array([self.noisy.get(task, self.noise) for task in range(self.tasks)])
        mixed = math.sqrt(1 - self.shared) * own + math.sqrt(self.shared) * common
        return noise * mixed + math.log1p(self.drift) * np.arange(2 * self.races)[:, None]


Correction = Callable[[Sequence[Effect]], list[bool]]
"""Returns for each of several effects whether it is said that something changed."""


def units(effect: Effect) -> StudentEstimate:
    """Returns an effect in units of what matters."""
    own, scale = effect.estimate, math.log1p(SMALLEST)
    return StudentEstimate(own.value / scale, own.standard_error / scale, own.degrees)


def weighted(effects: Sequence[Effect]) -> list[bool]:
    """The correction of the product: Holm's with weights."""
    confidences = weighted_holm_confidences([units(effect) for effect in effects], with_power=False)
    return [effect.p < 1 - own.interval for effect, own in zip(effects, confidences, strict=True)]


def holm(effects: Sequence[Effect]) -> list[bool]:
    """Holm's correction, in which all tasks have the same part of the probability of an error."""
    p_values = [effect.p for effect in effects]
    return [p < 1 - own for p, own in zip(p_values, holm_confidences(p_values), strict=True)]


def in_order_of_size(effects: Sequence[Effect]) -> list[bool]:
    """Tests the tasks one after the other, that with the largest sum of squares first, until one did not
    change.
    """
    sizes = [each.value**2 + each.degrees * each.standard_error**2 for each in map(units, effects)]
    said = [False] * len(effects)
    for task in sorted(range(len(effects)), key=sizes.__getitem__, reverse=True):
        if effects[task].p >= 0.05:
            break
        said[task] = True
    return said


def in_order_of_the_schedule(effects: Sequence[Effect]) -> list[bool]:
    """Tests the tasks in the order of the schedule, until one did not change."""
    first = next((task for task, effect in enumerate(effects) if effect.p >= 0.05), len(effects))
    return [task < first for task in range(len(effects))]


CORRECTIONS: dict[str, Correction] = {
    "as compared": weighted,
    "Holm": holm,
    "in order of size": in_order_of_size,
    "in order of the schedule": in_order_of_the_schedule,
}

_SCENARIOS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("all tasks have a noise of 2 %", {}),
    ("noise shared by 70 %", {"shared": 0.7}),
    ("one of the others has 10 %", {"noisy": ONE_NOISY}),
    ("1 to 5 %", {"noisy": dict(enumerate(np.geomspace(0.01, 0.05, TASKS).tolist()))}),
    ("heavy tails (t, 3 degrees)", {"tail": "t3"}),
)


def alarms(given: argparse.Namespace) -> Rows:
    """No task changed: how often any of them is said to have."""
    print(f"{TASKS} tasks, of which none changed: how often one is said to be better or worse\n")
    rows: list[tuple[str, ...]] = [("noise of a race", "races", *CORRECTIONS)]
    for name, changes in _SCENARIOS:
        for design, own in _designs():
            effects = list(Tasks(**own, **changes).run(given.experiments, given.seed))
            said = [[any(correct(each)) for each in effects] for correct in CORRECTIONS.values()]
            rows.append((name, design, *map(share_with_exact_interval, said)))
    return rows


def found(given: argparse.Namespace) -> Rows:
    """One task changed: how often it is said to have."""
    print(f"One of {TASKS} tasks became slower: how often it is said to be worse, at least probably\n")
    rows: list[tuple[str, ...]] = [("change", "noise of a race", "races", *CORRECTIONS)]
    for change, scenarios in ((0.1, _SCENARIOS), (0.05, _SCENARIOS[:1]), (0.2, _SCENARIOS[:1])):
        for name, changes in scenarios:
            for design, own in _designs():
                tasks = Tasks(changed={10: change}, **own, **changes)
                effects = list(tasks.run(given.experiments, given.seed))
                said = [[correct(each)[10] for each in effects] for correct in CORRECTIONS.values()]
                rows.append((f"+{100 * change:g} %", name, design, *map(share_with_exact_interval, said)))
    return rows


def stated(given: argparse.Namespace) -> Rows:
    """How often the change is seen that a comparison without any change states to see (80 %)."""
    print("The change that a comparison would have seen: how often it is seen\n")
    rows: list[tuple[str, ...]] = [("tasks", "races", "stated (median)", "seen")]
    for tasks in (1, 5, TASKS):
        for design, own in _designs():
            simulated = Tasks(tasks=tasks, **own)
            sizes = list(map(stated_size, simulated.run(given.experiments // 10, given.seed)))
            size = float(np.median(sizes))
            changed = Tasks(tasks=tasks, changed={0: size}, **own)
            seen = [weighted(each)[0] for each in changed.run(given.experiments, given.seed + 1)]
            rows.append((str(tasks), design, f"{100 * size:.1f} %", share_with_exact_interval(seen)))
    return rows


def stated_size(effects: Sequence[Effect]) -> float:
    """Returns the smallest change of the first task that is stated to have been seen."""
    confidences = weighted_holm_confidences([units(effect) for effect in effects])
    return effects[0].at(confidences[0].power).detectable


def same(given: argparse.Namespace) -> Rows:
    """Several tasks that did not change: how often each is, and all are, said to be the same."""
    print("Tasks that did not change: how often all are said to be the same\n")
    rows: list[tuple[str, ...]] = [("tasks", "noise of a race", "races", "all are the same")]
    for tasks in (1, 5, TASKS):
        for noise in (0.01, 0.02):
            for blocks in (5, 10, 20):
                simulated = Tasks(blocks, paired=True, noise=noise, tasks=tasks)
                said = [all(map(is_same, each)) for each in simulated.run(given.experiments, given.seed)]
                rows.append((
                    str(tasks),
                    f"{100 * noise:g} %",
                    f"{blocks} blocks",
                    share_with_exact_interval(said),
                ))
    return rows


def is_same(effect: Effect) -> bool:
    """Returns whether a task is said to be the same."""
    return word_of(effect, SMALLEST, higher_is_better=False) == "same"


@dataclass(frozen=True, slots=True)
class Requests:
    """How the requests of a race differ: log-normal, 1.2 % of them slower, and pauses that several in a row
    wait for.
    """

    count: int
    """Number of requests of a race."""

    body: float = 0.0
    """By how much all requests of the contender are slower, such as 0.1 for 10 %."""

    slow: float = 1.0
    """By which factor slow requests are more frequent in the contender."""

    pauses: float = 1.0
    """By which factor pauses of the contender are longer."""

    def race(self, random: np.random.Generator, *, is_contender: bool) -> Logs:
        """Returns the logarithms of the times of the requests of one race."""
        body, slow, pauses = (self.body, self.slow, self.pauses) if is_contender else (0.0, 1.0, 1.0)
        times = np.exp(0.3 * random.standard_normal(self.count))
        times[random.random(self.count) < 0.012 * slow] *= 3
        # Six requests in a row wait for a pause of up to 10 median times, which 0.6 % of them meet.
        for start in random.integers(0, self.count, random.poisson(self.count / 1000)):
            times[start : start + 6] += 10 * pauses * random.random()
        return np.log(times) + 0.02 * random.standard_normal() + math.log1p(body)


def percentiles(given: argparse.Namespace) -> Rows:
    """Which percentile sees what: as one of 20 tasks, with 5 + 5 races."""
    print(f"A percentile as the metric of one of {TASKS} tasks, 5 + 5 races: how often a change is seen\n")
    rows: list[tuple[str, ...]] = [("requests of a race", "change", "p50", "p90", "p99")]
    for count in (400, 2_000, 10_000):
        for name, requests in (
            ("none", Requests(count)),
            ("all requests +10 %", Requests(count, body=0.1)),
            ("slow requests twice as frequent", Requests(count, slow=2.0)),
            ("pauses three times as long", Requests(count, pauses=3.0)),
        ):
            seen = [
                _seen_percentiles(requests, np.random.default_rng((given.seed, number)))
                for number in range(given.experiments // 4)
            ]
            rows.append((f"{count:,}", name, *map(share_with_exact_interval, zip(*seen, strict=True))))
    return rows


def _seen_percentiles(requests: Requests, random: np.random.Generator) -> list[bool]:
    """Returns for p50, p90 and p99 whether their change is seen if 20 metrics decide with equal weights."""
    sides = [
        [
            np.exp(np.quantile(requests.race(random, is_contender=is_contender), (0.5, 0.9, 0.99)))
            for _ in range(5)
        ]
        for is_contender in (False, True)
    ]
    pairs = zip(*(np.array(side).T.tolist() for side in sides), strict=True)
    effects = [unpaired_effect(old, new) for old, new in pairs]
    return [effect is not None and effect.p < 0.05 / TASKS for effect in effects]


def _designs() -> Iterator[tuple[str, dict[str, Any]]]:
    for races in (5, 10):
        yield f"{races} + {races}", {"races": races, "paired": False}
        yield f"{races} blocks", {"races": races, "paired": True}


SIMULATIONS = {"alarms": alarms, "found": found, "stated": stated, "same": same, "percentiles": percentiles}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 2_000, Path(__file__))

"""Simulates comparisons, and counts how often they are wrong.

The printed tables are those of docs/comparing.md. A race has a noise (standard deviation of its logarithm)
that resembles that of the race before it (AR(1)), and the machine changes from race to race. The simulations
need no engine and take about three minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from simulations import Rows, print_tables, race_noise, share

from pacenote.stats.blocks import detectable_effect
from pacenote.stats.effect import Effect, paired_effect, unpaired_effect
from pacenote.stats.multiplicity import benjamini_hochberg_confidences, holm_confidences
from pacenote.stats.order import block_orders, lag
from pacenote.stats.rank_effect import rank_effect
from pacenote.stats.sequential import LookPlan
from pacenote.stats.words import SETTLED, word_of

SMALLEST = 0.03
"""The smallest effect that matters."""

Numbers = Any
"""An array of numbers."""


@dataclass(frozen=True, slots=True)
class Machine:
    """How races differ although nothing changed."""

    correlation: float = 0.0
    """Correlation between the noise of a race and that of the race before it."""

    drift: float = 0.0
    """Change from each race to the next; 0.01 is 1 %."""

    noise: float = 0.01
    """Standard deviation of the logarithm of a race."""

    shape: str = "steady"
    """How the machine changes: steady (by `drift`), warming (5 % faster, two thirds of it within 4 races),
    step (3 % slower from a random race on) or waves (by 2 %, with a period of 4 races).
    """

    tail: str = "normal"
    """Distribution of the noise: normal, t3 (Student's with 3 degrees of freedom) or outlier (one race of
    each experiment is 20 % slower).
    """

    def races(self, count: int, random: np.random.Generator) -> Numbers:
        """Returns the logarithms of consecutive races."""
        noise = race_noise(count, self.correlation, self.tail, random)
        logs = self.noise * noise + self.trend(count, random)
        if self.tail == "outlier":
            logs[random.integers(count)] -= 0.2
        return logs

    def trend(self, count: int, random: np.random.Generator) -> Numbers:
        """Returns how the machine changes the logarithms of consecutive races."""
        races = np.arange(count)
        if self.shape == "warming":
            return -0.05 * np.exp(-races / 4)
        if self.shape == "step":
            return -0.03 * (races >= random.integers(count))
        if self.shape == "waves":
            return 0.02 * np.sin(math.pi / 2 * (races + random.integers(4)))
        return math.log1p(self.drift) * races


@dataclass(frozen=True, slots=True)
class Blocks:
    """The simulated values of an experiment with two variants."""

    baseline: Sequence[float]
    """One value per block."""

    contender: Sequence[float]
    """One value per block."""

    lags: Sequence[int]
    """By how many races the contender came after the baseline, per block."""

    def effect(self, blocks: int) -> Effect:
        """Returns the effect of the first blocks."""
        effect = paired_effect(self.baseline[:blocks], self.contender[:blocks], lags=self.lags[:blocks])
        assert effect is not None
        return effect


def drawn(blocks: int, seed: int) -> list[int]:
    """Returns the lags of an order that is drawn."""
    return [lag(order, 0, 1) for order in block_orders((0, 1), blocks, seed)]


def abba(blocks: int, seed: int) -> list[int]:  # noqa: ARG001 - all orders have the same parameters
    """Returns the lags of alternating blocks."""
    return [1 - 2 * (block % 2) for block in range(blocks)]


@dataclass(frozen=True, slots=True)
class Simulation:
    """Experiments with the same settings."""

    machine: Machine
    """The noise."""

    blocks: int = 10
    """Number of blocks."""

    change: float = 0.0
    """The true change; 0.03 is 3 %."""

    order: Callable[[int, int], list[int]] = drawn
    """Returns the lags for a number of blocks and a seed."""

    def run(self, experiments: int, seed: int) -> Iterator[Blocks]:
        """Yields simulated experiments."""
        random = np.random.default_rng(seed)
        for experiment in range(experiments):
            lags = self.order(self.blocks, experiment)
            pairs = np.exp(self.machine.races(2 * self.blocks, random)).reshape(-1, 2).tolist()
            baseline = [100 * pair[step < 0] for pair, step in zip(pairs, lags, strict=True)]
            factor = 100 * (1 + self.change)
            contender = [factor * pair[step > 0] for pair, step in zip(pairs, lags, strict=True)]
            yield Blocks(baseline, contender, lags)


def excludes(change: Any, log_ratio: float = 0.0) -> bool:
    """Returns whether an interval does not contain a true change."""
    low, high = change.interval
    return not low <= log_ratio <= high


MACHINES = tuple(Machine(rho, drift) for rho in (0.0, 0.3, 0.6) for drift in (0.0, 0.003, 0.01))


def false_alarms(given: argparse.Namespace) -> Rows:
    """Identical systems: how often an interval excludes "no change"."""
    print("False alarms with identical systems\n")
    heading = (
        "autocorrelation",
        "drift per race",
        "5 blocks",
        "10 blocks",
        "looks at 5, 10",
        "looks at 5, 10, 15",
    )
    rows: list[tuple[str, ...]] = [(*heading, "10 blocks in ABBA order", "10 + 10 races, AAA…BBB")]
    for machine in MACHINES:
        experiments = list(Simulation(machine, 15).run(given.experiments, given.seed))
        alternating = Simulation(machine, 10, order=abba).run(given.experiments, given.seed)
        random = np.random.default_rng(given.seed)
        groups = (np.exp(machine.races(20, random)).tolist() for _ in range(given.experiments))
        rows.append((
            f"{machine.correlation:g}",
            f"{100 * machine.drift:g} %",
            share([excludes(one.effect(5)) for one in experiments]),
            share([excludes(one.effect(10)) for one in experiments]),
            share([any_look(one, LookPlan((5, 10))) for one in experiments]),
            share([any_look(one, LookPlan((5, 10, 15))) for one in experiments]),
            share([excludes(one.effect(10)) for one in alternating]),
            share([excludes(unpaired_effect(group[:10], group[10:])) for group in groups]),
        ))
    return rows


def other_drifts(given: argparse.Namespace) -> Rows:
    """Machines that do not drift steadily."""
    print("False alarms with identical systems on machines that do not drift steadily\n")
    rows: list[tuple[str, ...]] = [("machine", "5 blocks", "10 blocks", "10 blocks in ABBA order")]
    for shape in ("warming", "step", "waves"):
        machine = Machine(0.3, shape=shape)
        experiments = list(Simulation(machine, 10).run(given.experiments, given.seed))
        alternating = Simulation(machine, 10, order=abba).run(given.experiments, given.seed)
        rows.append((
            shape,
            share([excludes(one.effect(5)) for one in experiments]),
            share([excludes(one.effect(10)) for one in experiments]),
            share([excludes(one.effect(10)) for one in alternating]),
        ))
    return rows


def any_look(blocks: Blocks, plan: LookPlan, log_ratio: float = 0.0) -> bool:
    """Returns whether the interval of any look does not contain a true change."""
    return any(excludes(effect, log_ratio) for effect in looks(blocks, plan))


def looks(blocks: Blocks, plan: LookPlan) -> Iterator[Effect]:
    """Yields the effect at each look, with the confidence of the look."""
    for look, count in enumerate(plan.blocks):
        yield blocks.effect(count).at(plan.confidence(look))


def power(given: argparse.Namespace) -> Rows:
    """A change of the size that so many blocks are stated to see: how often they see it."""
    print("Power for the stated detectable effect (80 %), and coverage\n")
    rows: list[tuple[str, ...]] = [
        (
            "blocks",
            "noise of a race",
            "detectable effect",
            "seen",
            "coverage",
            "the report's own figure (median)",
        )
    ]
    for blocks in (5, 8, 10, 15, 20):
        for correlation in (0.0, 0.6):
            machine = Machine(correlation, 0.003)
            noise = machine.noise * math.sqrt(2 * (1 - correlation))
            change = detectable_effect(noise, blocks) or 0.0
            simulation = Simulation(machine, blocks, change)
            effects = [one.effect(blocks) for one in simulation.run(given.experiments, given.seed)]
            own = float(np.median([effect.detectable for effect in effects[:500]]))
            rows.append((
                str(blocks),
                f"1 %, AR({correlation:g})",
                f"{100 * change:.2f} %",
                share([effect.interval[0] > 0 for effect in effects]),
                share([not excludes(effect, math.log1p(change)) for effect in effects]),
                f"{100 * own:.2f} %",
            ))
    return rows


def words(given: argparse.Namespace) -> Rows:
    """True changes of several sizes: how often each word is said."""
    names = ("better", "probably better", "same", "unclear", "probably worse", "worse")
    print("Words for throughput, if 3 % is the smallest effect that matters\n")
    rows: list[tuple[str, ...]] = [("true change", "blocks", *names)]
    for change in (0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.1):
        for blocks in (5, 10):
            simulation = Simulation(Machine(0.3, 0.003), blocks, change)
            effects = (one.effect(blocks) for one in simulation.run(given.experiments, given.seed))
            said = [word_of(effect, SMALLEST, higher_is_better=True) for effect in effects]
            shares = (share([word == name for word in said]) for name in names)
            rows.append((f"{100 * change:g} %", str(blocks), *shares))
    return rows


def stopping(given: argparse.Namespace) -> Rows:
    """Experiments that end early: false alarms, coverage of the last interval and number of blocks."""
    print("Experiments that stop at a look as soon as they have their answer\n")
    heading = ("true change", "noise of a race", "looks at", "blocks (mean)", "false alarms", "coverage")
    rows: list[tuple[str, ...]] = [(*heading, "better, worse or same")]
    for change in (0.0, 0.05):
        for noise in (0.005, 0.01, 0.02):
            for plan in (LookPlan((5, 10)), LookPlan((5, 10, 15, 20))):
                simulation = Simulation(Machine(0.3, 0.003, noise), plan.blocks[-1], change)
                rows.append(_stopping_row(given, plan, simulation))
    return rows


def _stopping_row(given: argparse.Namespace, plan: LookPlan, simulation: Simulation) -> tuple[str, ...]:
    true = math.log1p(simulation.change)
    ended = []
    for blocks in simulation.run(given.experiments // 4, given.seed):
        effects = list(looks(blocks, plan))
        settled = (one for one in effects if word_of(one, SMALLEST, higher_is_better=True) in SETTLED)
        ended.append(next(settled, effects[-1]))
    said = [word_of(one, SMALLEST, higher_is_better=True) for one in ended]
    return (
        f"{100 * simulation.change:g} %",
        f"{100 * simulation.machine.noise:g} %",
        ", ".join(map(str, plan.blocks)),
        f"{np.mean([one.count for one in ended]):.1f}",
        "–" if simulation.change else share([excludes(one) for one in ended]),
        share([not excludes(one, true) for one in ended]),
        share([word in SETTLED for word in said]),
    )


def tails(given: argparse.Namespace) -> Rows:
    """Noise that is not normal: the mean and the ranks."""
    print("Heavy tails and outliers: the mean and the ranks\n")
    heading = ("noise", "blocks", "false alarms, mean", "ranks", "coverage of 5 %, mean", "ranks")
    rows: list[tuple[str, ...]] = [(*heading, "5 % seen, mean", "ranks", "half-width, mean", "ranks")]
    for tail in ("normal", "t3", "outlier"):
        for blocks in (6, 10, 20):
            simulation = Simulation(Machine(0.3, 0.003, tail=tail), blocks)
            means, ranks = [], []
            for experiment in simulation.run(given.experiments // 2, given.seed):
                means.append(experiment.effect(blocks))
                ranks.append(rank_effect(experiment.baseline, experiment.contender))
            true = math.log1p(0.05)
            kinds = (means, ranks)
            rows.append((
                tail,
                str(blocks),
                *(share([excludes(one) for one in kind]) for kind in kinds),
                *(share([not excludes(one) for one in kind]) for kind in kinds),
                *(share([one.interval[0] > -true for one in kind]) for kind in kinds),  # type: ignore[union-attr]
                *(f"{100 * np.median([_half_width(one) for one in kind]):.1f} %" for kind in kinds),
            ))
    return rows


def _half_width(change: Any) -> float:
    low, high = change.interval
    return math.expm1((high - low) / 2)


def families(given: argparse.Namespace) -> Rows:
    """Several metrics of the same races: how often any word of a primary metric is wrong, and how many of the
    changes of secondary metrics are not there.
    """
    print("Several metrics of 10 blocks\n")
    heading = ("metrics", "of these changed", "by", "correlation between metrics")
    corrections = ("any false alarm, uncorrected", "with Holm", "at looks", "any wrong word, with Holm")
    rows: list[tuple[str, ...]] = [(*heading, *corrections, "false share of changes, Benjamini-Hochberg")]
    for metrics, changed, change in (
        *((3, 0, 0.0), (3, 1, SMALLEST), (3, 2, SMALLEST), (3, 3, SMALLEST)),
        *((12, 0, 0.0), (12, 6, SMALLEST), (12, 12, SMALLEST), (60, 10, SMALLEST)),
    ):
        for correlation in (0.0, 0.8):
            rows.append((
                str(metrics),
                str(changed),
                f"{100 * change:g} %",
                f"{correlation:g}",
                *_family_cells(given, Family(metrics, changed, change, correlation)),
            ))
    return rows


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics of the same races."""

    metrics: int
    """Number of metrics."""

    changed: int
    """How many of them change."""

    change: float
    """By how much they change."""

    correlation: float
    """Correlation between the noise of two metrics."""

    def races(self, random: np.random.Generator) -> list[list[float]]:
        """Returns the ratios of ten blocks per metric. The noise of the metrics is between 0.3 and 3 %."""
        noise = np.geomspace(0.003, 0.03, self.metrics)
        random.shuffle(noise)
        shared = math.sqrt(self.correlation) * random.standard_normal((10, 1))
        own = math.sqrt(1 - self.correlation) * random.standard_normal((10, self.metrics))
        logs = noise * (shared + own)
        logs[:, : self.changed] += math.log1p(self.change)
        ratios: list[list[float]] = np.exp(logs).T.tolist()
        return ratios


def family_effects(ratios: Sequence[Sequence[float]], blocks: int = 10) -> list[Effect]:
    """Returns the effect of the first blocks, per metric."""
    effects = (paired_effect([1.0] * blocks, metric[:blocks]) for metric in ratios)
    return [effect for effect in effects if effect is not None]


def with_holm(effects: Sequence[Effect], level: Callable[[float], float] = float) -> list[Effect]:
    """Returns effects with the confidence that Holm's correction requires."""
    return _at(effects, holm_confidences([effect.p for effect in effects], level=level))


def _alarm_at_a_look(ratios: Sequence[Sequence[float]], changed: int, plan: LookPlan) -> bool:
    """Returns whether an interval of a metric that has not changed excludes that at any look."""
    return any(
        excludes(effect)
        for look, blocks in enumerate(plan.blocks)
        for effect in with_holm(family_effects(ratios, blocks), partial(plan.level, look))[changed:]
    )


def _family_cells(given: argparse.Namespace, family: Family) -> Iterator[str]:
    random = np.random.default_rng(given.seed)
    uncorrected, alarms, at_looks, wrong, false_shares = [], [], [], [], []
    for _ in range(given.experiments * 2 // (5 * (1 + family.metrics // 12))):
        ratios = family.races(random)
        effects = family_effects(ratios)
        p_values = [effect.p for effect in effects]
        same = effects[family.changed :]
        corrected = with_holm(effects)
        at_looks.append(_alarm_at_a_look(ratios, family.changed, LookPlan()))
        uncorrected.append(any(excludes(effect) for effect in same))
        alarms.append(any(excludes(effect) for effect in corrected[family.changed :]))
        said = [word_of(effect, SMALLEST, higher_is_better=True) for effect in corrected]
        # A change by the smallest effect that matters is neither more than it nor less.
        too_sure = any(word in SETTLED for word in said[: family.changed])
        wrong.append(alarms[-1] or too_sure or any("worse" in word for word in said[: family.changed]))
        excluded = [excludes(one) for one in _at(effects, benjamini_hochberg_confidences(p_values))]
        false_shares.append(sum(excluded[family.changed :]) / max(1, sum(excluded)))
    yield share(uncorrected) if same else "–"
    yield share(alarms) if same else "–"
    yield share(at_looks) if same else "–"
    yield share(wrong)
    yield f"{100 * float(np.mean(false_shares)):.1f} %"


def _at(effects: Sequence[Effect], confidences: Sequence[float]) -> list[Effect]:
    return [effect.at(confidence) for effect, confidence in zip(effects, confidences, strict=True)]


SIMULATIONS = {
    "false-alarms": false_alarms,
    "other-drifts": other_drifts,
    "families": families,
    "power": power,
    "words": words,
    "stopping": stopping,
    "tails": tails,
}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 20_000, Path(__file__))

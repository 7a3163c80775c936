"""How often a search finds a better setting, and how often it confirms one that is not better.

Runs whole searches of `pacenote tune` with their confirmations; only the races are simulated: they take ten
seconds each, and what they measure has noise of each race, three times as much that the races of a block
share, and, in some scenarios, a machine whose speed wanders and drifts from race to race. Needs the tests'
races: `PYTHONPATH=tests python benchmarks/tune_simulations.py`. Writes `results/tune_simulations.json`, and
prints the table for docs/tuning.md, whose rows a test compares with it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from msgspec.structs import replace

from pacenote.model.tune import Constraint, TuneObjective
from pacenote.store.race_folder import RaceFolder

SEARCHES = importlib.import_module("lab.tune.searches")
"""The tests' searches, whose races take no time."""

RESULTS = Path(__file__).parent / "results" / "tune_simulations.json"

LIMIT_MS = 10.0
"""The limit of the 99th percentile."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Searches that differ only in their seeds."""

    name: str
    """What is simulated, as in the table."""

    factor: float
    """How much better the planted value of the first knob is; 1 for none."""

    noise: float
    """Relative noise of a race."""

    levels: tuple[int, ...]
    """Number of values of each knob."""

    races: int
    """Races that the budget carries."""

    wander: float = 0.0
    """Spread of the speed of the machine, which remembers nine tenths of it from race to race."""

    drift: float = 0.0
    """Share by which the machine becomes slower with each race."""

    objective: str = "throughput:index-append"
    """The objective."""

    p99: float | None = None
    """The 99th percentile with the planted value, whose limit is 10 ms; None without a limit."""

    @property
    def has_winner(self) -> bool:
        """Whether one candidate is better and keeps the limit: otherwise, a confirmed winner is false."""
        return self.factor > 1 and (self.p99 is None or self.p99 < LIMIT_MS)


MOVING = (0.05, 0.0005)
"""The spread and the drift of a machine that wanders and drifts."""

SCENARIOS = (
    Scenario("all 12 candidates equal, noise 5 %", 1.0, 0.05, (12,), 150),
    Scenario("4 knobs without effect, noise 3 %", 1.0, 0.03, (4, 3, 3, 3), 200),
    Scenario("one of 12 is better by 8 %, noise 1 %", 1.08, 0.01, (12,), 150),
    Scenario("one of 12 is better by 8 %, noise 3 %", 1.08, 0.03, (12,), 150),
    Scenario("all 12 equal, noise 3 %, a machine that wanders and drifts", 1.0, 0.03, (12,), 150, *MOVING),
    Scenario("one of 12 is better by 8 %, noise 1 %, such a machine", 1.08, 0.01, (12,), 150, *MOVING),
    Scenario("all 12 equal, noise 3 %, the objective is a p99", 1.0, 0.03, (12,), 150, objective="p99:term"),
    Scenario(
        "one of 5 is better by 8 %, but exactly at its limit, noise 3 %", 1.08, 0.03, (5,), 90, p99=LIMIT_MS
    ),
    Scenario("the same, 10 % within its limit", 1.08, 0.03, (5,), 90, p99=9.0),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How searches of a scenario ended, in percent."""

    scenario: str
    searches: int
    confirmed: float
    """A winner was confirmed."""

    confirmed_planted: float
    """The confirmed winner has the planted value."""

    default: float
    """The default won, without a confirmation."""

    races: float
    """Mean number of races, those of the confirmation included."""


def simulated(scenario: Scenario, searches: int) -> Outcome:
    """Runs searches of a scenario."""
    counts: Counter[str] = Counter()
    for answer, is_planted, races in _ends(scenario, searches):
        counts[answer] += 1
        counts["planted"] += answer == "better" and is_planted
        counts["races"] += races
    return Outcome(
        scenario.name,
        searches,
        100 * counts["better"] / searches,
        100 * counts["planted"] / searches,
        100 * counts["default"] / searches,
        counts["races"] / searches,
    )


def _ends(scenario: Scenario, searches: int) -> Iterator[tuple[str, bool, int]]:
    knobs = tuple(SEARCHES.knob("abcdefgh"[at], count) for at, count in enumerate(scenario.levels))
    planted = scenario.levels[0]
    plan = SEARCHES.search_plan(
        knobs=knobs,
        budget_s=scenario.races * SEARCHES.RACE_S,
        objective=TuneObjective(scenario.objective),
        constraints=() if scenario.p99 is None else (Constraint("p99:term", "<", LIMIT_MS),),
    )
    for seed in range(1, searches + 1):
        with tempfile.TemporaryDirectory() as folder:
            search = SEARCHES.Search.of(
                Path(folder),
                replace(plan, seed=seed),
                noise=scenario.noise,
                effect=lambda params: scenario.factor if params.get("a") == planted else 1.0,
                p99=lambda params: scenario.p99 or 8.0 if params.get("a") == planted else 8.0,
                wander=scenario.wander,
                drift=scenario.drift,
            )
            search.run()
            result = search.result()
            yield result.answer, result.settings.get("a") == planted, len(search.runner.calls)
            SEARCHES.RECORDS.clear()


def row(scenario: Scenario, outcome: Outcome) -> str:
    """Returns the row of the table."""
    planted = f"{outcome.confirmed_planted:.1f} %" if scenario.has_winner else ""
    columns = (f"{outcome.confirmed:.1f} %", planted, f"{outcome.default:.1f} %", f"{outcome.races:.0f}")
    return f"| {scenario.name} | {outcome.searches} | {' | '.join(columns)} |"


def false_winners(outcomes: Iterable[Outcome]) -> tuple[int, int]:
    """Returns how many searches without a better candidate confirmed a winner, and how many there were."""
    without = {scenario.name for scenario in SCENARIOS if not scenario.has_winner}
    counted = [one for one in outcomes if one.scenario in without]
    confirmed = sum(one.confirmed * one.searches / 100 for one in counted)
    return round(confirmed), sum(one.searches for one in counted)


def main() -> None:
    """Runs scenarios, prints their rows, and stores the outcomes if all were run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=300, help="searches of each scenario (300)")
    parser.add_argument("--only", default="", help="part of the names of the scenarios to run (all)")
    parser.add_argument("--quick", action="store_true", help="do not store the results")
    options = parser.parse_args()
    os.fsync = lambda _descriptor: None  # type: ignore[assignment]  # nothing must survive
    RaceFolder.read = SEARCHES.read_record  # type: ignore[method-assign]
    outcomes = []
    for scenario in SCENARIOS:
        if options.only in scenario.name:
            outcomes.append(simulated(scenario, options.searches))
            print(row(scenario, outcomes[-1]), flush=True)
    confirmed, searches = false_winners(outcomes)
    print(f"{confirmed} of {searches} searches without a better candidate confirmed a winner")
    # Results of different code are not mixed.
    if len(outcomes) == len(SCENARIOS) and not options.quick:
        RESULTS.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()

"""How fast the machine was, and how long and steadily was measured, limits a comparison."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared, index, race
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import Comparison
from pacenote.model.result import Steadiness
from pacenote.model.task_observations import TaskObservation, with_observations


def of(sides) -> Comparison:
    return compare_groups(compared(*sides[0]), compared(*sides[1]))


def texts(comparison: Comparison) -> str:
    return "\n".join(str(finding) for finding in comparison.findings)


def drifting(step: float):
    """Blocks of which each race is faster than the one before it by this factor."""
    return tuple(
        [
            replace(
                each, tasks=(index(1e4 * step ** ((each.timestamp - race("a").timestamp).seconds / 600)),)
            )
            for each in side
        ]
        for side in blocks(6)
    )


def test_a_drift_that_is_larger_than_the_change_is_a_limit():
    (limit,) = [each.text for each in of(drifting(1.17)).findings if "drifted" in each.text]
    assert limit.startswith(
        "throughput:index-append drifted by +17.0 % from each race to the next, more than"
    )
    assert "drifted" not in texts(of(drifting(1.002)))
    assert "drifted" not in texts(of(blocks(6, noise=0.03)))


@pytest.mark.parametrize(("window_s", "state"), [(0.31, "steady"), (60.0, "unknown"), (60.0, "steady")])
def test_what_was_measured_briefly_or_not_judged_is_a_limit(window_s, state):
    own = index(window_s=window_s, steady=Steadiness(state))
    told = texts(of([[replace(each, tasks=(own,)) for each in side] for side in blocks(5)]))
    assert ("measured for 0.31 s in most races, which is less than 5 s" in told) == (window_s < 1)
    assert ("not known in most races whether it was in a steady state" in told) == (state == "unknown")


def at_frequency(race: Any, hertz: float) -> Any:
    return with_observations(race, {"index-append": TaskObservation(busy_frequency_hz=hertz)})


def test_processors_that_were_slower_on_one_side_limit_the_comparison() -> None:
    baseline, slower = blocks(5, factor=1.1)
    same = [at_frequency(each, 3e9) for each in baseline]
    text = "the processors of the engine ran at 3 GHz in the baseline and at 2.7 GHz in the contender"
    comparison = of((same, [at_frequency(each, 2.7e9) for each in slower]))
    assert text in texts(comparison)
    assert not any(each.makes_doubtful for each in comparison.findings if text in each.text)
    assert "processors of the engine" not in texts(of((same, [at_frequency(each, 2.9e9) for each in slower])))
    assert "processors of the engine" not in texts(of((same, slower)))

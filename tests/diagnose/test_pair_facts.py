"""The figures of races that are compared."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared, index, race, search
from pacenote.compare.groups import compare_groups
from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.pair_facts import add_pair_figures, changed_options, one_race
from pacenote.model.comparison import ComparisonOptions
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_record import RaceRecord, RecordedTrack
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import WarmupBacklog
from pacenote.model.system_metrics import SystemMetrics
from pacenote.model.target_rate import TargetRate
from pacenote.model.task_observations import TaskObservation, with_observations


def figures(baseline: list[RaceRecord], contender: list[RaceRecord], task: str = "") -> dict[str, object]:
    """Returns the figures of a comparison that are known."""
    builder = EvidenceBuilder("r")
    comparison = None
    if contender:
        comparison = compare_groups(compared(*baseline), compared(*contender), ComparisonOptions())
    add_pair_figures(builder, baseline, contender, comparison)
    evidence = builder.build()
    names = {name for found in evidence.values.values() for name in found}
    return {name.removeprefix("pair."): evidence.value(Window(task), name) for name in names}


def test_equal_races_differ_in_nothing() -> None:
    pair = figures([race("a")], [race("b", 1)])
    assert (pair["races"], pair["pairs"]) == (2.0, 1.0)
    for name in ("error_rate_change", "documents_change", "store_change", "segments_change"):
        assert pair[name] == 0.0, name
    assert pair["settings_changed"] == 0.0
    assert pair["searches"] is True
    assert not {"change_low", "spread"} & set(pair)
    assert pair["shown"] == (
        "1 pair of races: throughput:index-append changed by ±0.00 %; how much of that is chance is not known"
    )


def test_what_makes_a_comparison_invalid_is_measured() -> None:
    other = race(
        "b",
        1,
        tasks=(index(error_rate=0.2), search()),
        system=SystemMetrics(store_size=4 * 1024**3, segment_count=27),
        car_params={"heap_size": "2g"},
        track=RecordedTrack("http_logs", None, {"bulk_size": 500}),
        options=RecordedOptions(jvm_options=("-Xss2m", "-Da=1"), settings={"engine.x": "1"}),
    )
    pair = figures([race("a")], [other])
    assert pair["worst_error_rate"] == 0.2
    assert pair["error_rate_change"] == 0.2
    assert pair["store_change"] == 0.25
    assert pair["segments_change"] == 4.0
    assert changed_options(race("a"), other) == {
        *("car-params.heap_size", "track-params.bulk_size", "track-params.secret_key"),
        *("jvm.-Xss2m", "jvm.-Da", "set.engine.x"),
    }
    assert pair["settings_changed"] == 6.0
    driven = race("c", 2, pacing=PacingOptions(open_loop=True, max_connections=64))
    driven = replace(driven, client=replace(driven.client, hosts=("http://10.0.0.2:9200",), timeout_s=5.0))
    assert changed_options(race("a"), driven) == {"open loop", "max connections", "timeout in seconds"}


def test_a_task_that_achieves_its_target_on_both_sides_is_bound_by_it() -> None:
    targets = {"term": TargetRate(100.0, "ops", 100.0)}

    def paced_race(name: str, order: int, done: int, **changes: object) -> RaceRecord:
        own = search(window_operations=done, window_succeeded=done, window_s=60.0, **changes)
        return race(name, order, tasks=(index(), own), targets=targets)

    bound = figures([paced_race("a", 0, 6_000)], [paced_race("b", 1, 5_990)], "term")
    assert bound["bound_by_target"] is True
    assert (
        figures([paced_race("a", 0, 6_000)], [paced_race("b", 1, 4_000)], "term")["bound_by_target"] is False
    )
    left = WarmupBacklog(surplus=1_200, throughput_marked=True)
    behind = figures([paced_race("a", 0, 6_000)], [paced_race("b", 1, 7_200, warmup_backlog=left)], "term")
    assert behind["bound_by_target"] is True
    free = figures([paced_race("a", 0, 6_000)], [paced_race("b", 1, 6_000)], "index-append")
    assert free["bound_by_target"] is False


def test_races_in_blocks_have_a_change_with_its_interval_and_a_spread() -> None:
    old, new = blocks(10, factor=1.2)
    pair = figures(old, new)
    assert pair["metric"] == "throughput:index-append"
    low, change, high = (pair[name] for name in ("change_low", "change", "change_high"))
    assert isinstance(low, float)
    assert isinstance(change, float)
    assert isinstance(high, float)
    assert 0.15 < low < change < high < 0.25
    assert change == pytest.approx(0.2, abs=0.03)
    assert str(pair["shown"]).startswith("10 pairs of races: throughput:index-append changed by +")
    # Several metrics decide together, so that the interval of each has a higher confidence.
    assert ", 96.2 % interval +" in str(pair["shown"])
    spread = pair["spread"]
    assert isinstance(spread, float)
    assert 0.0 < spread < 0.05


def test_several_races_of_one_configuration_have_no_sides() -> None:
    pair = figures([race("a"), race("b", 1), race("c", 2)], [])
    assert pair == {"races": 3.0}


def test_one_race_says_why_there_is_no_comparison() -> None:
    builder = EvidenceBuilder("r")
    one_race(builder)
    change = builder.build().value(Window("t"), "pair.change")
    assert change == Unknown((("pair.change", "only one race is diagnosed"),))


def test_the_frequencies_of_both_sides_are_compared() -> None:
    def at(name: str, hertz: float) -> RaceRecord:
        return with_observations(race(name), {"index-append": TaskObservation(busy_frequency_hz=hertz)})

    pair = figures([at("a", 4e9)], [at("b", 3e9)])
    assert (pair["frequency_change"], pair["frequency_task"]) == (0.25, "index-append")
    assert not {"frequency_change", "frequency_task"} & set(figures([at("a", 4e9)], [race("b")]))

"""Comparisons of imported races that are not void."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import force_setattr, replace

from compare.races import race as own_race
from pacenote.cli.gates.comparison import gate_result
from pacenote.cli.gates.requirements import parse_requirements
from pacenote.compare.groups import compare_groups
from pacenote.compare.metrics import expanded_primary, race_metrics
from pacenote.model.comparison import ComparedRace, ComparisonOptions
from pacenote.model.imported import ImportedResults, ImportedValue
from pacenote.model.race_record import RecordedTrack, Verdict
from pacenote.model.system_metrics import SystemMetrics
from pacenote.verdict.imported_rules import imported_verdict
from support.records import record

START = datetime(2023, 5, 4, tzinfo=UTC)


def imported(number, factor=1.0, latency=2.1, **changes):
    """A race with a rate and times that vary a little with its number."""
    rate = factor * (100 + number % 3)
    figures = (
        ("Store size", "", 3.0, "GB"),
        ("Mean Throughput", "index", rate, "docs/s"),
        ("error rate", "index", 0.0, "%"),
        ("50th percentile latency", "term", latency / rate, "ms"),
        ("50th percentile service time", "term", 2 / rate, "ms"),
        ("90th percentile service time", "term", 3 / rate, "ms"),
        ("99th percentile service time", "term", 5 / rate, "ms"),
        ("error rate", "term", 0.0, "%"),
    )
    values = tuple(ImportedValue(*figure) for figure in figures)
    results = ImportedResults(
        **{"tool": "rally", "form": "race", "file": "f", "sha256": "0", "values": values} | changes
    )
    facts = {"imported": results, "timestamp": START + timedelta(hours=number), "tasks": ()}
    verdict = imported_verdict(record(**facts), results)
    return ComparedRace(record(f"race-{number}", **facts, verdict=verdict))


def compared(old, new):
    comparison = compare_groups(old, new)
    return comparison, {each.metric.label: each for each in comparison.metrics}


def test_several_imported_races_of_each_side_have_a_verdict():
    old, new = range(0, 12, 2), range(1, 12, 2)
    comparison, metrics = compared([imported(n) for n in old], [imported(n, 0.8) for n in new])
    assert comparison.answer == "worse"
    assert metrics["throughput:index"].word == "worse"
    assert metrics["throughput:index"].role == "primary"
    assert metrics["p50-service-time:term"].word == "worse"
    assert metrics["store-size"].role == "secondary"
    unknown = metrics["p99-service-time:term"]
    assert unknown.word == "no verdict"
    assert unknown.reason == "not known whether each race has 368 samples, which it needs"
    assert [each.metric.label for each in comparison.primary] == [
        *("throughput:index", "error-rate:index", "p90-service-time:term", "error-rate:term"),
    ]
    asked = compare_groups(
        [imported(n) for n in old], [imported(n, 0.8) for n in new], ComparisonOptions(("p99",))
    )
    texts = [each.text for each in asked.findings]
    assert "not known whether there are enough samples for p99, so that it does not decide" in texts


def test_latency_that_equals_service_time_is_not_compared():
    old, new = ([imported(n, latency=2.0) for n in numbers] for numbers in (range(2), range(2, 4)))
    for race in (*old, *new):
        results = race.record.imported
        assert results is not None
        kept = tuple(v for v in results.values if not v.metric.startswith(("90th", "99th")))
        force_setattr(results, "values", kept)
    assert "p50-latency:term" not in compared(old, new)[1]


def test_equal_times_in_all_races_of_a_side_may_be_copies():
    old, new = [imported(0) for _ in range(3)], [imported(n) for n in (1, 2, 3)]
    old = [ComparedRace(replace(one.record, race_id=f"copy-{n}")) for n, one in enumerate(old)]
    texts = {each.text: each.tasks for each in compared(old, new)[0].findings}
    assert texts["the times are equal in all 3 races of the baseline: they may be copies of one race"] == (
        "term",
    )
    assert not any("races of the contender: they may be copies" in text for text in texts)


def test_races_of_two_tools_are_compared_with_a_warning():
    comparison, _ = compared(
        [imported(0), imported(1)], [imported(n, tool="opensearch-benchmark") for n in (2, 3)]
    )
    assert comparison.answer != "void"
    warning = next(each for each in comparison.findings if "different tools" in each.text)
    assert "Rally, OpenSearch Benchmark" in warning.text
    assert not warning.makes_doubtful


def test_a_tool_that_is_not_known_is_not_another_one():
    comparison, _ = compared([imported(0), imported(1)], [imported(n, tool="unknown") for n in (2, 3)])
    assert not any("different tools" in each.text for each in comparison.findings)


def test_tasks_without_a_partner_and_other_units_are_named():
    old, new = imported(0), imported(1)
    results = new.record.imported
    assert results is not None
    values = [
        *(value for value in results.values if value.task != "term"),
        ImportedValue("Mean Throughput", "new", 1.0, "ops/s"),
    ]
    values[1] = ImportedValue("Mean Throughput", "index", 1.0, "ops/s")
    force_setattr(results, "values", tuple(values))
    comparison, _ = compared([old], [new])
    texts = {each.tasks: (each.text, each.makes_doubtful) for each in comparison.findings}
    assert texts["term", "new"] == ("not in all races, and therefore not compared", False)
    assert texts["index",] == ("the unit differs: docs, ops", True)


def test_what_a_file_does_not_state_is_not_another_track_or_unit():
    old, new = [imported(n) for n in (0, 2, 4)], []
    for n in (1, 3, 5):
        other = imported(n, unstated=("track", "challenge"))
        results = other.record.imported
        values = tuple(value for value in results.values if "Throughput" not in value.metric)
        results = replace(results, values=values)
        track = RecordedTrack("")
        new.append(ComparedRace(replace(other.record, imported=results, track=track, challenge=None)))
    comparison, metrics = compared(old, new)
    assert not [each.text for each in comparison.findings if each.makes_doubtful]
    assert metrics["p50-service-time:term"].word == "same"
    named = [ComparedRace(replace(each.record, track=RecordedTrack("other"))) for each in old]
    renamed = [ComparedRace(replace(each.record, race_id=f"new-{n}")) for n, each in enumerate(old)]
    assert "different tracks: other, http_logs" in compared(named, renamed)[0].findings[0].text


def test_a_race_of_another_tool_is_void_for_that_reason_only():
    own = [ComparedRace(own_race(f"own-{n}", n)) for n in range(3)]
    comparison, metrics = compared([imported(n) for n in range(3)], own)
    assert (comparison.answer, {each.word for each in metrics.values()}) == ("void", {"void"})
    void = [each.text for each in comparison.findings if each.makes_doubtful]
    assert [text.partition(",")[0] for text in void] == [
        "the races were run with different tools or versions"
    ]


def test_searches_after_failed_indexing_are_void():
    """Its documents are missing, so that searches read less data."""

    def failing(number, rate):
        race = imported(number, values=with_errors(imported(number), rate))
        return ComparedRace(replace(race.record, max_error_rate=1.0, verdict=Verdict("suspect")))

    comparison, metrics = compared([failing(n, 0.0) for n in (0, 2)], [failing(n, 80.0) for n in (1, 3)])
    assert {each.word for each in metrics.values() if each.metric.task == "term"} == {"void"}
    assert "up to 80 % fewer documents" in " ".join(each.text for each in comparison.findings)


def with_errors(compared_race, rate):
    """Returns the values of a race of which this share of the operations that index failed, in %."""
    return tuple(
        replace(value, value=rate) if (value.metric, value.task) == ("error rate", "index") else value
        for value in compared_race.record.imported.values
    )


def test_equal_error_rates_without_a_count_of_operations_have_their_own_reason():
    races = [imported(n, values=with_errors(imported(n), 0.5)) for n in range(6)]
    _, metrics = compared(races[::2], races[1::2])
    assert metrics["error-rate:index"].reason == (
        "nothing varies within a side, and the number of operations is not known"
    )


def test_processing_time_is_selected_by_its_full_name_only():
    race = imported(0)
    values = tuple(
        ImportedValue(f"99th percentile {kind}", "term", 2.0, "ms")
        for kind in ("service time", "processing time")
    )
    metrics = race_metrics(replace(race.record, imported=replace(race.record.imported, values=values)))
    for name in ("p99", "p99:term", "p99-service-time"):
        assert expanded_primary([name], metrics) == ({"p99-service-time:term"}, ())
    assert expanded_primary(["p99-processing-time"], metrics) == ({"p99-processing-time:term"}, ())


def test_counts_have_the_key_that_their_name_gives():
    race = imported(0)
    value = ImportedValue("Cumulative merge count of primary shards", "", 7.0, "")
    (metric,) = race_metrics(replace(race.record, imported=replace(race.record.imported, values=(value,))))
    system = race_metrics(record(system=SystemMetrics(merge_count=7), tasks=()))
    assert (
        {each.name: each.key for each in system}
        == {metric.name: metric.key}
        == {value.metric: "cumulative-merge-count-of-primary-shards"}
    )


def test_an_unknown_error_rate_is_not_said_to_be_zero():
    def with_errors(compared_race, rate):
        race = compared_race.record
        known = [each for each in race.imported.values if (each.metric, each.task) != ("error rate", "term")]
        if rate is not None:
            known.append(ImportedValue("error rate", "term", rate, "%"))
        return ComparedRace(replace(race, imported=replace(race.imported, values=tuple(known))))

    def said(*rates):
        numbers = iter(range(99))
        sides = [[with_errors(imported(next(numbers)), rate) for rate in side] for side in rates]
        texts = [each.text for each in compare_groups(*sides).findings]
        return [text for text in texts if "operations failed" in text]

    assert said([None], [0.5]) == [
        "an unknown share of the operations failed in the baseline, and 0.5 % in the contender"
    ]
    (partly,) = said([0.5, None, 0.5], [0.0, 0.0, 0.0])
    assert partly.startswith("0.5 % (in 2 of 3 races; the others are not known) of the operations failed")
    assert said([None], [None]) == []


def test_without_the_number_of_operations_nothing_is_shown_of_an_error_rate():
    comparison, metrics = compared(*([imported(at) for at in range(first, 12, 2)] for first in (0, 1)))
    assert metrics["error-rate:term"].possible_rise is None
    text = gate_result(comparison, None, parse_requirements("no-worse:5%:error-rate:term")).text
    assert "is not shown of error-rate:term (no verdict: 0 in all races" in text

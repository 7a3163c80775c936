"""The verdict on an imported race."""

from __future__ import annotations

import pytest

from pacenote.model.imported import ImportedResults, ImportedTask, ImportedValue
from pacenote.verdict.imported_rules import imported_verdict
from support.records import record


def judged(*figures, **changes):
    values = tuple(ImportedValue(*figure) for figure in figures)
    imported = ImportedResults(
        "rally", **{"form": "race"} | changes, file="race.json", sha256="00", values=values
    )
    verdict = imported_verdict(record(imported=imported), imported)
    return verdict.state, [str(finding) for finding in verdict.findings[:-1]]


def task(name, rate=0.0, p50=2.0, unit="ops/s"):
    return (
        ("Mean Throughput", name, 5.0, unit),
        ("50th percentile latency", name, p50, "ms"),
        ("50th percentile service time", name, 2.0, "ms"),
        ("error rate", name, rate, "%"),
    )


def test_a_race_without_errors_is_suspect_because_the_load_generator_was_not_watched():
    verdict = imported_verdict(
        record(),
        ImportedResults("rally", "race", "f", "0", values=tuple(ImportedValue(*v) for v in task("a"))),
    )
    assert verdict.state == "suspect"
    assert [finding.text for finding in verdict.findings] == [
        "Rally did not record whether requests were late or lost, and whether the load generator was the "
        "bottleneck"
    ]


def test_errors_above_the_limit_make_a_race_void():
    state, reasons = judged(
        *task("a", 1.01), *task("b", 80.0), *task("c", 1.0), *task("index", 5.0, unit="docs/s")
    )
    assert state == "void"
    assert reasons == [
        "index: 5 % of the operations failed (limit 1 %): documents are missing, so later tasks searched "
        "less data",
        "a, b: 1.01 % to 80 % of the operations failed (limit 1 %)",
    ]


def test_a_task_without_throughput_and_times_makes_a_race_void():
    state, reasons = judged(*task("a"), ("error rate", "b", 0.0, "%"))
    assert (state, reasons) == ("void", ["b: nothing was measured: there is no throughput and no time"])


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        (("99th percentile latency", "a", 1.0, "ms"), "p99 latency 1 is below p50 latency 2"),
        (("50th percentile service time", "b", -1.0, "ms"), "p50 service time -1"),
        (("error rate", "b", 101.0, "%"), "error rate 101 %"),
        (("Max Throughput", "c", 1.0, "ops/s"), "max throughput 1 is below min throughput 2"),
    ],
)
def test_figures_that_contradict_each_other_make_a_race_void_and_are_named(figure, told):
    minimum = ("Min Throughput", "c", 2.0, "ops/s")
    state, reasons = judged(*task("a"), minimum, figure)
    assert state == "void"
    assert f"{figure[1]}: the figures contradict each other: {told}: repeat the race" in " ".join(reasons)


def test_a_difference_that_contradicts_the_values_makes_a_race_void():
    rows = tuple(f"row {number}" for number in range(5))
    state, reasons = judged(*task("a"), form="comparison", contradictions=rows)
    assert (state, reasons) == (
        "void",
        ["the column Diff contradicts the values: row 0, row 1, row 2 and 2 more: import race.json of Rally"],
    )


def test_a_time_of_zero_is_odd():
    state, reasons = judged(*task("a", p50=0.0))
    assert (state, reasons) == ("suspect", ["a: a time is 0 ms, which no request takes: check the file"])


def test_an_unknown_error_rate_and_waiting_requests_are_reasons():
    state, reasons = judged(*task("a", p50=200.0), ("Mean Throughput", "b", 5.0, "ops/s"), averaged_runs=2)
    assert state == "suspect"
    assert [reason.split(":")[0] for reason in reasons] == ["b", "a", "the figures are averages of 2 races"]
    assert "the median latency is 100 times the service time" in reasons[1]


def test_high_percentiles_show_how_many_samples_there_are_at_least():
    shown = {50.0: 1.0, 90.0: 2.0, 99.0: 3.0}
    task = ImportedTask("a", percentiles={"latency": shown, "service time": {**shown, 99.9: 4.0}})
    assert [task.supports("latency", q) for q in (50.0, 90.0, 99.0)] == [True, True, False]
    assert [task.supports("service time", q) for q in (99.0, 99.9)] == [True, False]
    assert not task.supports("processing time", 50.0)

"""The rows of the summary have Rally's names and order, and Pacenote's definitions."""

from typing import Any

import pytest
from msgspec.structs import fields, replace

from pacenote.model.data_options import StartingState
from pacenote.model.document_checks import DocumentCheck, UncheckedDocuments, UnsentDocuments
from pacenote.model.failure_group import FailureGroup
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_record import RecordedClient, RecordedCorpus
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import (
    CleanUps,
    LevelChange,
    OperationTotals,
    SampleCounts,
    Steadiness,
    Throughput,
    ValueSummary,
    WarmupBacklog,
    WarmupDrain,
)
from pacenote.model.system_metrics import PerShardTimes, SystemMetrics
from pacenote.model.target_rate import TargetRate
from pacenote.report.rows import Note
from pacenote.report.summary import build_report
from support.records import bulk, paced, part, record, task, times


def metrics(report, task_name=""):
    return [row.metric for row in report.rows if row.task == task_name]


def value(report, metric, task_name=""):
    (row,) = [row for row in report.rows if row.metric == metric and row.task == task_name]
    return row.value


def notes(report, label):
    return [(note.task, note.text) for note in report.notes if note.label == label]


def test_the_state_in_which_the_first_task_started_is_reported():
    def lines(state, **options):
        race = record(starting_state=state, options=RecordedOptions(**options))
        labels = ("Data", "Page cache", "Cooldown")
        return {note.label: note.text for note in build_report(race).header if note.label in labels}

    assert lines(None) == lines(StartingState()) == {}
    cold = StartingState("logs", "race-0", 4 << 30, 2 << 20, "fadvise")
    assert lines(cold, caches="cold", cooldown_s=90) == {
        "Data": "began as data set 'logs', stored by race race-0",
        "Page cache": "cold: 2.0 MiB of 4.0 GiB of the data cached",
        "Cooldown": "1 min 30 s before the first task",
    }
    assert lines(replace(cold, dropped_with=None))["Page cache"].startswith("as it was: ")


def test_unusual_connection_settings_are_reported():
    def client_notes(**client):
        return [text for _, text in notes(build_report(record(client=RecordedClient(**client))), "Client")]

    assert client_notes(tls=True, certificates_verified=True, host_names_verified=True) == []
    assert client_notes(accept_encoding="gzip") == []
    assert client_notes(accept_encoding="identity") == ["replies were requested without compression"]
    assert client_notes(tls=True, certificates_verified=False, host_names_verified=False, compress=True) == [
        "TLS certificates were not verified",
        "request bodies were compressed",
    ]
    assert client_notes(
        host_names_verified=False, certificates_verified=True, proxies={"a:1": "http://b:2"}
    ) == [
        "requests to a:1 went through the proxy http://b:2",
        "the host names in TLS certificates were not verified",
    ]


def test_user_tags_are_shown_as_text():
    shown = build_report(record(user_tags={"run": 4, "cold": True, "disk": "ssd"})).header
    assert [note.text for note in shown if note.label == "User tags"] == ["run=4, cold=true, disk=ssd"]


def test_rows_without_a_value_are_left_out_but_zeros_are_not():
    report = build_report(record(system=SystemMetrics(merge_count=0, young_gc_time=0.0)))
    assert metrics(report) == ["Cumulative merge count of primary shards", "Total Young Gen GC time"]
    assert value(report, "Total Young Gen GC time") == 0.0


def test_all_rows_are_in_rallys_order():
    report = build_report(record(system=SystemMetrics(), tasks=()), "all")
    assert metrics(report)[:10] == [
        "Cumulative indexing time of primary shards",
        "Min cumulative indexing time across primary shards",
        "Median cumulative indexing time across primary shards",
        "Max cumulative indexing time across primary shards",
        "Cumulative indexing throttle time of primary shards",
        "Min cumulative indexing throttle time across primary shards",
        "Median cumulative indexing throttle time across primary shards",
        "Max cumulative indexing throttle time across primary shards",
        "Cumulative merge time of primary shards",
        "Cumulative merge count of primary shards",
    ]
    assert metrics(report)[27:] == [
        "Total Young Gen GC time",
        "Total Young Gen GC count",
        "Total Old Gen GC time",
        "Total Old Gen GC count",
        "Total ZGC Cycles GC time",
        "Total ZGC Cycles GC count",
        "Total ZGC Pauses GC time",
        "Total ZGC Pauses GC count",
        "Dataset size",
        "Store size",
        "Translog size",
        "Heap used for segments",
        "Heap used for doc values",
        "Heap used for terms",
        "Heap used for norms",
        "Heap used for points",
        "Heap used for stored fields",
        "Segment count",
        "Total Ingest Pipeline count",
        "Total Ingest Pipeline time",
        "Total Ingest Pipeline failed",
    ]


def test_every_system_metric_has_a_row():
    times = PerShardTimes(1.0, 2.0, 3.0)
    values: dict[str, Any] = {
        each.name: times if "per_shard" in each.name else 1
        for each in fields(SystemMetrics)
        if each.default is None
    }
    race = record(system=SystemMetrics(**values), tasks=())
    rows = [row for row in build_report(race, "all").rows if row.task == ""]
    assert [row.metric for row in rows if row.value is None] == []


def test_the_heap_of_segments_is_in_mebibytes():
    system = replace(record().system, memory_segments=3 * 1024**2)
    assert value(build_report(record(system=system)), "Heap used for segments") == 3
    assert "Heap used for segments" not in metrics(build_report(record()))


def test_engine_values_have_rallys_units():
    system = replace(record().system, ingest_pipeline_cluster_time=1_500, ingest_pipeline_cluster_failed=2)
    report = build_report(record(system=system))
    assert value(report, "Total Ingest Pipeline time") == 1.5
    assert value(report, "Total Ingest Pipeline failed") == 2
    assert value(report, "Cumulative indexing time of primary shards") == 1.5
    assert value(report, "Total Young Gen GC time") == 0.512
    assert value(report, "Store size") == 3.0


def test_an_unpaced_task_has_no_latency_rows():
    assert metrics(build_report(record()), "search") == [
        "Min Throughput",
        "Mean Throughput",
        "Median Throughput",
        "Max Throughput",
        "50th percentile service time",
        "90th percentile service time",
        "99th percentile service time",
        "99.9th percentile service time",
        "99.99th percentile service time",
        "100th percentile service time",
        "error rate",
        "work done",
    ]


def test_a_throughput_measured_for_less_than_a_second_is_marked():
    report = build_report(record(tasks=(task("quick", window_s=0.15), task("long", window_s=1.0))))
    marked = {(row.task, row.metric) for row in report.rows if row.mark == "†"}
    assert marked == {("quick", f"{which} Throughput") for which in ("Min", "Mean", "Median", "Max")}
    assert any(text.startswith("† Measured for less than a second") for text in report.footnotes)


def test_a_paced_task_has_latency_and_lateness():
    names = metrics(build_report(record()), "term")
    assert names.index("100th percentile latency") < names.index("50th percentile service time")
    assert names[-3:] == ["50th percentile lateness", "99th percentile lateness", "work done"]


def test_the_percentiles_depend_on_the_number_of_samples_unless_all_are_requested():
    race = record(tasks=(task(service_time=times(20)),))
    names = [metric for metric in metrics(build_report(race), "search") if "percentile" in metric]
    assert names == [f"{q}th percentile service time" for q in (50, 90, 100)]
    report = build_report(race, "all-percentiles")
    assert value(report, "99.9th percentile service time", "search") is None
    assert "Segment count" in metrics(report)
    assert "Dataset size" not in metrics(report)


def test_unsupported_percentiles_are_marked_with_their_interval():
    report = build_report(record(tasks=(task(service_time=times(200)),)))
    marked = {row.metric: (row.low, row.high) for row in report.rows if row.mark}
    assert marked == {"99th percentile service time": (6.0, None)}
    assert report.footnotes[0].startswith("* Too few samples for this percentile")
    assert not build_report(record(tasks=(task(),))).has_marks


def test_the_maximum_is_never_marked():
    few = replace(times(5), percentiles=tuple(replace(one, supported=False) for one in times(5).percentiles))
    report = build_report(record(tasks=(task(service_time=few),)))
    assert [row.metric for row in report.rows if row.mark] == ["50th percentile service time"]


@pytest.mark.parametrize(
    ("rate", "shown"), [(0.0, 0.0), (0.12345, 12.35), (0.00001, 0.001), (0.99999, 99.999), (1.0, 100.0)]
)
def test_rounding_the_error_rate_never_hides_errors(rate, shown):
    report = build_report(record(tasks=(task(error_rate=rate),)))
    assert value(report, "error rate", "search") == pytest.approx(shown)


def test_a_task_without_measured_operations_has_no_error_rate():
    only_warmup = task()
    nothing = replace(only_warmup.accounting, normal=0)
    report = build_report(record(tasks=(replace(only_warmup, accounting=nothing),)))
    assert "error rate" not in metrics(report, "search")


def test_unreported_tasks_appear_only_with_errors():
    quiet, loud = task("refresh"), task("force-merge", error_rate=0.5)
    report = build_report(record(tasks=(quiet, loud), unreported=("refresh", "force-merge")))
    assert metrics(report, "refresh") == []
    assert metrics(report, "force-merge") != []


def test_the_work_of_bulk_tasks_is_reported_in_documents():
    report = build_report(record())
    assert value(report, "documents indexed", "index-append") == 740_000
    assert value(report, "documents failed", "index-append") == 12
    assert value(report, "work done", "search") == 50_000


def test_sub_operations_of_a_composite_have_their_own_rows():
    parts = (part("open-pit"), part("query", service_time=times(4, p50=7.0), error_rate=0.25))
    report = build_report(record(tasks=(task("mixed", parts=parts),)))
    shown = [row.task for row in report.rows if row.task.startswith("mixed")]
    assert shown == sorted(shown, key=["mixed", "mixed/open-pit", "mixed/query"].index)
    assert metrics(report, "mixed/open-pit") == [
        "50th percentile service time",
        "90th percentile service time",
        "99th percentile service time",
        "100th percentile service time",
        "error rate",
    ]
    assert value(report, "50th percentile service time", "mixed/query") == 7.0
    assert value(report, "error rate", "mixed/query") == 25.0


def test_sub_operations_of_several_types_with_one_name_have_rows_that_differ():
    parts = (part("x", error_rate=0.25), part("x", operation_type="sleep", error_rate=0.5))
    report = build_report(record(tasks=(task("mixed", parts=parts),)))
    assert value(report, "error rate", "mixed/x (search)") == 25.0
    assert value(report, "error rate", "mixed/x (sleep)") == 50.0


def test_acknowledged_and_counted_documents_are_shown():
    checks = (DocumentCheck("logs", 10, 9, "the track updates documents"), DocumentCheck("gone", 5, None))
    report = build_report(record(documents=checks))
    assert value(report, "documents acknowledged", "logs") == 10
    assert value(report, "documents counted", "logs") == 9
    assert metrics(report, "gone") == ["documents acknowledged"]
    assert notes(report, "Documents") == [("", "index 'logs' may differ: the track updates documents")]


def test_documents_that_were_sent_without_a_reply_are_said():
    report = build_report(record(documents=(DocumentCheck("i", 19_920, 20_000, unknown=80),)))
    assert notes(report, "Documents") == [
        (
            "",
            "index 'i': at most 80 documents were sent without a reply; the engine may have indexed them, so "
            "that as many lost documents are not noticed",
        )
    ]


def test_errors_are_reported_with_count_and_example():
    report = build_report(record(tasks=(bulk(),)))
    assert notes(report, "Warning") == [("index-append", "0.5 % of the measured operations failed")]
    assert notes(report, "Error") == [
        (
            "index-append",
            "12 documents × bulk-item (HTTP 429), first at 3.2 s, last at 9.5 s, "
            "for example: rejected | es_rejected_execution_exception: [queue full]",
        )
    ]


def test_only_the_most_frequent_errors_are_shown():
    errors = tuple(FailureGroup("http-status", f"reason {n}", 500, n, 0.0, 1.0) for n in range(1, 6))
    texts = [text for _, text in notes(build_report(record(tasks=(task(errors=errors),))), "Error")]
    starts = [text.split(" ×")[0] for text in texts[:-1]]
    assert starts == ["5 operations", "4 operations", "3 operations"]
    assert texts[-1] == "2 more kinds of error, 3 operations in total"


def test_errors_count_operations_or_documents():
    units = ("documents", "operations", "documents", "documents", "operations")
    counts = zip((9, 8, 7, 6, 1), units, strict=True)
    errors = tuple(FailureGroup("timeout", "too slow", None, n, 0.0, 1.0, unit) for n, unit in counts)
    texts = [text for _, text in notes(build_report(record(tasks=(bulk(errors=errors),))), "Error")]
    starts = [text.split(" ×")[0] for text in texts[:-1]]
    assert starts == ["9 documents", "8 operations", "7 documents"]
    assert texts[-1] == "2 more kinds of error, 6 documents and 1 operation in total"


def test_control_characters_of_a_plug_in_do_not_reach_the_terminal():
    values = {"\x1b[2Jrecall": ValueSummary(1, 0.5, 0.5, 0.5)}
    report = build_report(record(tasks=(replace(bulk(), task="a\x07b", unit="d\x1bocs", values=values),)))
    texts = [text for row in report.rows for text in (row.metric, row.task, row.unit)]
    assert {"[2Jrecall", "a b", "d ocs/s"} <= set(texts)
    assert [text for text in texts if not text.isprintable()] == []


def test_control_characters_from_the_engine_do_not_reach_the_terminal():
    error = FailureGroup("http-status", "\x1b[2Jgone\x07 " + "x" * 1000, None, 1, 0.0, 0.0)
    ((_, text),) = notes(build_report(record(tasks=(task(errors=(error,)),))), "Error")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert len(text) == 300


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"throughput": None}, "no throughput: the task ended during its warm-up"),
        ({"throughput": None, "error_rate": 1.0}, "no throughput: no operation succeeded"),
        ({"throughput": None, "accounting": OperationTotals(*[0] * 8)}, "no throughput: no operation began"),
        ({"ended_by": "stopped"}, "stopped before its end"),
        (
            {"cleanup": CleanUps(requests=1_000, failed={"timeout": 1, "http-status": 4})},
            "5 of 1,000 requests that clean up failed (4 × http-status, 1 × timeout)",
        ),
        (
            {"underruns": 1_200, "underrun_s": 3.14159},
            "the parameter source was too slow: 1,200 operations waited 3.14 s",
        ),
        (
            {"open_loop": True, "clients": 8, "accounting": replace(task().accounting, waited=1)},
            "1 operation waited for a free connection: the limit is 8 connections",
        ),
        (
            {"accounting": replace(task().accounting, waited=581)},
            "581 of 58,000 operations waited for the previous response of their client",
        ),
    ],
)
def test_problems_of_a_task_are_reported(changes, text):
    assert ("search", text) in notes(build_report(record(tasks=(task(**changes),))), "Warning")


@pytest.mark.parametrize(
    ("steady", "text"),
    [
        (
            Steadiness("warming", 34.0, (LevelChange(34.0, 34.0, 800.0, 1000.0, 0.25),), "throughput"),
            "warming: throughput changed by +25 % at 34 s, steady since 34 s",
        ),
        (
            Steadiness("slowing", None, (LevelChange(0.0, 120.0, 4.0, 5.0, 0.25),), "service-time"),
            "slowing: median service time drifted by +25 % from 0 to 120 s, never steady",
        ),
        (
            Steadiness(
                "not-steady",
                None,
                (LevelChange(30.0, 30.0, 4.0, 5.0, 0.25), LevelChange(90.0, 90.0, 5.0, 3.0, -0.4)),
                "latency",
            ),
            "not steady: median latency changed 2 times between 30 and 90 s, by at most -40 %, never steady",
        ),
    ],
)
def test_an_unsteady_task_is_reported_and_stays_valid(steady, text):
    race = record(tasks=(task(steady=steady),))
    assert notes(build_report(race), "Steady state") == [("search", text)]
    assert race.verdict.state == "valid"


@pytest.mark.parametrize("steady", [Steadiness(), Steadiness("steady", 0.0, (), "throughput", 0.02)])
def test_a_steady_task_has_no_note(steady):
    assert not notes(build_report(record(tasks=(task(steady=steady),))), "Steady state")


def test_a_throughput_of_zero_beside_a_service_time_is_explained():
    nothing = Throughput(0.0, 0.0, 0.0, 0.0)
    text = "0, because no operation had succeeded when another task completed the step"
    for throughput, ended_by, is_explained in (
        (nothing, "completed-by", True),
        (nothing, "time", False),
        (replace(nothing, mean=1.0), "completed-by", False),
        (None, "completed-by", False),
    ):
        changed = task(throughput=throughput, ended_by=ended_by)
        explanations = notes(build_report(record(tasks=(changed,))), "Throughput")
        assert explanations == ([("search", text)] if is_explained else [])


def test_samples_that_were_not_stored_are_reported_unless_storing_is_turned_off():
    some = task(samples=SampleCounts(kept=20_000_000, left_out=5_000, from_s=312.4))
    assert notes(build_report(record(tasks=(some,))), "Samples") == [
        ("search", "5,000 samples were not stored, starting at 312 s")
    ]
    none = task(samples=SampleCounts(left_out=5_000, from_s=0.0))
    assert not notes(build_report(record(tasks=(none,))), "Samples")


def test_a_few_late_operations_of_a_closed_loop_are_not_reported():
    few = task(accounting=replace(task().accounting, waited=580))
    assert not any(
        "previous response" in text for _, text in notes(build_report(record(tasks=(few,))), "Warning")
    )


def test_connections_that_were_opened_again_are_reported():
    reopened = task(accounting=replace(task().accounting, reconnects=12), connecting_s=1.25)
    assert notes(build_report(record(tasks=(reopened,))), "Connections") == [
        ("search", "12 connections had to be opened again; requests waited 1.25 s for them")
    ]


def test_the_origin_of_the_data_is_reported():
    made = RecordedCorpus("http_logs", "generated", 1000, 81_000, seed=7)
    existing = RecordedCorpus("other", "as-is", 1, 81)
    assert notes(build_report(record(corpora=(made, existing))), "Corpus") == [
        ("", "'http_logs': generated with seed 7, not the public corpus (1,000 documents, 81,000 bytes)"),
        ("", "'other': existing files, not compared with the track (1 document, 81 bytes)"),
    ]


def test_a_change_to_the_wall_clock_is_reported():
    race = record(driver={"clock": {"steps": [{"at_s": 12.5, "by_s": -3600.0}]}})
    (text,) = [note.text for note in build_report(race).notes if note.label == "Clock"]
    assert text.startswith("the wall clock was changed by -3.6e+03 s at 12.5 s")


def test_a_short_race_is_not_blamed_on_the_kernel():
    thread = {"name": "drive-0", "run_queue_s": 0.0}
    short = record(driver={"threads": [thread], "machine": None, "wall_s": 0.01})
    (text,) = [note.text for note in build_report(short).notes if note.label == "Driver"]
    assert text.startswith("the race was too short to measure how busy the machine was")


@pytest.mark.parametrize(
    ("ended_by", "when"), [("completed-by", "another task completed the step"), ("stopped", "the race ended")]
)
def test_operations_without_a_response_are_reported_with_what_ended_them(ended_by, when):
    counts = replace(task().accounting, unanswered=1)
    race = record(tasks=(replace(task(), accounting=counts, ended_by=ended_by),))
    texts = [note.text for note in build_report(race).notes]
    assert f"1 operation had no response when {when}" in texts


def test_mistakes_of_runners_are_reported():
    race = record(tasks=(replace(task(), unfinished_requests=2, inconsistent_results=1, caught_failures=3),))
    texts = [note.text for note in build_report(race).notes if note.label == "Warning"]
    assert (
        "2 requests of the runner had not ended when their client did: their bytes are not counted" in texts
    )
    assert any("for 1 operation do not add up" in text for text in texts)
    assert any(text.startswith("3 requests failed in operations that count as") for text in texts)


def test_verdict_and_missing_telemetry_are_reported():
    report = build_report(record(interrupted=True))
    assert (report.verdict.state, report.verdict.reasons) == ("void", ("interrupted",))
    assert (
        Note("Telemetry missing", "index-stats: flush_time is missing: the counters went down")
        in report.notes
    )


def test_a_race_without_results_has_a_report():
    report = build_report(record(tasks=(), system=SystemMetrics(), documents=(), complete=False))
    assert report.rows == ()
    assert report.verdict.reasons == ("the race has not finished",)


def test_lateness_is_explained_if_a_task_is_paced():
    assert any("Lateness is" in text for text in build_report(record(tasks=(paced(),))).footnotes)
    assert not any("Lateness is" in text for text in build_report(record(tasks=(task(),))).footnotes)


def test_the_requests_of_each_of_several_hosts_are_shown():
    counts = {"cluster": "default", "connection_failures": 0, "set_aside": 0}
    hosts = [
        {"host": "a:9200", "requests": 1200, **counts},
        {"host": "b:9200", "requests": 1, **counts, "connection_failures": 2},
    ]
    assert notes(build_report(record(driver={"hosts": hosts[:1]})), "Host") == []
    assert notes(build_report(record(driver={"hosts": hosts})), "Host") == [
        ("", "a:9200 received 1,200 requests"),
        ("", "b:9200 received 1 request; 2 connections could not be opened"),
    ]


def test_documents_that_were_not_checked_are_mentioned():
    unchecked = (UncheckedDocuments("index", 3, "a runner sends them"),)
    race = record(documents=(), unchecked_documents=unchecked)
    assert notes(build_report(race), "Documents") == [
        ("", "3 documents of task 'index' not compared with those in the engine: a runner sends them")
    ]


def test_a_task_whose_iterations_end_it_has_a_note():
    race = record(tasks=(bulk(),), unsent_documents=(UnsentDocuments(bulk().task, 40, 200),))
    assert notes(build_report(race), "Documents") == [
        (
            bulk().task,
            "sends 40 of 200 documents, because its iterations end it; omit `iterations` to send all",
        )
    ]


def test_workers_that_lost_real_time_priority_are_a_note():
    race = record(
        driver={"scheduling": {"workers": "realtime", "demotions": 2, "demoted_s": 3.0, "unreadable": 0}}
    )
    texts = [text for _, text in notes(build_report(race), "Driver") if "real-time" in text]
    assert texts == [
        "workers lost real-time priority 2 times, for 3 s in total, because they had used up their budget of "
        "processor time"
    ]


def test_the_target_rate_is_shown_beside_the_achieved_one():
    counts = replace(paced().accounting, waited=1_400)
    slow = paced(window_operations=1_400, window_s=12.0, accounting=counts)
    report = build_report(record(tasks=(slow,), targets={"term": TargetRate(5_000.0, operations=5_000.0)}))
    assert value(report, "target rate", "term") == 5_000.0
    assert value(report, "achieved rate", "term") == 116.67
    assert report.verdict.state == "suspect"


def test_processing_time_is_shown_after_service_time_on_request():
    names = metrics(build_report(record(), show_processing_time=True), "search")
    assert names.index("100th percentile service time") + 1 == names.index("50th percentile processing time")
    assert names.index("100th percentile processing time") + 1 == names.index("error rate")


def test_rows_that_rally_does_not_have_are_distinguished():
    own = {row.metric for row in build_report(record()).rows if not row.is_rallys}
    assert own == {
        *("documents indexed", "documents failed", "50th percentile lateness", "99th percentile lateness"),
        *("work done", "documents acknowledged", "documents counted"),
    }


def test_one_run_does_not_show_how_much_its_results_vary():
    assert notes(build_report(record()), "Spread") == [
        ("", "one run: spread unknown, do not compare on this alone")
    ]
    assert notes(build_report(record(interrupted=True, complete=False)), "Spread") == []


def test_latency_with_the_backlog_of_the_warm_up_is_marked_with_its_reason():
    backlog = WarmupBacklog(135, 12.3, marked=True)
    slow = paced(latency=times(200), service_time=times(200), warmup_backlog=backlog)
    report = build_report(record(tasks=(slow, paced("other"))))
    marks = {row.metric: row.mark for row in report.rows if row.task == "term" and "percentile" in row.metric}
    assert marks["50th percentile latency"] == marks["100th percentile latency"] == "§"
    assert (marks["99th percentile latency"], marks["99th percentile service time"]) == ("*§", "*")
    assert not any("§" in row.mark for row in report.rows if row.task == "other")
    assert [note[:2] for note in report.footnotes if note[0] in "*§"] == ["* ", "§ "]
    (text,) = [text for task_name, text in notes(report, "Warning") if task_name == "term"]
    assert text == (
        "135 of 50,000 measured operations waited for the warm-up, the last of them due at 12.3 s: raise "
        "warmup-time-period to at least 13 s"
    )


def test_a_window_that_waited_for_the_backlog_says_from_when_on_it_was_measured():
    drain = WarmupDrain(window_from_s=12.3, operations=135)
    slow = paced(warmup_backlog=WarmupBacklog(drain=drain))
    report = build_report(record(tasks=(slow, paced("other"))))
    assert notes(report, "Warm-up") == [
        (
            "term",
            "measured from 12.3 s on, 135 operations later than planned: the backlog of the warm-up was gone "
            "then",
        )
    ]


def test_an_option_without_effect_is_noted():
    report = build_report(record(tasks=(paced(),), pacing=PacingOptions(warmup_drain=True), complete=True))
    ((name, text),) = notes(report, "Warm-up")
    assert not name
    assert text.startswith("--warmup-drain had no effect")

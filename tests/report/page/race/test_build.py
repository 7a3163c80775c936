"""The page of a race as data: its first figures and answers, the tables and charts, and what is missing."""

from __future__ import annotations

import pytest
from msgspec import structs
from msgspec.structs import replace

from pacenote.model.diagnosis import Diagnosis, RuleAnswer, TaskTime, TimeShare
from pacenote.model.document_checks import UnsentDocuments
from pacenote.model.failure_group import FailureGroup
from pacenote.model.finding import Finding
from pacenote.model.imported import ImportedResults, ImportedValue
from pacenote.model.merged_series import MergedPercentile
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_record import Verdict
from pacenote.model.race_timeline import PointTimes, RaceObservations
from pacenote.model.result import TaskResult, WarmupBacklog, WarmupDrain
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.report.page.page import ItemList, PageCell, PageCommand, PageTable, ReportPage, Text
from pacenote.report.page.race.build import PageSources, build_page, without_details
from pacenote.report.page.time_charts import Chart, CurveChart
from pacenote.report.screen.build import RaceLocation
from report.page.race.observed import arrivals, cpus, line, observed, pause, point, telemetry, timeline
from support.records import bulk, paced, record, task, times

LOCATION = RaceLocation("~/races/race-1", "race-1", "complete")
STEADY = [50] * 20


def page_of(race=None, seen=None, **changes) -> ReportPage:
    """Returns the page of a race with one search, of which the operations are known."""
    race = race or record(tasks=(task(duration_s=20.0, window_s=20.0),), verdict=Verdict("valid"))
    seen = seen if seen is not None else observed(timeline(search=line(STEADY)))
    return build_page(PageSources(race, changes.pop("location", LOCATION), seen, **changes))


def answer(page: ReportPage, question: str) -> str:
    """Returns the answer to the question that contains a word."""
    (answered,) = [each for each in page.questions if question in each.question]
    return " ".join(block.text for block in answered.blocks)


def blocks(page: ReportPage, kind: type):
    return [block for section in page.sections for block in section.blocks if isinstance(block, kind)]


def table(page: ReportPage, name: str) -> PageTable:
    (page_table,) = [each for each in blocks(page, PageTable) if each.id == name]
    return page_table


def cells(page_table: PageTable) -> list[list[str]]:
    return [
        [cell.text if isinstance(cell, PageCell) else cell for cell in row]
        for group in page_table.groups
        for row in group.rows
    ]


def test_the_first_figures_are_throughput_the_slowest_p99_and_errors():
    page = page_of(record(tasks=(bulk(), paced(), task()), verdict=Verdict("valid")))
    assert [(figure.label, figure.value) for figure in page.figures] == [
        ("Indexing", "12,346 docs/s"),
        ("Slowest p99", "≥ 67.5 ms"),
        ("Errors", "12 documents"),
    ]
    assert page.figures[2].tone == "wrong"
    assert answer(page, "p99") == (
        "≥ 67.5 ms, service time of index-append; too few operations for p99. "
        "Of those with enough operations: 8 ms, latency of term."
    )
    few = page_of(record(tasks=(task(service_time=times(100, p99=80.0)),)))
    assert (few.figures[1].value, few.figures[1].detail) == (
        "≥ 60 ms",
        "service time of search; too few operations for p99",
    )


def test_the_reasons_of_a_verdict_come_with_advice():
    finding = Finding("the driver sent late", "driver", "an idle machine", ("term",))
    page = page_of(record(verdict=Verdict("suspect", (finding,))))
    assert (page.badge, page.tone) == ("suspect", "doubtful")
    text = answer(page, "valid")
    assert "use its results with care. term: the driver sent late. Try: an idle machine." in text
    assert "Documents: 740,000 acknowledged and counted in 1 index." in text
    assert answer(page_of(), "valid").startswith("Yes. No check of the driver")


def test_parts_in_which_nothing_ended_have_a_throughput_of_0():
    page = page_of(seen=observed(timeline(search=line([50, 0, 50]))))
    assert cells(table(page, "data-operations"))[1] == ["1", "0", "0", "0", "", "", "", "", ""]


@pytest.mark.parametrize("state", ["running", "killed", "interrupted", "aborted"])
def test_a_race_that_is_not_complete_says_so(state):
    race = record(tasks=(), complete=False)
    page = page_of(race, RaceObservations(), location=replace(LOCATION, state=state))
    assert (page.badge, page.tone) == (state, "wrong")
    assert answer(page, "valid").startswith(f"The race is {state}: its results are incomplete.")
    assert answer(page, "limited") == "Not diagnosed: the race has not ended."
    assert answer(page, "p99") == "Not known: no task has enough operations."
    assert answer(page, "stall") == "Not known: there is no series of the operations."


def test_the_diagnosis_answers_what_limited_the_race():
    fired = RuleAnswer(id="H2", title="the heap is resized", state="fired", text="it grows", severe=True)
    silent = RuleAnswer(id="D1", title="the disk is slow", state="ruled out", text="it is not")
    share = TimeShare("indexing", 0.6, "threads")
    diagnosis = Diagnosis(
        races=("race-1",),
        findings=(fired,),
        ruled_out=(silent,),
        time=(TaskTime("search", "", (share,), 0.4),),
    )
    page = page_of(diagnosis=diagnosis)
    assert answer(page, "limited") == (
        "H2: the heap is resized: it grows. During search, the time of all cores went to: 60.0 % indexing."
    )
    listed = blocks(page, ItemList)
    assert [(each.title, each.is_folded) for each in listed[-1:]] == [("Ruled out: 1 rule", True)]
    (item,) = next(each for each in listed if each.title.startswith("Findings")).items
    assert (item.title, item.tone) == ("H2: the heap is resized", "wrong")
    nothing = page_of(diagnosis=replace(diagnosis, findings=(), time=()))
    assert answer(nothing, "limited").startswith(
        "No cause was found: 1 cause is ruled out, 0 cannot be checked"
    )


def test_seconds_with_few_operations_are_stalls_with_the_pauses_in_them():
    operations = [*[50] * 8, 10, 0, 0, *[50] * 9]
    seen = observed(timeline(search=line(operations)), pauses=(pause(9.5, 1_200.0),), has_gc_log=True)
    page = page_of(seen=seen)
    assert answer(page, "stall").startswith(
        "At 0:08 for 3 s: search at 3.33 of usually 50 operations per second; 1.2 s of garbage collection "
        "pauses."
    )
    of_nodes = tuple(pause(9.5, ms, node=node) for node, ms in (("a", 900.0), ("b", 950.0), ("c", 900.0)))
    shown = answer(page_of(seen=replace(seen, pauses=of_nodes)), "stall")
    assert "per second; 950 ms of garbage collection pauses on b." in shown
    assert page.axis is not None
    assert page.axis.stalls == ((8.0, 11.0),)
    held_up = [point(second, count) for second, count in enumerate(operations) if count]
    held_up[9] = point(11, times=PointTimes(20.0, 30.0, None, 3_140.0))
    longer = observed(timeline(search=line(operations, points=tuple(held_up))))
    assert answer(page_of(seen=longer), "stall").startswith(
        "At 0:08 for 3 s: search at 3.33 of usually 50 operations per second; the longest operation took "
        "3.14 s."
    )
    without_log = page_of(seen=replace(seen, pauses=(), has_gc_log=False))
    assert "usually 50 operations per second. The slowest" in answer(without_log, "stall")


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (STEADY, "Never, in search. The slowest"),
        # In a stall, twenty operations are missing: here, after ten seconds, and after nine they are too few.
        ([*[2] * 45, *[0] * 10, 2, 2], "At 0:45 for 10 s: search at 0 of usually 2 operations per second."),
        ([*[2] * 45, *[0] * 9, 2, 2], "Never, in search. The slowest"),
        ([50] * 5, "Not known, because too few operations ended: search. The slowest"),
        ([1] * 20, "Not known, because too few operations ended: search. The slowest"),
        # The warm-up is not examined, nor is the last second, which is not a whole one.
        ([0, 0, *[50] * 18, 1], "Never, in search. The slowest"),
    ],
)
def test_stalls_are_only_sought_among_enough_operations(operations, expected):
    race = record(tasks=(task(duration_s=len(operations) - 0.5),), verdict=Verdict("valid"))
    seen = observed(timeline(search=line(operations, measured_from_s=2 if not operations[0] else 0)))
    text = answer(page_of(race, seen), "stall")
    assert text.startswith(expected)
    assert text.endswith("The slowest operation took 45.5 ms: search at " + text[-5:])


def test_the_operations_of_a_part_are_per_second_and_the_table_has_all_that_charts_draw():
    points = (point(0, 100, errors=2, least_work=0, most_work=90), point(10, 30))
    race = record(tasks=(task(duration_s=13.0),), verdict=Verdict("valid"))
    seen = observed(structs.replace(timeline(search=line([10] * 13, points=points)), length_s=10))
    page = page_of(race, seen)
    assert cells(table(page, "data-operations")) == [
        ["0", "10", "0", "90", "20", "30", "", "45.5", "2"],
        ["10", "10", "30", "30", "20", "30", "", "45.5", ""],
    ]
    ids = {each.id for each in blocks(page, PageTable)}
    charts = blocks(page, Chart)
    assert [chart.id for chart in charts] == ["throughput-0", "latency", "errors"]
    for chart in charts:
        assert chart.table in ids
        width = len(table(page, chart.table).columns)
        assert all(each.column < width for each in chart.lines)


def test_the_short_rest_of_a_task_is_no_peak_of_its_throughput():
    """Divided by 4 ms, five operations would be 1,250 per second; a part of a second is not the slowest."""
    points = (point(0, 500, least_work=40, most_work=60), point(10, 5, least_work=5, most_work=5))

    def rows(duration_s, *shown):
        race = record(tasks=(task(duration_s=duration_s),), verdict=Verdict("valid"))
        seen = observed(structs.replace(timeline(search=line([50] * 10, points=shown)), length_s=10))
        return [row[1:4] for row in cells(table(page_of(race, seen), "data-operations"))]

    assert rows(10.004, *points) == [["50", "40", "60"], ["", "", ""]]
    assert rows(10.5, *points) == [["50", "40", "60"], ["10", "", ""]]
    assert rows(0.1, structs.replace(points[1], from_s=0)) == [["50", "", ""]]
    rest = structs.replace(points[1], operations=105, work=105, least_work=5, most_work=55)
    assert rows(12.1, points[0], rest)[1] == ["50", "", ""]
    assert rows(12.0, points[0], rest)[1] == ["52.5", "5", "55"]


def test_failed_documents_are_a_part_of_the_documents():
    indexing = bulk()
    failed = indexing.work.failed
    documents = indexing.work.done + failed
    page = page_of(record(tasks=(indexing,), verdict=Verdict("valid")))
    assert page.figures[-1].detail == f"of {documents:,} documents"
    broken = task(accounting=structs.replace(task().accounting, operations=1_000, succeeded=990, failed=10))
    both = page_of(record(tasks=(indexing, broken), verdict=Verdict("valid")))
    assert both.figures[-1].value == f"{failed} documents and 10 operations"
    assert both.figures[-1].detail == f"of {documents:,} documents and 1,000 operations"
    good = page_of(record(tasks=(task(),), verdict=Verdict("valid")))
    assert good.figures[-1].detail == f"of {task().accounting.operations:,} operations"


def test_the_heap_of_several_nodes_is_no_sum_of_maxima_of_different_moments():
    def heap(node, *values):
        of_node = telemetry("jvm.mem.heap_used", list(values), source="node-gauges", labels={"node": node})
        return structs.replace(of_node, mean=tuple(value / 2 for value in values))

    def shown(*lines):
        seen = observed(timeline(search=line([50] * 2)), telemetry=lines)
        page = page_of(record(tasks=(task(duration_s=1.5),)), seen)
        (chart,) = [each for each in blocks(page, Chart) if each.id == "heap"]
        return [row[1] for row in cells(table(page, "data-machine"))], chart.summary

    first = heap("a", 8 * 2.0**20, 4 * 2.0**20)
    assert shown(first) == (["8", "4"], "Largest use in each part.")
    both = shown(first, heap("b", 4 * 2.0**20, 8 * 2.0**20))
    assert both == (["6", "6"], "Mean use of all nodes together in each part.")


def test_tasks_that_overlap_have_different_lanes():
    tasks = (
        task("a", started_s=0.0, duration_s=10.0),
        task("b", started_s=5.0, duration_s=10.0),
        task("c", started_s=10.0, duration_s=5.0),
    )
    lines = {name: line([50] * 5) for name in "abc"}
    page = page_of(record(tasks=tasks), observed(timeline(**lines)))
    assert page.axis is not None
    assert [(band.name, band.lane) for band in page.axis.bands] == [("a", 0), ("b", 1), ("c", 0)]
    assert page.axis.end_s == 15.0


def test_telemetry_becomes_charts_and_what_was_not_sampled_has_none():
    race = record(
        tasks=(task(duration_s=2.5),),
        telemetry={"host-sampler": {"data_devices": [{"device": "vda"}, {"device": None}]}},
    )
    lines = (
        *cpus([0.25, 0.5, 1.0]),
        telemetry("process.user", [100.0, 100.0, None], labels={"process": "driver"}),
        telemetry("process.user", [200.0, 400.0, 900.0], labels={"process": "node-0"}),
        telemetry("disk.write_bytes", [2.0**20, 0.0, 2.0**21], labels={"device": "vda"}),
        telemetry("disk.write_bytes", [1.0, 1.0, 1.0], labels={"device": "vdb"}),
    )
    seen = observed(
        timeline(search=line([50] * 3)),
        telemetry=lines,
        pauses=(pause(1.2, 30.0), pause(9.0, 9e9)),
        has_gc_log=True,
    )
    page = page_of(race, seen)
    page_table = table(page, "data-machine")
    assert [column.heading for column in page_table.columns] == [
        *("Time (s)", "GC pauses (ms/s)", "Longest pause (ms)"),
        *("All CPUs busy (%)", "Engine (%)", "Driver (%)", "Written (MiB/s)"),
    ]
    assert cells(page_table) == [
        ["0", "0", "0", "25", "20", "10", "1"],
        ["1", "30", "30", "50", "40", "10", "0"],
        ["2", "0", "0", "100", "90", "", "2"],
    ]
    summaries = {chart.id: chart.summary for chart in blocks(page, Chart)}
    assert summaries["gc"].startswith("1 pause, 30 ms in total; the longest took 30 ms, at 0:01")
    assert summaries["disk"] == "Devices behind the data: vda."
    assert not {"heap", "merges"} & summaries.keys()


def test_a_long_pause_is_in_all_parts_in_which_it_was():
    seen = observed(
        timeline(search=line([50] * 4)), pauses=(pause(0.5, 1_700.0), pause(2.8, 9e9)), has_gc_log=True
    )
    race = record(tasks=(task(duration_s=3.5),))
    assert cells(table(page_of(race, seen), "data-machine")) == [
        ["0", "500", "1700"],
        ["1", "1000", "0"],
        ["2", "400", "9000000000"],
        ["3", "1000", "0"],
    ]


def test_without_a_gc_log_work_beside_the_application_is_no_pause():
    lines = [
        telemetry(f"jvm.gc.collectors.{collector}.collection_time", [ms] * 3, source="node-counters")
        for collector, ms in {
            **{"zgc_minor_cycles": 700.0, "zgc_major_cycles": 90.0, "zgc": 50.0, "shenandoah_cycles": 40.0},
            **{"zgc_minor_pauses": 1.0, "young": 2.0, "old": 4.0, "g1_concurrent_gc": 8.0},
        }.items()
    ]
    seen = observed(timeline(search=line([50] * 3)), telemetry=tuple(lines))
    page = page_of(record(tasks=(task(duration_s=2.5),)), seen)
    page_table = table(page, "data-machine")
    assert [column.heading for column in page_table.columns] == ["Time (s)", "GC pauses (ms/s)"]
    assert cells(page_table)[0] == ["0", "15"]
    assert [chart.title for chart in blocks(page, Chart) if chart.id == "gc"] == ["Garbage collection pauses"]


def test_arrivals_show_what_waits():
    race = record(tasks=(paced(duration_s=3.0),))
    seen = observed(timeline(term=line([50] * 3)), arrivals={"term": arrivals([50, 50], [40, 30, 30])})
    page = page_of(race, seen)
    assert cells(table(page, "data-arrivals")) == [
        ["0", "50", "40", "10"],
        ["1", "50", "30", "30"],
        ["2", "0", "30", "0"],
    ]
    (chart,) = [each for each in blocks(page, Chart) if each.id == "open"]
    assert chart.summary.startswith("At most 30 operations due but not done")


@pytest.mark.parametrize(
    ("duration_s", "last"),
    [(2.0, ["1", "50", "60", "0"]), (2.25, ["1", "40", "48", "0"]), (1.5, ["1", "100", "120", "0"])],
)
def test_operations_that_end_late_are_no_peak_of_the_rate(duration_s, last):
    race = record(tasks=(paced(duration_s=duration_s),))
    seen = observed(timeline(term=line([50] * 2)), arrivals={"term": arrivals([50, 50], [40, 50, 10])})
    assert cells(table(page_of(race, seen), "data-arrivals")) == [["0", "50", "40", "10"], last]


def test_many_tasks_without_a_stall_are_not_listed():
    names = [f"search-{number}" for number in range(4)]
    race = record(
        tasks=tuple(task(name, duration_s=20.0, started_s=20.0 * number) for number, name in enumerate(names))
    )
    page = page_of(race, observed(timeline(**{name: line(STEADY) for name in names})))
    stalled = next(each for each in page.questions if each.question == "When did it stall?")
    assert stalled.blocks[0].text == "Never, in any of the 4 tasks."


def test_durations_are_counted_by_time_and_level():
    page = page_of()
    page_table = table(page, "data-durations")
    assert [column.heading for column in page_table.columns] == ["Time (s)", "from 15.8 ms"]
    assert cells(page_table)[:2] == [["0", "50"], ["1", "50"]]


def test_the_table_of_tasks_sorts_by_numbers_and_leaves_out_empty_columns():
    errors = (FailureGroup("timeout", "slow", 0, 3, 1.0, 2.0),)
    page = page_of(record(tasks=(task(), paced(errors=errors))))
    page_table = table(page, "data-tasks")
    headings = [column.heading for column in page_table.columns]
    assert {"Task", "p99", "Late p99"} <= set(headings)
    row = page_table.groups[0].rows[1]
    assert row[headings.index("p99")] == PageCell("8 ms", 8.0)
    assert "Late p99" not in [column.heading for column in table(page_of(), "data-tasks").columns]
    assert cells(table(page, "data-errors")) == [["term", "timeout", "3 operations", "1 s to 2 s", "slow"]]


def test_settings_fit_their_room_and_the_rest_is_counted():
    facts = {f"setting.{number:03}": "x" * 91 for number in range(100)}
    facts |= {
        "node.n0.jvm.flag.UseG1GC": "true",
        "node.n0.a": "same",
        "node.n1.a": "same",
        "reading.load": "1",
    }
    snapshot = RaceSnapshot(Snapshot(facts), Snapshot({**facts, "setting.000": "changed"}))
    sources = PageSources(record(), LOCATION, RaceObservations(), snapshot)
    page = build_page(sources, settings_bytes=1_200)
    assert cells(table(page, "data-changed"))[0][0] == "setting.000"
    assert cells(table(page, "data-settings-nodes")) == [["node.*.a", "same"]]
    assert len(cells(table(page, "data-settings-cluster"))) == 10
    assert any("91 further facts" in text.text for text in blocks(page, Text))
    smaller = without_details(page)
    assert not [each for each in blocks(smaller, PageTable) if each.id.startswith("data-settings")]


class CountedFacts(dict[str, str]):
    """Facts that count how often one is looked up."""

    lookups = 0

    def get(self, *arguments):
        self.lookups += 1
        return super().get(*arguments)

    def __getitem__(self, key):
        self.lookups += 1
        return super().__getitem__(key)


def test_work_does_not_grow_with_the_square_of_the_nodes():
    facts = CountedFacts({f"node.n{number}.{name}": "same" for number in range(1_000) for name in "ab"})
    sources = PageSources(record(), LOCATION, RaceObservations(), RaceSnapshot(Snapshot(facts), Snapshot({})))
    assert cells(table(build_page(sources), "data-settings-nodes")) == [
        ["node.*.a", "same"],
        ["node.*.b", "same"],
    ]
    assert facts.lookups <= 10 * len(facts)


def test_work_does_not_grow_with_the_square_of_the_tasks(monkeypatch):
    compared = []
    monkeypatch.setattr(TaskResult, "__eq__", lambda task, other: compared.append(other) or task is other)
    hidden = tuple(task(task=f"hidden-{number}") for number in range(30))
    shown = tuple(task(task=f"shown-{number}") for number in range(30))
    page = page_of(record(tasks=hidden + shown, unreported=tuple(one.task for one in hidden)))
    assert any("Administrative, not listed: hidden-0, hidden-1," in text.text for text in blocks(page, Text))
    assert len(compared) <= 2 * len(hidden + shown)


def test_the_command_and_its_notes_are_the_last_answer():
    page = page_of(command="pacenote race --track=geonames", command_notes=("Secrets were not stored.",))
    assert page.questions[-1].blocks == (
        PageCommand("pacenote race --track=geonames"),
        Text("Secrets were not stored."),
    )


def test_an_imported_race_shows_what_its_file_states():
    values = (
        ImportedValue("Mean Throughput", "index-append", 1000.0, "docs/s"),
        ImportedValue("99th percentile service time", "term", 12.5, "ms"),
        ImportedValue("50th percentile service time", "term", 2.5, "ms"),
    )
    imported = ImportedResults("rally", "summary", "summary.md", "0" * 64, values=values)
    page = page_of(record(tasks=(), imported=imported, verdict=Verdict("valid")), RaceObservations())
    assert [figure.value for figure in page.figures] == ["1,000 docs/s", "term 2.5 ms"]
    assert answer(page, "valid").startswith(
        "It is valid, as far as the file of Rally tells: it has no samples to check."
    )
    assert [row[0] for name in ("0", "1") for row in cells(table(page, f"data-tasks-{name}"))] == [
        "index-append",
        "term",
    ]
    assert len(cells(table(page, "data-figures"))) == 3
    assert not {"engine", "settings"} & {section.id for section in page.sections}


def test_what_cannot_be_read_is_said():
    seen = replace(
        observed(timeline(search=line(STEADY), other=line(STEADY))), missing=("No telemetry: gone",)
    )
    texts = [block.text for block in blocks(page_of(seen=seen), Text)]
    assert "No telemetry: gone." in texts
    assert "Not shown, because it has not ended: other." in texts
    nothing = page_of(seen=RaceObservations(missing=("There is no timeline: no file",)))
    assert nothing.axis is None
    assert "There is no timeline: no file." in [block.text for block in blocks(nothing, Text)]
    assert not blocks(nothing, Chart)


def test_a_curve_that_ends_below_the_median_is_shown():
    short = line(STEADY, curve=(MergedPercentile(25.0, 20.0),))
    (chart,) = blocks(page_of(seen=observed(timeline(search=short))), CurveChart)
    assert chart.summary == "The slowest is search, with 20 ms at p25."


def test_latency_with_the_backlog_of_the_warm_up_is_marked_and_not_the_slowest():
    backlog = WarmupBacklog(135, 4.2, marked=True)
    slow = paced("slow", latency=times(p50=900.0, p99=1200.0), warmup_backlog=backlog)
    page = page_of(record(tasks=(slow, task())))
    assert page.figures[1].detail == "service time of search"
    row = cells(table(page, "data-tasks"))[0]
    assert {"900 ms §", "1.2 s §"} <= set(row)
    assert "8 ms §" not in row
    texts = [block.text for block in blocks(page, Text)]
    assert any(
        text.startswith("§ slow: 135 of 50,000 measured operations waited for the warm-up") for text in texts
    )


def test_only_the_latency_that_a_backlog_decides_is_marked():
    backlog = WarmupBacklog(80, 3.395, effect=1.0, from_quantile=0.999)
    page = page_of(record(tasks=(paced("slow", warmup_backlog=backlog), task())))
    marked = [text for text in cells(table(page, "data-tasks"))[0] if "§" in text]
    assert len(marked) == 2
    texts = [block.text for block in blocks(page, Text)]
    assert any("; they decide p99.9 and everything above it" in text for text in texts)


def test_unsent_documents_are_noted_below_the_tasks():
    page = page_of(record(tasks=(bulk(),), unsent_documents=(UnsentDocuments("index-append", 40, 200),)))
    (text,) = [block.text for block in blocks(page, Text) if "iterations" in block.text]
    assert text.startswith("index-append sends 40 of 200 documents, because ")


def test_a_window_that_waited_for_the_backlog_says_from_when_on_it_was_measured():
    late = paced("late", warmup_backlog=WarmupBacklog(drain=WarmupDrain(4.2, 135)))
    texts = [block.text for block in blocks(page_of(record(tasks=(late, task()))), Text)]
    assert any(text.startswith("late: measured from 4.2 s on, 135 operations later") for text in texts)


def test_an_option_without_effect_is_noted_below_the_tasks():
    page = page_of(record(pacing=PacingOptions(warmup_drain=True), complete=True))
    assert any(block.text.startswith("--warmup-drain had no effect") for block in blocks(page, Text))

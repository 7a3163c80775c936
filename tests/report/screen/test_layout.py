"""The last screen of a race at several widths, character by character.

`UPDATE_GOLDEN=1` rewrites the golden files; review their diff.
"""

import io
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace
from rich.console import Console

from pacenote.model.data_options import StartingState
from pacenote.model.document_checks import DocumentCheck, UnsentDocuments
from pacenote.model.finding import Finding
from pacenote.model.headline import headline
from pacenote.model.node_options import NodeGroup, NodeOptions
from pacenote.model.pacing_options import PacingOptions
from pacenote.model.race_record import RaceRecord, RecordedClient, Verdict
from pacenote.model.race_state import race_state
from pacenote.model.race_timeline import GcPause, RaceObservations, TelemetryLine
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import OperationTotals, Throughput, WarmupBacklog, WarmupDrain
from pacenote.report.race_evidence import RaceEvidence
from pacenote.report.render.screen import render_screen
from pacenote.report.screen.answers import answers
from pacenote.report.screen.build import RaceLocation, build_screen
from pacenote.report.screen.engine import engine_paragraph
from pacenote.report.screen.layout import lay_out
from pacenote.report.screen.text import Line, broken_lines, plain_text, shortened, text_width
from report.screen.races import (
    HOST,
    evidence,
    indexing,
    interrupted_start,
    searching,
    suspect_race,
    valid_race,
    void_race,
)
from support.records import record, task, times

GOLDEN = Path(__file__).parent / "golden"
RACES: dict[str, Callable[[], RaceRecord]] = {
    "suspect": suspect_race,
    "valid": valid_race,
    "void": void_race,
    "start": interrupted_start,
}


def screen(race: RaceRecord, seen: RaceEvidence | None = None):
    location = RaceLocation(f"~/.pacenote/races/{race.race_id}", race.race_id[:8], race_state(race))
    return build_screen(race, location, seen)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("name", RACES)
def test_the_screen_of_a_race(name, width):
    compare(name, lay_out(screen(RACES[name]()), width), width)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_the_screen_of_a_race_that_was_observed(width):
    compare("observed", lay_out(screen(suspect_race(), evidence()), width), width)


def compare(name: str, lines: list[Line], width: int) -> None:
    text = plain_text(lines)
    expected = GOLDEN / f"{name}-{width}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")
    assert max(map(visible, text.splitlines())) <= width


def test_nodes_and_what_was_set_for_the_race_are_shown():
    options = RecordedOptions(
        nodes=NodeOptions(groups=(NodeGroup(3),)),
        settings={"index.codec": "best_compression"},
        jvm_options=("-XX:+AlwaysPreTouch",),
        engine_variables={"A": "1"},
        cooldown_s=30.0,
    )
    state = StartingState(data_set="logs", stored_by="0a")
    race = structs.replace(suspect_race(), options=options, starting_state=state)
    text = plain_text(lay_out(screen(race), 140))
    assert ", nodes: 3, heap 1.0 GiB, index.codec=best_compression, -XX:+AlwaysPreTouch, A=1\n" in text
    assert "data: began as data set 'logs', stored by race 0a, cooldown: 30 s before the first task\n" in text


def visible(line: str) -> int:
    """Returns the length of a line, or 0 if it has only a path, which is not broken."""
    return 0 if line.startswith((" Results  ~", " Results  /")) and len(line.split()) == 2 else len(line)


def test_the_headline_names_an_assembled_core():
    title = "Elasticsearch core 9.5.3, assembled: not the official distribution"
    cluster = structs.replace(valid_race().cluster, title=title)
    text = plain_text(lay_out(screen(structs.replace(valid_race(), cluster=cluster)), 140))
    assert title in text


@pytest.mark.parametrize(("width", "shown"), [(20, 60), (60, 60), (300, 140)])
def test_the_screen_has_a_smallest_and_a_largest_width(width, shown):
    race = screen(suspect_race())
    assert lay_out(race, width) == lay_out(race, shown)


@pytest.mark.parametrize("name", RACES)
def test_no_line_is_too_long(name):
    shown = screen(RACES[name]())
    for width in range(60, 141):
        lines = plain_text(lay_out(shown, width)).splitlines()
        assert [line for line in lines if visible(line) > width] == [], width


def printed(**options):
    file = io.StringIO()
    render_screen(screen(suspect_race()), Console(file=file, width=80, highlight=False, **options))
    return file.getvalue()


def test_colours_are_shown_on_terminals_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    plain = "\n" + plain_text(lay_out(screen(suspect_race()), 80))
    assert printed(force_terminal=False) == plain
    coloured = printed(force_terminal=True)
    assert "\x1b[1;33m SUSPECT " in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    without = printed(force_terminal=True)
    assert "\x1b[1;33m" not in without
    assert "33m" not in without


def test_control_characters_of_names_do_not_reach_the_terminal():
    verdict = Verdict("void", (Finding("\x1b[2Jgone", tasks=("a\x07b",)),))
    race = structs.replace(suspect_race(), verdict=verdict, challenge="x\x1b[31my", user_tags={"a": "\x9b1m"})
    assert plain_text(lay_out(screen(race), 80)).replace("\n", "").isprintable()


def test_markup_in_a_name_is_shown_as_text():
    file = io.StringIO()
    race = structs.replace(valid_race(), challenge="[bold]x[/bold]")
    render_screen(screen(race), Console(file=file, width=80))
    assert "[bold]x[/bold]" in file.getvalue()


def test_a_long_name_keeps_its_beginning_and_its_end():
    assert shortened("a-search-with-a-long-name-1", 12) == "a-sear…ame-1"
    assert shortened("exactly-so-1", 12) == "exactly-so-1"


def test_a_percentage_stays_on_one_line():
    assert broken_lines("it waited too long (limit 10 %)", 28) == ["it waited too long (limit", "10 %)"]


def test_a_rate_of_which_nothing_was_measured_was_not_kept():
    race = suspect_race()
    tasks = (*race.tasks[:2], structs.replace(race.tasks[2], window_operations=0), *race.tasks[3:])
    shown = {answer.label: answer.text for answer in screen(structs.replace(race, tasks=tasks)).answers}
    assert shown["Target rates"] == "3 of 4 kept"


def test_indexing_without_a_schedule_has_a_service_time():
    heads = {table.title: table.heads for table in screen(suspect_race()).tables}
    assert [head for head in heads["Indexing"] if "p50" in head] == ["service p50"]
    assert [head for head in heads["Searches"] if "p50" in head] == ["latency p50", "service p50"]


def test_the_address_of_an_existing_cluster_is_shown():
    client = RecordedClient(hosts=("https://es-1:9200", "https://es-2:9200"))
    text = plain_text(lay_out(screen(structs.replace(valid_race(), client=client)), 80))
    assert " existing cluster at https://es-1:9200 and 1 more host\n" in text


def test_a_screen_that_is_higher_than_the_terminal_ends_with_its_answer(monkeypatch):
    race = screen(suspect_race())
    lines = lay_out(race, 80)
    assert lay_out(race, 80, len(lines) + 1) == lines
    longer = plain_text(lay_out(race, 80, len(lines))).splitlines()
    assert longer[-2:] == ["", " SUSPECT · 6,242 docs/s · 0 errors · 4 of 7 tasks affected"]
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "SUSPECT ·" in printed(force_terminal=True, height=20)
    assert "SUSPECT ·" not in printed(force_terminal=True, height=200)
    assert "SUSPECT ·" not in printed(force_terminal=False, height=20)


def test_a_narrow_screen_omits_the_purposes_of_long_commands():
    location = RaceLocation("r", "r", "complete", "/usr/local/environments/benchmarks/bin/pacenote")
    text = plain_text(lay_out(build_screen(valid_race(), location), 80))
    assert f" Next     {location.program} report r --full\n" in text


@pytest.mark.parametrize(("load", "is_shown"), [(1.72, True), (0.4, False)])
def test_the_load_before_the_race_is_shown(load, is_shown):
    race = structs.replace(valid_race(), environment=structs.replace(HOST, load_average=(load, 0.1, 0.1)))
    text = plain_text(lay_out(screen(race), 140))
    assert ("driver on 2 cores AMD EPYC, load 1.7 before the race, 23.5 GiB of memory" in text) == is_shown


def test_a_driver_with_selected_cpus_ran_on_these():
    race = structs.replace(valid_race(), environment=HOST)
    bound = structs.replace(race, options=structs.replace(race.options, driver_cpus="1"))
    assert "driver on 1 core AMD EPYC" in plain_text(lay_out(screen(bound), 140))


def test_reasons_with_the_same_advice_share_it():
    late, busy = Finding("late", "machine", "wait", ("a",)), Finding("busy", "machine", "wait")
    verdict = Verdict("suspect", (late, Finding("slow", "engine"), busy))
    race = structs.replace(suspect_race(), verdict=verdict)
    text = plain_text(lay_out(screen(race), 80))
    shared = (
        "  ! a: late.\n  ! busy.\n    Cause: this machine. Try: wait.\n  ! slow.\n    Cause: the engine.\n"
    )
    assert f" Why suspect\n{shared}" in text


def test_a_running_race_is_not_called_void():
    location = RaceLocation("r", "r", "running")
    race = structs.replace(valid_race(), complete=False, verdict=Verdict("void", (Finding("still running"),)))
    text = plain_text(lay_out(build_screen(race, location), 80))
    assert text.startswith(" RUNNING  ")
    assert " So far\n  ! still running.\n" in text
    assert "void" not in text.lower()


def test_an_administrative_task_of_a_reason_is_called_so():
    verdict = Verdict("suspect", (Finding("late", tasks=("setup", "default")),))
    race = suspect_race()
    race = structs.replace(race, verdict=verdict, tasks=(task("setup"), *race.tasks), unreported=("setup",))
    (finding,) = screen(race).findings
    assert finding.tasks == ("setup (administrative)", "default")


def test_a_rate_of_zero_is_not_called_extrapolated():
    short = indexing(window_s=0.5)
    none = indexing(window_s=0.5, throughput=Throughput(0.0, 0.0, 0.0, 0.0))
    for task_result, text in ((short, "6,242†"), (none, "0")):
        shown = screen(structs.replace(valid_race(), tasks=(task_result,)))
        assert shown.tables[0].lines[0].cells[0].text == text
        assert any(note.startswith("†") for note in shown.footnotes) == (task_result is short)


@pytest.mark.parametrize(("service_ms", "is_marked"), [(50.0, True), (60.0, False)])
def test_latency_that_is_mostly_waiting_for_the_previous_response_is_explained(service_ms, is_marked):
    counts = OperationTotals(600, 600, 0, 0, 0, 0, 600, 600, waited=428)
    search = structs.replace(
        searching("default", p50=114.0), accounting=counts, service_time=times(500, p50=service_ms)
    )
    shown = screen(structs.replace(valid_race(), tasks=(search,)))
    text = "^ latency is mostly waiting for the previous response of the same client: default"
    assert (f"{text} (428 of 600 operations)" in shown.footnotes) == is_marked
    assert shown.tables[0].lines[0].name == ("default ^" if is_marked else "default")
    assert "service p50" in plain_text(lay_out(shown, 140))


def test_a_rate_at_which_operations_only_fail_was_not_kept():
    race = suspect_race()
    tasks = (*race.tasks[:2], structs.replace(race.tasks[2], error_rate=1.0), *race.tasks[3:])
    shown = screen(structs.replace(race, tasks=tasks))
    answers = {answer.label: answer.text for answer in shown.answers}
    assert answers["Target rates"] == "3 of 5 kept"
    (rate,) = [line.cells[0] for table in shown.tables for line in table.lines if line.name == "default"]
    assert (rate.text, rate.is_wrong) == ("0 / 50", True)


@pytest.mark.parametrize(("ended_by", "how"), [("stopped", "interrupted"), ("aborted", "aborted")])
def test_the_rate_of_a_task_that_ended_early_is_marked(ended_by, how):
    race = structs.replace(valid_race(), tasks=(indexing(ended_by=ended_by),))
    shown = {answer.label: answer.text for answer in screen(race).answers}
    assert shown["Indexing"] == headline(race) == f"6,242 docs/s, {how}"


def test_texts_of_tracks_and_engines_keep_the_columns_and_have_no_effect():
    evil = "\x1b[2J\u202e日本[red]\x9b"
    race, seen = suspect_race(), evidence()
    renamed = tuple(structs.replace(one, task=f"{one.task}{evil}") for one in race.tasks)
    findings = tuple(replace(one, title=f"{one.title}{evil}") for one in seen.diagnosis.findings)
    cores = tuple(replace(one, task=evil, node=evil) for one in seen.diagnosis.time)
    race = structs.replace(race, tasks=renamed, challenge=evil, car=(evil,), user_tags={evil: evil})
    diagnosis = replace(seen.diagnosis, findings=findings, time=cores)
    file = io.StringIO()
    shown = screen(race, replace(seen, diagnosis=diagnosis))
    render_screen(shown, Console(file=file, width=80, highlight=False))
    text = file.getvalue()
    assert text.replace("\n", "").isprintable()
    assert "H1: the heap is too small for the load [2J 日本[red]" in text
    searches = [line for line in text.splitlines() if re.search(r"[ !] (default|term|range) \[2J", line)]
    assert len({text_width(line.rpartition(" 0")[0]) for line in searches}) == 1
    assert len(searches) == 3
    assert max(map(text_width, text.splitlines())) <= 80


def test_latency_with_the_backlog_of_the_warm_up_is_marked_and_not_the_slowest():
    backlog = WarmupBacklog(135, 4.2, marked=True)
    slow = structs.replace(searching("slow", p50=900.0, p99=1200.0), warmup_backlog=backlog)
    shown = screen(structs.replace(valid_race(), tasks=(slow, searching("other"))))
    latency = [cell.text for cell in shown.tables[0].lines[0].cells[1:4]]
    assert latency == ["900 ms§", "1.8 s§", "1.2 s§"]
    (note,) = [note for note in shown.footnotes if note.startswith("§ ")]
    assert note == (
        "§ slow: 135 of 500 measured operations waited for the warm-up, the last of them due at 4.2 s: "
        "raise warmup-time-period to at least 5 s"
    )
    assert [answer.text for answer in shown.answers if answer.label == "Slowest p50"] == ["other 5.8 ms"]


def test_only_the_latency_that_a_backlog_decides_is_marked():
    backlog = WarmupBacklog(80, 3.395, effect=1.0, from_quantile=1.0)
    slow = structs.replace(searching("slow", p50=900.0, p99=1200.0), warmup_backlog=backlog)
    shown = screen(structs.replace(valid_race(), tasks=(slow, searching("other"))))
    marked = [cell.text for cell in shown.tables[0].lines[0].cells if "§" in cell.text]
    assert len(marked) == 1
    (note,) = [note for note in shown.footnotes if note.startswith("§ ")]
    assert "they decide the maximum" in note


def test_unsent_documents_and_lost_priority_are_lines_of_the_screen():
    shown = screen(
        structs.replace(
            valid_race(),
            unsent_documents=(UnsentDocuments("index", 40, 200),),
            driver={"scheduling": {"workers": "realtime", "demotions": 2, "demoted_s": 3.0}},
        )
    )
    text = "index sends 40 of 200 documents, because its iterations end it; omit `iterations` to send all"
    assert shown.footnotes[-1] == text
    (setup,) = [paragraph for paragraph in shown.paragraphs if paragraph.label == "Setup"]
    (demoted,) = [group for group in setup.groups if "real-time" in group[0]]
    assert demoted[0].startswith("workers lost real-time priority 2 times, for 3 s in total")


def test_merges_of_different_nodes_at_different_moments_are_not_added_up():
    def merges(node, *most):
        return TelemetryLine(
            "node-counters", "indices.merges.current", "", "gauge", {"node": node}, most, most
        )

    def said(*lines):
        groups = engine_paragraph(record(), RaceObservations(telemetry=lines)).groups
        return [text for group in groups for text in group if text.startswith("merges")]

    on_a = merges("a", 4.0, 4.0, 0.0)
    assert said(on_a) == ["merges: up to 4 at the same time"]
    assert said(merges("b", 0.0, 3.0, 5.0), on_a) == ["merges: up to 5 at the same time on b"]
    assert said(merges("a", 1.0), merges("b", 1.0)) == []


def test_simultaneous_pauses_of_nodes_are_not_added_up():
    def said(*pauses):
        groups = engine_paragraph(record(), RaceObservations(pauses=pauses)).groups
        return [text for group in groups for text in group if text.startswith(("GC", "longest"))]

    of_nodes = [GcPause(10.0, 900.0, "Pause Full", node) for node in ("a", "b", "c")]
    several = [*of_nodes, GcPause(20.0, 100.0, "Pause Young", "b"), GcPause(20.0, 950.0, "Pause Full", "c")]
    assert said(*several) == ["GC: 2 pauses of 1.85 s in all on c", "longest 950 ms"]
    assert said(*of_nodes, GcPause(20.0, 100.0, "Pause Young", "b")) == [
        "GC: 2 pauses of 1 s in all on b",
        "longest 900 ms on a",
    ]
    assert said(GcPause(10.0, 900.0, "Pause Full")) == ["GC: 1 pause of 900 ms in all", "longest 900 ms"]


def test_the_documents_of_indices_that_are_counted_together_are_in_all_of_them():
    checks = (DocumentCheck("logs-1,logs-2,logs-3", 500, 500), DocumentCheck("logs-3", 5, 5))
    (documents,) = [each for each in answers(record(documents=checks), ()) if each.label == "Documents"]
    assert documents.text == "505 acknowledged and counted in 3 indices"
    many = DocumentCheck("logs-1, logs-2 and 38 more", 500, 500)
    (documents,) = [each for each in answers(record(documents=(many,)), ()) if each.label == "Documents"]
    assert documents.text == "500 acknowledged and counted in 40 indices"


@pytest.mark.parametrize(("counted", "is_wrong"), [(890, False), (900, False), (889, True), (901, True)])
def test_documents_that_were_sent_without_a_reply_are_no_difference(counted, is_wrong):
    race = record(documents=(DocumentCheck("i", 890, counted, unknown=10),))
    (documents,) = [each for each in answers(race, ()) if each.label == "Documents"]
    assert documents.text == f"890 acknowledged, 10 sent without a reply, {counted} counted in 1 index"
    assert documents.is_wrong == is_wrong


def test_a_window_that_waited_for_the_backlog_says_from_when_on_it_was_measured():
    drain = WarmupDrain(window_from_s=4.2, operations=135)
    late = structs.replace(searching("late", p50=9.0, p99=12.0), warmup_backlog=WarmupBacklog(drain=drain))
    shown = screen(structs.replace(valid_race(), tasks=(late, searching("other"))))
    (note,) = [note for note in shown.footnotes if "backlog" in note]
    assert note == (
        "late: measured from 4.2 s on, 135 operations later than planned: the backlog of the warm-up was "
        "gone then"
    )


def test_a_backlog_that_marks_no_latency_is_a_line_of_the_screen():
    backlog = WarmupBacklog(135, 4.2, effect=1.02)
    late = structs.replace(searching("late", p50=9.0, p99=12.0), warmup_backlog=backlog)
    shown = screen(structs.replace(valid_race(), tasks=(late, searching("other"))))
    (note,) = [note for note in shown.footnotes if "waited for the warm-up" in note]
    assert note.startswith("late: 135 of 500 measured operations (27 %) waited for the warm-up, but ")


def test_an_option_without_effect_is_a_line_of_the_screen():
    shown = screen(structs.replace(valid_race(), pacing=PacingOptions(warmup_drain=True), complete=True))
    assert shown.footnotes[-1].startswith("--warmup-drain had no effect")

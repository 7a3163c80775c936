"""The hottest methods in the report and on the last screen of a race."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.report.profile import profile_notes, profile_paragraph, short_profile
from pacenote.report.recording.hot_methods import NodeProfile, node_profile
from pacenote.report.render.csv import render_csv
from pacenote.report.render.json import render_json
from pacenote.report.render.markdown import render_markdown
from pacenote.report.rows import Report
from pacenote.report.summary import build_report
from support.recordings import RecordingBuilder, without
from support.records import bulk, record


def profile(node: str = "", methods: int = 8) -> NodeProfile:
    made = RecordingBuilder()
    for number in range(methods):
        stack = made.stack(f"org.apache.lucene.util.B|B.m{number}")
        made.sample("worker", stack, methods - number)
        made.allocate("in_new_tlab", ("byte[]", "worker"), stack, 1, 100)
    return node_profile(node, made.build(without("jdk.CPUTimeSample")))


def report(*profiles: NodeProfile) -> Report:
    built = build_report(record(tasks=(bulk(),)))
    notes = (*built.notes, *profile_notes(profiles))
    return replace(built, hottest=short_profile(profiles), notes=notes)


def test_the_report_has_five_methods_of_each_kind_of_event() -> None:
    methods = short_profile((profile(),))
    assert [each.events for each in methods] == ["CPU"] * 5 + ["Allocation"] * 5
    assert methods[0].share == 8 / 36
    text = render_markdown(report(profile()))
    lines = [line for line in text.splitlines() if "B\\|B.m0" in line]
    assert [[cell.strip() for cell in line.split(" | ")] for line in lines] == [
        ["|        CPU", "org.apache.lucene.util.B\\|B.m0", "22.2 % |"],
        ["| Allocation", "org.apache.lucene.util.B\\|B.m0", "12.5 % |"],
    ]
    assert "Hottest method" not in render_markdown(report())


def test_other_formats_are_as_without_recordings() -> None:
    assert render_csv(report(profile())) == render_csv(report())
    assert render_json(report(profile())) == render_json(report())


def test_recordings_that_cannot_be_read_are_a_line_each() -> None:
    broken = NodeProfile("n1", problem="n1.jfr: it is no recording")
    text = render_markdown(report(profile("n0"), broken))
    assert "- Recording: n1: n1.jfr: it is no recording" in text
    assert "CPU on n0" in text


def test_the_last_screen_has_the_methods_without_their_packages() -> None:
    paragraph = profile_paragraph((profile(),))
    assert paragraph.groups[0][:2] == ("CPU: B|B.m0 22.2 %", "B|B.m1 19.4 %")
    assert [len(group) for group in paragraph.groups] == [5, 5]
    assert profile_paragraph(()).groups == ()

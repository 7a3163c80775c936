"""The report of a recording as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json

from pacenote.report.recording.build import RecordingFilter, build_recording_report
from pacenote.report.render.recording import (
    render_recording,
    render_recording_csv,
    render_recording_json,
)
from report.recording.field_report import report_s3
from support.recordings import RecordingBuilder


def report(recording, baseline=None):
    return build_recording_report(recording, baseline, RecordingFilter())


def small(size):
    made = RecordingBuilder()
    made.allocate("outside_tlab", ("a|B<b>", "t"), made.stack("a.B.c"), 1, size)
    return made.build()


def test_markdown_has_the_tables_of_s3():
    text = render_recording(report(report_s3()), 12)
    assert text.splitlines()[:2] == [
        "- Recording: race.jfr (1 chunk, 100 events)",
        "- Recording time: 2023-11-14 22:13:20 UTC, 1 min",
    ]
    (line,) = [line for line in text.splitlines() if line.lstrip("| ").startswith("byte[]")]
    assert [cell.strip() for cell in line.split("|")[1:-1]] == ["byte[]", "1,637,790", "2.2 TiB", "95.11 %"]
    assert "\n## Allocation outside TLABs by class\n" in text
    assert "2 more callers (`--limit=0` shows all)" in text
    assert text.endswith("\n")


def test_names_cannot_break_a_table():
    text = render_recording(report(small(5)), 0)
    assert "a\\|B\\<b>" in text


def test_csv_has_every_row_of_both_sides():
    rows = list(csv.DictReader(io.StringIO(render_recording_csv(report(small(30), small(10))))))
    found = [row for row in rows if row["Table"] == "allocation-outside-tlab-by-class"]
    assert [(row["Name"], row["Side"], row["Total"], row["Unit"], row["Share"]) for row in found] == [
        ("a|B<b>", "baseline", "10", "bytes", "1.0"),
        ("a|B<b>", "contender", "30", "bytes", "1.0"),
    ]
    assert {row["Bytes"] for row in rows} == {""}


def test_json_has_whole_numbers_and_shares():
    document = json.loads(render_recording_json(report(report_s3())))
    assert document["format"] == 1
    tables = {table["name"]: table for table in document["tables"]}
    table = tables["allocation-outside-tlab-by-class"]
    assert (table["unit"], table["heads"], table["is_stack"]) == ("bytes", ["Class"], False)
    first = table["rows"][0]
    assert first["keys"] == ["byte[]"]
    assert first["recording"]["count"] == 1_637_790
    assert first["recording"]["share"] == first["recording"]["total"] / table["whole"]["recording"]["total"]
    compared = json.loads(render_recording_json(report(small(30), small(10))))
    assert compared["tables"][0]["rows"][0].keys() == {"keys", "baseline", "contender"}

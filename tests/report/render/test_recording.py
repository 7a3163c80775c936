"""The report of a recording as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json

from pacenote.model.recording import GaugeKind
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
    outside = [row for row in rows if row["Table"] == "allocation-outside-tlab-by-class"]
    assert [(row["Name"], row["Side"], row["Total"], row["Unit"], row["Share"]) for row in outside] == [
        ("a|B<b>", "baseline", "10", "bytes", "1.0"),
        ("a|B<b>", "contender", "30", "bytes", "1.0"),
    ]
    assert {row["Bytes"] for row in rows} == {""}


def test_gauges_are_in_all_formats():
    made = RecordingBuilder()
    for number in range(3):
        made.gauge(GaugeKind.CPU_THREAD, [0.5, 0.25], f"t|{number}")
    made.gauge(GaugeKind.HEAP_COMMITTED, [1024.0])
    alone, other = report(made.build()), report(made.build(), RecordingBuilder().build())
    text = render_recording(alone, 2)
    assert "\n## CPU load by thread\n" in text
    assert "| t\\|0 " in text
    assert "1 more row (`--limit=0` shows all)" in text
    rows = {row["Name"]: row for row in csv.DictReader(io.StringIO(render_recording_csv(alone)))}
    assert rows["t|2"] == {
        **dict.fromkeys(("Detail", "Total", "Share", "Bytes"), ""),
        **{"Table": "thread-cpu-load", "Name": "t|2", "Side": "recording", "Unit": "fraction"},
        **{"Count": "2", "Min": "0.25", "Max": "0.5", "Average": "0.375"},
    }
    document = json.loads(render_recording_json(alone))
    assert document["gauges"][0] == {
        **{"name": "heap", "title": "Heap", "head": "Reading", "unit": "bytes"},
        "rows": [
            {
                "name": "Committed after collections",
                "recording": {"count": 1, "average": 1024.0, "min": 1024.0, "max": 1024.0},
            }
        ],
    }
    compared = json.loads(render_recording_json(other))["gauges"][0]["rows"][0]
    assert compared["baseline"] is None
    sides = [row["Average"] for row in csv.DictReader(io.StringIO(render_recording_csv(other)))]
    assert sides.count("1024.0") == 1


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

"""The four renderers show the same data.

`UPDATE_GOLDEN=1` rewrites the golden files; review their diff.
"""

import csv
import io
import json
import os
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace
from rich.console import Console

from pacenote.model.node_options import NodeGroup, NodeLimits, NodeOptions
from pacenote.model.race_record import RecordedCluster, Verdict
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.result import Throughput
from pacenote.report.formatting import format_interval, format_value
from pacenote.report.notes import nodes_text
from pacenote.report.render.csv import render_csv, render_full_csv
from pacenote.report.render.json import render_json
from pacenote.report.render.markdown import escape, pipe_table, render_markdown
from pacenote.report.render.terminal import render_terminal
from pacenote.report.rows import SHORT_WINDOW_MARK, UNSUPPORTED_MARK, Row, note_lines
from pacenote.report.summary import build_report
from support.records import bulk, paced, record, task

GOLDEN = Path(__file__).parent / "golden"


def report_with_special_characters():
    return build_report(record(tasks=(bulk("in|dex\n[bold]", operation_type="bulk"), paced(), task())))


def on_terminal(report, width=140):
    file = io.StringIO()
    render_terminal(report, Console(file=file, width=width, force_terminal=False))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def test_a_mark_is_shown_with_an_interval_only_for_too_few_samples():
    row = Row("metric", "task", 1.0, "ms", mark=UNSUPPORTED_MARK, low=0.5)
    assert format_interval(row) == "* ≥ 0.5"
    assert format_interval(replace(row, low=None)) == "* no interval"
    assert [format_interval(replace(row, mark=mark)) for mark in ("", SHORT_WINDOW_MARK, "‡")] == [
        "",
        "†",
        "‡",
    ]


def test_an_assembled_core_is_named_for_what_it_is():
    title = "Elasticsearch core 9.5.3, assembled: not the official distribution"
    cluster = RecordedCluster(
        "elasticsearch", "9.5.3", title=title, absent_modules=("lang-painless", "reindex")
    )
    text = render_markdown(build_report(record(cluster=cluster)))
    assert f"- Assembled: {title}\n" in text
    assert "- Absent modules: lang-painless, reindex\n" in text


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        (NodeOptions(), ""),
        (NodeOptions((NodeGroup(3),)), "3"),
        (NodeOptions(cpus=((0, 1, 2),)), "CPUs 0-2"),
        (
            NodeOptions(
                (NodeGroup(1, ("master",)), NodeGroup(2, ("data", "ingest")), NodeGroup(1, ())),
                limits=NodeLimits(4 << 30, 1.5),
                data_paths=((Path("/a"), Path("/b")),),
            ),
            "4 (master:1, data+ingest:2, coordinating:1); at most 4.0 GiB of memory each; "
            "at most 1.5 CPUs each; data in /a, /b",
        ),
    ],
)
def test_what_was_selected_for_the_nodes_is_stated(nodes, text):
    assert nodes_text(nodes) == text
    shown = render_markdown(build_report(record(options=RecordedOptions(nodes=nodes))))
    assert (f"- Nodes: {text}\n" in shown) == bool(text)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"team_repository": "bundled"}, ""),
        ({"team_path": "/cars"}, "/cars"),
        (
            {"team_repository": "mine", "team_revision": "0123456789abcdef"},
            "repository mine, revision 0123456789ab",
        ),
        ({"team_revision": "0123456789abcdef"}, "repository default, revision 0123456789ab"),
    ],
)
def test_the_origin_of_the_cars_is_stated(options, text):
    shown = render_markdown(build_report(record(options=RecordedOptions(**options))))
    assert (f"- Cars from: {text}\n" in shown) == bool(text)
    assert ("Cars from" in shown) == bool(text)


@pytest.mark.parametrize(
    ("name", "render"),
    [
        ("summary.md", render_markdown),
        ("summary.csv", render_csv),
        ("summary-full.csv", lambda report: render_full_csv(report, "race-1")),
        ("summary.json", render_json),
        ("summary.txt", on_terminal),
    ],
)
def test_reports_equal_the_golden_files(name, render):
    text = render(report_with_special_characters())
    expected = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


def test_all_renderers_show_the_same_data():
    report = report_with_special_characters()
    rows = [(row.metric, row.task, row.value, row.unit) for row in report.rows]
    parsed = json.loads(render_json(report))
    assert [(row["metric"], row["task"], row["value"], row["unit"]) for row in parsed["rows"]] == rows
    table = list(csv.reader(io.StringIO(render_full_csv(report, "r"))))
    assert [tuple(line[:4]) for line in table[1 : len(rows) + 1]] == [
        (metric, name, str(value), unit) for metric, name, value, unit in rows
    ]
    markdown, terminal = render_markdown(report), on_terminal(report, width=400)
    for row in report.rows:
        assert f"{format_value(row.value)}" in markdown
        assert f"{format_value(row.value)}" in terminal
    for note in (*report.header, *note_lines(report)):
        assert escape(note.text) in markdown
        assert note.text in terminal
        assert [note.label, note.task, note.text, "", "", "", "", "r"] in table


def test_long_names_are_shortened_on_a_terminal_only():
    long = "x" * 10_000
    report = build_report(record(tasks=(structs.replace(task(long), unit=long),)))
    table = on_terminal(replace(report, header=(), notes=(), verdict=Verdict("valid")), width=400)
    assert "…" in table
    assert "x" * 101 not in table
    assert long in render_markdown(report)
    assert long in render_csv(report)
    assert long in render_json(report)


def test_special_characters_in_cells_do_not_break_a_markdown_table():
    lines = pipe_table(
        ["Metric", "Task", "Value", "Unit"], [["a|b", "c\nd", "1", "\\"]], "right"
    ).splitlines()
    assert lines[2] == "|   a\\|b |  c d |     1 |   \\\\ |"
    assert [line.replace("\\|", "").count("|") for line in lines] == [5, 5, 5]


@pytest.mark.parametrize(
    ("align", "rule", "cells"),
    [
        ("decimal", "-------:", ["  Value ", " 12.5   ", "  1     ", "  0.125 "]),
        ("right", "------:", [" Value ", "  12.5 ", "     1 ", " 0.125 "]),
        ("left", ":------", [" Value ", " 12.5  ", " 1     ", " 0.125 "]),
        ("center", ":-----:", [" Value ", "  12.5 ", "   1   ", " 0.125 "]),
    ],
)
def test_numbers_are_aligned_as_the_option_says(align, rule, cells):
    rows = [["m", "t", value, "u"] for value in ("12.5", "1", "0.125")]
    table = pipe_table(["Metric", "Task", "Value", "Unit"], rows, align)
    column = [line.split("|")[3] for line in table.splitlines()]
    assert column[1] == rule
    assert [column[0], *column[2:]] == cells


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0, "0"),
        (0.0, "0"),
        (12_345_678, "12345678"),
        (1234567.89, "1234568"),
        (123456.789, "123457"),
        (12.5, "12.5"),
        (0.1234567, "0.123457"),
        (0.00001234, "0.00001234"),
        (-3.0, "-3"),
        (999999.9, "1000000"),
    ],
)
def test_numbers_have_six_digits_and_no_exponent(value, text):
    assert format_value(value) == text


def test_markup_in_a_name_is_shown_as_text():
    assert "[bold]" in on_terminal(report_with_special_characters())


def test_without_marked_values_the_table_has_rallys_four_columns():
    assert "interval" not in render_markdown(build_report(record(tasks=(task(),)))).split("\n\n")[1]


def test_csv_has_the_digits_of_rally_unless_they_are_too_few():
    steady = structs.replace(task(), throughput=Throughput(790.0, 833.333333, 840.5, 1_000_000.0))
    rates = {"none": 0.0, "all": 1.0, "half": 0.005, "few": 0.00001}
    tasks = (steady, *(structs.replace(task(name), error_rate=rate) for name, rate in rates.items()))
    lines = render_csv(build_report(record(tasks=tasks))).splitlines()
    assert [line for line in lines if "Throughput,search," in line] == [
        "Min Throughput,search,790.00,ops/s",
        "Mean Throughput,search,833.33,ops/s",
        "Median Throughput,search,840.50,ops/s",
        "Max Throughput,search,1000000.00,ops/s",
    ]
    assert [line.split(",", 1)[1] for line in lines if line.startswith("error rate,")] == [
        "search,0.00,%",
        "none,0.00,%",
        "all,100.00,%",
        "half,0.50,%",
        "few,0.001,%",
    ]


def test_csv_has_rallys_rows_and_columns_only():
    report = report_with_special_characters()
    header, *lines = csv.reader(io.StringIO(render_csv(report)))
    assert header == ["Metric", "Task", "Value", "Unit"]
    assert [line[0] for line in lines] == [row.metric for row in report.rows if row.is_rallys]
    assert {len(line) for line in lines} == {4}

"""Figures of tasks with less than an operation per second."""

from __future__ import annotations

import csv
import io

from msgspec.structs import replace

from pacenote.model.result import Throughput
from pacenote.model.target_rate import TargetRate
from pacenote.report.render.csv import render_csv
from pacenote.report.rows import Report
from pacenote.report.summary import build_report
from support.records import paced, record, task


def value(report: Report, metric: str, name: str) -> float | int | None:
    (row,) = [row for row in report.rows if row.metric == metric and row.task == name]
    return row.value


def test_slow_tasks_do_not_have_a_throughput_of_0() -> None:
    merge = task("force-merge", throughput=Throughput(*[1 / 600] * 4), window_s=600.0)
    hourly = paced("hourly", throughput=Throughput(*[1 / 300] * 4), window_s=3_600.0)
    hourly = replace(hourly, window_operations=12, window_succeeded=12)
    asked = {"hourly": TargetRate(1 / 300, "ops", 1 / 300)}
    report = build_report(record(tasks=(merge, hourly), targets=asked))
    assert value(report, "Median Throughput", "force-merge") == 0.00167
    assert value(report, "Min Throughput", "hourly") == 0.00333
    assert value(report, "achieved rate", "hourly") == 0.00333
    rows = {tuple(row[:2]): row[2] for row in csv.reader(io.StringIO(render_csv(report)))}
    assert rows["Mean Throughput", "force-merge"] == "0.00167"

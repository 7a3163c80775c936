"""Exports as CSV: one figure per row, and nothing that a spreadsheet runs."""

import csv
import io
from pathlib import Path

import pytest

from pacenote.export.csv import csv_text
from pacenote.export.document import exported_race
from support.records import paced, record, task


def rows(race):
    text = "".join(csv_text([exported_race(race, "complete", Path("/races/race-1"))]))
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_has_the_race_the_task_and_one_figure():
    exported = rows(record(tasks=(paced(),)))
    (row,) = [each for each in exported if (each["metric"], each["statistic"]) == ("latency", "p99")]
    assert row == {
        "race_id": "race-1",
        "race_time": "2026-03-01T12:30:15Z",
        "state": "complete",
        "verdict": "valid",
        "track": "http_logs",
        "challenge": "append-no-conflicts",
        "car": "defaults",
        "distribution": "opensearch",
        "version": "3.3.0",
        "user_tags": '{"intention": "baseline"}',
        "folder": "/races/race-1",
        "task": "term",
        "operation": "term",
        "part": "",
        "metric": "latency",
        "statistic": "p99",
        "value": "8.0",
        "unit": "ms",
        "low": "6.0",
        "high": "10.0",
        "supported": "true",
    }
    assert {each["part"] for each in exported if each["metric"] == "documents_counted"} == {"logs"}


@pytest.mark.parametrize("first", "=+-@" + "".join(map(chr, (0xFF1D, 0xFF0B, 0xFF0D, 0xFF20))))
def test_a_name_is_never_a_formula(first):
    name = f"{first}cmd|' /C calc'!A0"
    exported = rows(record(tasks=(task(name),)))
    assert {each["task"] for each in exported if each["metric"] == "throughput"} == {f"'{name}"}


def test_control_characters_are_shown_as_escapes():
    exported = rows(record(tasks=(task('\ta\r\n\x1b[31m\u202eb,"'),)))
    names = {each["task"] for each in exported if each["metric"] == "throughput"}
    assert names == {'\\u0009a\\u000d\\u000a\\u001b[31m\\u202eb,"'}


def test_negative_numbers_stay_numbers():
    exported = rows(record(tasks=(task(started_s=-0.5),)))
    assert [each["value"] for each in exported if each["metric"] == "task_start"] == ["-0.5"]

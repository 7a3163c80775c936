"""What options accept: numbers within limits, and files that can be written."""

from __future__ import annotations

import argparse
import os
import socket

import pytest

from pacenote.cli.options import values
from support.records import record


@pytest.mark.parametrize(
    ("convert", "text", "message"),
    [
        (values.count, "9" * 5000, "must be at most 1,000,000,000,000, not"),
        (values.count, "-1", "must be a whole number of at least 0, not '-1'"),
        (values.positive, str(10**12 + 1), "must be at most 1,000,000,000,000, not"),
        (values.positive, "²", "must be a whole number above 0, not '²'"),
        (values.port, "99999999999999999999999", "must be a whole number from 1 to 65535"),
        (values.above_zero, "1e308", "must be from 1e-09 to 1,000,000,000,000, not '1e308'"),
        (values.above_zero, "1e-300", "must be from 1e-09"),
        (values.above_zero, "nan", "must be a number above 0"),
        (values.path, "x" * 256, "is not a path: a name has at most 255 characters"),
        (values.path, "x/" * 3000, "is not a path"),
    ],
)
def test_a_value_beyond_its_limits_is_refused(convert, text, message):
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        convert(text)
    assert str(caught.value).startswith(message)


def test_numbers_within_their_limits_are_returned():
    assert values.count("0") == 0
    assert values.positive(" +12 ") == 12
    assert values.positive(str(10**12)) == 10**12
    assert values.above_zero("0.5") == 0.5


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "race-1", "--report-file=TARGET"),
        ("report", "race-1", "--html=TARGET"),
        ("compare", "--baseline=race-1", "--contender=race-1", "--report-file=TARGET"),
        ("compare", "--baseline=race-1", "--contender=race-1", "--html=TARGET"),
        ("diagnose", "race-1", "--report-file=TARGET"),
        ("diagnose", "race-1", "--write-experiment=TARGET"),
        ("trend", "--track=t", "--report-file=TARGET"),
        ("trend", "--track=t", "--html=TARGET"),
        ("export", "race-1", "--output=TARGET"),
        ("jfr", "x.jfr", "--folded=TARGET"),
        ("jfr", "x.jfr", "--report-file=TARGET"),
        ("render-track", "--track=t", "--output-path=TARGET"),
        ("experiment", "report", "x", "--report-file=TARGET"),
        ("experiment", "report", "x", "--html=TARGET"),
        ("tune", "report", "x", "--html=TARGET"),
        ("race", "--dry-run", "--report-file=TARGET"),
    ],
)
def test_no_output_waits_for_the_reader_of_a_pipe(run, tmp_path, arguments):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code, out, err = run(*(argument.replace("TARGET", str(pipe)) for argument in arguments))
    assert (code, out) == (2, "")
    assert f"is a pipe, not a file: '{pipe}'; name a file, or /dev/stdout" in err


def test_sockets_are_no_files_either(tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(argparse.ArgumentTypeError, match="is a socket, not a file"):
            values.output_file(str(tmp_path / "socket"))


def test_devices_and_files_are_written(tmp_path):
    for name in ("/dev/null", "/dev/stdout", "/dev/fd/1", str(tmp_path / "new"), str(tmp_path)):
        assert str(values.output_file(name)) == name
    assert values.page_file("") == ""


def test_a_report_goes_to_the_null_device(run, home):
    from pacenote.store.race_store import RaceStore

    RaceStore(home).create(record()).finish(record())
    assert run("report", "race-1", "--report-file=/dev/null")[0] == 0

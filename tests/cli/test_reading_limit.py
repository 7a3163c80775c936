"""A command that only reads ends after the time that it may take."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pacenote.cli.main import COMMANDS
from pacenote.cli.reading_limit import READERS, VARIABLE


def pacenote(home: Path, limit: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PACENOTE_HOME": str(home), VARIABLE: limit}
    command = [sys.executable, "-m", "pacenote", *arguments]
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False)


def test_readers_are_commands() -> None:
    assert COMMANDS.keys() >= READERS


def test_a_command_that_takes_too_long_at_its_beginning_ends_with_one_line(tmp_path: Path) -> None:
    for arguments in (
        ("list", "races"),
        ("report", "x"),
        ("experiment", "report", "x"),
        ("tune", "report", "x"),
    ):
        ended = pacenote(tmp_path, "0.001", *arguments)
        assert ended.returncode == 64
        assert ended.stderr.count("\n") == 1
        assert ended.stderr.startswith("error: stopped after ")
        assert VARIABLE in ended.stderr


def test_a_command_that_takes_too_long_while_it_reads_ends_with_one_line(tmp_path: Path) -> None:
    pause = "[%d.%03ds][info][gc] GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.456ms\n"
    log = tmp_path / "gc.log"
    with log.open("w") as file:
        file.writelines(pause % (number // 1000, number % 1000, number) for number in range(2_000_000))
    ended = pacenote(tmp_path, "0.5", "gc", str(log))
    assert (ended.returncode, ended.stdout) == (64, "")
    assert ended.stderr.startswith("error: stopped after 500 ms of processor time")


@pytest.mark.parametrize("limit", ["", "0", "60"])
def test_a_command_within_the_limit_is_not_affected(limit: str, tmp_path: Path) -> None:
    assert pacenote(tmp_path, limit, "list", "races").returncode == 0


def test_a_command_that_does_more_than_read_has_no_limit(tmp_path: Path) -> None:
    assert pacenote(tmp_path, "0.001", "experiment", "report-x", "x").stderr.startswith("error: cannot")
    assert pacenote(tmp_path, "0.001", "host").returncode != 64


@pytest.mark.parametrize("limit", ["x", "-1", "nan"])
def test_a_limit_that_is_not_a_number_is_an_error(limit: str, tmp_path: Path) -> None:
    ended = pacenote(tmp_path, limit, "list", "races")
    assert ended.returncode == 2
    assert f"{VARIABLE} must be a number of seconds, not '{limit}'" in ended.stderr

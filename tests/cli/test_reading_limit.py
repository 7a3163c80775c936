"""A command that only reads ends after the time that it may take."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.cli import import_races
from pacenote.cli.commands import COMMANDS
from pacenote.cli.console import Console
from pacenote.cli.reading_limit import DEFAULT_S, READERS, VARIABLE, file_limit, reading_limit


def pacenote(home: Path, limit: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PACENOTE_HOME": str(home), VARIABLE: limit}
    command = [sys.executable, "-m", "pacenote", *arguments]
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False)


def test_readers_are_commands() -> None:
    assert COMMANDS.keys() >= READERS


@pytest.mark.process
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


@pytest.mark.process
def test_a_command_that_takes_too_long_while_it_reads_ends_with_one_line(tmp_path: Path) -> None:
    pause = "[%d.%03ds][info][gc] GC(%d) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.456ms\n"
    log = tmp_path / "gc.log"
    some = "".join(pause % (number // 1000, number % 1000, number) for number in range(1000))
    with log.open("w") as file:
        file.writelines(some for _ in range(2000))
    ended = pacenote(tmp_path, "0.5", "gc", str(log))
    assert (ended.returncode, ended.stdout) == (64, "")
    assert ended.stderr.startswith("error: stopped after 500 ms of processor time")


@pytest.mark.process
@pytest.mark.parametrize("limit", ["", "0", "60"])
def test_a_command_within_the_limit_is_not_affected(limit: str, tmp_path: Path) -> None:
    assert pacenote(tmp_path, limit, "list", "races").returncode == 0


@pytest.mark.process
def test_a_command_that_does_more_than_read_has_no_limit(tmp_path: Path) -> None:
    assert pacenote(tmp_path, "0.001", "experiment", "report-x", "x").stderr.startswith("error: cannot")
    assert pacenote(tmp_path, "0.001", "host").returncode != 64


@pytest.mark.process
@pytest.mark.parametrize("limit", ["x", "-1", "nan"])
def test_a_limit_that_is_not_a_number_is_an_error(limit: str, tmp_path: Path) -> None:
    ended = pacenote(tmp_path, limit, "list", "races")
    assert ended.returncode == 2
    assert f"{VARIABLE} must be a number of seconds, not '{limit}'" in ended.stderr


def test_each_file_that_is_imported_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder may have ten thousand races."""
    taken, ended = [1e6], list[int]()
    monkeypatch.setattr("time.process_time", lambda: taken[0])
    monkeypatch.setattr("os._exit", ended.append)
    with file_limit(Console()):
        taken[0] += DEFAULT_S
    with file_limit(Console()):
        taken[0] += DEFAULT_S
    assert ended == []
    with reading_limit("list", "", Console()):
        pass
    assert ended == [64]


def test_an_import_limits_each_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = list[Console]()

    @contextlib.contextmanager
    def counted(console: Console) -> Iterator[None]:
        limited.append(console)
        yield

    monkeypatch.setattr("pacenote.cli.import_races.file_limit", counted)
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    files = [tmp_path / "missing", tmp_path / "also-missing"]
    options = argparse.Namespace(files=files, user_tags={}, owns_process=True)
    assert import_races.run(options, Console()) == 64
    assert len(limited) == 2

"""A reader of standard error that does not read delays nothing until the end of the program."""

from __future__ import annotations

import fcntl
import io
import os
import sys
import termios
import threading
from collections.abc import Iterator
from typing import TextIO

import pytest

from pacenote.cli.console import Console


@pytest.fixture
def pipe() -> Iterator[tuple[int, TextIO]]:
    """Yields the reading end of a pipe with little room, and a stream that writes to it."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with os.fdopen(writer, "w") as stream:
        yield reader, stream
    os.close(reader)


def read(reader: int) -> str:
    """Returns what can be read without waiting."""
    os.set_blocking(reader, False)
    parts = []
    try:
        while part := os.read(reader, 1 << 16):
            parts.append(part)
    except BlockingIOError:
        pass
    return b"".join(parts).decode()


def test_messages_wait_for_a_reader_that_stalls(pipe: tuple[int, TextIO]) -> None:
    reader, stream = pipe
    console = Console(err=stream)
    for number in range(20):
        console.progress(f"{number:3} {'é' * 400}")
    console.warning("last")
    first = read(reader)
    assert first.startswith("  0 ")
    assert "warning" not in first
    while "last" not in first:
        # Each further text writes those that wait.
        console.progress("more")
        first += read(reader)
    lines = [line.split()[0] for line in first.splitlines() if line != "more"]
    assert lines == [*map(str, range(20)), "warning:"]


def test_a_program_ends_with_all_messages(pipe: tuple[int, TextIO]) -> None:
    reader, stream = pipe
    console = Console(err=stream)
    for number in range(4):
        console.progress(f"{number} {'x' * 998}")
    text = read(reader)
    assert text.count("\n") < 4
    assert console.close()
    assert (text + read(reader)).count("\n") == 4


def test_only_the_latest_messages_wait_for_a_reader_that_never_reads(pipe: tuple[int, TextIO]) -> None:
    reader, stream = pipe
    console = Console(err=stream)
    for number in range(2000):
        console.progress(f"{number} {'x' * 90}")
    text = ""
    while not text.endswith("end\n"):
        console.progress("end")
        text += read(reader)
    numbers = [int(line.split()[0]) for line in text.splitlines() if line[0].isdigit()]
    assert (numbers[0], numbers[-1]) == (0, 1999)
    assert 500 < len(numbers) < 1000


def test_a_terminal_that_was_stopped_shows_messages_when_it_goes_on() -> None:
    reader, writer = os.openpty()
    with os.fdopen(writer, "w") as stream:
        console = Console(err=stream)
        termios.tcflow(writer, termios.TCOOFF)
        console.progress("one")
        assert read(reader) == ""
        termios.tcflow(writer, termios.TCOON)
        console.progress("two")
        assert read(reader) == "one\r\ntwo\r\n"
    os.close(reader)


def test_a_terminal_whose_reader_stalls_delays_nothing() -> None:
    reader, writer = os.openpty()
    with os.fdopen(writer, "w") as stream:
        console = Console(err=stream)
        for number in range(1000):
            console.progress(f"{number} {'é' * 100}")
        assert read(reader).startswith("0 ")
    os.close(reader)


def test_messages_of_several_threads_are_not_mixed() -> None:
    stream = io.StringIO()
    console = Console(err=stream)

    def write(letter: str) -> None:
        for _ in range(30):
            console.progress(letter * 5_000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    lines = stream.getvalue().splitlines()
    assert sorted(lines) == [letter * 5_000 for letter in "abcd" for _ in range(30)]

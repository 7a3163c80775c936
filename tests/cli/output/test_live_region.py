"""The region of a terminal that is redrawn in place, on a terminal that can be resized."""

from __future__ import annotations

import io
import os
import struct
import sys
import termios
from collections.abc import Iterator
from fcntl import ioctl

import pytest

from pacenote.cli.console import Console
from pacenote.cli.output.live_region import LiveRegion
from pacenote.report.screen.text import Span
from support.terminal import Terminal


class CountedStream(io.TextIOWrapper):
    """A stream that counts the bytes that a terminal makes of what is written."""

    count = 0

    def write(self, text: str, /) -> int:
        self.count += len(text.replace("\n", "\r\n").encode())
        return super().write(text)


class Shown:
    """A region with the terminal that it is drawn on. It is opened by the test, because pytest exchanges the
    standard streams after its fixtures.
    """

    def __init__(self, stream: CountedStream, controller: int) -> None:
        self.stream = stream
        self._controller = controller
        self._received = 0
        self.terminal = Terminal(80, 24)
        self.resize(80, 24)
        self.region = LiveRegion(Console(io.StringIO(), stream))

    def resize(self, columns: int, rows: int) -> None:
        ioctl(self.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.terminal.resize(columns, rows)

    def draw(self, *lines: str) -> list[str]:
        """Draws lines, and returns what the terminal shows."""
        self.region.draw([(Span(line[: self.region.size[0]], "good"),) for line in lines])
        return self.screen()

    def received(self) -> str:
        data = b""
        while self._received + len(data) < self.stream.count:
            data += os.read(self._controller, 1 << 16)
        self._received += len(data)
        return data.decode().replace("\r\n", "\n")

    def screen(self) -> list[str]:
        self.terminal.feed(self.received())
        return self.terminal.screen


@pytest.fixture(name="shown")
def region_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    controller, side = os.openpty()
    with CountedStream(os.fdopen(side, "wb"), encoding="utf-8") as stream:
        shown = Shown(stream, controller)
        yield shown
        shown.region.close()
    os.close(controller)


def test_lines_are_replaced_and_only_those_that_changed_are_written(shown: Shown) -> None:
    shown.region.open()
    assert shown.draw("one", "two", "three") == ["one", "two", "three"]
    assert not shown.terminal.is_cursor_visible
    shown.region.draw([(Span(text, "good"),) for text in ("one", "2", "three")])
    text = shown.received()
    assert ("2" in text, "one" in text, "three" in text) == (True, False, False)
    shown.terminal.feed(text)
    assert shown.terminal.screen == ["one", "2", "three"]
    assert shown.draw("one") == ["one"]
    shown.region.close()
    assert shown.screen() == []
    assert shown.terminal.is_cursor_visible


def test_other_output_appears_above_the_lines(shown: Shown) -> None:
    shown.region.open()
    shown.draw("one", "two")
    shown.region.print("a warning\x1b[2J", "doubtful")
    sys.stdout.write("from the code of a track\x1b[31m\n")
    sys.stderr.write("its log\nand the beginning")
    above = ["a warning [2J", "from the code of a track [31m", "its log"]
    assert shown.draw("one", "2") == [*above, "one", "2"]
    sys.stderr.flush()
    shown.region.close()
    sys.stderr.write("afterwards\n")
    assert shown.screen() == [*above, "and the beginning"]


@pytest.mark.parametrize("columns", [20, 41, 60, 79, 100])
def test_a_resized_terminal_has_no_remains_of_lines_that_were_longer(shown: Shown, columns: int) -> None:
    shown.region.open()
    sys.stdout.write("before\n")
    shown.draw("a" * 79, "b" * 50, "c")
    shown.resize(columns, 24)
    assert shown.region.is_resized
    assert shown.draw("A" * 79, "B" * 50, "C") == [
        "before",
        ("A" * 79)[: columns - 1],
        ("B" * 50)[: columns - 1],
        "C",
    ]
    shown.resize(80, 10)
    shown.region.print("between")
    assert shown.draw("x", "y") == ["before", "between", "x", "y"]


def test_a_terminal_that_does_not_read_gets_no_further_lines(shown: Shown) -> None:
    shown.region.open()
    termios.tcflow(shown.stream.fileno(), termios.TCOOFF)
    for number in range(5):
        assert shown.draw(f"{number}") == []
    termios.tcflow(shown.stream.fileno(), termios.TCOON)
    assert shown.draw("at last") == ["at last"]


def test_without_colours_there_are_none(monkeypatch: pytest.MonkeyPatch, shown: Shown) -> None:
    shown.region.open()
    shown.draw("green")
    monkeypatch.setenv("NO_COLOR", "1")
    plain = LiveRegion(Console(io.StringIO(), shown.stream))
    plain.open()
    plain.draw([(Span("not green", "good"),)])
    text = shown.received()
    assert "not green" in text
    assert "32m" not in text
    plain.close()

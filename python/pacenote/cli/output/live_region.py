"""Lines at the end of a terminal that are redrawn in place; other output appears above them.

Only lines that have changed are written: what a redraw costs, the terminal has to pay as well, and both may
run on the machine that is measured. After a resize, the terminal may have broken lines that were too long for
its new width; the region then takes more rows than it has lines.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Sequence
from typing import Any, TextIO, cast

from rich.color import ColorSystem
from rich.style import Style as RichStyle

from pacenote.cli.console import Console
from pacenote.model.printable import printable
from pacenote.report.render.screen import STYLES
from pacenote.report.screen.text import Line, Span, Style, text_width

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_CLEAR_LINE_END, _CLEAR_BELOW = "\x1b[K", "\x1b[J"
_COLOURS = {
    "standard": ColorSystem.STANDARD,
    "256": ColorSystem.EIGHT_BIT,
    "truecolor": ColorSystem.TRUECOLOR,
}


class LiveRegion:
    """The region of a terminal. Until it is closed, output to `sys.stdout` and `sys.stderr` goes above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        rich = console.rich_progress()
        colours = None if rich.no_color else _COLOURS.get(rich.color_system or "")
        self._styles = {name: _codes(text, colours) for name, text in STYLES.items()}
        self._lock = threading.RLock()
        self._lines: list[Line] = []
        self._size = self.size
        self._is_open = False
        self._streams: tuple[TextIO, TextIO] = (sys.stdout, sys.stderr)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal that lines may take: the cursor needs a row of its own, and a
        character in the last column may break the line.
        """
        width, height = self._console.progress_size
        return max(width - 1, 1), max(height - 1, 1)

    @property
    def is_resized(self) -> bool:
        """Whether the terminal has another size than when the lines were drawn."""
        return self.size != self._size

    def open(self) -> None:
        """Hides the cursor, and begins to pass output on."""
        self._is_open = True
        self._streams = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = (cast(TextIO, _Above(self, stream)) for stream in self._streams)
        self._console.redraw(_HIDE_CURSOR)

    def draw(self, lines: Sequence[Line]) -> None:
        """Replaces the lines of the region, unless the terminal does not accept text."""
        with self._lock:
            size = self.size
            if not (
                self._is_open and self._console.redraw(self._update(lines, is_resized=size != self._size))
            ):
                return
            self._lines, self._size = list(lines), size

    def print(self, text: str, style: Style = "") -> None:
        """Prints a line above the region."""
        with self._lock:
            above = f"{self._rendered((Span(printable(text), style),))}{_CLEAR_LINE_END}\n"
            if not self._is_open:
                self._console.write_message(above)
                return
            region = "".join(f"{self._rendered(line)}\n" for line in self._lines)
            self._console.write_message(f"{self._to_first_row()}{_CLEAR_BELOW}{above}{region}")
            self._size = self.size

    def close(self) -> None:
        """Removes the lines, and shows the cursor. May be called again."""
        with self._lock:
            if not self._is_open:
                return
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, _Above):
                    stream.finish()
            self._is_open = False
            sys.stdout, sys.stderr = self._streams
            self._console.write_message(f"{self._to_first_row()}{_CLEAR_BELOW}{_SHOW_CURSOR}")
            self._lines = []

    def _update(self, lines: Sequence[Line], *, is_resized: bool) -> str:
        """Returns the text that replaces the lines that are shown."""
        if is_resized:
            rows = "".join(f"{self._rendered(line)}\n" for line in lines)
            return f"{self._to_first_row()}{_CLEAR_BELOW}{rows}"
        rows = "".join(
            "\n"
            if number < len(self._lines) and self._lines[number] == line
            else f"{self._rendered(line)}{_CLEAR_LINE_END}\n"
            for number, line in enumerate(lines)
        )
        return f"{self._to_first_row()}{rows}{_CLEAR_BELOW if len(lines) < len(self._lines) else ''}"

    def _to_first_row(self) -> str:
        """Returns what moves the cursor from below the region to its first row."""
        width = self.size[0] + 1
        rows = sum(max(1, -(-_width(line) // width)) for line in self._lines)
        return f"\r\x1b[{rows}A" if rows else "\r"

    def _rendered(self, line: Line) -> str:
        return "".join(_styled(span.text, self._styles[span.style]) for span in line)


class _Above:
    """Stands for a standard stream while there is a region: prints whole lines above it."""

    def __init__(self, region: LiveRegion, stream: TextIO) -> None:
        self._region = region
        self._stream = stream
        self._rest = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str, /) -> int:
        """Prints the lines that are complete."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._region.print(line)
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        """Prints the lines that are complete."""
        self.write("".join(lines))

    def flush(self) -> None:
        """Does nothing: a line that is not complete waits for its rest."""

    def finish(self) -> None:
        """Prints a line that is not complete."""
        if self._rest:
            self.write("\n")


def _codes(style: str, colours: ColorSystem | None) -> tuple[str, str]:
    """Returns what the terminal gets before and after a text with a style."""
    parsed = RichStyle.parse(style)
    shown = (parsed if colours else parsed.without_color).render(
        "|", color_system=colours or ColorSystem.STANDARD
    )
    before, _, after = shown.partition("|")
    return before, after


def _styled(text: str, codes: tuple[str, str]) -> str:
    return f"{codes[0]}{text}{codes[1]}" if codes[0] else text


def _width(line: Line) -> int:
    return sum(text_width(span.text) for span in line)

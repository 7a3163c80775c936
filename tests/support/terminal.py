"""A terminal that shows what is written to it, as far as Pacenote uses terminals."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")


class Terminal:
    """Rows of characters with a cursor. A resize breaks long lines again, as most terminals do."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.is_cursor_visible = True
        # Lines as they were written, which take a row for each `columns` characters.
        self._lines = [""]
        self._row, self._column = 0, 0

    @property
    def screen(self) -> list[str]:
        """The rows that are visible, without spaces at their ends, from the first one that has text."""
        rows = [row.rstrip() for row in self._visible_rows()]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def lines(self) -> list[str]:
        """All lines, also those that have left the screen."""
        return [line.rstrip() for line in self._lines]

    def resize(self, columns: int, rows: int) -> None:
        """Changes the size; the cursor stays at its character."""
        line, offset = self._position()
        self.columns, self.rows = columns, rows
        before = sum(map(self._height, self._lines[:line]))
        self._row, self._column = before + offset // columns, offset % columns

    def feed(self, text: str) -> None:
        """Shows text."""
        at = 0
        for match in _SEQUENCE.finditer(text):
            assert match.start() == at, f"not understood: {text[at : at + 20]!r}"
            at = match.end()
            private, numbers, command, carriage_return, line_feed, shown = match.groups()
            if shown:
                self._show(shown)
            elif carriage_return:
                self._column = 0
            elif line_feed:
                self._line_feed()
            elif private:
                assert numbers == "25"
                self.is_cursor_visible = command == "h"
            else:
                self._control(command, int(numbers or 1) if command == "A" else 0)
        assert at == len(text), f"not understood: {text[at : at + 20]!r}"

    def _height(self, line: str) -> int:
        return max(1, -(-len(line) // self.columns))

    def _all_rows(self) -> list[str]:
        return [
            line[start : start + self.columns]
            for line in self._lines
            for start in range(0, max(len(line), 1), self.columns)
        ]

    def _visible_rows(self) -> list[str]:
        return self._all_rows()[-self.rows :]

    def _position(self) -> tuple[int, int]:
        """Returns the line of the cursor, and its position in it."""
        row = 0
        for number, line in enumerate(self._lines):
            if self._row < row + self._height(line):
                return number, (self._row - row) * self.columns + self._column
            row += self._height(line)
        raise AssertionError("the cursor is below the last row")

    def _show(self, text: str) -> None:
        line, offset = self._position()
        old = self._lines[line].ljust(offset)
        self._lines[line] = old[:offset] + text + old[offset + len(text) :]
        self._move(line, offset + len(text))

    def _move(self, line: int, offset: int) -> None:
        """Moves the cursor to a position of a line."""
        before = sum(map(self._height, self._lines[:line]))
        # In the last column, a terminal waits for the next character.
        rows, column = divmod(offset, self.columns)
        if offset and not column:
            rows, column = rows - 1, self.columns
        self._row, self._column = before + rows, column

    def _line_feed(self) -> None:
        line, _ = self._position()
        if line + 1 == len(self._lines):
            self._lines.append("")
        self._move(line + 1, 0)

    def _control(self, command: str, count: int) -> None:
        line, offset = self._position()
        if command == "A":
            first = max(0, len(self._all_rows()) - self.rows)
            self._row = max(first, self._row - count)
        elif command == "K":
            self._lines[line] = self._lines[line][:offset]
        elif command == "J":
            self._lines[line:] = [self._lines[line][:offset]]
        else:
            assert command == "m", f"not understood: {command}"

"""The line of every value in JSON text, by key path, to describe a problem; and a check for text that UTF-8
cannot encode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from pacenote.errors import TrackError
from pacenote.model.problems import KeyPath

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')

_HALF_SURROGATE = re.compile(
    # An even number of backslashes before the escape is text.
    r"(?<!\\)(?:\\\\)*(?P<escape>"
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    "|[\ud800-\udfff])"
)
"""One half of a surrogate pair, as an escape without the other half, or as it is."""


def reject_half_surrogates(text: str, place: Callable[[int], str] = "line {}".format) -> None:
    """Raises TrackError if JSON text contains half of a surrogate pair, which UTF-8 cannot encode.

    `place` describes a line, counted from 1.
    """
    if (half := _HALF_SURROGATE.search(text)) is not None:
        line = text.count("\n", 0, half.start("escape")) + 1
        escape = half["escape"].encode("ascii", "backslashreplace").decode()
        raise TrackError(f"{escape} is only half of a UTF-16 character ({place(line)})")


def line_numbers(text: str) -> dict[KeyPath, int]:
    """Returns the line (from 1) on which the value of every key path begins; for a member of an object, its
    key.

    The text must be valid JSON.
    """
    lines: dict[KeyPath, int] = {(): 1}
    _Walker(text, lines).value(())
    return lines


class _Walker:
    def __init__(self, text: str, lines: dict[KeyPath, int]) -> None:
        self._tokens = _tokenize(text)
        self._lines = lines

    def value(self, path: KeyPath, opened: tuple[str, int] | None = None) -> None:
        token, _ = opened or next(self._tokens)
        if token == "{":
            self._members(path)
        elif token == "[":
            self._items(path)

    def _members(self, path: KeyPath) -> None:
        for token, line in self._tokens:
            if token == "}":
                return
            if token != ",":
                member = (*path, str(json.loads(token)))
                self._lines[member] = line
                next(self._tokens)  # the colon
                self.value(member)

    def _items(self, path: KeyPath) -> None:
        index = 0
        for token, line in self._tokens:
            if token == "]":
                return
            if token != ",":
                member = (*path, index)
                self._lines[member] = line
                self.value(member, (token, line))
                index += 1


def _tokenize(text: str) -> Iterator[tuple[str, int]]:
    line, end = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        yield match[0], line


def nearest_line(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """Returns the line of a key path, or of its nearest ancestor: a missing key has the line of its
    object.
    """
    while path not in lines:
        path = path[:-1]
    return lines[path]


def excerpt(text: str, line: int, around: int = 2) -> str:
    """Returns the line with `around` lines before and after it, numbered; the line itself is marked."""
    lines = text.split("\n")
    first, last = max(1, line - around), min(len(lines), line + around)
    width = len(str(last))
    return "\n".join(
        f"{'>' if number == line else ' '} {number:>{width}} | {lines[number - 1].rstrip()}"
        for number in range(first, last + 1)
    )

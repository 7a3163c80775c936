"""Assembling a track from its fragments, before Jinja sees it.

`{{ rally.collect(parts="operations/*.json") }}` is replaced by the text of the matching files, sorted by
name and joined by a comma and a line break; fragments may collect others, relative to their own folder.
This happens on the text, not in Jinja, so that variables set in one fragment can be read in another and so
that the parameters used in fragments are seen. No match means nothing is inserted. Only this exact spelling
is replaced (double quotes, at least one space inside the braces); any other goes through the macro of the
helpers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pacenote.errors import TrackError
from pacenote.track.source import TrackSource

_COLLECT = re.compile(r'\{\{ +(?:rally|benchmark)\.collect\(parts="([^"]+)"\) +\}\}')
_SEPARATOR = ",\n"


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A line of a file of the track."""

    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of assembled text: `text` begins at `line` of `file`. Separators belong to the file
    before.
    """

    text: str
    file: Path
    line: int


@dataclass(frozen=True, slots=True)
class AssembledText:
    """The text of a track with all fragments in place, and where each stretch of it came from."""

    pieces: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(piece.text for piece in self.pieces)

    def origin(self, line: int) -> SourceLocation:
        """The file and line that line `line` (from 1) of the text came from.

        Where several files meet on a line, the one that gave most of it.
        """
        best, most = SourceLocation(self.pieces[0].file, 1), -1
        for number, origin, text in self.lines():
            if number > line:
                break
            if number == line and len(text.strip()) > most:
                best, most = origin, len(text.strip())
        return best

    def lines(self) -> Iterator[tuple[int, SourceLocation, str]]:
        """Every stretch of every line: its line in the text, its origin and what it says."""
        number = 1
        for piece in self.pieces:
            for offset, text in enumerate(piece.text.split("\n")):
                yield number + offset, SourceLocation(piece.file, piece.line + offset), text
            number += piece.text.count("\n")


def assemble(source: TrackSource, file: Path) -> AssembledText:
    """Assembles a file of the track with everything it collects.

    Raises `TrackError` when a file cannot be read or collects itself.
    """
    return AssembledText(tuple(_pieces(source, file, ())))


def _pieces(source: TrackSource, file: Path, above: tuple[Path, ...]) -> Iterator[Segment]:
    if file in above:
        chain = " collects ".join(source.display_path(step) for step in (*above, file))
        raise TrackError(f"a fragment collects itself: {chain}", hint="narrow the pattern of the last one")
    text = source.read(file)
    line, end = 1, 0
    for match in _COLLECT.finditer(text):
        yield Segment(text[end : match.start()], file, line)
        line += text.count("\n", end, match.end())
        end = match.end()
        yield from _collected(source, file, match[1], (*above, file))
    yield Segment(text[end:], file, line)


def _collected(source: TrackSource, file: Path, pattern: str, above: tuple[Path, ...]) -> Iterator[Segment]:
    last: Segment | None = None
    for fragment in source.glob(file.parent, pattern):
        if last is not None:
            yield Segment(_SEPARATOR, last.file, last.line + last.text.count("\n"))
        for piece in _pieces(source, fragment, above):
            last = piece
            yield piece

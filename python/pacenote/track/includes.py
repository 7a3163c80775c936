"""Includes the fragments of a track in its text, before Jinja renders it.

`{{ rally.collect(parts="operations/*.json") }}` is replaced by the text of the matching files, sorted by name
and joined by a comma and a line break; if no file matches, by an empty string. The patterns of a track and of
its bodies are relative to the track's folder; fragments may collect others, relative to their own folder.
This happens before rendering so that one fragment can read a variable that another sets, and so that the
parameters that fragments read are known. Only this exact spelling is replaced (double quotes, at least one
space inside the braces); the helpers' macro renders any other spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from pacenote.errors import TrackError
from pacenote.track.source import TrackSource

_COLLECT = re.compile(r'\{\{ +(?:rally|benchmark)\.collect\(parts="([^"]+)"\) +\}\}')
_SEPARATOR = ",\n"


class SourceLocation(Struct, frozen=True):
    """A line of a file of the track."""

    file: Path
    """The file."""

    line: int
    """The line, from 1."""


class Segment(Struct, frozen=True):
    """A segment of the assembled text that comes from one file."""

    text: str
    """The text."""

    file: Path
    """The file; a separator belongs to the file before it."""

    line: int
    """The line of the file at which the text begins, from 1."""


class LinePart(Struct, frozen=True):
    """The part of a line of the assembled text that comes from one file."""

    line: int
    """The line of the assembled text, from 1."""

    origin: SourceLocation
    """The origin of the part."""

    text: str
    """The part, without surrounding whitespace."""


class AssembledText(Struct, frozen=True):
    """The text of a track with all included fragments, and the origin of each segment."""

    segments: tuple[Segment, ...]
    """The segments in order."""

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(segment.text for segment in self.segments)

    def origin(self, line: int) -> SourceLocation:
        """Returns the origin of a line (from 1). If the line has several parts, it is the origin of the
        longest part.
        """
        parts = [part for part in self.line_parts() if part.line == line]
        if not parts:
            return SourceLocation(self.segments[0].file, 1)
        return max(parts, key=lambda part: len(part.text)).origin

    def line_parts(self) -> Iterator[LinePart]:
        """Yields the parts of all lines in order."""
        line = 1
        for segment in self.segments:
            for offset, text in enumerate(segment.text.split("\n")):
                origin = SourceLocation(segment.file, segment.line + offset)
                yield LinePart(line + offset, origin, text.strip())
            line += segment.text.count("\n")


def assemble(source: TrackSource, file: Path) -> AssembledText:
    """Assembles the track's file or a body with all fragments that it collects from the track's folder.

    Raises `TrackError` if a file cannot be read, or if it collects itself.
    """
    return AssembledText(tuple(_segments(source, file, source.root, ())))


def _segments(
    source: TrackSource, file: Path, folder: Path, ancestors: tuple[Path, ...]
) -> Iterator[Segment]:
    # The patterns of the file are relative to the folder.
    if file in ancestors:
        chain = " collects ".join(source.display_path(path) for path in (*ancestors, file))
        raise TrackError(
            f"a fragment collects itself: {chain}", hint="use a narrower pattern in the last file"
        )
    text = source.read(file)
    line, end = 1, 0
    for match in _COLLECT.finditer(text):
        yield Segment(text[end : match.start()], file, line)
        line += text.count("\n", end, match.end())
        end = match.end()
        yield from _collected(source, folder, match[1], (*ancestors, file))
    yield Segment(text[end:], file, line)


def _collected(
    source: TrackSource, folder: Path, pattern: str, ancestors: tuple[Path, ...]
) -> Iterator[Segment]:
    last: Segment | None = None
    for fragment in source.glob(folder, pattern):
        if last is not None:
            yield Segment(_SEPARATOR, last.file, last.line + last.text.count("\n"))
        for segment in _segments(source, fragment, fragment.parent, ancestors):
            last = segment
            yield segment

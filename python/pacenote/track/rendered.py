"""From rendered text to JSON, and from a place in the rendered text back to the fragment somebody wrote.

Rendering moves lines, so the way back is a search: the nearest rendered line at or above the place that
stands in exactly one file, unchanged by the template. It is said as "near", because it is no more than
that.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from pacenote.errors import TrackError
from pacenote.model.problems import KeyPath, Problem, preview
from pacenote.track.includes import AssembledText, SourceLocation
from pacenote.track.json_positions import excerpt, line_numbers, nearest_line
from pacenote.track.source import TrackSource

_TELLING = 6
"""Shorter lines are brackets and commas, which say nothing about where they come from."""

_REACH = 12
"""How many lines above a place are searched for a telling one."""

_Written = defaultdict[str, list[SourceLocation]]
"""Where each line of the fragments stands, by what it says."""


@dataclass(frozen=True)  # Without slots: what is looked up for problems is kept for the next ones.
class RenderedTrack:
    """The rendered text of a track and what it was assembled from."""

    source: TrackSource
    assembled: AssembledText
    text: str

    def parsed(self) -> dict[str, Any]:
        """The JSON object. Raises `TrackError` with an excerpt when the text is none."""
        try:
            data = json.loads(self.text, parse_constant=self._no_number)
        except json.JSONDecodeError as cause:
            raise self._no_json(cause) from cause
        except RecursionError as cause:
            raise TrackError(f"{self._entry} rendered nests too deeply to be read") from cause
        except ValueError as cause:  # more digits than Python reads
            raise TrackError(f"{self._entry} rendered holds a number that is too long") from cause
        if not isinstance(data, dict):
            raise TrackError(f"{self._entry}: a track is a JSON object, this is {preview(data)}")
        return data

    def describe(self, problems: Iterable[Problem]) -> tuple[str, ...]:
        """Each problem with its line in the rendered text and the fragment it is near."""
        problems = tuple(problems)
        if not problems:
            return ()
        return tuple(
            f"{problem} ({self._place(nearest_line(self._lines, problem.path))})" for problem in problems
        )

    @cached_property
    def _lines(self) -> dict[KeyPath, int]:
        return line_numbers(self.text)

    @property
    def _entry(self) -> str:
        return self.source.display_path(self.source.file)

    def _place(self, line: int) -> str:
        origin = self._origin(line)
        near = f", near {self.source.display_path(origin.file)}:{origin.line}" if origin else ""
        return f"{self._entry} rendered, line {line}{near}"

    @cached_property
    def _written(self) -> _Written:
        written: _Written = defaultdict(list)
        for _, origin, text in self.assembled.lines():
            written[text.strip()].append(origin)
        return written

    @cached_property
    def _rendered(self) -> list[str]:
        return self.text.split("\n")

    def _origin(self, line: int) -> SourceLocation | None:
        for number in range(line, max(0, line - _REACH), -1):
            text = self._rendered[number - 1].strip()
            if len(text) >= _TELLING and len(self._written.get(text, ())) == 1:
                return self._written[text][0]
        return None

    def _no_number(self, name: str) -> NoReturn:
        # Python reads NaN and Infinity, no engine does.
        raise TrackError(f"{self._entry} rendered holds {name}, which is no number in JSON")

    def _no_json(self, cause: json.JSONDecodeError) -> TrackError:
        place = self._place(cause.lineno)
        return TrackError(
            f"the rendered track is no valid JSON: {cause.msg}, column {cause.colno} ({place})",
            problems=(excerpt(self.text, cause.lineno),),
            hint="look at what the templates render to there: a variable without a value renders to nothing",
        )

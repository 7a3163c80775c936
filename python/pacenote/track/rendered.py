"""The rendered text of a track: its JSON, and the source file and line of a problem.

Rendering moves lines, so the source of a rendered line is inferred: it is that of the nearest line, at or
above it, whose text occurs exactly once in the source files. Messages therefore say "near".
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
from pacenote.model.secrets import redact_unparsed
from pacenote.track.includes import AssembledText, SourceLocation
from pacenote.track.json_positions import excerpt, line_numbers, nearest_line, reject_half_surrogates
from pacenote.track.source import TrackSource

_MIN_LENGTH = 6
"""Minimum length of a line that is searched for. Shorter lines are brackets and commas, which occur in every
file.
"""

_MAX_DISTANCE = 12
"""Number of lines above a problem that are searched."""


@dataclass(frozen=True)  # Without slots, which cached properties cannot have.
class RenderedTrack:
    """The rendered text of a track and the text that it was rendered from."""

    source: TrackSource
    """The location of the track."""

    assembled: AssembledText
    """The text before rendering."""

    text: str
    """The rendered text."""

    def parsed(self) -> dict[str, Any]:
        """Returns the JSON object. Raises `TrackError` with an excerpt if the text is not a JSON object."""
        try:
            data = json.loads(self.text, parse_constant=self._reject_constant)
        except json.JSONDecodeError as cause:
            raise self._invalid_json(cause) from cause
        except RecursionError as cause:
            raise TrackError(f"rendered {self._entry} is nested too deeply") from cause
        except ValueError as cause:  # The number has more digits than Python parses.
            raise TrackError(f"rendered {self._entry} contains a number that is too long") from cause
        reject_half_surrogates(self.text, self._describe_line)
        if not isinstance(data, dict):
            raise TrackError(f"{self._entry}: a track must be a JSON object, not {preview(data)}")
        return data

    def describe(self, problems: Iterable[Problem]) -> tuple[str, ...]:
        """Formats each problem with its line in the rendered text and the nearest line of a source file."""
        return tuple(
            f"{problem} ({self._describe_line(nearest_line(self._line_numbers, problem.path))})"
            for problem in problems
        )

    @cached_property
    def _line_numbers(self) -> dict[KeyPath, int]:
        return line_numbers(self.text)

    @cached_property
    def _rendered_lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _origins(self) -> dict[str, list[SourceLocation]]:
        """The lines of all source files, by their text."""
        origins = defaultdict(list)
        for part in self.assembled.line_parts():
            origins[part.text].append(part.origin)
        return dict(origins)

    @property
    def _entry(self) -> str:
        return self.source.display_path(self.source.file)

    def _describe_line(self, line: int) -> str:
        origin = self._nearest_origin(line)
        near = f", near {self.source.display_path(origin.file)}:{origin.line}" if origin else ""
        return f"rendered {self._entry}, line {line}{near}"

    def _nearest_origin(self, line: int) -> SourceLocation | None:
        for number in range(line, max(0, line - _MAX_DISTANCE), -1):
            text = self._rendered_lines[number - 1].strip()
            origins = self._origins.get(text, [])
            if len(text) >= _MIN_LENGTH and len(origins) == 1:
                return origins[0]
        return None

    def _reject_constant(self, name: str) -> NoReturn:
        # Python accepts NaN and Infinity, but engines do not.
        raise TrackError(f"rendered {self._entry} contains {name}, which is not a JSON number")

    def _invalid_json(self, cause: json.JSONDecodeError) -> TrackError:
        return TrackError(
            f"the rendered track is not valid JSON: {cause.msg}, column {cause.colno} "
            f"({self._describe_line(cause.lineno)})",
            problems=(excerpt(redact_unparsed(self.text), cause.lineno),),
            hint="check the rendered text there: a variable without a value renders as an empty string, and "
            "text without quotation marks is not JSON",
        )

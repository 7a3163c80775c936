"""The rendered text of a track: its JSON, and the source file and line of a problem.

Rendering moves lines, so the source of a rendered line is inferred: it is that of the nearest line, at or
above it, whose text occurs exactly once in the source files. Messages therefore say "near".
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.decoding import TooDeep, UnusableNumber, parse_json
from pacenote.model.messages import quoted_list
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

_KEY = re.compile(r'[\s{]*("[^"]+")\s*:')
"""The first key of a line."""

_MAX_OTHERS = 8
"""Number of lines that are shown of the problems that are like one."""


@dataclass(frozen=True)  # Without slots, which cached properties cannot have.
class RenderedTrack:
    """The rendered text of a track and the text that it was rendered from."""

    source: TrackSource
    """The location of the track."""

    assembled: AssembledText
    """The text before rendering."""

    text: str
    """The rendered text."""

    params: Mapping[str, Any]
    """The parameters that the user gave."""

    def parsed(self) -> dict[str, Any]:
        """Returns the JSON object. Raises `TrackError` with an excerpt if the text is not a JSON object."""
        try:
            data = parse_json(self.text)
        except json.JSONDecodeError as cause:
            raise self._invalid_json(cause) from cause
        except TooDeep as cause:
            raise TrackError(f"rendered {self._entry} is nested too deeply") from cause
        except UnusableNumber as cause:  # Engines do not accept it.
            raise self._unusable_number(cause) from cause
        except ValueError as cause:
            raise TrackError(f"rendered {self._entry} cannot be read: {cause}") from cause
        reject_half_surrogates(self.text, self._describe_line)
        if not isinstance(data, dict):
            raise TrackError(f"{self._entry}: a track must be a JSON object, not {preview(data)}")
        return data

    def describe(self, problems: Iterable[Problem]) -> tuple[str, ...]:
        """Formats each problem with its line in the rendered text and the nearest line of a source file.

        Problems that differ only in the positions of lists are one, with the lines of the others.
        """
        alike = defaultdict(list)
        for problem in problems:
            keys = tuple(part for part in problem.path if isinstance(part, str))
            alike[keys, problem.text].append(problem)
        return tuple(self._describe_group(group) for group in alike.values())

    def _describe_group(self, group: Sequence[Problem]) -> str:
        lines = [nearest_line(self._line_numbers, problem.path) for problem in group]
        where = self._describe_line(lines[0])
        if others := list(map(str, lines[1:])):
            shown = ", ".join(others[:_MAX_OTHERS])
            more = f" and {len(others) - _MAX_OTHERS} more" if len(others) > _MAX_OTHERS else ""
            where += f"; also line{'s' if len(others) > 1 else ''} {shown}{more}"
        return f"{group[0]}{self._parameters_in(group[0].rendered)} ({where})"

    def _parameters_in(self, rendered: str) -> str:
        """Returns the end of a message that names the given parameters from which a text may come."""
        names = [
            name
            for name, value in self.params.items()
            if _contains(rendered.partition(":")[2] or rendered, value) and self._may_set(name, rendered)
        ]
        return f"; the value may be that of {quoted_list(names)} in --track-params" if names else ""

    def _may_set(self, name: str, rendered: str) -> bool:
        """Returns whether a line of the source has the parameter and the key of the text; also if no line has
        that key, as for the body of an index, which is in another file.
        """
        key = _KEY.match(rendered)
        lines = [text for text in self._origins if key is not None and key[1] in text]
        return not lines or any(re.search(rf"\b{re.escape(name)}\b", text) for text in lines)

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

    def _unusable_number(self, cause: UnusableNumber) -> TrackError:
        number = re.escape(cause.number) or r"\d{4000,}"
        place = re.search(rf'(?<![\w."]){number}(?![\w"])', self.text)
        line = self.text.count("\n", 0, place.start() if place else 0) + 1
        wrong = cause.number or "a number of thousands of digits"
        return TrackError(
            f"the rendered track has {wrong}, which is not a number in JSON ({self._describe_line(line)})"
            f"{self._parameters_in(self._rendered_lines[line - 1])}"
        )

    def _invalid_json(self, cause: json.JSONDecodeError) -> TrackError:
        wrong = self._rendered_lines[cause.lineno - 1]
        return TrackError(
            f"the rendered track is not valid JSON: {cause.msg}, column {cause.colno} "
            f"({self._describe_line(cause.lineno)}){self._parameters_in(wrong)}",
            problems=(excerpt(redact_unparsed(self.text), cause.lineno),),
            hint="check the rendered text there: a variable without a value renders as an empty string, and "
            "text without quotation marks is not JSON",
        )


def _contains(rendered: str, value: object) -> bool:
    """Returns whether a text contains a value, and not only as a part of a longer word or number."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return bool(text) and re.search(rf"(?<![\w.-]){re.escape(text)}(?![\w.])", rendered) is not None

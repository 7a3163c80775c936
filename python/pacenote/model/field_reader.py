"""Reads JSON objects key by key and collects every wrong value instead of stopping at the first.

A `FieldReader` returns typed values. Where a value is missing or has the wrong type, it records a `Problem`
with the key path and returns a default value, so that reading continues and all problems are reported
together.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from pacenote.model.problems import KeyPath, Problems, preview

_T = TypeVar("_T")

MAX_COUNT = 2**63 - 1
"""The largest whole number that the driver accepts."""

MAX_NUMBER = 100 * 365 * 86400.0
"""The largest number that is not a count, 100 years in seconds: these are times, rates or percentages."""

MAX_NAME = 500
"""Characters of a name. A stored one may have more: what hides a secret in it may be longer than that."""

_EMPTY: Mapping[str, Any] = {}


class FieldReader:
    """Reads the fields of one JSON object; `path` is its key path in the document, `problems` collects
    errors.
    """

    __slots__ = ("data", "path", "problems")

    def __init__(self, data: Mapping[str, Any], path: KeyPath, problems: Problems) -> None:
        self.data = data
        self.path = path
        self.problems = problems

    def problem(self, key: str | None, text: str, rendered: str = "") -> None:
        """Records a problem with the value of `key`, or with the whole object if the key is None; `rendered`
        is the text that is wrong.
        """
        self.problems.add(self.path if key is None else (*self.path, key), text, rendered)

    def has(self, key: str) -> bool:
        """Returns whether the key is present with a value other than null."""
        return self.data.get(key) is not None

    def required(self, key: str) -> Any:
        """Returns the value of a mandatory key, or None with a problem."""
        value = self.data.get(key)
        if value is None:
            self.problem(key, "is missing")
        return value

    def text(self, key: str, default: str = "") -> str:
        """Returns a string, `default` if the key is missing."""
        value = self.data.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            return value
        return self._wrong(key, value, "a string", default)

    def required_text(self, key: str) -> str:
        """Returns a string that must be present and not empty."""
        if self.required(key) is None:
            return ""
        value = self.text(key)
        if not value and self.data.get(key) == "":
            self.problem(key, "is empty")
        return value

    def name(self, key: str, *, is_required: bool = False) -> str:
        """Returns a string that the figures of a race repeat, so that its length is limited."""
        value = self.required_text(key) if is_required else self.text(key)
        if len(value) > MAX_NAME:
            return self._wrong(key, value, f"a name of at most {MAX_NAME} characters", value)
        return value

    def integer(
        self, key: str, minimum: int, maximum: int = MAX_COUNT, *, from_text: bool = False
    ) -> int | None:
        """Returns a whole number from `minimum` to `maximum`, or None. With `from_text`, also reads a string
        such as "500".
        """
        value = self.data.get(key)
        if value is None:
            return None
        if from_text:
            value = _parsed(value, int)
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_whole(value):
            return self._wrong(key, value, "a whole number", None)
        if value < minimum:
            return self._wrong(key, value, f"at least {minimum}", None)
        if value > maximum:
            return self._wrong(key, value, f"at most {maximum}", None)
        return round(value)

    def number(
        self, key: str, minimum: float = 0.0, *, above: bool = False, from_text: bool = False
    ) -> float | None:
        """Returns a number of at least `minimum` (greater than it with `above`), or None. With `from_text`,
        also reads a string such as "0.5".
        """
        value = self.data.get(key)
        if value is None:
            return None
        if from_text:
            value = _parsed(value, float)
        if isinstance(value, bool) or not isinstance(value, int | float) or _is_nan(value):
            return self._wrong(key, value, "a number", None)
        if value > MAX_NUMBER:
            return self._wrong(key, value, f"at most {MAX_NUMBER:.0f}", None)
        if value < minimum or (above and value == minimum):
            return self._wrong(key, value, f"{'more than' if above else 'at least'} {minimum:g}", None)
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Returns true or false; the strings "true" and "false" are accepted as in Rally."""
        value = self.data.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return self._wrong(key, value, "true or false", default)

    def choice(self, key: str, allowed: Collection[str], default: str) -> str:
        """Returns one of a fixed set of strings."""
        value = self.text(key, default)
        if value in allowed or value == default:
            return value
        return self._wrong(key, value, f"one of {', '.join(allowed)}", default)

    def names(self, key: str) -> tuple[str, ...]:
        """Returns a list of strings; a single string is a list of one."""
        value = self.data.get(key)
        if value is None:
            return ()
        if isinstance(value, str):
            return (value,)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        return self._wrong(key, value, "a string or a list of strings", ())

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Returns a JSON object, or an empty one if the key is missing."""
        value = self.data.get(key)
        if value is None:
            return _EMPTY
        if isinstance(value, dict):
            return value
        return self._wrong(key, value, "an object", _EMPTY)

    def child(self, key: str) -> FieldReader:
        """Returns a reader of the object at `key`."""
        return FieldReader(self.mapping(key), (*self.path, key), self.problems)

    def children(self, key: str) -> tuple[FieldReader, ...]:
        """Returns readers of the objects in the list at `key`, which must not be empty if it is present."""
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            return self._wrong(key, value, "a list", ())
        if not value:
            self.problem(key, "is empty")
        readers = []
        for index, item in enumerate(value):
            path = (*self.path, key, index)
            if isinstance(item, dict):
                readers.append(FieldReader(item, path, self.problems))
            else:
                self.problems.add(path, f"is {preview(item)}, but must be an object")
        return tuple(readers)

    def _wrong(self, key: str, value: object, expected: str, fallback: _T) -> _T:
        self.problem(key, f"is {preview(value)}, but must be {expected}", f'"{key}": {preview(value)}')
        return fallback


def _parsed(value: Any, kind: type[int] | type[float]) -> Any:
    """Returns the number that a string contains, and any other value as it is."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return kind(value)
    return value


def _is_nan(value: float) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_whole(value: float) -> bool:
    if isinstance(value, int):
        return True
    # Numbers may be computed by templates: 100 * 1.1 renders as 110.00000000000001 and means 110.
    return math.isfinite(value) and abs(value - round(value)) < 1e-6

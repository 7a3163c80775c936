"""Names of an engine, as of nodes and fields, in a length that the values of a race can repeat."""

from __future__ import annotations

from collections.abc import Iterable

from pacenote.errors import EngineError
from pacenote.model.codec import as_text
from pacenote.model.printable import shortened
from pacenote.model.unique_names import UniqueNames
from pacenote.telemetry.sampler import MAX_NAME

MAX_KEY_CHARACTERS = 4 << 20
"""Characters that the keys of a device's values have together, at most: the record of a race has no more."""


class ShortNames:
    """Shortens names to `MAX_NAME` characters. Those that become equal are numbered, because a
    comparison of races would otherwise take them for one.
    """

    def __init__(self) -> None:
        self._short: dict[str, str] = {}
        self._unique = UniqueNames()

    def of(self, name: object) -> str:
        """Returns a name, shortened if it is long; always the same for the same name. Raises TypeError if it
        is neither a text nor a number.
        """
        text = as_text(name)
        if len(text) <= MAX_NAME:
            return text
        if (short := self._short.get(text)) is None:
            short = self._short[text] = self._unique.add(shortened(text, MAX_NAME))
        return short


class KeyRoom:
    """Counts the characters of keys. An engine may report a name once and the entries that it is repeated for
    a million times.
    """

    def __init__(self, characters: int = MAX_KEY_CHARACTERS) -> None:
        self._left = characters

    def has(self, key: str) -> bool:
        """Returns whether there is room for a key, and takes it."""
        self._left -= len(key)
        return self._left >= 0


def values_by_key(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Returns the values of a device by their keys. Raises EngineError as soon as the keys alone are larger
    than what the record of a race has of a device.
    """
    room = KeyRoom()
    values: dict[str, object] = {}
    for key, value in pairs:
        if not room.has(key):
            raise EngineError(
                f"the engine reports more values than are stored: their names have more than "
                f"{MAX_KEY_CHARACTERS:,} characters"
            )
        values[key] = value
    return values

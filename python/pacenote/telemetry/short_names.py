"""Names of an engine, such as those of fields, in a length that the figures of a race can repeat."""

from __future__ import annotations

from pacenote.model.printable import shortened
from pacenote.model.unique_names import UniqueNames
from pacenote.telemetry.sampler import MAX_NAME


class ShortNames:
    """Shortens names to `MAX_NAME` characters. Those that become equal are numbered, because a
    comparison of races would otherwise take them for one.
    """

    def __init__(self) -> None:
        self._short: dict[str, str] = {}
        self._unique = UniqueNames()

    def of(self, name: str) -> str:
        """Returns a name, shortened if it is long; always the same for the same name."""
        if len(name) <= MAX_NAME:
            return name
        if (short := self._short.get(name)) is None:
            short = self._short[name] = self._unique.add(shortened(name, MAX_NAME))
        return short

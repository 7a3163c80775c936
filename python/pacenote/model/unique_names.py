"""Names that become equal when characters or secrets are taken out of them, and are then numbered."""

from __future__ import annotations


class UniqueNames:
    """Numbers names that are equal to earlier ones: `node`, `node #2`, `node #3`."""

    def __init__(self, separator: str = " #") -> None:
        """Creates an empty set of names, whose numbers follow `separator`."""
        self._separator = separator
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def add(self, name: str) -> str:
        """Returns the name, or the first numbered one that is not taken."""
        number, unique = self._numbers.get(name, 1), name
        while unique in self._taken:
            number += 1
            unique = f"{name}{self._separator}{number}"
        # Beginning with the last number, a thousand equal names are numbered in a thousand steps.
        self._numbers[name] = number
        self._taken.add(unique)
        return unique

"""What this home has raced itself: hashes of options, in `raced.json` in the home folder.

The folder of a race states its options, and may have been copied from someone else. What it states is in this
file only if a race that this home ran had the same option with the same value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pacenote.store.own_files import read_own, update_own

_NAME = "raced.json"
_MEMBER = "options"
_MAX_HASHES = 10_000
"""Number of values that are known; the oldest ones are forgotten. Races of one home have few values."""


class RacedOptions:
    """The options of the races that a home has run."""

    def __init__(self, home: Path) -> None:
        self._path = home / _NAME

    def others(self, options: Mapping[str, object]) -> dict[str, object]:
        """Returns the options with a value that no race of this home had. If the file cannot be read, or
        others may have written it, these are all.
        """
        return dict(self.unknown(options.items()))

    def unknown(self, options: Iterable[tuple[str, object]]) -> list[tuple[str, object]]:
        """Returns the options, each once, with a value that no race of this home had; a name may have several
        values.
        """
        by_hash = {_hash(name, value): (name, value) for name, value in options}
        known = set(self._hashes()) if by_hash else set()
        return [option for digest, option in by_hash.items() if digest not in known]

    def add(self, options: Mapping[str, object]) -> None:
        """Adds the options of a race that this home runs. Raises StoreError."""
        if not self.others(options):
            return
        new = [_hash(*item) for item in options.items()]
        update_own(self._path, _MEMBER, lambda: list(dict.fromkeys((*self._hashes(), *new)))[-_MAX_HASHES:])

    def _hashes(self) -> list[str]:
        hashes = read_own(self._path, _MEMBER)
        return [text for text in hashes if isinstance(text, str)] if isinstance(hashes, list) else []


def _hash(name: str, value: object) -> str:
    text = json.dumps([name, value], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

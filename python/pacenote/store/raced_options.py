"""What this home has raced itself: hashes of options, in `raced.json` in the home folder.

The folder of a race states its options, and may have been copied from someone else. What it states is in this
file only if a race that this home ran had the same option with the same value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pacenote.errors import StoreError
from pacenote.model.decoding import parse_json
from pacenote.store.atomic_files import PRIVATE_FOLDER, store_error, write_atomically
from pacenote.store.file_lock import file_awaited
from pacenote.store.trusted_files import writable_by_others
from pacenote.system.regular_files import read_with_access

_NAME = "raced.json"
_MAX_HASHES = 10_000
"""Number of values that are known; the oldest ones are forgotten. Races of one home have few values."""


class RacedOptions:
    """The options of the races that a home has run."""

    def __init__(self, home: Path) -> None:
        self._home = home
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
        try:
            self._home.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as error:
            raise store_error("create", self._home, error) from error
        with file_awaited(self._home / f".{_NAME}.lock"):
            hashes = dict.fromkeys((*self._hashes(), *(_hash(*item) for item in options.items())))
            document = {"options": list(hashes)[-_MAX_HASHES:]}
            write_atomically(self._path, json.dumps(document, indent=1).encode())

    def _hashes(self) -> list[str]:
        try:
            data, access = read_with_access(self._path)
            hashes = [] if writable_by_others(access) else parse_json(data)["options"]
        except (OSError, ValueError, LookupError, TypeError, StoreError):
            return []
        return [text for text in hashes if isinstance(text, str)] if isinstance(hashes, list) else []


def _hash(name: str, value: object) -> str:
    text = json.dumps([name, value], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

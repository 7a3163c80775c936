"""The data with which the engine of a race starts, and what becomes of it, as a value."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from pacenote.model.codec import Integer, Stored

DataMode = Literal["fresh", "keep", "restore"]

CacheChoice = Literal["cold", "warm"]

DEFAULT_DATA_SET = "default"
"""The name of the data set if none is given."""


class DataOptions(Stored, frozen=True):
    """`--data`: with which data the engine starts, and whether it is stored."""

    mode: DataMode = "fresh"
    """`fresh`: without data; `keep`: with the data set if there is one, which is stored after the race;
    `restore`: with a copy of the data set.
    """

    name: str = ""
    """The name of the data set; empty for `fresh`."""

    def __str__(self) -> str:
        return f"{self.mode}:{self.name}" if self.name else self.mode


class StartConditions(Struct, frozen=True):
    """What happens between the start of the engine and the first task."""

    caches: CacheChoice | None = None
    """`cold`: the data is dropped from the page cache; `warm`: it is read into it; None: neither."""

    cooldown_s: float = 0.0
    """Seconds to wait."""


class StartingState(Stored, frozen=True):
    """The state in which the first task found the data of the engine."""

    data_set: str | None = None
    """The name of the data set that the engine started with, or None if it started without data."""

    stored_by: str | None = None
    """The id of the race that stored the data set."""

    data_bytes: Integer | None = None
    """Bytes of the data of all nodes, in whole pages; None if it was not measured."""

    cached_bytes: Integer | None = None
    """Bytes of it that were in the page cache; None if it was not measured."""

    dropped_with: str | None = None
    """How the page cache was dropped: `drop_caches` (all of it) or `fadvise` (the data); None if it was
    not.
    """

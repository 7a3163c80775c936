"""A row of the report on GC logs."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

GcValue: TypeAlias = float | int | str | None
"""A value of a row; None if the log does not have it."""


class GcRow(Struct, frozen=True):
    """One statistic of all logs."""

    metric: str
    """Its name."""

    values: tuple[GcValue, ...]
    """Its value in each log."""

    unit: str = ""
    """Its unit; empty for texts and counts."""

    texts: tuple[str, ...] | None = None
    """The values in tables, or None if they are formatted as usual."""

    at_least: tuple[bool, ...] = ()
    """Whether each value is only a lower bound, because the log is incomplete; empty if none is."""

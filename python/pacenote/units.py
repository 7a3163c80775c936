"""Quantities and how they are written: one place for units, so that no two reports disagree.

Seconds, bytes and counts are plain numbers in the model; this module turns text into quantities and back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OPS = "ops"
"""The unit of work that counts operations; every other unit is named by the operation, such as `docs`."""

_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s+(\S+)/s\s*")


@dataclass(frozen=True, slots=True)
class Rate:
    """Work per second: `value` units of `unit` each second."""

    value: float
    unit: str = OPS

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Reads `N unit/s`, for example `10 docs/s`.

        Raises `ValueError` when the text has another form.
        """
        match = _RATE.fullmatch(text)
        if match is None:
            raise ValueError(f'"{text}" is no rate such as "10 docs/s"')
        return cls(float(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}/s"


def format_bytes(count: float) -> str:
    """Writes bytes with a binary unit: 512 B, 1.5 KiB, 2.0 GiB."""
    if abs(count) < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if abs(count) < 1024:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} TiB"


def format_seconds(seconds: float) -> str:
    """Writes a duration in seconds with the unit a reader would choose: 250 µs, 12.5 ms, 3.2 s, 2 min 5 s."""
    # Rounded first, so that 999.7 ms are 1 s and not 1e+03 ms.
    seconds = seconds if seconds >= 60 else float(f"{seconds:.3g}")
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.3g} s"
    if seconds >= 0.001:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} µs"


def format_number(value: float) -> str:
    """Writes a figure of any size with at least five digits of it, never with an exponent: 0.92976, 70,730,
    1,234,567.
    """
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.5g}"


def format_count(count: int, one: str, many: str = "") -> str:
    """Writes a number with its noun: 1 document, 1,000,000 documents. `many` defaults to `one` with an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def split_by_weight(total: int, weights: tuple[int, ...]) -> tuple[int, ...]:
    """Splits `total` into whole parts in the proportion of `weights`, by largest remainder; they add up to
    it.

    Ties go to the earlier part; every part gets at least one as soon as there are enough for all. The
    generators of `crates/corpus` split alike, so that what is declared is what they write.
    """
    whole = sum(weights)
    if whole == 0:
        return (0,) * len(weights)
    parts = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda index: -(total * weights[index] % whole))
    for index in by_remainder[: total - sum(parts)]:
        parts[index] += 1
    while total >= len(parts) and 0 in parts:
        largest = max(range(len(parts)), key=lambda index: (parts[index], index))
        parts[largest] -= 1
        parts[parts.index(0)] += 1
    return tuple(parts)

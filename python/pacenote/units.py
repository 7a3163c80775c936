"""Quantities and their formatting, in one module so that all reports use the same format.

Seconds, bytes and counts are plain numbers in the model; this module converts text to quantities and back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

OPS = "ops"
"""The unit of work that counts operations; each operation defines its other units, such as `docs`."""

BYTES = "byte"
"""The unit of work of operations that copy data."""

LONGEST_S = 1_000_000_000
"""The longest time in seconds that an option or a file may state, 31 years: any time of today can be moved by
it, and nanoseconds since 1970 are still numbers of 64 bits.
"""

_WHOLE = re.compile(r"[0-9]{1,18}")
_LEAST_PERCENT, _MORE_DECIMALS = 0.005, range(3, 7)
"""Percentages below it have as many of these decimals as they need not to look like none."""
_RATE = re.compile(r"\s*(\d{1,18}(?:\.\d+)?)\s+(\S+)/s\s*")


class Rate(Struct, frozen=True):
    """Work per second."""

    value: float
    """Units of work per second."""

    unit: str = OPS
    """The unit of work."""

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Parses `N unit/s`, for example `10 docs/s`.

        Raises `ValueError` if the text has a different form.
        """
        match = _RATE.fullmatch(text)
        if match is None:
            raise ValueError(f'"{text}" is not a rate such as "10 docs/s"')
        return cls(float(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}/s"


def whole_number(text: str) -> int | None:
    """Returns the number that a text of 1 to 18 ASCII digits is, or None for any other text: `str.isdigit`
    accepts digits that `int` does not, and `int` raises for a number of thousands of digits.
    """
    return int(text) if _WHOLE.fullmatch(text) else None


def format_bytes(count: float) -> str:
    """Formats bytes with a binary unit: 512 B, 1.5 KiB, 2.0 GiB."""
    if abs(count) < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if abs(count) < 1024:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} TiB"


def format_frequency(hertz: float) -> str:
    """Formats a frequency of a processor: 800 MHz, 3.4 GHz."""
    return f"{hertz / 1e9:.3g} GHz" if hertz >= 1e9 else f"{hertz / 1e6:.3g} MHz"


def format_seconds(seconds: float) -> str:
    """Formats a duration in seconds with a suitable unit: 250 µs, 12.5 ms, 3.2 s, 2 min 5 s."""
    # The value is rounded first so that 999.7 ms becomes 1 s and not 1e+03 ms.
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
    """Formats a number with at least five significant digits and without an exponent: 0.92976, 70,730,
    1,234,567.
    """
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.5g}"


def format_rate(value: float) -> str:
    """Formats a rate with three significant digits, or without decimals: 0.25, 49.9, 6,242."""
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Formats a count with its noun: 1 document, 1,000,000 documents. `plural` is `noun` with an s if it is
    empty.
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def format_range(values: Iterable[float], text_of: Callable[[float], str]) -> str:
    """Formats the smallest and the largest value, or only one if both look the same: 3 ms to 3.1 ms."""
    ordered = sorted(values)
    low, high = text_of(ordered[0]), text_of(ordered[-1])
    return low if low == high else f"{low} to {high}"


def format_change(share: float) -> str:
    """Formats a relative change with its sign: +8.2 %, -0.31 %, ±0.00 %."""
    sign = "+" if share > 0 else "-" if share < 0 else "±"
    return f"{sign}{format_share(abs(share))}"


def format_difference(value: float, unit: str) -> str:
    """Returns a difference with its sign and its unit, if it has one: `-0.37`, `+1.5 points`."""
    return with_unit(f"{value:+.3g}", unit)


def with_unit(text: str, unit: str) -> str:
    """Returns a number with its unit, if it has one."""
    return f"{text} {unit}" if unit else text


def format_share(share: float) -> str:
    """Formats a share as a percentage without exponent: 0.0004 %, 0.31 %, 8.2 %, 120 %, 1,200 %."""
    percent = share * 100
    if percent >= 1000:
        return f"{percent:,.0f} %"
    decimals = 0 if percent >= 99.95 else 1 if percent >= 1 else 2
    if 0 < percent < _LEAST_PERCENT:
        decimals = next((more for more in _MORE_DECIMALS if round(percent, more)), decimals)
    return f"{percent:.{decimals}f} %"


def format_excess(share: float, limit: float, form: str = ".0f") -> str:
    """Formats a share that is not its limit as a percentage, with more digits if both would look the same."""
    return f"{format_unlike(share * 100, limit * 100, form)} %"


def format_unlike(value: float, limit: float, form: str) -> str:
    """Formats a value that is not its limit, with more digits if both would look the same."""
    text, decimals = format(value, form), 0
    while float(text) == float(format(limit, form)) and value != limit and decimals < 9:
        decimals += 1
        form = f".{decimals}f"
        text = format(value, form)
    return text


def split_by_weight(total: int, weights: tuple[int, ...]) -> tuple[int, ...]:
    """Splits `total` into whole parts in proportion to `weights`, by the largest remainder method.

    Ties go to the earlier part, and every part is at least one if `total` is large enough. The generators in
    `crates/corpus` use the same rule, so they write as many documents as are declared.
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

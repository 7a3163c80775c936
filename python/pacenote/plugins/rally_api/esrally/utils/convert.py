"""Conversions of units and text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_TRUE = ("True", "true", "Yes", "yes", "t", "y", "1", True)
_FALSE = ("False", "false", "No", "no", "f", "n", "0", False)


def bytes_to_unit(unit: str, x: float | None) -> float | None:
    """Returns a number of bytes in `B`, `KB`, `MB`, `GB` or `TB`; None for None."""
    return None if x is None else x / _BYTES.get(unit.strip(), 1)


def bytes_to_kb(x: float | None) -> float | None:
    """Returns a number of bytes in kilobytes of 1024 bytes; None for None."""
    return bytes_to_unit("KB", x)


def bytes_to_mb(x: float | None) -> float | None:
    """Returns a number of bytes in megabytes of 1024 kilobytes; None for None."""
    return bytes_to_unit("MB", x)


def bytes_to_gb(x: float | None) -> float | None:
    """Returns a number of bytes in gigabytes of 1024 megabytes; None for None."""
    return bytes_to_unit("GB", x)


def bytes_to_human_unit(x: float | None) -> str:
    """Returns the largest unit of which a number of bytes has at least one; `N/A` for None."""
    if x is None:
        return "N/A"
    return [unit for unit, size in _BYTES.items() if size == 1 or abs(x) >= size][-1]


def bytes_to_human_value(x: float | None) -> float | None:
    """Returns a number of bytes in the unit of `bytes_to_human_unit`; None for None."""
    return bytes_to_unit(bytes_to_human_unit(x), x)


def seconds_to_ms(x: float | None) -> float | None:
    """Returns seconds in milliseconds; None for None."""
    return None if x is None else x * 1000


def ms_to_seconds(x: float | None) -> float | None:
    """Returns milliseconds in seconds; None for None."""
    return None if x is None else x / 1000


def ms_to_minutes(x: float | None) -> float | None:
    """Returns milliseconds in minutes; None for None."""
    return None if x is None else x / 60_000


def factor(n: float) -> Callable[[float], float]:
    """Returns a function that multiplies by a number."""
    return lambda value: value * n


def to_bool(value: str | bool) -> bool:
    """Returns the boolean that a text such as `true`, `no` or `1` stands for. Raises ValueError for any
    other.
    """
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise ValueError(f"Cannot convert [{value}] to bool.")


def to_strings(values: Iterable[str] | None) -> tuple[str, ...]:
    """Returns the items of a list, or of a text such as `a, b`."""
    if isinstance(values, str):
        return tuple(values.replace(" ", "").split(",")) if values else ()
    return tuple(values or ())

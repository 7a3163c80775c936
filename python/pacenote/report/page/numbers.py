"""Numbers in the tables of charts: without unit and without separators, so that scripts can read them."""

from __future__ import annotations


def plain(value: float | None) -> str:
    """Returns a number with at least three significant digits, without an exponent; below 0.0005 it is 0.

    Returns an empty text for None.
    """
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) < 0.0005:
        return "0"
    return f"{value:.3g}"


def plain_time(seconds: float) -> str:
    """Returns a time of the race in seconds, in tenths of a second unless it is a whole number."""
    return f"{seconds:.1f}".removesuffix(".0")


def clock(seconds: float) -> str:
    """Returns a time of the race: 0:07, 12:30, 1:02:05."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

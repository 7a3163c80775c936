"""Formats values for tables."""

from __future__ import annotations

from pacenote.report.rows import UNSUPPORTED_MARK, Row


def format_value(value: float | int | None) -> str:
    """Formats a number with six significant digits as in Rally, but never with an exponent: `1234567.0`
    becomes `1234567`.
    """
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    text = f"{value:.6g}"
    if "e" not in text:
        return text
    # Python uses an exponent above 1e6 and below 1e-4; nine decimals exceed the measured precision.
    return f"{value:.0f}" if abs(value) > 1 else f"{value:.9f}".rstrip("0").rstrip(".")


def format_interval(row: Row) -> str:
    """Returns the mark of a value and, for a percentile with too few samples, its interval."""
    if UNSUPPORTED_MARK not in row.mark:
        return row.mark
    if row.low is None and row.high is None:
        return f"{row.mark} no interval"
    if row.high is None:
        return f"{row.mark} ≥ {format_value(row.low)}"
    if row.low is None:
        return f"{row.mark} ≤ {format_value(row.high)}"
    return f"{row.mark} {format_value(row.low)} … {format_value(row.high)}"

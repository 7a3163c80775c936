"""How figures are written in tables."""

from __future__ import annotations

from pacenote.report.model import Row


def format_number(value: float | int | None) -> str:
    """Six significant digits as in Rally, but never an exponent: `1234567.0` stays `1234567`."""
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    if value == 0 or abs(value) >= 1e6:
        return f"{value:.0f}"
    # Python writes an exponent below 1e-4; nothing we report has a use for more than nine decimals.
    text = f"{value:.6g}"
    return f"{value:.9f}".rstrip("0").rstrip(".") if "e" in text else text


def format_interval(row: Row) -> str:
    """What stands beside a marked value: the mark and its interval; empty for a value that is not marked."""
    if not row.mark:
        return ""
    if row.low is None and row.high is None:
        return f"{row.mark} no interval"
    low, high = format_number(row.low) or "?", format_number(row.high) or "?"
    return f"{row.mark} {low} … {high}"

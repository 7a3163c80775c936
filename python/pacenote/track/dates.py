"""The date filters of track templates, in UTC; their input is a date, seconds since 1970, or a string."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

_DAY_FIRST = "%d-%m-%Y"
_YEAR_FIRST = "%Y-%m-%d"


def days_ago(value: object, end: object, date_format: str = _DAY_FIRST) -> int:
    """Returns the whole days from `value` to `end`."""
    return (_to_datetime(end, date_format) - _to_datetime(value, date_format)).days


def get_start_date(value: object, date_format: str = _YEAR_FIRST) -> str:
    """Returns the date as a string."""
    return _to_datetime(value, date_format).strftime(date_format)


def get_end_date(value: object, days: int = 1, date_format: str = _YEAR_FIRST) -> str:
    """Returns the date `days` later as a string."""
    return (_to_datetime(value, date_format) + timedelta(days=days)).strftime(date_format)


DATE_FILTERS: Mapping[str, Callable[..., object]] = {
    "days_ago": days_ago,
    "get_start_date": get_start_date,
    "get_end_date": get_end_date,
}
"""Name in templates → filter."""


def _to_datetime(value: object, date_format: str) -> datetime:
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    return datetime.strptime(str(value), date_format).replace(tzinfo=UTC)

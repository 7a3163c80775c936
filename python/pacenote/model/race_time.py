"""Rally's form of the time at which a race began."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

TIMESTAMP_FORMAT = "%Y%m%dT%H%M%SZ"
"""Rally's form of a race's timestamp, always UTC."""

_YEARS = range(1970, 3000)
"""Years of races. Arithmetic with times outside of them may overflow, and their texts do not sort by time."""

FUTURE = "in future"
"""What lists say of such a race instead of its age."""

_CLOCK_ERROR = timedelta(days=1)
"""How much clocks of machines may differ."""


def is_in_future(began: datetime, now: datetime | None = None) -> bool:
    """Returns whether a time is later than that of any clock, so that a race cannot have begun then. Races of
    others may state any time.
    """
    return began > (now or datetime.now(UTC)) + _CLOCK_ERROR


def parse_timestamp(text: str) -> datetime:
    """Returns the time of a timestamp such as `20260301T123015Z`. Raises ValueError for any other text."""
    moment = datetime.strptime(text, TIMESTAMP_FORMAT).replace(tzinfo=UTC)
    if moment.year not in _YEARS or moment.strftime(TIMESTAMP_FORMAT) != text:
        raise ValueError(f"{text} is not the timestamp of a race")
    return moment


def valid_timestamp(text: str) -> str:
    """Returns a text that is the timestamp of a race, and for any other one empty text, which sorts first."""
    try:
        parse_timestamp(text)
    except ValueError:
        return ""
    return text

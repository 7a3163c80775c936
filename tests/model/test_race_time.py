"""Timestamps of races are those that Rally writes."""

from datetime import UTC, datetime

import pytest

from pacenote.model.race_time import parse_timestamp


def test_a_timestamp_is_a_time_in_utc():
    assert parse_timestamp("20260301T123015Z") == datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
    assert parse_timestamp("19700101T000000Z").timestamp() == 0


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "yesterday",
            "20260301T123015",
            "20260301T123015+0100",
            "20260301T123015Zx",
            " 20260301T123015Z",
        ),
        *("00010101T000000Z", "19691231T235959Z", "30000101T000000Z", "99991231T235959Z", "99999999T999999Z"),
        *("2026031T123015Z", "20260231T000000Z", "20260301T24:000Z", "\uff12\uff10260301T123015Z"),
    ],
)
def test_another_text_is_an_error(text):
    with pytest.raises(ValueError, match=r"."):
        parse_timestamp(text)

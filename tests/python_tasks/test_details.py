"""The details of an operation are JSON without secrets."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import uuid
from typing import Any

import pytest

from pacenote.python_tasks.details import details_json

SECRET = "hunter2-abcdef"


class _Array:
    """Has the method by which an array of numpy is recognized."""

    def tolist(self) -> list[object]:
        return [SECRET, {1: SECRET.encode()}, 1]


class _Time:
    def isoformat(self) -> str:
        return SECRET


class _Text:
    def __str__(self) -> str:
        return SECRET


class _Word(enum.StrEnum):
    A = SECRET


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (SECRET.encode(), "<hidden>"),
        ({SECRET}, ["<hidden>"]),
        (frozenset({(SECRET, 1)}), [["<hidden>", 1]]),
        ([{"a": ({frozenset({SECRET.encode()})},)}], [{"a": [[["<hidden>"]]]}]),
        (_Array(), ["<hidden>", {"1": "<hidden>"}, 1]),
        (_Time(), "<hidden>"),
        (_Text(), "<hidden>"),
        (_Word.A, "<hidden>"),
        ({"b": {"my_token": {1}}, SECRET: 2}, {"b": {"my_token": "<hidden>"}, "<hidden>": 2}),
        ([87654321, 87654321.0, 8765432, True], ["<hidden>", "<hidden>", 8765432, True]),
    ],
)
def test_secrets_of_any_type_are_redacted(value: object, stored: object) -> None:
    details = details_json({"by": value}, frozenset({SECRET, "87654321"}))
    assert details is not None
    assert json.loads(details) == {"by": stored}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (decimal.Decimal("1.5"), 1.5),
        (uuid.UUID(int=1), str(uuid.UUID(int=1))),
        (b"a", "a"),
        (b"\xff", "b'\\xff'"),
        (float("nan"), "nan"),
        ([float("inf")], "[inf]"),
        (10**400, 10**400),
        ({1: {2: None}}, {"1": {"2": None}}),
    ],
)
def test_values_of_other_types_are_kept(value: object, stored: object) -> None:
    details = details_json({"by": value, "n": 1, "success": True}, frozenset({SECRET}))
    assert details is not None
    assert json.loads(details) == {"by": stored, "n": 1}


def test_a_value_that_contains_itself_is_text() -> None:
    value: list[Any] = []
    value.append(value)
    assert details_json({"by": value}, ()) == '{"by":"[[...]]"}'

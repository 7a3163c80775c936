"""JSON objects are read with typed values and defaults, and problems are collected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import Problems, format_path, preview


def read(data: dict[str, Any], ask: Callable[[FieldReader], Any]) -> tuple[Any, list[str]]:
    problems = Problems()
    value = ask(FieldReader(data, ("at", 0), problems))
    return value, [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("value", "ask", "expected"),
    [
        ("x", lambda r: r.text("k"), "x"),
        (None, lambda r: r.text("k", "d"), "d"),
        (3, lambda r: r.integer("k", 0), 3),
        (3.0, lambda r: r.integer("k", 0), 3),
        (110.00000000000001, lambda r: r.integer("k", 0), 110),
        (2.5, lambda r: r.number("k"), 2.5),
        (True, lambda r: r.flag("k", False), True),
        ("False", lambda r: r.flag("k", True), False),
        (None, lambda r: r.flag("k", True), True),
        ("a", lambda r: r.names("k"), ("a",)),
        (["a", "b"], lambda r: r.names("k"), ("a", "b")),
        ({"x": 1}, lambda r: r.mapping("k"), {"x": 1}),
        ("b", lambda r: r.choice("k", ["a", "b"], "a"), "b"),
    ],
)
def test_valid_and_default_values_are_read(
    value: Any, ask: Callable[[FieldReader], Any], expected: Any
) -> None:
    assert read({"k": value}, ask) == (expected, [])


@pytest.mark.parametrize(
    ("value", "ask", "stand_in", "problem"),
    [
        (1, lambda r: r.text("k"), "", "at[0].k is 1, but must be a string"),
        (None, lambda r: r.required_text("k"), "", "at[0].k is missing"),
        ("", lambda r: r.required_text("k"), "", "at[0].k is empty"),
        ("1", lambda r: r.integer("k", 0), None, 'at[0].k is "1", but must be a whole number'),
        (True, lambda r: r.integer("k", 0), None, "at[0].k is true, but must be a whole number"),
        (float("inf"), lambda r: r.integer("k", 0), None, "at[0].k is Infinity, but must be a whole number"),
        (2**63, lambda r: r.integer("k", 0), None, f"at[0].k is {2**63}, but must be at most {2**63 - 1}"),
        (1e300, lambda r: r.integer("k", 0), None, f"at[0].k is 1e+300, but must be at most {2**63 - 1}"),
        (
            10**400,
            lambda r: r.integer("k", 0),
            None,
            "at[0].k is 1" + "0" * 56 + f"..., but must be at most {2**63 - 1}",
        ),
        (float("inf"), lambda r: r.number("k"), None, "at[0].k is Infinity, but must be at most 3153600000"),
        (float("nan"), lambda r: r.number("k"), None, "at[0].k is NaN, but must be a number"),
        (1e300, lambda r: r.number("k"), None, "at[0].k is 1e+300, but must be at most 3153600000"),
        (9, lambda r: r.integer("k", 0, 8), None, "at[0].k is 9, but must be at most 8"),
        (-1, lambda r: r.integer("k", 0), None, "at[0].k is -1, but must be at least 0"),
        (0, lambda r: r.number("k", above=True), None, "at[0].k is 0, but must be more than 0"),
        ("x", lambda r: r.number("k"), None, 'at[0].k is "x", but must be a number'),
        ("yes", lambda r: r.flag("k", False), False, 'at[0].k is "yes", but must be true or false'),
        ([1], lambda r: r.names("k"), (), "at[0].k is [1], but must be a string or a list of strings"),
        ([], lambda r: r.mapping("k"), {}, "at[0].k is [], but must be an object"),
        ("c", lambda r: r.choice("k", ["a", "b"], "a"), "a", 'at[0].k is "c", but must be one of a, b'),
        ([{}, 1], lambda r: len(r.children("k")), 1, "at[0].k[1] is 1, but must be an object"),
        ([], lambda r: r.children("k"), (), "at[0].k is empty"),
        ({}, lambda r: r.children("k"), (), "at[0].k is {}, but must be a list"),
    ],
)
def test_invalid_values_are_reported_as_problems(
    value: Any, ask: Callable[[FieldReader], Any], stand_in: Any, problem: str
) -> None:
    assert read({"k": value}, ask) == (stand_in, [problem])


def test_paths_and_values_are_formatted_for_messages() -> None:
    assert format_path(()) == "the document"
    assert format_path(("a", 0, "b-c", 1)) == "a[0].b-c[1]"
    assert preview({"a": "é"}) == '{"a": "é"}'
    assert len(preview("x" * 200)) == 60

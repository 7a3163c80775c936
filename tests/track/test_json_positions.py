"""The lines of key paths are found in JSON text."""

from __future__ import annotations

import json

import pytest

from pacenote.track.json_positions import excerpt, line_numbers, nearest_line

TEXT = """{
  "a": [
    {"b": "x, {}\\" ] \\n"},
    [], {},
    3
  ], "c":
  {"d":
    null}
}"""


def test_the_line_of_every_path_is_found() -> None:
    json.loads(TEXT)
    lines = line_numbers(TEXT)
    assert lines == {
        (): 1, ("a",): 2, ("a", 0): 3, ("a", 0, "b"): 3, ("a", 1): 4, ("a", 2): 4, ("a", 3): 5, ("c",): 6,
        ("c", "d"): 7,
    }  # fmt: skip


def test_a_missing_key_is_located_at_the_beginning_of_its_object() -> None:
    lines = line_numbers(TEXT)
    assert nearest_line(lines, ("a", 0, "missing", "deeper")) == 3
    assert nearest_line(lines, ("nothing",)) == 1


@pytest.mark.parametrize(
    ("line", "expected"), [(1, "> 1 | a\n  2 | b"), (2, "  1 | a\n> 2 | b\n  3 | c"), (3, "  2 | b\n> 3 | c")]
)
def test_an_excerpt_marks_the_line(line: int, expected: str) -> None:
    assert excerpt("a\nb\nc", line, around=1) == expected

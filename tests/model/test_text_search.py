"""Many texts are found as by an expression with all of them, in work that does not grow with their number."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from pacenote.model.redaction import redact_record
from pacenote.model.secret_forms import secret_forms
from pacenote.model.secret_lines import SecretLines
from pacenote.model.secrets import redact
from pacenote.model.text_search import TextSearch
from support.records import record

SHARED = "correct-horse-battery/staple+" * 5
"""The beginning of many secrets."""


def secrets_with_one_beginning(count: int) -> frozenset[str]:
    return frozenset(f"{SHARED}{index:04d}" for index in range(count))


def count_calls(function: Callable[[], object]) -> int:
    """Returns how many functions, of Python and of C, a function calls."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def test_texts_are_found_as_by_an_expression() -> None:
    source, replaced = random.Random(3), 0
    for _ in range(1000):
        texts = {"".join(source.choices("ab.", k=source.randint(1, 7))) for _ in range(source.randint(1, 9))}
        text = "".join(source.choices("ab.", k=40))
        longest_first = sorted(texts, key=len, reverse=True)
        expected = re.sub("|".join(map(re.escape, longest_first)), "#", text)
        assert TextSearch(texts).replace(text, "#") == expected
        encoded = TextSearch(each.encode() for each in texts).replace(text.encode(), b"#")
        assert encoded == expected.encode()
        cut = TextSearch(texts).cut_at(text)
        ends = [start for start in range(37) if any(each.startswith(text[start:]) for each in texts)]
        assert cut == min(ends, default=40)
        replaced += expected.count("#")
    assert replaced > 5000
    assert TextSearch[str]([]).replace("ab", "#") == TextSearch([""]).replace("ab", "#") == "ab"


@pytest.mark.parametrize(
    "text",
    [
        SHARED * 50,
        f"{SHARED}\u2026" * 50,
        "corr\u2026" * 1000,
        f"{SHARED}12\n" * 50,
        "a" * 5000,
        "x: corr= " * 800,
    ],
    ids=["beginnings", "shortened", "short", "lines", "other", "names"],
)
def test_the_work_does_not_grow_with_the_number_of_secrets(text: str) -> None:
    few, many = secrets_with_one_beginning(1), secrets_with_one_beginning(100)
    patterns = [secret_forms(each).search.beginnings for each in (few, many)]
    lengths = [len(each.pattern) for each in patterns if each is not None]
    assert 0 < lengths[1] < 2 * lengths[0]
    base, all_ = (count_calls(lambda each=each: redact(text, each)) for each in (few, many))  # type: ignore[misc]
    assert 0 < all_ < 2 * base + 100
    lines = [SecretLines(each) for each in (few, many)]
    base, all_ = (count_calls(lambda each=each: each.redact(text.encode())) for each in lines)  # type: ignore[misc]
    assert 0 < all_ < 2 * base + 100


def test_texts_that_begin_with_each_other_are_not_all_compared() -> None:
    search = TextSearch("a" * length for length in range(100, 200))
    text = f"{'a' * 99}b" * 10
    assert search.replace(text, "#") == text
    assert count_calls(lambda: search.replace(text, "#")) < 10 * len(text)
    # The longest one is found, then the rest.
    assert search.replace("a" * 340, "#") == "##"
    assert search.replace("a" * 210 + "b", "#") == f"#{'a' * 11}b"


def test_what_repeats_in_telemetry_is_searched_once() -> None:
    samples = [{"node name": "node 1", "cpu used": index, "state": "is running"} for index in range(1000)]
    race = record(telemetry={"node-stats": {"samples": samples}})
    secrets = frozenset({"running"})
    assert redact_record(race, secrets).telemetry["node-stats"]["samples"][7]["state"] == "is <hidden>"  # type: ignore[index]
    # Of each sample, the values and the keys are visited.
    assert count_calls(lambda: redact_record(race, secrets)) < 60 * len(samples)

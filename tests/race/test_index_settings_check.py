"""Indices that lack a setting of the user are found."""

from __future__ import annotations

from typing import Any

from pacenote.errors import EngineError
from pacenote.race.index_settings_check import check_index_settings

CODEC = {"index.codec": "best_compression"}


def answer(**codecs: str | None) -> dict[str, Any]:
    return {
        name: {"settings": {} if codec is None else {"index.codec": codec}} for name, codec in codecs.items()
    }


def test_indices_without_the_setting_are_named() -> None:
    replies = answer(a="best_compression", b=None, c="default", d=None, e=None)
    (warning,) = check_index_settings(CODEC, lambda _: replies)
    assert warning.startswith("index.codec is not best_compression in b, c, d and 1 more: ")


def test_indices_of_the_engine_do_not_count() -> None:
    assert check_index_settings(CODEC, lambda _: answer(**{".tasks": None, "a": "best_compression"})) == ()


def test_nothing_is_asked_without_a_setting() -> None:
    assert check_index_settings({}, lambda _: 1 / 0) == ()


def test_an_engine_that_does_not_answer_is_reported() -> None:
    def fail(_: str) -> None:
        raise EngineError("it has ended")

    (warning,) = check_index_settings(CODEC, fail)
    assert warning == "whether all indices have index.codec is not known: it has ended"


def test_a_long_name_is_shown_short() -> None:
    (warning,) = check_index_settings(CODEC, lambda _: answer(**{"i" * 300_000: None}))
    assert len(warning) < 500

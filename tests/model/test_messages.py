"""Suggestions for unknown names are likely to be meant."""

from __future__ import annotations

import pytest

from pacenote.model.messages import did_you_mean, quoted_list, similar_names


@pytest.mark.parametrize(
    ("name", "known", "suggested"),
    [
        ("race", ["races", "tracks", "cars"], ["races"]),
        ("put-elsr", ["put-elser", "put-pipeline"], ["put-elser"]),
        ("serch", ["search", "bulk"], ["search"]),
        ("nwe", ["new", "old"], ["new"]),
        ("colr", ["color", "colour", "coal"], ["color", "colour"]),
        ("zebra", ["search"], []),
    ],
)
def test_only_names_that_are_almost_as_similar_as_the_best_are_suggested(
    name: str, known: list[str], suggested: list[str]
) -> None:
    assert similar_names(name, known) == suggested


def test_suggestions_and_lists_of_names_are_quoted() -> None:
    assert did_you_mean("a1", ["a2", "a3"]) == ""
    assert did_you_mean("indxe", ["index"]) == ' (did you mean "index"?)'
    assert quoted_list(["a", "b"]) == '"a", "b"'
    assert quoted_list([]) == "none"

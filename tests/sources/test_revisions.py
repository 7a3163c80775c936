"""`--revision` has Rally's forms; anything else is refused."""

from __future__ import annotations

import pytest

from pacenote.errors import UsageError
from pacenote.sources.revisions import ALL, Revision, parse_revisions, revision_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latest", {ALL: Revision("latest")}),
        ("current", {ALL: Revision("current")}),
        ("v8.4.0", {ALL: Revision("v8.4.0")}),
        ("feature/faster", {ALL: Revision("feature/faster")}),
        ("@2013-07-27T10:37:00Z", {ALL: Revision("", "2013-07-27T10:37:00Z")}),
        ("8.19@2022-07-21", {ALL: Revision("8.19", "2022-07-21")}),
        (
            "elasticsearch:main@2023-04-20T01:00:00+02:00",
            {"elasticsearch": Revision("main", "2023-04-20T01:00:00+02:00")},
        ),
        (
            "elasticsearch:v7.12.0,my-plugin:abc123",
            {"elasticsearch": Revision("v7.12.0"), "my-plugin": Revision("abc123")},
        ),
    ],
)
def test_revisions_are_parsed(text: str, expected: dict[str, Revision]) -> None:
    assert parse_revisions(text) == expected


@pytest.mark.parametrize(
    "text", ["", "--upload-pack=x", "a b", "@", "main@yesterday", "a,b", "es:a,es:b", ":a", "a:--b", "x y:a"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--revision"):
        parse_revisions(text)


def test_the_revision_of_the_engine_is_needed() -> None:
    assert revision_of(parse_revisions("latest"), "opensearch") == Revision("latest")
    assert revision_of(parse_revisions("opensearch:a,x:b"), "opensearch") == Revision("a")
    with pytest.raises(UsageError, match="names no revision of opensearch, only of elasticsearch"):
        revision_of(parse_revisions("elasticsearch:latest"), "opensearch")


def test_a_commit_has_a_name_that_does_not_change() -> None:
    assert Revision("0123abcd").is_commit
    assert not Revision("main").is_commit
    assert not Revision("0123abcd", "2026-01-01").is_commit
    assert str(Revision("8.19", "2026-01-01")) == "8.19@2026-01-01"

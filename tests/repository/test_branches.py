"""The branch of a track repository that matches an engine's version."""

from __future__ import annotations

import pytest

from pacenote.repository.branches import best_branch, version_variants

BRANCHES = (
    "master",
    "6",
    "7",
    "7.11",
    "7.14.1",
    "8.5",
    "8.11",
    "8.12.0",
    "8.12.0-SNAPSHOT",
    "9.0",
    "feature/x",
)


@pytest.mark.parametrize(
    ("version", "branch"),
    [
        ("", "master"),
        ("serverless", "master"),
        ("8.12.0-SNAPSHOT", "8.12.0-SNAPSHOT"),
        ("8.12.0", "8.12.0"),
        ("8.12.0-beta1", "8.12.0"),
        ("8.12.1", "8.11"),
        ("8.11.4", "8.11"),
        ("8.10.0", "8.5"),
        ("8.4.0", None),
        ("7.10.2", "7"),
        ("7.14.1", "7.14.1"),
        ("7.14.2", "7.11"),
        ("6.8.23", "6"),
        ("5.6.16", None),
        ("9.4.0", "9.0"),
        ("10.0.0", "master"),
        ("nonsense", None),
        ("8.12", None),
    ],
)
def test_the_best_branch_is_selected_for_a_version(version: str, branch: str | None) -> None:
    assert best_branch(BRANCHES, version) == branch


def test_main_is_used_if_there_is_no_master() -> None:
    assert best_branch(("main", "8"), "") == "main"
    assert best_branch(("main", "8.1.1"), "9.0.0") == "main"
    assert best_branch(("main", "8.1.1"), "7.0.0") is None
    assert best_branch(("other",), "") is None


def test_version_variants_are_ordered_from_exact_to_general() -> None:
    assert version_variants("8.01.2-SNAPSHOT") == ("8.1.2-SNAPSHOT", "8.1.2", "8.1", "8")
    assert version_variants("8.1") == ()

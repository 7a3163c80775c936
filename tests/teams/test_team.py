"""Where team repositories are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.model.team_options import TeamOptions
from pacenote.repository.git import git
from pacenote.teams.definitions import read_car
from pacenote.teams.team import TeamRequest, locate_team, uses_team
from teams.repositories import write_team
from track.repositories import AUTHOR


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team repository with a branch for 7.17, and a newer state on `master`."""
    root = tmp_path_factory.mktemp("upstream")
    git("init", "--quiet", "--initial-branch=master", at=root)
    for heap in ("1g", "2g"):
        write_team(root, {"cars/v1/small.ini": f"[config]\nbase=plain\n[variables]\nheap_size={heap}\n"})
        git("add", "--all", at=root)
        git(*AUTHOR, "commit", "--quiet", "--message=change", at=root)
        if heap == "1g":
            git("branch", "7.17", at=root)
    return root


@pytest.mark.process
@pytest.mark.parametrize(
    ("version", "revision", "heap"),
    [("7.17.28", None, "1g"), ("9.5.3", None, "2g"), ("", None, "2g"), ("9.5.3", "7.17", "1g")],
)
def test_the_version_of_the_engine_selects_the_branch(
    upstream: Path, tmp_path: Path, version: str, revision: str | None, heap: str
) -> None:
    options = TeamOptions(repository="mine", revision=revision, urls={"mine": upstream.as_uri()})
    team = locate_team(TeamRequest(home=tmp_path, options=options, engine_version=version))
    assert read_car(team.root, "small").variables["heap_size"] == heap
    assert team.root.is_relative_to(tmp_path / "teams")
    assert team.revision in team.origin or team.revision[:12] in team.origin  # type: ignore[index,operator]


@pytest.mark.process
def test_a_repository_that_cannot_be_cloned_is_an_error_of_the_engine(tmp_path: Path) -> None:
    options = TeamOptions(repository=(tmp_path / "gone").as_uri())
    with pytest.raises(
        EngineError, match=r'team repository "gone-\w+" cannot be cloned from file:///'
    ) as caught:
        locate_team(TeamRequest(home=tmp_path, options=options))
    assert "name a folder with --team-path" in caught.value.hint


def test_a_folder_is_used_as_it_is(tmp_path: Path) -> None:
    options = TeamOptions(path=write_team(tmp_path / "team"))
    assert locate_team(TeamRequest(home=tmp_path, options=options)).root == tmp_path / "team"
    with pytest.raises(EngineError, match=r"--team-path .*/none does not exist"):
        locate_team(TeamRequest(home=tmp_path, options=TeamOptions(path=tmp_path / "none")))


@pytest.mark.process
def test_the_revision_of_a_folder_in_a_checkout_is_known(tmp_path: Path) -> None:
    root = write_team(tmp_path / "checkout" / "team")
    request = TeamRequest(home=tmp_path, options=TeamOptions(path=root))
    assert locate_team(request).revision is None
    git("init", "--quiet", at=root.parent)
    git("add", "--all", at=root.parent)
    git(*AUTHOR, "commit", "--quiet", "--message=cars", at=root.parent)
    commit = git("rev-parse", "HEAD", at=root.parent)
    (root.parent / "unrelated").touch()
    clean = locate_team(request)
    assert (clean.revision, clean.origin) == (commit, f"{root}, revision {commit}")
    (root / "cars/v1/small.ini").write_text("")
    assert locate_team(request).revision == f"{commit}-dirty"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({}, False),
        ({"repository": "bundled"}, False),
        ({"repository": "none"}, False),
        ({"repository": "default"}, True),
        ({"revision": "abc"}, True),
        ({"path": Path("/x")}, True),
    ],
)
def test_the_built_in_cars_are_used_unless_a_repository_is_selected(
    given: dict[str, Any], used: bool
) -> None:
    assert uses_team(TeamOptions(**given)) == used


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": Path("/x"), "repository": "default"}, "--team-path and --team-repository exclude"),
        ({"path": Path("/x"), "revision": "a"}, "--team-path and --team-revision exclude"),
        ({"repository": "bundled", "revision": "a"}, "--team-revision needs a git repository"),
    ],
)
def test_contradicting_options_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        uses_team(TeamOptions(**given))


def test_a_folder_that_others_could_replace_is_rejected(tmp_path: Path) -> None:
    options = TeamOptions(path=write_team(tmp_path / "team"))
    tmp_path.chmod(0o777)
    with pytest.raises(UsageError, match=f"which is code, could be replaced by others: {tmp_path} can be"):
        locate_team(TeamRequest(home=tmp_path, options=options))

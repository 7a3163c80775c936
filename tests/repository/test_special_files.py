"""Pipes in the place of files that git or Pacenote reads do not let it wait for ever."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.errors import EngineError, PacenoteError, TrackError
from pacenote.model.team_options import TeamOptions
from pacenote.repository import foreign_checkout
from pacenote.repository.git import GitBlocked, git
from pacenote.repository.git_repository import folder_revision
from pacenote.sources.build_java import required_major
from pacenote.sources.checkout import SourceCheckout, SourceRepository
from pacenote.sources.recipes import recipe_for
from pacenote.sources.revisions import Revision
from pacenote.teams.ini_file import read_ini
from pacenote.teams.rendering import template_files
from pacenote.teams.team import TeamRequest, locate_team
from pacenote.track.source import open_track
from track.repositories import commit

pytestmark = pytest.mark.process


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "theirs"
    root.mkdir()
    git("init", "--quiet", at=root)
    commit(root)
    return root


def replaced(root: Path, name: str) -> Path:
    """Puts a pipe in the place of a file."""
    file = root / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    return file


FIRST = (".git/config", ".git/HEAD", ".git/packed-refs", ".git/objects/info/alternates", ".gitignore")
LATER = (".git/refs/heads/master", "books/.gitignore")


@pytest.mark.parametrize("name", FIRST)
def test_a_pipe_that_git_reads_first_is_named(checkout: Path, name: str) -> None:
    file = replaced(checkout, name)
    reasons: list[str] = []
    assert folder_revision(checkout, reasons.append) is None
    assert reasons == [f"the revision of {checkout} is not known: {file} is a pipe, a device or a socket"]


@pytest.mark.parametrize("name", LATER)
def test_git_is_stopped_if_it_waits(checkout: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    branch = git("symbolic-ref", "HEAD", at=checkout)
    replaced(checkout, name.replace("refs/heads/master", branch))
    monkeypatch.setattr(foreign_checkout, "TIMEOUT_S", 1.0)
    reasons: list[str] = []
    assert folder_revision(checkout, reasons.append) is None
    (reason,) = reasons
    assert reason.startswith(f"the revision of {checkout} is not known: git ")
    assert reason.endswith("may be a pipe")


def test_the_pipe_of_a_worktree_is_named(checkout: Path, tmp_path: Path) -> None:
    git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), at=checkout)
    file = replaced(checkout, ".git/packed-refs")
    reasons: list[str] = []
    assert folder_revision(tmp_path / "tree", reasons.append) is None
    assert str(file) in os.path.normpath(reasons[0].split(": ")[1].partition(" is a")[0])


def test_pipes_above_a_checkout_are_not_its_own(checkout: Path) -> None:
    replaced(checkout.parent, ".gitignore")
    os.mkfifo(checkout.parent / ".git")
    assert folder_revision(checkout) == git("rev-parse", "HEAD", at=checkout)
    (checkout.parent / "plain").mkdir()
    reasons: list[str] = []
    assert folder_revision(checkout.parent / "plain", reasons.append) is None
    assert reasons == []


def test_a_team_with_a_pipe_is_used_with_a_note(checkout: Path, tmp_path: Path) -> None:
    replaced(checkout, ".git/HEAD")
    team = locate_team(TeamRequest(home=tmp_path / "home", options=TeamOptions(path=checkout)))
    assert team.revision is None
    assert [note.count("HEAD is a pipe") for note in team.warnings] == [1]


@pytest.mark.parametrize("revision", ["", "latest"])
def test_sources_with_a_pipe_are_an_error(checkout: Path, tmp_path: Path, revision: str) -> None:
    replaced(checkout, ".git/packed-refs")
    repository = SourceRepository(checkout, str(checkout), tmp_path / "clone")
    sources = SourceCheckout(repository, recipe_for("opensearch", {}, release=False))
    with pytest.raises(EngineError, match="packed-refs is a pipe"):
        sources.at(Revision(revision) if revision else Revision())


def test_a_repository_with_a_pipe_is_not_cloned(checkout: Path, tmp_path: Path) -> None:
    replaced(checkout, ".git/objects/info/alternates")
    for url in (str(checkout), checkout.as_uri()):
        with pytest.raises(GitBlocked, match="alternates is a pipe"):
            git("clone", "--quiet", "--", url, str(tmp_path / "clone"))


@pytest.mark.parametrize(
    ("name", "read", "error"),
    [
        ("track.json", lambda folder: open_track(folder / "track.json"), TrackError),
        ("body.json", lambda folder: open_track(folder).read(folder / "body.json"), TrackError),
        ("small.ini", lambda folder: read_ini(folder / "small.ini"), EngineError),
        ("elasticsearch.yml", lambda folder: list(template_files([folder])), EngineError),
    ],
)
def test_a_pipe_of_a_track_or_a_team_is_an_error(
    tmp_path: Path, name: str, read: Callable[[Path], object], error: type[PacenoteError]
) -> None:
    (tmp_path / "track.json").write_text("{}")
    replaced(tmp_path, name)
    with pytest.raises(error) as caught:
        read(tmp_path)
    assert name in caught.value.message


def test_a_pipe_with_a_version_in_sources_is_not_waited_for(tmp_path: Path) -> None:
    recipe = recipe_for("opensearch", {}, release=False)
    for name in (recipe.version_file, ".ci/java-versions.properties"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        os.mkfifo(tmp_path / name)
    assert required_major(recipe, tmp_path) == recipe.build_jdk
    repository = SourceRepository(tmp_path, str(tmp_path), tmp_path / "clone")
    assert SourceCheckout(repository, recipe).at(Revision()).version == ""

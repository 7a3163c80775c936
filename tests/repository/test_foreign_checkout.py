"""Checkouts of someone else, whose settings name programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.repository import foreign_checkout as foreign_checkout_module
from pacenote.repository.git import GitError, git
from pacenote.repository.git_repository import folder_revision
from pacenote.sources.checkout import SourceCheckout, SourceRepository
from pacenote.sources.recipes import recipe_for
from pacenote.sources.revisions import Revision
from pacenote.track.repository import open_repository
from support.descriptors import unchanged_descriptors
from track.repositories import AUTHOR, commit

pytestmark = pytest.mark.process


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that leaves a file if it runs, and is also there under the names of hooks."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("program", "reference-transaction", "post-index-change", "post-checkout", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\necho $0 >> {tmp_path / 'ran'}\ncat\n")
        (hooks / name).chmod(0o755)
    return hooks / "program"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "theirs"
    root.mkdir()
    git("init", "--quiet", at=root)
    commit(root)
    # The content has to be compared, because the times differ.
    (root / "books" / "track.json").touch()
    return root


def plant(root: Path, program: Path) -> None:
    """Names the program in all settings of a repository with which commands of git run one."""
    (root / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (root / ".git" / "info" / "attributes").write_text("* filter=y diff=y\n")
    included = program.parent / "included"
    included.write_text(f'[filter "y"]\nclean = {program}\n[core]\nfsmonitor = {program}\n')
    settings = {
        **{f"filter.{name}.{what}": program for name in "xy" for what in ("clean", "smudge", "process")},
        **{f"diff.{name}.{what}": program for name in "xy" for what in ("command", "textconv")},
        **dict.fromkeys(
            ("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.pager", "pager.status"), program
        ),
        **dict.fromkeys(
            ("core.editor", "core.askPass", "core.alternateRefsCommand", "diff.external"), program
        ),
        **{f"alias.{name}": f"!{program}" for name in ("status", "diff", "rev-parse", "config", "ls-files")},
        "core.hooksPath": program.parent,
        "credential.helper": f"!{program}",
        "gpg.program": program,
        "includeIf.gitdir:/.path": included,
        "include.path": included,
        "remote.origin.url": "ssh://127.0.0.1:1/x",
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": program,
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
    }
    for key, value in settings.items():
        subprocess.run(["git", "config", key, str(value)], cwd=root, check=True)
    (root / ".git" / "hooks" / "post-index-change").symlink_to(program)


def ran(tmp_path: Path) -> bool:
    return (tmp_path / "ran").exists()


def test_the_planted_programs_would_run(checkout: Path, program: Path, tmp_path: Path) -> None:
    plant(checkout, program)
    subprocess.run(["git", "status"], cwd=checkout, check=False, capture_output=True, timeout=20)
    assert ran(tmp_path)


def test_the_revision_of_a_folder_runs_no_program_of_its_settings(
    checkout: Path, program: Path, tmp_path: Path
) -> None:
    revision = git("rev-parse", "HEAD", at=checkout)
    plant(checkout, program)
    assert folder_revision(checkout) == f"{revision}-dirty"  # the attributes are new
    assert folder_revision(checkout / "books") == revision
    (checkout / "books" / "track.json").write_text("{}")
    assert folder_revision(checkout / "books") == f"{revision}-dirty"
    assert not ran(tmp_path)


def test_an_object_that_is_missing_is_not_fetched(checkout: Path, program: Path, tmp_path: Path) -> None:
    plant(checkout, program)
    tree = git("rev-parse", "HEAD^{tree}", at=checkout)
    (checkout / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert folder_revision(checkout) in (None, f"{git('rev-parse', 'HEAD', at=checkout)}-dirty")
    assert not ran(tmp_path)


def test_the_sources_of_an_engine_are_read_without_their_settings(
    checkout: Path, program: Path, tmp_path: Path
) -> None:
    plant(checkout, program)
    (checkout / "books" / "track.json").write_text("{}")
    repository = SourceRepository(checkout, str(checkout), tmp_path / "clone")
    sources = SourceCheckout(repository, recipe_for("opensearch", {}, release=False))
    tree = sources.at(Revision())
    assert (tree.commit, bool(tree.changes)) == (git("rev-parse", "HEAD", at=checkout), True)
    sources.at(Revision("latest"))
    assert not ran(tmp_path)


def test_the_working_folder_gives_no_settings_to_a_clone(
    checkout: Path, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git("init", "--quiet", "--initial-branch=master", at=upstream)
    commit(upstream)
    plant(checkout, program)
    monkeypatch.chdir(checkout)
    repository = open_repository("mine", {"mine": upstream.as_uri()}, tmp_path / "home")
    assert repository.checkout().label == "branch master"
    assert repository.checkout().label == "branch master"
    assert not ran(tmp_path)


def test_a_checkout_of_another_user_has_no_revision(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    for path in (checkout, checkout / ".git"):
        os.chown(path, 54321, -1)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    assert folder_revision(checkout) is None


@pytest.mark.parametrize("shape", ["worktree", "submodule", "ignored", "staged", "sha256", "crlf", "link"])
def test_checkouts_of_every_shape_are_read(checkout: Path, tmp_path: Path, shape: str) -> None:
    expected: Callable[[str], str] = str
    if shape == "worktree":
        git("worktree", "add", "--quiet", "--detach", str(tmp_path / "tree"), at=checkout)
        checkout = tmp_path / "tree"
    elif shape == "submodule":
        protocol = ("-c", "protocol.file.allow=always")
        git(*protocol, "submodule", "--quiet", "add", str(checkout), "inner", at=checkout)
        git(*AUTHOR, "commit", "--quiet", "--message=x", at=checkout)
    elif shape == "ignored":
        (checkout / ".git" / "info" / "exclude").write_text("/build/\n")
        (checkout / "build").mkdir()
        (checkout / "build" / "file").touch()
    elif shape == "staged":
        (checkout / "new").touch()
        git("add", "new", at=checkout)
        expected = "{}-dirty".format
    elif shape == "sha256":
        checkout = tmp_path / "sha256"
        checkout.mkdir()
        git("init", "--quiet", "--object-format=sha256", at=checkout)
        commit(checkout)
    elif shape == "crlf":
        git("config", "core.autocrlf", "true", at=checkout)
        file = checkout / "books" / "track.json"
        file.write_bytes(file.read_bytes() + b"\n")
        git(*AUTHOR, "commit", "--all", "--quiet", "--message=x", at=checkout)
        file.unlink()
        git("checkout", "--", ".", at=checkout)
        assert b"\r\n" in file.read_bytes()
        file.touch()
    else:
        (tmp_path / "link").symlink_to(checkout)
        checkout = tmp_path / "link"
    assert folder_revision(checkout) == expected(git("rev-parse", "HEAD", at=checkout))


def test_an_index_that_is_a_pipe_is_not_waited_for(checkout: Path) -> None:
    (checkout / ".git" / "index").unlink()
    os.mkfifo(checkout / ".git" / "index")
    assert folder_revision(checkout) == f"{git('rev-parse', 'HEAD', at=checkout)}-dirty"


def test_a_work_tree_elsewhere_is_not_read(checkout: Path, tmp_path: Path) -> None:
    git("config", "core.worktree", str(tmp_path / "elsewhere"), at=checkout)
    (tmp_path / "elsewhere").mkdir()
    assert folder_revision(checkout) is None


def test_a_name_with_a_nul_character_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GitError):
        git("rev-parse", "a\0b", at=tmp_path)


def test_a_sparse_index_is_not_copied(checkout: Path) -> None:
    """A file of a few bytes would fill the disk."""
    os.truncate(checkout / ".git" / "index", 1 << 40)
    warnings = list[str]()
    assert folder_revision(checkout, warnings.append) is None
    assert "index has more than 1.0 GiB" in warnings[0]


def test_a_folder_in_the_place_of_a_file_of_git_is_not_copied(checkout: Path) -> None:
    exclude = checkout / ".git" / "info" / "exclude"
    exclude.unlink(missing_ok=True)
    exclude.mkdir(parents=True)
    with unchanged_descriptors():
        assert folder_revision(checkout) is not None


def test_holes_of_an_index_stay_holes(checkout: Path, tmp_path: Path) -> None:
    index = checkout / ".git" / "index"
    os.truncate(index, 1 << 30)
    foreign_checkout_module._copy(index, tmp_path / "index")
    assert (tmp_path / "index").stat().st_size == 1 << 30
    assert (tmp_path / "index").stat().st_blocks == index.stat().st_blocks

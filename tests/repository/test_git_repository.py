"""Track repositories that the tests create and clone with git."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from pacenote.errors import TrackError, UsageError
from pacenote.model.track_request import TrackRequest
from pacenote.repository.git import git
from pacenote.repository.git_repository import Checkout, GitRepository, folder_revision
from pacenote.track.prepare import prepare_track
from pacenote.track.repository import open_repository, tracks_of
from support.http_server import HttpResponse, http_server
from track.builders import document
from track.repositories import AUTHOR, commit

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a track on the branch `master`, an earlier state of it on `8.11`, and a tag."""
    root = tmp_path_factory.mktemp("template")
    git("init", "--quiet", "--initial-branch=master", at=root)
    commit(root, description="for 8.11")
    git("branch", "8.11", at=root)
    git("tag", "v5.6", at=root)
    commit(root, description="for the newest")
    return root


@pytest.fixture
def upstream(template: Path, tmp_path: Path) -> Path:
    git("clone", "--quiet", "--bare", str(template), str(tmp_path / "upstream.git"))
    return tmp_path / "upstream.git"


@pytest.fixture
def repository(upstream: Path, tmp_path: Path) -> GitRepository:
    return open_repository("mine", {"mine": upstream.as_uri()}, tmp_path / "home")


@pytest.fixture(scope="module")
def shared(template: Path, tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """A repository for tests that do not change it."""
    return open_repository("mine", {"mine": template.as_uri()}, tmp_path_factory.mktemp("home"))


def described(checkout: Checkout) -> str:
    text = json.loads((checkout.root / "books" / "track.json").read_text())["description"]
    assert isinstance(text, str)
    return text


def change_upstream(upstream: Path, tmp_path: Path, text: str) -> None:
    git("clone", "--quiet", str(upstream), str(tmp_path / "work"))
    commit(tmp_path / "work", description=text)
    git("push", "--quiet", "origin", "master", at=tmp_path / "work")


@pytest.mark.parametrize(
    ("version", "revision", "label", "text"),
    [
        ("", None, "branch master", "for the newest"),
        ("8.12.3", None, "branch 8.11", "for 8.11"),
        ("9.1.0", None, "branch master", "for the newest"),
        ("5.6.2", None, "tag v5.6", "for 8.11"),
        ("", "8.11", "8.11", "for 8.11"),
        ("8.12.3", "master", "master", "for the newest"),
        ("", "v5.6", "v5.6", "for 8.11"),
    ],
)
def test_the_best_revision_is_checked_out(
    shared: GitRepository, version: str, revision: str | None, label: str, text: str
) -> None:
    checkout = shared.checkout(version, revision)
    assert (checkout.label, described(checkout)) == (label, text)
    assert checkout.revision == git("rev-parse", "HEAD", at=checkout.root)
    assert tracks_of(checkout).names() == ["books"]
    assert checkout.notes == ()


def test_a_commit_can_be_specified(shared: GitRepository) -> None:
    newest = shared.checkout().revision
    assert shared.checkout("8.11.0", newest[:10]).revision == newest


def test_new_commits_upstream_are_fetched(repository: GitRepository, upstream: Path, tmp_path: Path) -> None:
    before = repository.checkout()
    change_upstream(upstream, tmp_path, "even newer")
    after = repository.checkout()
    assert described(after) == "even newer"
    assert described(before) == "for the newest"


def test_the_existing_clone_is_used_when_offline(
    repository: GitRepository, upstream: Path, tmp_path: Path
) -> None:
    offline = open_repository("mine", {"mine": upstream.as_uri()}, tmp_path / "home", offline=True)
    with pytest.raises(TrackError, match="is not cloned yet, and --offline forbids downloads"):
        offline.checkout()
    repository.checkout()
    upstream.rename(tmp_path / "gone")
    assert described(offline.checkout()) == "for the newest"
    (note,) = repository.checkout().notes
    assert note.startswith('track repository "mine" cannot be updated; using the existing clone: ')


def test_local_changes_are_kept_and_reported(repository: GitRepository) -> None:
    checkout = repository.checkout()
    file = checkout.root / "books" / "track.json"
    file.write_text(json.dumps(document(description="tried")))
    again = repository.checkout()
    assert described(again) == "tried"
    assert again.revision == f"{checkout.revision}+changes"
    assert again.describe().endswith(f"revision {checkout.revision[:12]} with local changes")


def test_a_users_own_branch_is_found(repository: GitRepository) -> None:
    repository.checkout()
    git("branch", "7.17", "origin/8.11", at=repository.clone)
    assert described(repository.checkout("7.17.5")) == "for 8.11"


def test_a_repository_without_a_url_can_be_used(template: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / "tracks").mkdir(parents=True)
    git("clone", "--quiet", str(template), str(tmp_path / "home" / "tracks" / "own"))
    assert described(open_repository("own", {}, tmp_path / "home").checkout()) == "for the newest"


def test_files_written_by_python_do_not_count_as_changes(repository: GitRepository) -> None:
    checkout = repository.checkout()
    (checkout.root / "books" / "__pycache__").mkdir()
    (checkout.root / "books" / "__pycache__" / "track.pyc").touch()
    assert repository.checkout().revision == checkout.revision


def test_an_incomplete_checkout_is_created_again(repository: GitRepository) -> None:
    root = repository.checkout().root
    git("worktree", "remove", str(root), at=repository.clone)
    begun = root.with_name(f".{root.name}")
    how = ("--detach", "--no-checkout", "--lock", "--reason=initializing")
    git("worktree", "add", "--quiet", *how, str(begun), root.name, at=repository.clone)
    again = repository.checkout()
    assert (again.revision, described(again)) == (root.name, "for the newest")
    assert not begun.exists()


def test_an_old_incomplete_checkout_is_removed(repository: GitRepository) -> None:
    used = repository.checkout().root
    unfinished = used.with_name(f".{'0' * 40}")
    unfinished.mkdir()
    (unfinished / "track.json").write_text("{}")
    repository.checkout()
    assert unfinished.exists()
    os.utime(unfinished, (0, 0))
    repository.checkout()
    assert sorted(each.name for each in used.parent.iterdir()) == [".lock", used.name]


def test_a_folder_in_place_of_a_checkout_is_not_touched(repository: GitRepository) -> None:
    root = repository.checkout().root
    (root / ".git").unlink()
    with pytest.raises(TrackError, match="cannot be checked out: it is not a git work tree"):
        repository.checkout()
    assert (root / "books").is_dir()


def test_a_process_waits_while_another_uses_the_repository(repository: GitRepository) -> None:
    root = repository.checkout().root
    with (root.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        progress_lines: list[str] = []

        def progress(text: str) -> None:
            progress_lines.append(text)
            fcntl.flock(lock, fcntl.LOCK_UN)

        assert dataclasses.replace(repository, progress=progress).checkout().root == root
    # A slow update of the repository is shown as well.
    assert progress_lines[:1] == ['waiting for another process that uses track repository "mine"']


def test_other_users_cannot_lock_a_repository(repository: GitRepository) -> None:
    """Those who can open the lock, also only to read it, could let races wait for ever."""
    root = repository.checkout().root
    assert (root.parent / ".lock").stat().st_mode & 0o077 == 0


def test_unused_checkouts_are_removed_unless_changed(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("COUNT", "1"), ("KEY_0", "status.showUntrackedFiles"), ("VALUE_0", "no")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    old, changed = repository.checkout("8.11.0"), repository.checkout()
    (old.root / "books" / "__pycache__").mkdir()
    (old.root / "books" / "__pycache__" / "track.pyc").touch()
    (changed.root / "notes.txt").write_text("mine")
    for checkout in (old, changed):
        os.utime(checkout.root, (time.time() - 15 * 86400,) * 2)
    git(*AUTHOR, "commit-tree", "-m", "third", "origin/master^{tree}", at=repository.clone)
    third = git(*AUTHOR, "commit-tree", "-m", "third", "origin/master^{tree}", at=repository.clone)
    repository.checkout("", third)
    assert not old.root.exists()
    assert (changed.root / "notes.txt").read_text() == "mine"


def test_a_repository_that_cannot_be_cloned_is_reported(shared: GitRepository, tmp_path: Path) -> None:
    with pytest.raises(TrackError, match=r"has no branch for engine version 8\.10\.0") as caught:
        shared.checkout("8.10.0")
    assert '"8.11", "master"' in caught.value.hint
    for revision in ("nope", "--help", "", "HEAD:books"):
        with pytest.raises(TrackError, match=f'has no revision "{revision}"'):
            shared.checkout("", revision)
    with pytest.raises(TrackError, match='there is no track repository "other"'):
        open_repository("other", {}, tmp_path / "home").checkout()
    missing = open_repository((tmp_path / "missing").as_uri(), {}, tmp_path / "home")
    with pytest.raises(TrackError, match=r'track repository "missing-\w+" cannot be cloned from file:///'):
        missing.checkout()
    with pytest.raises(TrackError, match='has no revision "\\^HEAD"'):
        shared.checkout("", "^HEAD")


def test_a_damaged_clone_is_reported(repository: GitRepository) -> None:
    repository.checkout()
    shutil.rmtree(repository.clone / ".git" / "refs")
    with pytest.raises(
        TrackError, match='track repository "mine" cannot be read: fatal: not a git'
    ) as caught:
        repository.checkout()
    assert f"check {repository.clone};" in caught.value.hint


def test_a_home_folder_that_cannot_be_created_is_reported(upstream: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    repository = open_repository(str(upstream), {}, tmp_path / "file")
    with pytest.raises(TrackError, match=r"cannot be kept in .*/file: Not a directory"):
        repository.checkout()


def test_gits_reason_is_reported_without_its_advice(tmp_path: Path) -> None:
    with pytest.raises(TrackError) as caught:
        open_repository((tmp_path / "gone").as_uri(), {}, tmp_path).checkout()
    assert caught.value.message.endswith(
        f"fatal: '{tmp_path / 'gone'}' does not appear to be a git repository"
    )


def test_repositories_may_have_ssh_addresses(tmp_path: Path) -> None:
    repository = open_repository("me@git.example.org:team/tracks.git", {}, tmp_path)
    assert repository.url == "me@git.example.org:team/tracks.git"
    assert repository.name.startswith("tracks-")


@pytest.mark.parametrize("named", ["..", "a b", "-x", "", "git@-oProxyCommand=x:y", "ext::sh -c x"])
def test_invalid_names_are_rejected_and_clones_stay_in_the_home_folder(tmp_path: Path, named: str) -> None:
    if named == "..":
        assert open_repository(named, {}, tmp_path).clone.parent == tmp_path / "tracks"
        return
    with pytest.raises(UsageError, match="--track-repository cannot be"):
        open_repository(named, {}, tmp_path)


@pytest.mark.parametrize(
    "url",
    ["https://me:hunter2@example.org/tracks", "https://hunter2@example.org/t", "HTTP://hunter2@[::1]/t"],
)
def test_credentials_in_a_url_are_rejected_and_not_shown(tmp_path: Path, url: str) -> None:
    for named, urls in ((url, {}), ("mine", {"mine": url})):
        with pytest.raises(UsageError, match="cannot contain a user name or a password") as caught:
            open_repository(named, urls, tmp_path)
        assert "git credential helper" in caught.value.hint
        assert "hunter2" not in caught.value.message + caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_the_user_name_of_an_ssh_url_is_accepted_but_not_shown(tmp_path: Path) -> None:
    progress_lines: list[str] = []
    named = "ssh://hunter2@localhost:1/tracks"
    repository = open_repository(named, {}, tmp_path, progress=progress_lines.append)
    assert repository.url == named
    with pytest.raises(TrackError) as caught:
        repository.checkout()
    assert "from ssh://localhost:1/tracks" in progress_lines[0]
    assert "hunter2" not in str(progress_lines) + caught.value.message.replace("hunter2@localhost:", "")
    with pytest.raises(UsageError, match="cannot contain a password"):
        open_repository("ssh://git:hunter2@localhost/tracks", {}, tmp_path)


def test_a_malformed_url_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the URL of a track repository is malformed"):
        open_repository("http://[", {}, tmp_path)


def test_missing_git_is_reported(repository: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TrackError, match="track repositories need git, which is not installed"):
        repository.checkout()


def test_a_track_is_prepared_from_a_repository(upstream: Path, tmp_path: Path) -> None:
    request = TrackRequest(
        home=tmp_path / "home",
        track="books",
        track_repository="mine",
        repository_urls={"mine": str(upstream)},
        engine_version="8.11.2",
    )
    prepared = prepare_track(request)
    assert prepared.track.description == "for 8.11"
    assert prepared.located.revision == git("rev-parse", "8.11", at=upstream)
    (note,) = prepared.notes
    assert note.startswith(f'track "books" from repository "mine" ({upstream}), branch 8.11, revision ')
    with pytest.raises(TrackError) as caught:
        prepare_track(TrackRequest(**{**_fields(request), "track": "bok"}))
    assert caught.value.message == (
        'there is no track "bok" in branch 8.11 of repository "mine", which version 8.11.2 selects '
        '(--track-revision selects another) (did you mean "books"?)'
    )
    with pytest.raises(TrackError, match=r'"bok" in 8\.11 of repository "mine" \(did you'):
        prepare_track(TrackRequest(**{**_fields(request), "track": "bok", "track_revision": "8.11"}))


@pytest.fixture
def rally(template: Path, tmp_path: Path) -> Path:
    """Rally's folder of repositories, with a clone of `template`."""
    (tmp_path / "rally").mkdir()
    git("clone", "--quiet", template.as_uri(), str(tmp_path / "rally" / "mine"))
    return tmp_path / "rally"


def test_a_clone_of_rally_is_copied_and_needs_no_network(template: Path, rally: Path, tmp_path: Path) -> None:
    progress_lines: list[str] = []
    repository = dataclasses.replace(
        open_repository("mine", {"mine": template.as_uri()}, tmp_path / "home", offline=True),
        rally_clones=rally,
        progress=progress_lines.append,
    )
    assert repository.is_cloned
    # Rally has only checked out the newest branch.
    assert described(repository.checkout("8.12.3")) == "for 8.11"
    assert progress_lines[0] == f'copying track repository "mine" from {rally / "mine"}'
    assert git("config", "remote.origin.url", at=repository.clone) == template.as_uri()
    assert git("worktree", "list", "--porcelain", at=rally / "mine").count("worktree ") == 1
    shutil.rmtree(rally)
    assert described(repository.checkout()) == "for the newest"


def test_a_clone_of_rally_is_updated_from_its_url(upstream: Path, tmp_path: Path) -> None:
    git("clone", "--quiet", upstream.as_uri(), str(tmp_path / "rally" / "mine"))
    change_upstream(upstream, tmp_path, "even newer")
    repository = open_repository("mine", {"mine": upstream.as_uri()}, tmp_path / "home")
    checkout = dataclasses.replace(repository, rally_clones=tmp_path / "rally").checkout()
    assert described(checkout) == "even newer"


def test_a_damaged_clone_of_rally_is_not_used_and_the_reason_is_shown(
    template: Path, rally: Path, tmp_path: Path
) -> None:
    for file in (rally / "mine" / ".git" / "objects").rglob("*"):
        if file.is_file():
            file.unlink()
    progress_lines: list[str] = []
    repository = open_repository("mine", {"mine": template.as_uri()}, tmp_path / "home")
    repository = dataclasses.replace(repository, rally_clones=rally, progress=progress_lines.append)
    with pytest.raises(TrackError, match="is not cloned yet, and --offline forbids downloads"):
        dataclasses.replace(repository, offline=True).checkout()
    assert any("mine cannot be copied: fatal: " in line for line in progress_lines)
    assert described(repository.checkout()) == "for the newest"


def test_a_clone_of_rally_with_a_pipe_is_not_used_and_the_reason_is_shown(
    template: Path, rally: Path, tmp_path: Path
) -> None:
    file = rally / "mine" / ".git" / "config"
    file.unlink()
    os.mkfifo(file)
    progress_lines: list[str] = []
    repository = open_repository("mine", {"mine": template.as_uri()}, tmp_path / "home")
    repository = dataclasses.replace(repository, rally_clones=rally, progress=progress_lines.append)
    assert described(repository.checkout()) == "for the newest"
    assert f"{rally / 'mine'} cannot be copied: {file} is a pipe, a device or a socket" in progress_lines


def test_a_clone_of_rally_from_another_url_is_not_used(upstream: Path, rally: Path, tmp_path: Path) -> None:
    repository = open_repository("mine", {"mine": upstream.as_uri()}, tmp_path / "home", offline=True)
    with pytest.raises(TrackError, match="is not cloned yet, and --offline forbids downloads"):
        dataclasses.replace(repository, rally_clones=rally).checkout()


def test_a_local_repository_of_rally_is_used_with_its_later_commits(tmp_path: Path) -> None:
    own = tmp_path / "rally" / "own"
    own.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch=main", at=own)
    commit(own, description="first")
    repository = open_repository("own", {}, tmp_path / "home", offline=True)
    repository = dataclasses.replace(repository, rally_clones=own.parent)
    assert described(repository.checkout()) == "first"
    commit(own, description="second")
    (own / "books" / "track.json").write_text("{}")
    checkout = repository.checkout()
    assert described(checkout) == "second"
    assert checkout.notes == (f"{own} has changes that are not committed; they are not used",)
    os.mkfifo(own / ".git" / "packed-refs")
    (note,) = repository.checkout().notes
    assert note.endswith("packed-refs is a pipe, a device or a socket")


def test_a_local_repository_of_rally_does_not_replace_one_of_the_same_name(
    template: Path, rally: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "home" / "tracks" / "mine"
    clone.parent.mkdir(parents=True)
    git("clone", "--quiet", str(template), str(clone))
    repository = open_repository("mine", {}, tmp_path / "home")
    assert described(dataclasses.replace(repository, rally_clones=rally).checkout()) == "for the newest"
    assert git("config", "remote.origin.url", at=clone) == str(template)


def test_a_local_repository_of_rally_that_cannot_be_copied_is_reported(rally: Path, tmp_path: Path) -> None:
    shutil.rmtree(rally / "mine" / ".git" / "objects")
    repository = dataclasses.replace(open_repository("mine", {}, tmp_path / "home"), rally_clones=rally)
    with pytest.raises(TrackError, match=f'"mine" cannot be copied from {rally / "mine"}: fatal: '):
        repository.checkout()


def _fields(request: TrackRequest) -> dict[str, object]:
    return {name: getattr(request, name) for name in TrackRequest.__slots__}


def test_the_index_of_a_users_checkout_is_not_written(template: Path, tmp_path: Path) -> None:
    root = tmp_path / "own"
    git("clone", "--quiet", str(template), str(root))
    os.utime(root / "books/track.json", (1, 1))
    before = (root / ".git/index").read_bytes()
    assert folder_revision(root) is not None
    assert (root / ".git/index").read_bytes() == before


@pytest.mark.parametrize("revision", ["-q", "--help", "^master", "--output=x", "a\0b"])
def test_a_revision_is_no_option_of_git(shared: GitRepository, revision: str) -> None:
    with pytest.raises(TrackError, match="has no revision"):
        shared.checkout(revision=revision)


@pytest.mark.parametrize("url", ["--upload-pack=touch {}", "ext::sh -c touch% {}", "-cx=y"])
def test_a_url_is_no_option_and_no_program(template: Path, tmp_path: Path, url: str) -> None:
    ran = tmp_path / "ran"
    with pytest.raises(TrackError):
        open_repository("mine", {"mine": url.format(ran)}, tmp_path / "home").checkout()
    # The URL of an existing clone has changed.
    open_repository("old", {"old": template.as_uri()}, tmp_path / "home").checkout()
    (note,) = open_repository("old", {"old": url.format(ran)}, tmp_path / "home").checkout().notes
    assert "cannot be updated" in note
    assert not ran.exists()


def test_a_folder_that_git_ignores_has_no_revision(template: Path, tmp_path: Path) -> None:
    root = tmp_path / "own"
    git("clone", "--quiet", str(template), str(root))
    (root / ".git/info/exclude").write_text("/build/\n")
    (root / "build").mkdir()
    (root / "build/file").touch()
    assert folder_revision(root / "build") is None
    assert folder_revision(root / "books") == git("rev-parse", "HEAD", at=root)


@pytest.mark.parametrize(
    ("selected", "used"),
    [("", "default"), ("setting", "own"), ("GIT_SSH", "own"), ("GIT_SSH_COMMAND", "own")],
)
def test_the_users_command_for_ssh_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, selected: str, used: str
) -> None:
    for name in ("GIT_SSH", "GIT_SSH_COMMAND"):
        monkeypatch.delenv(name, raising=False)
    for name in ("own", "ssh"):
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\necho {'default' if name == 'ssh' else name} >&2\nexit 1\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    if selected == "setting":
        (tmp_path / "config").write_text(f"[core]\n sshCommand = {tmp_path / 'own'}\n")
    elif selected:
        monkeypatch.setenv(selected, str(tmp_path / "own"))
    with pytest.raises(TrackError, match=f": {used}; fatal: "):
        open_repository("me@git.example.org:tracks.git", {}, tmp_path / "home").checkout()


def test_git_asks_for_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "ask"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path / 'asked'}\n")
    script.chmod(0o755)
    monkeypatch.setenv("SSH_ASKPASS", str(script))
    monkeypatch.delenv("GIT_ASKPASS", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    refusal = HttpResponse(401, headers=(("www-authenticate", "Basic"),))
    with http_server(lambda _: refusal) as server, pytest.raises(TrackError, match="prompts disabled"):
        open_repository(f"http://{server.address}/tracks.git", {}, tmp_path / "home").checkout()
    assert not (tmp_path / "asked").exists()


def test_the_home_of_an_unknown_user_does_not_end_the_command(tmp_path: Path) -> None:
    assert open_repository("~no-such-user/x", {}, tmp_path).url.endswith("/~no-such-user/x")


def test_a_clone_that_others_could_replace_is_rejected(upstream: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o777)
    with pytest.raises(UsageError, match=f"could be replaced by others: {tmp_path / 'home'} can be written"):
        open_repository("mine", {"mine": upstream.as_uri()}, tmp_path / "home")

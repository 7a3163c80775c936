"""Repositories in git, of which a revision is checked out: those of tracks and those of teams.

    PACENOTE_HOME/FOLDER/          `tracks` or `teams`
    ├── NAME/                      the clone; its work tree is not changed
    └── .checkouts/NAME/REVISION/  one work tree per requested revision

A user's changes to the clone or to a checkout are kept: a checkout is created once and never changed
afterwards. It is removed after two weeks without use, unless one of its files was changed.

A repository that Rally has cloned already is copied from Rally's folder, which is only read. Without a URL,
later commits are fetched from there too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from pacenote.errors import PacenoteError, UsageError
from pacenote.model.messages import quoted, quoted_list
from pacenote.repository.branches import best_branch, version_variants
from pacenote.repository.foreign_checkout import foreign_checkout
from pacenote.repository.git import (
    GitBlocked,
    GitError,
    GitMissingError,
    check_files,
    commit_of,
    git,
    strip_credentials,
)
from pacenote.repository.repository_urls import refuse_credentials
from pacenote.system import locks
from pacenote.system.folder_trees import discard_tree
from pacenote.system.ownership import create_folder, open_shared_lock, replaceable_folder

DEFAULT_REPOSITORY = "default"
"""The name of the default repository."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SSH_URL = re.compile(r"\w[\w.-]*@\w[\w.-]*:.+")
_STATUS = (
    *("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty"),
    *("--", ".", ":(exclude,glob)**/__pycache__/**"),
)
_UNUSED_S = 14 * 86400.0
_REMOTE = "refs/remotes/origin/"
_LOCAL = "refs/heads/"


class RepositoryKind(Struct, frozen=True):
    """What repositories contain, and how the user selects one."""

    content: str
    """The content in singular, for messages and options: `track` or `team`."""

    default_url: str
    """The URL of the repository `default`."""

    error: type[PacenoteError]
    """The error that is raised for a repository that cannot be used."""

    @property
    def folder(self) -> str:
        """The name of their folder in Pacenote's home folder, and of their section in Rally's settings."""
        return f"{self.content}s"

    @property
    def noun(self) -> str:
        """What a repository is, for messages."""
        return f"{self.content} repository"

    @property
    def local_hint(self) -> str:
        """How the user avoids a repository."""
        return f"name a folder with --{self.content}-path"


class Checkout(Struct, frozen=True):
    """A revision of a repository, ready to be read."""

    root: Path
    """The folder of its files."""

    repository: str = ""
    """The name of the repository."""

    url: str = ""
    """The URL of the repository, or empty if it is local."""

    label: str = ""
    """The selected branch, tag or revision."""

    revision: str = ""
    """The full hash, followed by `+changes` if files of the checkout differ from it."""

    notes: tuple[str, ...] = ()
    """Warnings, such as that the repository cannot be updated."""

    def describe(self) -> str:
        """Describes the origin of a file for the user."""
        source = f" ({strip_credentials(self.url)})" if self.url else ""
        short, plus, changed = self.revision.partition("+")
        revision = f"{short[:12]}{' with local changes' if plus and changed else ''}"
        return f"repository {quoted(self.repository)}{source}, {self.label}, revision {revision}"


class _Revision(Struct, frozen=True):
    """A revision of a repository: its description and its full hash."""

    label: str
    commit: str


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A git repository of one kind."""

    kind: RepositoryKind
    """What it contains."""

    name: str
    """The name of the repository."""

    url: str
    """The URL that it is cloned from, or empty if it is local."""

    home: Path
    """Pacenote's home folder."""

    offline: bool = False
    """Whether cloning and updating are forbidden."""
    progress: Callable[[str], None] = field(default=lambda _: None, compare=False)
    """Called with one line before a step that may take a long time, and repeatedly during it."""

    rally_clones: Path | None = field(default=None, compare=False)
    """The folder of Rally's clones, or None if there is none."""

    @property
    def clone(self) -> Path:
        """The folder of the clone."""
        return self.home / self.kind.folder / self.name

    @property
    def is_cloned(self) -> bool:
        """Whether it can be used without its URL: Pacenote or Rally has cloned it."""
        return (self.clone / ".git").exists() or self._rally_clone is not None

    @property
    def _rally_clone(self) -> Path | None:
        """The repository in Rally's folder, or None if there is none."""
        folder = self.rally_clones / self.name if self.rally_clones is not None else None
        return folder if folder is not None and (folder / ".git").exists() else None

    def checkout(self, version: str = "", revision: str | None = None) -> Checkout:
        """Checks out a commit, branch or tag, or the branch for an engine version (empty: the newest).

        Raises the error of its kind if the repository cannot be cloned or has no such revision.
        """
        checkouts = self.home / self.kind.folder / ".checkouts" / self.name
        try:
            _refuse_replaceable(self.kind, self.clone, create_folder(checkouts))
            with self._lock(checkouts):
                return self._checkout(checkouts, version, revision)
        except GitMissingError as cause:
            raise self.kind.error(
                f"{self.kind.content} repositories need git, which is not installed",
                hint=f"install git, or {self.kind.local_hint}",
            ) from cause
        except GitError as cause:
            raise self.kind.error(
                f"{self.kind.noun} {quoted(self.name)} cannot be read: {cause}",
                hint=f"check {self.clone}; if it is removed, the repository is cloned again",
            ) from cause
        except OSError as cause:
            raise self.kind.error(
                f"{self.kind.noun} {quoted(self.name)} cannot be kept in {self.home}: {cause.strerror}",
                hint="set PACENOTE_HOME to another folder",
            ) from cause

    def _checkout(self, checkouts: Path, version: str, revision: str | None) -> Checkout:
        notes = self._update()
        selected = self._matching(version) if revision is None else self._resolve(revision)
        root = checkouts / selected.commit
        try:
            self._ensure_worktree(root, selected.commit)
            changed = _changes(root)
        except GitError as cause:
            raise self.kind.error(
                f"revision {selected.commit[:12]} of {self.kind.noun} {quoted(self.name)} cannot be checked "
                f"out: {cause}",
                hint=f"check {root}",
            ) from cause
        self._remove_unused(checkouts, root)
        return Checkout(
            root=root,
            repository=self.name,
            url=self.url,
            label=selected.label,
            revision=f"{selected.commit}+changes" if changed else selected.commit,
            notes=tuple(notes),
        )

    def _update(self) -> list[str]:
        """Clones or fetches the repository, and returns warnings, such as that it could not be updated."""
        if not (self.clone / ".git").exists() and not self._copy_rally_clone():
            self._clone()
            return []
        source = self.url or self._copied_from()
        if not source or (self.offline and self.url):
            return []
        try:
            if _origin(self.clone) != source:
                git("remote", "set-url", "--", "origin", source, at=self.clone)
            label = f"updating {self.kind.noun} {quoted(self.name)}"
            fetch = ("fetch", "--quiet", "--prune", "--tags", "--force", "--", "origin")
            git(*fetch, at=self.clone, waiting=lambda: self.progress(label))
        except GitError as cause:
            return [
                f"{self.kind.noun} {quoted(self.name)} cannot be updated; using the existing clone: {cause}"
            ]
        if not self.url and folder_changes(Path(source)):
            return [f"{source} has changes that are not committed; they are not used"]
        return []

    def _copied_from(self) -> str:
        """Returns the path of Rally's clone if this one is a copy of it, otherwise empty text."""
        origin = _origin(self.clone)
        return origin if self._rally_clone is not None and origin == str(self._rally_clone) else ""

    def _copy_rally_clone(self) -> bool:
        """Copies Rally's clone, and returns False if there is none, or if it is from another URL.

        The branches of a repository with a URL are those that Rally has fetched from there, otherwise those
        of the clone itself.
        """
        rally = self._rally_clone
        if rally is None or self.clone.exists():
            return False
        fresh = self._fresh_clone()
        try:
            check_files(rally)
            if self.url and _origin(rally) != self.url:
                return False
            self.progress(f"copying {self.kind.noun} {quoted(self.name)} from {rally}")
            git("clone", "--quiet", "--no-checkout", "--", str(rally), str(fresh))
            if self.url:
                git("remote", "set-url", "--", "origin", self.url, at=fresh)
                branches = (f"+{_REMOTE}*:{_REMOTE}*", f"^{_REMOTE}HEAD")
                git("fetch", "--quiet", "--", str(rally), *branches, at=fresh)
        except GitError as cause:
            discard_tree(fresh)
            if self.url:
                self.progress(f"{rally} cannot be copied: {cause}")
                return False
            raise self.kind.error(
                f"{self.kind.noun} {quoted(self.name)} cannot be copied from {rally}: {cause}",
                hint="check that folder, or give a URL for the repository",
            ) from cause
        fresh.rename(self.clone)
        return True

    def _fresh_clone(self) -> Path:
        """Returns the folder of an unfinished clone, without what an earlier process has left in it."""
        fresh = self.clone.with_name(f".{self.name}.clone")
        discard_tree(fresh)
        return fresh

    def _clone(self) -> None:
        if self.clone.exists():
            raise self.kind.error(
                f"{self.clone} is not a git repository", hint="move it away, or `git init` it"
            )
        if not self.url:
            raise self.kind.error(
                f"there is no {self.kind.noun} {quoted(self.name)}",
                hint=f"give its URL as [{self.kind.folder}] {self.name}.url in pacenote.toml, or use the URL "
                "as its name",
            )
        if self.offline:
            raise self.kind.error(
                f"{self.kind.noun} {quoted(self.name)} is not cloned yet, and --offline forbids downloads",
                hint=f"run once without --offline, or {self.kind.local_hint}",
            )
        url = strip_credentials(self.url)
        label = f"cloning {self.kind.noun} {quoted(self.name)} from {url}"
        self.progress(label)
        fresh = self._fresh_clone()
        try:
            clone = ("clone", "--quiet", "--no-checkout", "--", self.url, str(fresh))
            git(*clone, waiting=lambda: self.progress(label))
        except GitError as cause:
            discard_tree(fresh)
            raise self.kind.error(
                f"{self.kind.noun} {quoted(self.name)} cannot be cloned from {url}: {cause}",
                hint=f"check the URL and the network, or {self.kind.local_hint}",
            ) from cause
        fresh.rename(self.clone)

    def _matching(self, version: str) -> _Revision:
        """Returns the matching remote branch, otherwise local branch, otherwise tag `vX`."""
        remote, local = self._names(_REMOTE), self._names(_LOCAL)
        branch = best_branch(remote, version)
        if branch is not None:
            return _Revision(f"branch {branch}", self._commit(f"{_REMOTE}{branch}"))
        branch = best_branch({*remote, *local}, version)
        if branch in local:
            return _Revision(f"branch {branch}", self._commit(f"{_LOCAL}{branch}"))
        tags = self._names("refs/tags/")
        for variant in version_variants(version):
            if f"v{variant}" in tags:
                return _Revision(f"tag v{variant}", self._commit(f"refs/tags/v{variant}"))
        known = sorted({*remote, *local} - {"HEAD"})
        wanted = f"engine version {version}" if version else "the newest engine (master or main)"
        raise self.kind.error(
            f"{self.kind.noun} {quoted(self.name)} has no branch for {wanted}",
            hint=f"choose one with --{self.kind.content}-revision; branches: {quoted_list(known[:20])}",
        )

    def _resolve(self, revision: str) -> _Revision:
        for prefix in (_REMOTE, ""):
            with contextlib.suppress(GitError):
                return _Revision(revision, self._commit(f"{prefix}{revision}"))
        raise self.kind.error(
            f"{self.kind.noun} {quoted(self.name)} has no revision {quoted(revision)}",
            hint="a revision is a commit, a branch or a tag",
        )

    def _names(self, prefix: str) -> list[str]:
        refs = git("for-each-ref", "--format=%(refname)", prefix, at=self.clone).splitlines()
        return [name.removeprefix(prefix) for name in refs]

    def _commit(self, name: str) -> str:
        return commit_of(name, self.clone)

    def _ensure_worktree(self, root: Path, commit: str) -> None:
        if not (root / ".git").exists():
            label = f"checking out revision {commit[:12]} of {self.kind.noun} {quoted(self.name)}"
            self.progress(label)
            if root.exists():
                raise GitError("it is not a git work tree")
            # It has a temporary name until it is complete, in case the process is killed. Git then considers
            # it locked, which only a double --force overrides.
            fresh = root.with_name(f".{commit}")
            discard_tree(fresh)
            git("worktree", "prune", at=self.clone)
            how = ("--quiet", "--force", "--force", "--detach")
            add = ("worktree", "add", *how, "--", str(fresh), commit)
            git(*add, at=self.clone, waiting=lambda: self.progress(label))
            git("worktree", "move", "--", str(fresh), str(root), at=self.clone)
        os.utime(root)

    def _remove_unused(self, checkouts: Path, used: Path) -> None:
        """Removes checkouts that were not used for two weeks, also unfinished ones, whose names begin with a
        dot, unless a file of a finished one was changed.
        """
        oldest = time.time() - _UNUSED_S
        for folder in checkouts.iterdir():
            if folder == used or not folder.is_dir() or folder.stat().st_mtime >= oldest:
                continue
            if folder.name.startswith("."):
                discard_tree(folder)
            else:
                with contextlib.suppress(GitError):
                    if not _changes(folder):
                        git("worktree", "remove", "--force", "--", str(folder), at=self.clone)

    @contextlib.contextmanager
    def _lock(self, folder: Path) -> Generator[None, None, None]:
        """Waits until no other process uses the same repository."""
        with os.fdopen(open_shared_lock(folder / ".lock"), "w") as lock:
            if not locks.try_lock(lock.fileno()):
                self.progress(f"waiting for another process that uses {self.kind.noun} {quoted(self.name)}")
                locks.lock(lock.fileno())
            yield


def _origin(clone: Path) -> str:
    """Returns the URL that a clone is fetched from, or empty text if it has none."""
    with contextlib.suppress(GitError):
        return git("config", "--get", "remote.origin.url", at=clone)
    return ""


def _changes(root: Path) -> str:
    """Returns the files of a checkout of Pacenote that differ from its revision, except for those that Python
    wrote.
    """
    return git(*_STATUS, at=root)


def folder_changes(folder: Path) -> str:
    """Returns what `_changes` does for a folder that may be someone else's. Raises GitError."""
    with foreign_checkout(folder) as run:
        return run(*_STATUS)


def folder_revision(folder: Path, warn: Callable[[str], None] = lambda _: None) -> str | None:
    """Returns the commit of a folder in a git checkout, followed by `-dirty` if files of the folder differ
    from it; None if it is in no checkout, if git ignores it, or if git cannot read it.

    The folder may be someone else's. `warn` is called with the reason if a file, such as a pipe, would let
    git wait for ever.
    """
    try:
        with foreign_checkout(folder) as run:
            commit = run("rev-parse", "--verify", "--quiet", "HEAD")
            if run(*_STATUS):
                return f"{commit}-dirty"
            # Fails for a folder that is not in the commit.
            run("rev-parse", "--verify", "--quiet", "HEAD:./")
            return commit
    except GitBlocked as error:
        warn(f"the revision of {folder} is not known: {error}")
        return None
    except (GitError, GitMissingError, OSError):
        return None


def open_repository(
    kind: RepositoryKind, name_or_url: str, urls: Mapping[str, str], home: Path
) -> GitRepository:
    """Returns the repository with this name or URL; `urls` is the configuration. Raises `UsageError` for
    other text, and if another user could replace its clone.
    """
    repository = _named_repository(kind, name_or_url, urls, home)
    _refuse_replaceable(kind, repository.clone, replaceable_folder(repository.clone))
    return repository


def _refuse_replaceable(kind: RepositoryKind, clone: Path, problem: str) -> None:
    if problem:
        raise UsageError(
            f"the {kind.noun} {clone}, which is code, could be replaced by others: {problem}",
            hint="set PACENOTE_HOME to a folder of yours, below folders that only you or root can change",
        )


def _named_repository(
    kind: RepositoryKind, name_or_url: str, urls: Mapping[str, str], home: Path
) -> GitRepository:
    if "://" in name_or_url or name_or_url.startswith((".", "/", "~")) or _SSH_URL.fullmatch(name_or_url):
        url = _checked_url(kind, name_or_url)
        stem = re.sub(r"[^A-Za-z0-9._-]", "-", Path(urlsplit(url).path).name.removesuffix(".git"))
        name = f"{stem.lstrip('.-') or kind.folder}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
        return GitRepository(kind, name, url, home)
    if not _NAME.fullmatch(name_or_url):
        raise UsageError(
            f"--{kind.content}-repository cannot be '{name_or_url}'",
            hint="give a configured name or a URL",
        )
    url = _checked_url(kind, {DEFAULT_REPOSITORY: kind.default_url, **urls}.get(name_or_url, ""))
    return GitRepository(kind, name_or_url, url, home)


def _checked_url(kind: RepositoryKind, url: str) -> str:
    """Returns a URL for git; a relative path becomes absolute. Raises UsageError for one with credentials."""
    refuse_credentials(url, f"a {kind.noun}")
    if url.startswith((".", "~")):
        return str(Path(os.path.expanduser(url)).absolute())  # noqa: PTH111  # never fails
    return url

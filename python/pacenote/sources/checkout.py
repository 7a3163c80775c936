"""The sources of an engine at a revision: a local checkout as it is, or a clone that belongs to Pacenote.

The checkout of a user is never changed: other revisions than `current` are built in a clone of it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError, UsageError
from pacenote.repository.foreign_checkout import foreign_checkout
from pacenote.repository.git import GitBlocked, GitError, GitMissingError, commit_of, git, strip_credentials
from pacenote.repository.repository_urls import refuse_credentials
from pacenote.sources.recipes import MAX_PROPERTIES_BYTES, BuildRecipe
from pacenote.sources.revisions import Revision
from pacenote.system.folder_trees import discard_tree
from pacenote.system.paths import exists, is_dir
from pacenote.system.regular_files import open_regular_file, read_regular_file
from pacenote.units import format_bytes

_SHOWN_DIGITS = 12
_MAX_UNTRACKED_BYTES = 1 << 30
"""Bytes of the largest untracked file that is read, with its holes."""

_MAX_UNTRACKED_FILES = 100_000
"""Files of an untracked repository in the sources that are read, at most."""

_MAX_DEPTH = 64
"""Folders in each other of an untracked repository, at most."""

_PART_BYTES = 1 << 20
_NO_FILE = (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EINVAL)
"""Errors of opening what is gone, a link, a socket, or something else that is not a regular file."""

_URL = re.compile(r"[a-z+]+://|[\w.-]+@[\w.-]+:")
# Spaces without line breaks, so that each is read once.
_VERSION_LINE = re.compile(
    r"^[ \t]*(?:elasticsearch|opensearch)[ \t]*=[ \t]*([\w.-]+)[ \t\r]*$", re.MULTILINE
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_ZONE = re.compile(r"(?:Z|[+-]\d{2}:?\d{2})$")


class SourceTree(Struct, frozen=True):
    """The sources that an engine is built from."""

    folder: Path
    """The folder of the sources."""
    origin: str
    """The folder or the URL, without credentials, that they come from."""
    commit: str = ""
    """The commit; empty if it is not a git repository."""
    changes: str = ""
    """A digest of local changes; empty if there are none."""
    version: str = ""
    """The version of the engine, without `-SNAPSHOT`; empty if it is not known."""

    @property
    def label(self) -> str:
        """The commit for messages."""
        short = self.commit[:_SHOWN_DIGITS] or "sources without a commit"
        return f"{short} with local changes" if self.changes else short


class SourceRepository(Struct, frozen=True):
    """Where the sources of an engine are."""

    path: Path | None
    """The folder of a local checkout, or None for a URL."""
    url: str
    """The folder or the URL to clone."""
    clone: Path
    """The folder of the clone that belongs to Pacenote."""


def local_checkout(location: str) -> Path | None:
    """Returns the folder at a location, or None for a URL. Raises UsageError if it does not exist, and for a
    URL with credentials.
    """
    refuse_credentials(location, "the sources")
    if _URL.match(location):
        return None
    path = Path(os.path.expanduser(location)).absolute()  # noqa: PTH111  # Path.expanduser raises for unknown users
    if not is_dir(path):
        raise UsageError(
            f"--source-path={strip_credentials(location)} is not a folder",
            hint="name a checkout of the engine, or the URL of a git repository",
        )
    return path


def find_repository(location: str, recipe: BuildRecipe, clones: Path) -> SourceRepository:
    """Returns the repository at a location: a folder or a URL, or empty for the repository of the engine.

    Raises UsageError for a folder that does not exist, and for a URL with credentials.
    """
    url = location or recipe.url
    path = local_checkout(url)
    if path is not None:
        url = str(path)
    name = re.sub(r"[^\w.-]", "-", strip_credentials(url).rstrip("/").rpartition("/")[2])[:40] or "sources"
    return SourceRepository(
        path, url, clones / f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:_SHOWN_DIGITS]}"
    )


class SourceCheckout(Struct, frozen=True):
    """Brings sources to a revision."""

    repository: SourceRepository
    """Where the sources are."""
    recipe: BuildRecipe
    """How the engine is built."""
    offline: bool = False
    """Whether fetching from a URL is forbidden."""
    waiting: Callable[[], None] = lambda: None
    """Called twice a second while git runs."""

    def at(self, revision: Revision) -> SourceTree:
        """Returns the sources at a revision, fetched if necessary. Raises EngineError."""
        repository = self.repository
        try:
            if revision.is_current and repository.path is not None:
                return self._tree(repository.path)
            self._clone()
            if not revision.is_current:
                commit = self._commit(revision)
                self._git("checkout", "--quiet", "--force", "--detach", commit)
                self._git("clean", "--quiet", "-ffd")
            return self._tree(repository.clone)
        except GitMissingError:
            raise EngineError("a build needs git, which is not installed", hint="install git") from None
        except GitError as failure:
            raise EngineError(
                f"the sources of the engine ({strip_credentials(repository.url)}) have no revision "
                f"'{revision}': {failure}",
                hint="check --revision and --source-path",
            ) from failure

    def _clone(self) -> None:
        """Clones the repository if there is no clone. An interrupted clone is removed."""
        clone = self.repository.clone
        if is_dir(clone / ".git"):
            return
        self._check_online("cloned")
        part = clone.with_name(f"{clone.name}.part")
        discard_tree(part)
        part.parent.mkdir(parents=True, exist_ok=True)
        git("clone", "--quiet", "--", self.repository.url, str(part), waiting=self.waiting)
        part.rename(clone)

    def _check_online(self, what: str) -> None:
        if self.offline and self.repository.path is None:
            raise EngineError(
                f"{strip_credentials(self.repository.url)} must be {what}, which --offline forbids",
                hint="run once without --offline",
            )

    def _commit(self, revision: Revision) -> str:
        is_known = revision.is_commit and self._has(revision.name)
        if not is_known and not (self.offline and self.repository.path is None):
            self._git("fetch", "--quiet", "--prune", "--tags", "--force", "--", "origin")
        if revision.moment:
            return self._before(revision)
        name = revision.name
        branch = self._main() if revision.is_latest else f"origin/{name}"
        return commit_of(branch if self._has(branch) else name, self.repository.clone) or _unknown(name)

    def _before(self, revision: Revision) -> str:
        """Returns the last commit before a moment. A day ends at midnight UTC, and times are UTC."""
        main = self._main()
        branch = f"origin/{revision.name}" if revision.name else main
        # As in Rally: commits that the main branch has, too, do not count for another branch.
        commits = branch if branch == main else f"{main}..{branch}"
        moment = revision.moment
        if _DAY.fullmatch(moment):
            moment = f"{moment}T23:59:59Z"
        elif not _ZONE.search(moment):
            moment = f"{moment}Z"
        commit = self._git("rev-list", "--max-count=1", f"--before={moment}", commits, "--")
        return commit or _unknown(f"before {moment} in {branch}")

    def _main(self) -> str:
        """Returns the main branch: that of the engine's repository, otherwise the one that was cloned."""
        branch = f"origin/{self.recipe.branch}"
        return branch if self._has(branch) else "origin/HEAD"

    def _has(self, name: str) -> bool:
        try:
            return bool(commit_of(name, self.repository.clone))
        except GitError:
            return False

    def _git(self, *arguments: str) -> str:
        return git(*arguments, at=self.repository.clone, waiting=self.waiting)

    def _tree(self, folder: Path) -> SourceTree:
        origin = strip_credentials(self.repository.url)
        version = _version(folder / self.recipe.version_file)
        if not exists(folder / ".git"):
            return SourceTree(folder, origin, version=version)
        with foreign_checkout(folder) as run:
            commit = run("rev-parse", "--verify", "HEAD")
            return SourceTree(folder, origin, commit, _digest_of_changes(folder, run), version)


def _unknown(name: str) -> str:
    raise GitError(f"there is no commit {name}")


def _digest_of_changes(folder: Path, run: Callable[..., str]) -> str:
    """Returns a digest of the differences from the commit, including untracked files; empty if there are
    none. `run` runs git in the folder.
    """
    if not run("status", "--porcelain", "--ignore-submodules=dirty"):
        return ""
    how = ("--binary", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    digest = hashlib.sha256(run("diff", "HEAD", *how).encode())
    for name in run("ls-files", "--others", "--exclude-standard", "-z").split("\0"):
        # Another repository in the checkout, such as a plugin, is listed as a folder.
        for file in _files_below(folder, name) if name.endswith("/") else filter(None, [name]):
            _add_file(digest, folder, file)
    return digest.hexdigest()


def _files_below(folder: Path, name: str) -> Iterator[str]:
    """Yields the files of a folder in a checkout by their names in the checkout, without those of git. Raises
    GitBlocked for too many, and for folders that are nested too deeply: Python follows them with recursion.
    """
    files = 0
    for path, folders, names in os.walk(folder / name):
        folders[:] = sorted(entry for entry in folders if entry != ".git")
        files += len(names)
        if files > _MAX_UNTRACKED_FILES or len(Path(path).relative_to(folder).parts) > _MAX_DEPTH:
            raise GitBlocked(
                f"{folder / name} is an untracked repository with more than {_MAX_UNTRACKED_FILES:,} files, "
                f"or with folders nested more than {_MAX_DEPTH} times: remove it, or ignore it in "
                ".gitignore or .git/info/exclude"
            )
        for entry in sorted(names):
            yield str((Path(path) / entry).relative_to(folder))


def _add_file(digest: hashlib._Hash, folder: Path, name: str) -> None:
    """Adds the name and the content of a regular file to a digest, in parts. Raises GitBlocked for one that
    is too large to be read.
    """
    file = folder / name
    try:
        content = open_regular_file(file, os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in _NO_FILE:
            return
        raise GitError(f"{file} cannot be read: {error.strerror}") from error
    with content:
        if os.fstat(content.fileno()).st_size > _MAX_UNTRACKED_BYTES:
            raise GitBlocked(
                f"{file} is untracked and has more than {format_bytes(_MAX_UNTRACKED_BYTES)}: remove it, or "
                "ignore it in .gitignore or .git/info/exclude"
            )
        digest.update(f"{name}\0".encode())
        while part := content.read(_PART_BYTES):
            digest.update(part)


def _version(file: Path) -> str:
    """Returns the version that a file of the build contains, such as `opensearch = 3.4.0`."""
    try:
        text = read_regular_file(file, MAX_PROPERTIES_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    match = _VERSION_LINE.search(text)
    return match[1] if match else ""

"""Reads a checkout of someone else: git runs without the settings, filters and hooks in its `.git` folder.

A command such as `git status` would run programs that these settings name. Git is therefore given a folder of
settings of its own, with the objects and a copy of the index of the checkout.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from pacenote.repository.git import GitBlocked, GitError, GitOptions, check_files, git
from pacenote.system.regular_files import open_regular_file
from pacenote.system.sparse_files import copy_content
from pacenote.units import format_bytes

TIMEOUT_S = 600.0
"""Seconds within which all commands about a checkout must have ended."""

_MAX_COPY_BYTES = 1 << 30
"""Bytes of the largest file that is copied, with its holes; the index of a million files has 100 MB."""

_KEPT = r"^core\.(autocrlf|eol|filemode|ignorecase|precomposeunicode|symlinks)$"
"""Settings that say how files of the work tree are compared; none of them names a program."""

_KEPT_VALUE = re.compile(r"core\.([a-z]+) ([a-z]+)")


@contextlib.contextmanager
def foreign_checkout(folder: Path) -> Generator[Callable[..., str], None, None]:
    """Returns a function that runs git in a folder of a checkout as `git` does, with settings of its own.

    Raises GitError if the folder is in no checkout of this user, GitBlocked if it cannot be read because of a
    pipe in the place of a file, and GitMissingError if git is not installed.
    """
    check_files(folder)
    reader = _Reader(folder, time.monotonic() + TIMEOUT_S)
    commit = reader.git("rev-parse", "--verify", "--quiet", "HEAD")
    top = Path(reader.git("rev-parse", "--show-toplevel"))
    if not Path(os.path.realpath(folder)).is_relative_to(top):
        raise GitError("its work tree is another folder")
    common = folder.absolute() / reader.git("rev-parse", "--git-common-dir")
    index = folder / reader.git("rev-parse", "--git-path", "index")
    with tempfile.TemporaryDirectory(prefix="pacenote-git-") as name:
        settings = Path(name)
        for part in ("refs", "info"):
            (settings / part).mkdir()
        (settings / "HEAD").write_text(f"{commit}\n")
        (settings / "config").write_text(_settings(reader))
        _copy(index, settings / "index")
        _copy(common / "info" / "exclude", settings / "info" / "exclude")
        where = GitOptions(
            before=(f"--git-dir={settings}", f"--work-tree={top}"),
            environment={"GIT_OBJECT_DIRECTORY": str(common / "objects")},
        )

        def run(*arguments: str) -> str:
            return reader.git(*arguments, options=where)

        yield run


class _Reader(Struct, frozen=True):
    """Runs git in a checkout, until a time for all commands is over."""

    folder: Path
    deadline: float

    def git(self, *arguments: str, options: GitOptions | None = None) -> str:
        left_s = self.deadline - time.monotonic()
        if left_s <= 0:
            raise GitBlocked(
                f"git has not read it within {TIMEOUT_S:.4g} s: it is slow, or one of its files may be a pipe"
            )
        return git(*arguments, at=self.folder, options=replace(options or GitOptions(), timeout_s=left_s))


def _settings(reader: _Reader) -> str:
    """Returns the settings with which the checkout is read."""
    kept = ""
    try:
        kept = reader.git("config", "--get-regexp", _KEPT)
    except GitBlocked:
        raise
    except GitError:
        # There are none.
        pass
    lines = [f"{match[1]} = {match[2]}" for match in map(_KEPT_VALUE.fullmatch, kept.splitlines()) if match]
    # Old versions of git do not know the question, and have only one format.
    is_sha256 = reader.git("rev-parse", "--show-object-format") == "sha256"
    core = ("[core]", f"repositoryformatversion = {int(is_sha256)}", "bare = false", *lines)
    extensions = ("[extensions]", "objectformat = sha256") if is_sha256 else ()
    return "".join(f"{line}\n" for line in (*core, *extensions))


def _copy(source: Path, target: Path) -> None:
    """Copies a file, unless it is missing or is not a regular file. Raises GitBlocked for one that is too
    large.
    """
    try:
        original = open_regular_file(source)
    except OSError:
        return
    with original, target.open("wb") as copy:
        if os.fstat(original.fileno()).st_size > _MAX_COPY_BYTES:
            raise GitBlocked(f"{source} has more than {format_bytes(_MAX_COPY_BYTES)}")
        copy_content(original.fileno(), copy.fileno())

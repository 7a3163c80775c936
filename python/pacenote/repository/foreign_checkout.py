"""Reads a checkout of someone else: git runs without the settings, filters and hooks in its `.git` folder.

A command such as `git status` would run programs that these settings name. Git is therefore given a folder of
settings of its own, with the objects and a copy of the index of the checkout.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

from pacenote.repository.git import GitError, git

_KEPT = r"^core\.(autocrlf|eol|filemode|ignorecase|precomposeunicode|symlinks)$"
"""Settings that say how files of the work tree are compared; none of them names a program."""

_KEPT_VALUE = re.compile(r"core\.([a-z]+) ([a-z]+)")


@contextlib.contextmanager
def foreign_checkout(folder: Path) -> Generator[Callable[..., str], None, None]:
    """Returns a function that runs git in a folder of a checkout as `git` does, with settings of its own.

    Raises GitError if the folder is in no checkout of this user, and GitMissingError if git is not installed.
    """
    commit = head(folder)
    top = Path(_asked(folder, "--show-toplevel"))
    if not Path(os.path.realpath(folder)).is_relative_to(top):
        raise GitError("its work tree is another folder")
    common = folder.absolute() / _asked(folder, "--git-common-dir")
    index = folder / _asked(folder, "--git-path", "index")
    with tempfile.TemporaryDirectory(prefix="pacenote-git-") as name:
        settings = Path(name)
        for part in ("refs", "info"):
            (settings / part).mkdir()
        (settings / "HEAD").write_text(f"{commit}\n")
        (settings / "config").write_text(_settings(folder))
        _copy(index, settings / "index")
        _copy(common / "info" / "exclude", settings / "info" / "exclude")
        where = (f"--git-dir={settings}", f"--work-tree={top}")
        environment = {"GIT_OBJECT_DIRECTORY": str(common / "objects")}

        def run(*arguments: str) -> str:
            return git(*arguments, at=folder, options=where, environment=environment)

        yield run


def head(folder: Path) -> str:
    """Returns the commit of a folder in a checkout. Raises GitError and GitMissingError."""
    return git("rev-parse", "--verify", "--quiet", "HEAD", at=folder)


def _asked(folder: Path, *question: str) -> str:
    return git("rev-parse", *question, at=folder)


def _settings(folder: Path) -> str:
    """Returns the settings with which the checkout is read."""
    kept = ""
    with contextlib.suppress(GitError):
        kept = git("config", "--get-regexp", _KEPT, at=folder)
    lines = [f"{match[1]} = {match[2]}" for match in map(_KEPT_VALUE.fullmatch, kept.splitlines()) if match]
    # Old versions of git do not know the question, and have only one format.
    is_sha256 = _asked(folder, "--show-object-format") == "sha256"
    core = ("[core]", f"repositoryformatversion = {int(is_sha256)}", "bare = false", *lines)
    extensions = ("[extensions]", "objectformat = sha256") if is_sha256 else ()
    return "".join(f"{line}\n" for line in (*core, *extensions))


def _copy(source: Path, target: Path) -> None:
    """Copies a file, unless it is missing or is no regular file."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            with target.open("wb") as copy:
                shutil.copyfileobj(file, copy)

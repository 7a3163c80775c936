"""Installs the Python packages of a track's plug-in with pip, into a separate folder.

Each list of requirements and Python version has its own folder, so tracks do not affect each other and
packages are not installed twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pacenote.errors import TrackError
from pacenote.model.messages import quoted_list
from pacenote.model.secrets import redact_urls
from pacenote.model.shell_command import shell_command
from pacenote.system.command import pip_command, run_command
from pacenote.system.folder_trees import discard_tree
from pacenote.system.ownership import create_folder, replaceable_folder
from pacenote.system.paths import paths_in

_SSH_USER = re.compile(r"(?<=ssh://)[^/?#@:\s]*@", re.IGNORECASE)
"""User name of an SSH URL without a password, which is not secret: it selects the account."""

_FROM_REPOSITORY = re.compile(r"\b(git|hg|svn|bzr)\+")
"""Beginning of the URL of a repository, whose program may ask for a passphrase."""

_UNFINISHED = re.compile(r"\.[0-9a-f]{16}\..+")
"""Name of a folder whose packages are being installed."""

_TIMEOUT_S = 3600.0
"""Seconds after which pip is stopped: an index may send a page without end, and a build may wait for ever."""


def dependency_folder(requirements: Sequence[str], home: Path) -> Path:
    """Returns the folder of the packages for these requirements; their order does not matter."""
    key = json.dumps([sorted(set(requirements)), sys.implementation.cache_tag, sys.platform])
    return home / "libs" / hashlib.sha256(key.encode()).hexdigest()[:16]


def install_dependencies(requirements: Sequence[str], home: Path, offline: bool) -> Path:
    """Installs pip requirements that are not installed yet, and returns the folder for `sys.path`.

    Raises `TrackError` for a malformed requirement, if pip fails, if packages are missing and `offline`
    forbids downloads, and if another user could replace the folder.
    """
    for requirement in requirements:
        _check(requirement)
    folder = dependency_folder(requirements, home)
    # Checked afterwards: another user could create it in between, or remove it again.
    is_installed = folder.is_dir()
    _refuse_replaceable(folder, replaceable_folder(folder, must_exist=is_installed))
    if is_installed:
        return folder
    named = quoted_list(requirements)
    if offline:
        raise TrackError(
            f"the Python packages {named} of the track are not installed, and --offline forbids downloads",
            hint="run once without --offline",
        )
    _refuse_replaceable(folder, create_folder(folder.parent))
    _remove_abandoned(folder.parent)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        _pip(requirements, fresh)
        (fresh / "requirements.txt").write_text("".join(f"{line}\n" for line in requirements), "utf-8")
        _move_into_place(fresh, folder)
    finally:
        discard_tree(fresh)
    return folder


def _remove_abandoned(folder: Path) -> None:
    """Removes the unfinished folders of processes that were killed."""
    # pip writes into a folder of its own first, so that this one may be as old as pip may run.
    oldest = time.time() - 2 * _TIMEOUT_S
    for fresh in paths_in(folder):
        with contextlib.suppress(OSError):
            if _UNFINISHED.fullmatch(fresh.name) and fresh.lstat().st_mtime < oldest:
                discard_tree(fresh)


def _refuse_replaceable(folder: Path, problem: str) -> None:
    if problem:
        raise TrackError(
            f"{folder}, with the Python packages of the track, could be replaced by others: {problem}",
            hint="set PACENOTE_HOME to a folder of yours, below folders that only you or root can change",
        )


def _check(requirement: str) -> None:
    """Raises TrackError for text that is not a requirement, and for a URL with credentials: pip would show
    them to other processes, and they would be stored with its packages.
    """
    if not requirement.strip() or requirement.lstrip().startswith("-"):
        raise TrackError(
            f"dependencies: {quoted_list([requirement])} is not a package",
            hint="write a requirement such as numpy>=2, or the URL of an archive",
        )
    checked = _SSH_USER.sub("", requirement)
    if redact_urls(checked) != checked:
        shown = quoted_list([redact_urls(requirement)])
        raise TrackError(
            f"dependencies: {shown} cannot contain a user name, a password or a token: use a git credential "
            "helper or ~/.netrc"
        )


def _pip(requirements: Sequence[str], target: Path) -> None:
    quiet = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-warn-script-location")
    # This environment's packages do not affect a separate folder, and checking them for conflicts takes 0.3
    # s.
    command = [*pip_command(), "install", *quiet, "--no-warn-conflicts"]
    environment = {**os.environ, "PIP_USER": "0"}
    # A process in a group of its own cannot read from the terminal.
    has_group = not any(map(_FROM_REPOSITORY.search, requirements))
    hint = f"try this command: {shell_command(*pip_command(), 'install', *requirements)}"
    try:
        result = run_command(
            [*command, "--target", str(target), *requirements],
            environment,
            lambda: None,
            _TIMEOUT_S,
            has_group=has_group,
        )
    except subprocess.TimeoutExpired:
        raise TrackError(
            f"the Python packages {quoted_list(requirements)} cannot be installed: pip has not ended within "
            f"{_TIMEOUT_S:.0f} s",
            hint=hint,
        ) from None
    if result.returncode:
        lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        reason = errors[0].removeprefix("ERROR: ") if errors else f"status {result.returncode}"
        raise TrackError(
            f"the Python packages {quoted_list(requirements)} cannot be installed: {reason}",
            hint=hint,
        )


def _move_into_place(fresh: Path, folder: Path) -> None:
    """Moves the folder to its final path atomically; another race may have created it already."""
    try:
        fresh.chmod(0o755)
        fresh.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise

"""Runs the `git` command for track repositories, without prompts: a missing password is an error."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from pacenote.command import run_command
from pacenote.errors import TrackError

_NOT_INHERITED = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
)
"""Variables that git sets in hooks. If a hook starts a race, they would select the hook's repository."""


_DEFAULTS = {
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=30",
    "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
    "GIT_HTTP_LOW_SPEED_TIME": "30",
}
"""Environment variables with which unresponsive hosts and prompts cause an error."""

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_ADVICE = ("warning:", "hint:")


class GitError(Exception):
    """A git command failed; the message is git's own, in one line."""


def git(*arguments: str, at: Path | None = None, waiting: Callable[[], None] = lambda: None) -> str:
    """Runs git and returns its output, without surrounding whitespace. Calls `waiting` twice a second.

    Raises `GitError` if it fails, and `TrackError` if git is not installed.
    """
    program = shutil.which("git")
    if program is None:
        raise TrackError(
            "track repositories need git, which is not installed",
            hint="install git, or use a local track with --track-path",
        )
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    environment = {**_DEFAULTS, **environment, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    where = ("-C", str(at)) if at is not None else ()
    result = run_command([program, *where, *arguments], environment, waiting)
    if result.returncode:
        raise GitError(_reason(result.stderr) or f"git {arguments[0]} ended with status {result.returncode}")
    return result.stdout.strip()


def strip_credentials(text: str) -> str:
    """Removes user names and passwords from the URLs of a text; they may be access tokens."""
    return _CREDENTIALS.sub("", text)


def _reason(output: str) -> str:
    """Returns the line that begins with `fatal:`, and the line before it, which contains the reason from ssh
    or the host.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(_ADVICE)]
    end = next(
        (number for number, line in enumerate(lines, start=1) if line.startswith("fatal:")), len(lines)
    )
    return strip_credentials("; ".join(lines[max(0, end - 2) : end]))

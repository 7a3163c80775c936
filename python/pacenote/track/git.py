"""What of git track repositories need: the plain `git` command, asked quietly.

Nothing here answers a question of git's on behalf of the user: a repository that wants a password fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from pacenote.errors import TrackError

_NOT_INHERITED = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
)
"""Set inside hooks of git, from which a race may well be started; they would point at that repository."""


_UNLESS_SET = {
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=30",
    "GIT_HTTP_LOW_SPEED_LIMIT": "1000",
    "GIT_HTTP_LOW_SPEED_TIME": "30",
}
"""So that a host that is silent, or a question that nobody sees, ends in an error."""

_LOGIN = re.compile(r"(?<=://)[^/@\s]+@")
_ASIDE = ("warning:", "hint:")


class GitError(Exception):  # like the errors of the tree: what happened
    """A git command did not succeed; the text is what it said, in one line."""


def git(*arguments: str, at: Path | None = None) -> str:
    """Runs git and returns what it printed, without surrounding white space.

    Raises `GitError` when it fails, `TrackError` when there is no git.
    """
    program = shutil.which("git")
    if program is None:
        raise TrackError(
            "track repositories need git, which is not installed",
            hint="install git, or name a track with --track-path",
        )
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    environment = {**_UNLESS_SET, **environment, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    where = ("-C", str(at)) if at is not None else ()
    done = subprocess.run(
        [program, *where, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise GitError(_reason(done.stderr) or f"git {arguments[0]} ended with status {done.returncode}")
    return done.stdout.strip()


def strip_credentials(text: str) -> str:
    """The text without the user names of its URLs, which may be access tokens."""
    return _LOGIN.sub("", text)


def _reason(said: str) -> str:
    """The line that says what was fatal, and the one before: of ssh or of the host, which know more. What
    comes after it is advice.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(_ASIDE)]
    ends = next((at for at, line in enumerate(lines, start=1) if line.startswith("fatal:")), len(lines))
    return strip_credentials("; ".join(lines[max(0, ends - 2) : ends]))

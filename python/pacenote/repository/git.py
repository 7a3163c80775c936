"""Runs the `git` command, without prompts: a missing password is an error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from pacenote.repository.special_files import special_file
from pacenote.system.command import run_command

_NOT_INHERITED = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"),
    *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
    "SSH_ASKPASS",
)
"""Variables that git sets in hooks, which would select the hook's repository if a hook starts a race, and the
one with which git opens a window to ask for a password.
"""

_DEFAULTS = {"GIT_HTTP_LOW_SPEED_LIMIT": "1000", "GIT_HTTP_LOW_SPEED_TIME": "30"}
"""Environment variables with which unresponsive hosts cause an error: less than 1000 bytes/s for 30 s."""

_SSH = "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=15"
"""The same for ssh, without prompts; used unless the user has configured another command."""

_OF_REMOTES = ("clone", "fetch")
"""Commands of git that connect to hosts."""

LOCAL_TIMEOUT_S = 600.0
"""Seconds after which a command that connects to no host is stopped: a file that it reads may be a pipe, for
which git waits for ever.
"""

_COPY_TIMEOUT_S = 3600.0
"""The same for a command that copies from a repository on this machine."""

_REMOTE_TIMEOUT_S = 6 * 3600.0
"""The same for a command that connects to a host, which may have a large repository and a slow network."""

_NO_PROGRAMS = (
    "--no-pager",
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.ext.allow=never"),
    *("-c", "submodule.recurse=false"),
)
"""Options with which git runs no hooks, and no programs that a URL or the settings of a repository name.
Filters remain (`foreign_checkout.py`), and what the user has configured for connections.
"""

_HTTPS_ONLY = ("-c", "protocol.http.allow=never")
"""Options with which git does not follow a redirect from https to http."""

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_ADVICE = ("warning:", "hint:")


class GitMissingError(Exception):
    """Git is not installed."""


class GitError(Exception):
    """A git command failed; the message is git's own, in one line."""


class GitBlocked(GitError):
    """Git would wait for ever for a file of a repository, or has waited for too long."""


class GitOptions(Struct, frozen=True):
    """How git is run, apart from its command."""

    before: tuple[str, ...] = ()
    """Options before the command."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables for it."""

    timeout_s: float | None = None
    """Seconds after which it is stopped; None is the limit for commands of its kind."""


def git(
    *arguments: str,
    at: Path | None = None,
    options: GitOptions = GitOptions(),
    waiting: Callable[[], None] = lambda: None,
) -> str:
    """Runs git and returns its output, without surrounding whitespace. Calls `waiting` twice a second.

    Does not run hooks, and does not refresh the index of a repository that it only reads. Raises `GitError`
    if it fails, `GitBlocked` if it does not end in time, and `GitMissingError` if git is not installed.
    """
    program = shutil.which("git")
    if program is None:
        raise GitMissingError
    inherited = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    fixed = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    variables = {**_DEFAULTS, **inherited, **fixed, **options.environment}
    where = (*(("-C", str(at)) if at is not None else ()), *options.before)
    is_remote = arguments[0] in _OF_REMOTES
    try:
        if is_remote and not _has_ssh_command(program, where, variables):
            variables["GIT_SSH_COMMAND"] = _SSH
        sources = _sources(program, where, arguments, variables) if is_remote else ()
        folders = [folder for source in sources if (folder := _local_folder(source, at)) is not None]
        for folder in folders:
            check_files(folder)
        is_https = any(source.startswith("https://") for source in sources)
        fixed_options = (*_NO_PROGRAMS, *(_HTTPS_ONLY if is_https else ()))
        command = [program, *fixed_options, *where, *arguments]
        # Only a command that connects to a host may ask for a passphrase.
        connects = is_remote and not folders
        usual_s = _REMOTE_TIMEOUT_S if connects else _COPY_TIMEOUT_S if is_remote else LOCAL_TIMEOUT_S
        limit_s = options.timeout_s or usual_s
        result = run_command(command, variables, waiting, limit_s, has_group=not connects)
    except subprocess.TimeoutExpired as error:
        raise GitBlocked(
            f"git {arguments[0]} was stopped after {error.timeout:.4g} s; a file that it reads may be a pipe"
        ) from None
    except ValueError as error:  # An argument contains a NUL character.
        raise GitError(f"git {arguments[0]} cannot be given these names: {error}") from None
    if result.returncode:
        raise GitError(_reason(result.stderr) or f"git {arguments[0]} ended with status {result.returncode}")
    return result.stdout.strip()


def commit_of(name: str, at: Path) -> str:
    """Returns the full hash of a commit, a branch or a tag. Raises GitError, also for a name that git would
    take for an option or for the exclusion of a revision.
    """
    if name.startswith(("-", "^")):
        raise GitError(f"{name} is not a revision")
    return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", at=at)


def strip_credentials(text: str) -> str:
    """Removes user names and passwords from the URLs of a text; they may be access tokens."""
    return _CREDENTIALS.sub("", text)


def check_files(folder: Path) -> None:
    """Raises GitBlocked if git would wait for a file of the checkout that contains a folder."""
    if (file := special_file(folder)) is not None:
        raise GitBlocked(f"{file} is a pipe, a device or a socket")


def _local_folder(source: str, at: Path | None) -> Path | None:
    """Returns the folder that a source names; None for a URL, or for HOST:PATH, which git reads with ssh."""
    path = source.removeprefix("file://")
    if not path or "://" in path or ":" in path.partition("/")[0]:
        return None
    return (at or Path()) / path


def _sources(
    program: str, where: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str]
) -> Sequence[str]:
    """Returns the URL or the folder that a command reads from: its first argument, or the URL of `origin`."""
    if arguments[0] == "clone" and "--" in arguments:
        return (arguments[arguments.index("--") + 1],)
    sources = [text for text in arguments[1:] if "://" in text or text.startswith("/")][:1]
    if not sources and where:
        setting = [program, *where, "config", "--get", "remote.origin.url"]
        result = run_command(setting, environment, lambda: None, LOCAL_TIMEOUT_S, has_group=True)
        sources = [result.stdout.strip()]
    return sources


def _has_ssh_command(program: str, where: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Returns whether the user has selected a command for ssh; `GIT_SSH_COMMAND` would override it."""
    if "GIT_SSH_COMMAND" in environment or "GIT_SSH" in environment:
        return True
    # A clone does not use the settings of the repository that it is started in.
    setting = [program, *(where or ("-C", "/")), "config", "--get", "core.sshCommand"]
    return run_command(setting, environment, lambda: None, LOCAL_TIMEOUT_S, has_group=True).returncode == 0


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

"""Runs the hooks of cars and plugins: Python code of a team repository that configures an installed node.

The code runs in a process of its own (`hook_process.py`), with the permissions of the user. Its standard
input stays open: when it ends, because Pacenote has ended, the process and its children end too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from pacenote.errors import EngineError
from pacenote.model.decoding import parse_json
from pacenote.model.printable import single_line
from pacenote.system.polling import can_read

HOOK_TIMEOUT_S = 600.0
"""Seconds after which hooks are stopped."""


class Hook(Struct, frozen=True):
    """The hooks of one car or plugin."""

    owner: str
    """What they belong to, for messages: `car defaults` or `plugin repository-s3`."""
    scripts: tuple[Path, ...]
    """Files with a function `register(handler)`."""
    config_names: tuple[str, ...] | None
    """The names of the cars, or of the configurations of the plugin."""


class HookRun(Struct, frozen=True):
    """The node that hooks configure."""

    variables: Mapping[str, object]
    """The variables that templates read, for the hooks; they may contain secrets."""
    environment: Mapping[str, str]
    """Environment variables for commands that hooks start."""
    log: Path
    """The file to which the output of hooks is appended."""


def run_hooks(hook: Hook, run: HookRun, timeout_s: float = HOOK_TIMEOUT_S) -> None:
    """Runs the hooks of one car or plugin for the phase `post_install`. Raises EngineError if one fails."""
    request = {**asdict(hook), "scripts": [str(script) for script in hook.scripts], "run": _plain(run)}
    # Without -P, modules in the current folder would replace those of Python.
    command = (sys.executable, "-P", "-m", "pacenote.teams.hook_process")
    with run.log.open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
        try:
            reply = _exchange(process, request, timeout_s)
        except subprocess.TimeoutExpired:
            reply = {"error": f"they have not ended after {timeout_s:.0f} s"}
        finally:
            _end(process)
    if error := reply.get("error"):
        raise EngineError(
            f"the hooks of {hook.owner} failed: {single_line(str(error))}",
            # The folder of the node is removed, but its logs are kept.
            hint=f"read {run.log.name} among the logs of the engine, and "
            f"{' and '.join(map(str, hook.scripts))}",
        )


def _exchange(process: subprocess.Popen[bytes], request: object, timeout_s: float) -> dict[str, Any]:
    """Sends a request and returns the reply of the process, which has ended and is not reaped yet."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # then it has ended without a reply
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    status = _exit_code(process, timeout_s)
    with contextlib.suppress(ValueError):
        reply = parse_json(process.stdout.read())
        if isinstance(reply, dict):
            return reply
    return {"error": f"their process ended with status {status}"}


def _exit_code(process: subprocess.Popen[bytes], timeout_s: float) -> int:
    """Waits for the end of a process, and returns its exit code. Does not reap it: until then, its id is that
    of its group. Raises TimeoutExpired.
    """
    descriptor = os.pidfd_open(process.pid)
    try:
        if not can_read(descriptor, timeout_s):
            raise subprocess.TimeoutExpired(process.args, timeout_s)
    finally:
        os.close(descriptor)
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and what it has started, which are in a group of their own, and reaps it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _plain(run: HookRun) -> dict[str, object]:
    return {"variables": dict(run.variables), "environment": dict(run.environment)}

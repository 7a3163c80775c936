"""Runs commands that may take minutes, such as git and pip, and shows that they still run."""

from __future__ import annotations

import contextlib
import math
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

WAITING_INTERVAL_S = 0.5
"""Seconds between two calls of a function that shows the wait."""


def run_command(
    command: Sequence[str],
    environment: Mapping[str, str],
    waiting: Callable[[], None],
    timeout_s: float = math.inf,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, without input, and returns its exit status, its output and its messages.

    Calls `waiting` twice a second. If that or a signal raises an exception, the command is killed. It is also
    killed after `timeout_s`, and `subprocess.TimeoutExpired` is raised.
    """
    deadline = time.monotonic() + timeout_s
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            while time.monotonic() < deadline:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    output, errors = process.communicate(timeout=WAITING_INTERVAL_S)
                    return subprocess.CompletedProcess(command, process.returncode, output, errors)
                waiting()
            raise subprocess.TimeoutExpired(command, timeout_s)
        except BaseException:
            process.kill()
            raise

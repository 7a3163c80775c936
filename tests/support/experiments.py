"""Experiments that tests run as processes of their own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

DEADLINE_S = 60.0
"""Seconds after which a test no longer waits."""


def started(*arguments: object) -> subprocess.Popen[str]:
    """Starts `pacenote experiment`."""
    command = [sys.executable, "-m", "pacenote", "experiment", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(
    condition: Callable[[], object], what: str, process: subprocess.Popen[str] | None = None
) -> None:
    """Waits until a condition is true; otherwise, the process is killed and its messages are shown."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() >= deadline:
            told = ""
            if process is not None:
                process.kill()
                told = "\n".join(process.communicate())
            raise AssertionError(f"waited {DEADLINE_S:.0f} s for {what}\n{told}")
        time.sleep(0.02)

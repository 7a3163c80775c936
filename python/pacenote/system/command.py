"""Runs commands that may take minutes, such as git and pip, and shows that they still run."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

WAITING_INTERVAL_S = 0.5
"""Seconds between two calls of a function that shows the wait."""


def run_command(
    command: Sequence[str],
    environment: Mapping[str, str],
    waiting: Callable[[], None],
    timeout_s: float = math.inf,
    *,
    has_group: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, without input, and returns its exit status, its output and its messages.

    Calls `waiting` twice a second. If that or a signal raises an exception, the command is killed. It is also
    killed after `timeout_s`, and `subprocess.TimeoutExpired` is raised. The kernel kills it if this process
    is killed.

    With `has_group`, it has a process group of its own, of which all processes are killed. Then it cannot
    read from the terminal, for example a passphrase.
    """
    deadline = time.monotonic() + timeout_s
    with _started(command, environment, has_group=has_group) as process:
        try:
            while time.monotonic() < deadline:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    output, errors = process.communicate(timeout=WAITING_INTERVAL_S)
                    return subprocess.CompletedProcess(command, process.returncode, output, errors)
                waiting()
            raise subprocess.TimeoutExpired(command, timeout_s)
        except BaseException:
            # Until it is waited for, no other process can have its id.
            if has_group and process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            raise


def _started(
    command: Sequence[str], environment: Mapping[str, str], *, has_group: bool
) -> subprocess.Popen[str]:
    with warnings.catch_warnings():
        # Python warns about code between fork and exec in a process with threads; this only calls the kernel.
        warnings.simplefilter("ignore", DeprecationWarning)
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            process_group=0 if has_group else None,
            preexec_fn=ending_with_this_process(),
        )


def ending_with_this_process() -> Callable[[], None]:
    """Returns a function with which the kernel kills its calling process when this one ends, or the thread of
    it that has started the other.

    A change of the user clears the setting.
    """
    # Imported here: only processes that are started need it.
    from pacenote.system.prctl import PR_SET_PDEATHSIG, PreparedCall

    prctl = PreparedCall()
    parent = os.getpid()

    def prepare() -> None:
        if not prctl(PR_SET_PDEATHSIG, signal.SIGKILL) or os.getppid() != parent:
            os._exit(127)

    return prepare


def pip_command() -> list[str]:
    """Returns the beginning of a command that runs pip for this Python: that of the environment, otherwise
    the one that came with Python, otherwise one that uv downloads. Environments of uv and pipx have none.

    Without all of them, it is the command for the first one, whose error says that there is no pip.
    """
    own_pip = [sys.executable, "-P", "-m", "pip"]
    if importlib.util.find_spec("pip") is not None:
        return own_pip
    if (wheel := _bundled_wheel()) is not None:
        # A wheel is an archive that Python can run a package of.
        return [sys.executable, "-P", str(wheel / "pip")]
    if (uv := shutil.which("uv")) is not None:
        # It ignores settings of the working folder, unlike other commands of uv.
        return [uv, "tool", "run", "--quiet", "--python", sys.executable, "pip"]
    return own_pip


def _bundled_wheel() -> Path | None:
    """Returns the wheel of pip from which Python creates environments; None if the system has removed it."""
    spec = importlib.util.find_spec("ensurepip")
    folders = [Path(spec.origin).parent / "_bundled"] if spec is not None and spec.origin else []
    # Distributions of Linux have their wheels in a folder of their own.
    if shared := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        folders.append(Path(shared))
    wheels = (wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"), reverse=True))
    return next(wheels, None)

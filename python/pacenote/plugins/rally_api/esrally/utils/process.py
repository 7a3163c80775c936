"""Processes that plug-ins start."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping
from typing import Any


def run_subprocess(command_line: str) -> int:
    """Runs a command in a shell, and returns its exit status."""
    return subprocess.run(command_line, check=False, shell=True).returncode  # noqa: S602  # as in Rally


def run_subprocess_with_output(command_line: str, env: Mapping[str, str] | None = None) -> list[str]:
    """Runs a command, and returns the lines of its output and errors."""
    return _run(command_line, env=env).stdout.splitlines()


def run_subprocess_with_logging(
    command_line: str, header: str | None = None, level: int = logging.INFO, **options: Any
) -> int:
    """Runs a command, logs its output and errors, and returns its exit status.

    With the option `timeout`, in seconds, the command and its children are killed after that time.
    """
    return run_subprocess_with_logging_and_output(command_line, header, level, **options).returncode


def run_subprocess_with_logging_and_output(
    command_line: str, header: str | None = None, level: int = logging.INFO, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a command like `run_subprocess_with_logging`, and returns it with its output."""
    logger = logging.getLogger(__name__)
    if header is not None:
        logger.info(header)
    completed = _run(command_line, **options)
    for line in completed.stdout.splitlines():
        logger.log(level, line)
    return completed


def exit_status_as_bool(runnable: Callable[[], int | None], quiet: bool = False) -> bool:
    """Returns whether a function returns the exit status 0, or None; false if it cannot run its command."""
    try:
        return runnable() in (0, None)
    except OSError:
        if not quiet:
            logging.getLogger(__name__).exception("Could not execute command.")
        return False


def _run(
    command_line: str,
    stdin: Any = None,
    env: Mapping[str, str] | None = None,
    detach: bool = False,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    arguments = shlex.split(command_line)
    with subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=stdin,
        env=env,
        text=True,
        start_new_session=detach or timeout is not None,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    return subprocess.CompletedProcess(arguments, process.returncode, output)

"""The log of an engine that has ended: the lines that show the cause, and the next step for known causes."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from pacenote.model.printable import single_line

_TAIL_BYTES = 256 * 1024

PORT_IN_USE = "Address already in use"
OUT_OF_MEMORY = "OutOfMemoryError"

# A text in the log, and the next step. The first text that occurs is used, so causes come before
# consequences.
_KNOWN_PROBLEMS: tuple[tuple[str, str], ...] = (
    (PORT_IN_USE, "another process has taken the port; try again"),
    (OUT_OF_MEMORY, "give the node more heap, for example --car=4gheap"),
    ("Could not reserve enough space", "choose a smaller heap (--car), or free some memory"),
    ("insufficient memory for the Java Runtime", "choose a smaller heap (--car), or free some memory"),
    ("Cannot allocate memory", "choose a smaller heap (--car), or free some memory"),
    (
        "Multiple garbage collectors selected",
        "name only one garbage collector in --car and additional_java_settings",
    ),
    ("Unrecognized VM option", "remove that option from additional_java_settings"),
    ("Unrecognized option", "remove that option from additional_java_settings"),
    ("unknown setting", "remove or correct that setting in additional_cluster_settings"),
    ("Failed to parse value", "correct that setting in additional_cluster_settings"),
    ("max virtual memory areas", "sysctl -w vm.max_map_count=262144"),
    ("max file descriptors", "raise the limit of open files: ulimit -n 65535"),
    ("UnsupportedClassVersionError", "choose a newer Java with --runtime-jdk"),
    ("No space left on device", "free some space, or set PACENOTE_HOME to a folder on another disk"),
    ("jar hell", "remove the engine's folder below PACENOTE_HOME so that it is assembled again"),
    (
        "ClassNotFoundException",
        "remove the engine's folder below PACENOTE_HOME so that it is assembled again",
    ),
)

_NOT_FATAL = re.compile(r"\]\[(INFO|WARN|DEBUG|TRACE) *\]")
"""Levels of messages after which the engine continues. Their stack traces follow on separate lines."""

_ERROR = re.compile(r"\b[\w.]*(Exception|Error)\b|\bERROR\b|\bFATAL\b|^Error|\bfatal\b|bootstrap check")


def read_tail(log: Path, start: int = 0) -> str:
    """Returns whole lines of up to 256 KiB from the end of a log, but nothing before byte `start`, at which a
    line begins.

    The result is empty if the log cannot be read.
    """
    try:
        with log.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            cut = size - _TAIL_BYTES > start
            # The byte before tells whether a line begins there.
            file.seek(size - _TAIL_BYTES - 1 if cut else start)
            text = file.read()
    except OSError:
        return ""
    before, _, lines = text.partition(b"\n") if cut else (b"", b"", text)
    return (lines or before).decode("utf-8", "replace")


def cause_lines(text: str) -> tuple[str, ...]:
    """Returns up to two lines that show why the engine ended.

    These are the line of a known problem, otherwise the last error and the last cause, otherwise the last
    line.
    """
    stripped = (line.strip().rstrip(";") for line in text.splitlines() if line.strip())
    lines = [line for line in stripped if OUT_OF_MEMORY in line or not _NOT_FATAL.search(line)]
    for problem, _ in _KNOWN_PROBLEMS:
        found = next((line for line in lines if problem in line), None)
        if found is not None:
            return (single_line(found),)
    errors = [line for line in lines if _ERROR.search(line) and not line.startswith("at ")]
    causes = [line for line in errors if line.startswith("Caused by:")]
    chosen = dict.fromkeys([*errors[-1:], *causes[-1:]] if errors else lines[-1:])
    return tuple(map(single_line, chosen))


def hint_for(text: str) -> str:
    """Returns the next step for a known problem in a log, or an empty string if there is none."""
    return next((hint for problem, hint in _KNOWN_PROBLEMS if problem in text), "")


def describe_exit(code: int) -> str:
    """Returns how a process ended: `exit code 1` or `killed by SIGKILL`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"killed by signal {-code}"
    # When memory runs out, the kernel sends SIGKILL, and nothing is written to the log.
    return f"killed by {name}" + (" (out of memory, or by another process)" if name == "SIGKILL" else "")

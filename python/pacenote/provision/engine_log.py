"""What an engine's log says about its end: the telling lines, and what to do about the known ones."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

_TAIL = 256 * 1024
_LINE = 300

PORT_TAKEN = "Address already in use"
OUT_OF_MEMORY = "OutOfMemoryError"

# The first that occurs wins, so causes come before their consequences.
_KNOWN: tuple[tuple[str, str], ...] = (
    (PORT_TAKEN, "another process took the port; try again"),
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

_CALM = re.compile(r"\]\[(INFO|WARN|DEBUG|TRACE) *\]")
"""What the engine logs and lives on with. Stack traces below such a line have lines of their own."""

_TROUBLE = re.compile(r"\b[\w.]*(Exception|Error)\b|\bERROR\b|\bFATAL\b|^Error|\bfatal\b|bootstrap check")


def read_tail(log: Path, start: int = 0) -> str:
    """The last part of a log, not from before byte `start`; empty when it cannot be read."""
    try:
        with log.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(start, size - _TAIL))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def telling_lines(text: str) -> tuple[str, ...]:
    """Up to two lines that say why: a known trouble, else the last cause and the last trouble, else the last
    line.
    """
    said = (line.strip().rstrip(";") for line in text.splitlines() if line.strip())
    lines = [line for line in said if OUT_OF_MEMORY in line or not _CALM.search(line)]
    for sign, _ in _KNOWN:
        found = next((line for line in lines if sign in line), None)
        if found is not None:
            return (found[:_LINE],)
    troubles = [line for line in lines if _TROUBLE.search(line) and not line.startswith("at ")]
    causes = [line for line in troubles if line.startswith("Caused by:")]
    chosen = dict.fromkeys([*troubles[-1:], *causes[-1:]] if troubles else lines[-1:])
    return tuple(line[:_LINE] for line in chosen)


def advice(text: str) -> str:
    """What to do about the trouble in a log, or an empty string when it is not a known one."""
    return next((hint for sign, hint in _KNOWN if sign in text), "")


def exit_words(code: int) -> str:
    """How a process ended: `exit code 1` or `killed by SIGKILL`."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"killed by signal {-code}"
    # The kernel kills with SIGKILL when memory runs out, and writes nothing into our log.
    return f"killed by {name}" + (" (memory ran out, or somebody did it)" if name == "SIGKILL" else "")

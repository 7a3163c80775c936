"""The log of an engine that has ended: the lines that show the cause, and the next step for known causes."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from pacenote.model.printable import single_line

_TAIL_BYTES = 256 * 1024

PORT_IN_USE = "Address already in use"
OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
CRASH = "A fatal error has been detected by the Java Runtime"

# A text in the log, and the next step. The first text that occurs is used, so causes come before
# consequences.
_KNOWN_PROBLEMS: tuple[tuple[str, str], ...] = (
    (CRASH, "read the file hs_err_pid*.log beside the log of the engine"),
    (PORT_IN_USE, "another process has taken the port; try again"),
    ("BindException: Permission denied", "choose a port above 1023"),
    (OUT_OF_MEMORY, "give the node more heap, for example --car=4gheap"),
    ("Could not reserve enough space", "choose a smaller heap (--car), or free some memory"),
    ("insufficient memory for the Java Runtime", "choose a smaller heap (--car), or free some memory"),
    ("Cannot allocate memory", "choose a smaller heap (--car), or free some memory"),
    (
        "Multiple garbage collectors selected",
        "name only one garbage collector in --car and additional_java_settings",
    ),
    ("Unrecognized VM option", "remove that option from --jvm or additional_java_settings"),
    ("Unrecognized option", "remove that option from --jvm or additional_java_settings"),
    ("unknown setting", "remove or correct that setting in --set or additional_cluster_settings"),
    ("Failed to parse value", "correct that setting in --set or additional_cluster_settings"),
    ("failed to parse setting", "correct that setting in --set or additional_cluster_settings"),
    ("max virtual memory areas", "sysctl -w vm.max_map_count=262144"),
    ("max file descriptors", "raise the limit of open files: ulimit -n 65535"),
    ("UnsupportedClassVersionError", "choose a newer Java with --runtime-jdk"),
    (
        "No space left on device",
        "free some space on the disk of the data, or choose another one with --data-paths or PACENOTE_HOME",
    ),
    ("jar hell", "remove the engine's folder below PACENOTE_HOME so that it is assembled again"),
    (
        "ClassNotFoundException",
        "remove the engine's folder below PACENOTE_HOME so that it is assembled again",
    ),
)

_NOT_FATAL = re.compile(r"\]\[(INFO|WARN|DEBUG|TRACE) *\]")
"""Levels of messages after which the engine continues. Their stack traces follow on separate lines."""

_NOT_STARTED = "Error occurred during initialization of"
"""Part of a message of the JVM; the next line states the cause."""

_CONSEQUENCE = "did not exit normally"
"""Part of a message that follows every other error and does not name it."""

# What stands before `Exception` in a word is not matched: a line may be a word of 256 KiB.
_ERROR = re.compile(r"(?:Exception|Error)\b|\bERROR\b|\bFATAL\b|^Error|\bfatal\b|bootstrap check")


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
            # The engine may lengthen the file meanwhile.
            text = file.read(_TAIL_BYTES + 1)
    except OSError:
        return ""
    before, _, lines = text.partition(b"\n") if cut else (b"", b"", text)
    return (lines or before).decode("utf-8", "replace")


def cause_lines(text: str) -> tuple[str, ...]:
    """Returns up to two lines that show why the engine ended.

    These are the signal and the code where the JVM crashed, otherwise the line of a known problem, otherwise
    why the JVM did not start, otherwise the last error and the last cause, otherwise the last line.
    """
    if CRASH in text:
        return _crash_lines(text)
    lines = _fatal_lines(text)
    for problem, _ in _KNOWN_PROBLEMS:
        problem_line = next((line for line in lines if problem in line), None)
        if problem_line is not None:
            return (single_line(problem_line),)
    started = next((at for at, line in enumerate(lines) if _NOT_STARTED in line), None)
    if started is not None and started + 1 < len(lines):
        # An agent reports its problem before the JVM does.
        before = [line for line in lines[max(0, started - 1) : started] if line.startswith("Error ")]
        return tuple(map(single_line, (*before, f"{lines[started]}: {lines[started + 1]}")))
    errors = [line for line in lines if _is_error(line)]
    causes = [line for line in errors if line.startswith("Caused by:")]
    chosen = dict.fromkeys([*errors[-1:], *causes[-1:]] if errors else lines[-1:])
    return tuple(map(single_line, chosen))


def _crash_lines(text: str) -> tuple[str, ...]:
    """Returns the signal and the code where the JVM crashed, from the report that it prints."""
    lines = [part for line in text.partition(CRASH)[2].splitlines()[1:] if (part := line.strip("# \t"))]
    frame = next((at for at, line in enumerate(lines) if line.startswith("Problematic frame")), None)
    causes = [f"the JVM crashed: {lines[0]}"] if lines else ["the JVM crashed"]
    if frame is not None and frame + 1 < len(lines):
        causes.append(f"in {lines[frame + 1]}")
    return tuple(map(single_line, causes))


def _fatal_lines(text: str) -> list[str]:
    """Returns the lines without messages after which the engine continues."""
    stripped = (line.strip().rstrip(";") for line in text.splitlines() if line.strip())
    return [line for line in stripped if OUT_OF_MEMORY in line or not _NOT_FATAL.search(line)]


def _is_error(line: str) -> bool:
    return bool(_ERROR.search(line)) and not line.startswith("at ") and _CONSEQUENCE not in line


def hint_for(text: str) -> str:
    """Returns the next step for a known problem in a log, or an empty string if there is none."""
    fatal = text if CRASH in text else "\n".join(_fatal_lines(text))
    return next((hint for problem, hint in _KNOWN_PROBLEMS if problem in fatal), "")


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

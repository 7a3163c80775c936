"""Processes that are not children: identified beyond doubt, found by what they hold, and ended."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path

from msgspec import Struct

from pacenote.system.paths import open_place, real_path
from pacenote.system.process_places import process_place

_FLOCK = re.compile(r"^lock:.*\bFLOCK\b", re.MULTILINE)

_EFFECTIVE_USER = re.compile(r"^Uid:\s+\d+\s+(\d+)", re.MULTILINE)

_MOST_DESCRIPTORS = 1_024
"""Number of descriptors of a process that are looked at: the one of a lock that it inherited, as builds and
nodes do, is among the first.
"""

_ENDING_S = 10.0
"""Seconds within which a process that has given up its program ends."""


class ProcessIdentity(Struct, frozen=True):
    """Identifies one process; a later process with the same id has a different identity."""

    pid: int
    """Process id."""
    started: int
    """Start time in clock ticks since the boot."""
    boot: str
    """Id of the boot, as the kernel reports it."""


class ProcessStatus(Struct, frozen=True):
    """What `/proc/PID/stat` says about a process."""

    identity: ProcessIdentity
    """Which process it is."""
    name: str
    """Name of its program, without arguments, which may contain secrets. A process can change it."""
    parent: int
    """Process id of its parent."""
    is_zombie: bool
    """Whether its first thread has ended, and its parent has not waited for it yet."""
    has_ended: bool
    """Whether all of its threads have ended: until then, a zombie holds its files."""


def process_status(pid: int) -> ProcessStatus | None:
    """Returns the status of the process with this id, or None if it does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        boot = _boot_id()
    except OSError:
        return None
    # The name may itself contain blanks and brackets. The fields after it are the state, the parent and, as
    # the 18th and 20th, the number of threads and the start time.
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    is_zombie = fields[0] in "ZX"
    has_ended = fields[0] == "X" or (is_zombie and int(fields[17]) <= 1)
    identity = ProcessIdentity(pid, int(fields[19]), boot)
    return ProcessStatus(identity, head.partition("(")[2], int(fields[1]), is_zombie, has_ended)


@cache
def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()


def process_identity(pid: int) -> ProcessIdentity | None:
    """Returns the identity of the process with this id, or None if it does not exist or has ended, or if the
    number is not a process id.
    """
    status = process_status(pid)
    return None if status is None or status.has_ended else status.identity


def send_signal(process: ProcessIdentity, number: signal.Signals) -> None:
    """Sends a signal to this process, never to a later one with the same id. Raises OSError."""
    # The descriptor refers to one process: the later one, if the identity is not the expected one.
    descriptor = os.pidfd_open(process.pid)
    try:
        if is_running(process):
            signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def is_running(process: ProcessIdentity) -> bool:
    """Returns whether this process is still running."""
    return process_identity(process.pid) == process


def can_identify_processes() -> bool:
    """Returns whether `process_identity` works here, that is, whether /proc is available."""
    return process_identity(os.getpid()) is not None


def process_executable(pid: int) -> str:
    """Returns the path of the program that a process runs, or an empty string if it cannot be read."""
    try:
        # The kernel appends this if the file was deleted or replaced while the process runs.
        return str(Path(f"/proc/{pid}/exe").readlink()).removesuffix(" (deleted)")
    except OSError:
        return ""


def effective_user(status: str) -> int | None:
    """Returns the effective user of a process from the text of `/proc/PID/status`. The owner of its folder in
    /proc is another one if its memory may not be read.
    """
    match = _EFFECTIVE_USER.search(status)
    return int(match[1]) if match else None


def runs_as_this_user(pid: int) -> bool:
    """Returns whether a process runs as the effective user of this one."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    except OSError:
        return False
    return effective_user(status) == os.geteuid()


def works_below(pid: int, folder: Path) -> bool:
    """Returns whether the working directory of a process is this folder or below it.

    Compares the folders themselves, not only their paths: in another container, the same path may name
    another folder.
    """
    try:
        path = Path(f"/proc/{pid}/cwd").readlink()
        if not path.is_relative_to(real_path(folder)):
            return False
        with process_place(pid, "cwd") as current:
            own = open_place(path)
            try:
                return os.path.sameopenfile(current, own)
            finally:
                os.close(own)
    except OSError:
        return False


def processes_with_lock(
    file: Path, is_expected: Callable[[int], bool] = runs_as_this_user
) -> tuple[ProcessIdentity, ...]:
    """Returns the processes that hold the lock on this file (flock), except this one and those for whose ids
    `is_expected` returns False. A process that only reads the file is not among them.
    """
    try:
        status = file.stat()
    except OSError:
        return ()
    names = (entry.name for entry in Path("/proc").iterdir())
    others = (int(name) for name in names if name.isdigit() and int(name) != os.getpid())
    # Others may have many processes with many files: only those that can be meant are looked at.
    holders = (process_identity(pid) for pid in others if is_expected(pid) and _has_lock(pid, status))
    return tuple(process for process in holders if process is not None)


def kill_processes_with_lock(file: Path, is_expected: Callable[[int], bool] = runs_as_this_user) -> bool:
    """Kills the processes that `processes_with_lock` returns; returns whether there were any."""
    try:
        status = file.stat()
    except OSError:
        return False
    meant = processes_with_lock(file, is_expected)
    for process in meant:
        kill_process(process, lambda pid: is_expected(pid) and _has_lock(pid, status))
    return bool(meant)


def _has_lock(pid: int, file: os.stat_result) -> bool:
    """Returns whether a process holds the lock on a file by one of its first descriptors; False if this
    process may not know.
    """
    try:
        with os.scandir(f"/proc/{pid}/fd") as descriptors:
            first = [each.name for each in islice(descriptors, _MOST_DESCRIPTORS)]
    except OSError:
        return False
    for name in first:
        with contextlib.suppress(OSError):
            # The kernel lists a lock with all descriptors that inherited it, and with no other ones.
            if not _FLOCK.search(Path(f"/proc/{pid}/fdinfo/{name}").read_text("ascii", "replace")):
                continue
            with process_place(pid, f"fd/{name}") as opened:
                if os.path.samestat(os.fstat(opened), file):
                    return True
    return False


def session_members(leader: ProcessIdentity) -> tuple[ProcessIdentity, ...]:
    """Returns the running processes of a session other than its leader, which may have ended.

    They are descendants of the leader, unless its id was reused in the meantime.
    """
    processes = (process_identity(int(entry.name)) for entry in Path("/proc").glob("[0-9]*"))
    return tuple(
        member
        for member in processes
        if member is not None
        and member.pid != leader.pid
        and (member.boot, session_of(member.pid)) == (leader.boot, leader.pid)
        and member.started >= leader.started
    )


def session_of(pid: int) -> int | None:
    """Returns the id of the session of a process, which is the process id of its leader, or None: also for a
    number that is not a process id, as a server may report.
    """
    # To the kernel, 0 is this process.
    if pid < 1:
        return None
    try:
        return os.getsid(pid)
    except (OSError, OverflowError):
        return None


def kill_process(
    process: ProcessIdentity, is_expected: Callable[[int], bool], timeout_s: float = 5.0
) -> bool:
    """Kills a process that is not a child, waits for its end, and returns whether it has ended.

    Never affects a later process with the same id, or one for whose id `is_expected` returns False.
    """
    return _signal_process(process, is_expected, signal.SIGKILL) and _await_end(process, timeout_s)


def terminate_process(
    process: ProcessIdentity, is_expected: Callable[[int], bool], timeout_s: float = 10.0
) -> bool:
    """Sends SIGTERM to a process that is not a child, and SIGKILL after `timeout_s`; returns whether it has
    ended.

    Never affects a process that `kill_process` would not affect.
    """
    if not _signal_process(process, is_expected, signal.SIGTERM):
        return False
    return _await_end(process, timeout_s) or kill_process(process, is_expected)


def _signal_process(
    process: ProcessIdentity, is_expected: Callable[[int], bool], number: signal.Signals
) -> bool:
    """Sends a signal, and returns whether the process got it or has ended."""
    try:
        # The descriptor refers to this process, so the signal cannot reach a later process with the same id.
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return not is_running(process)
    try:
        if is_running(process):
            if not is_expected(process.pid):
                return _is_ending(process.pid) and _await_end(process, _ENDING_S)
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return not is_running(process)
    finally:
        os.close(descriptor)
    return True


def _is_ending(pid: int) -> bool:
    """Returns whether a process has given up its program, and is about to become a zombie."""
    try:
        Path(f"/proc/{pid}/exe").readlink()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _await_end(process: ProcessIdentity, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while is_running(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True

"""The processes that a track's Python code leaves running are ended with the race.

On Linux, a process whose parent has ended becomes a child of the nearest ancestor that asked for it (a
subreaper). While a race is one, it finds all processes that its plug-ins started, whatever their session or
process group.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_GRACE_S = 1.0
"""Seconds between SIGTERM and SIGKILL."""

_TIMEOUT_S = 5.0
"""Seconds after which a process that does not end is given up."""

_POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A process, identified by its id and its start."""

    pid: int
    """Process id."""

    started: int
    """Start time in clock ticks since the boot."""

    name: str = field(compare=False)
    """Name of its program, without arguments, which may contain secrets. A process can change it."""


@dataclass(frozen=True, slots=True)
class _Entry:
    process: RunningProcess
    parent: int
    ended: bool


@contextlib.contextmanager
def ended_with_block(warn: Callable[[str], None]) -> Generator[None, None, None]:
    """Ends all processes that the block started, directly or indirectly, at the end of the block.

    Calls `warn` for each that was still running, and at once if this system cannot find them.
    """
    if not become_subreaper():
        warn("this system cannot find processes that the track's Python code starts: end them yourself")
        yield
        return
    before = frozenset(descendants())
    try:
        yield
    finally:
        for text in end_descendants(before):
            warn(f"the track's Python code left a process running: {text}")
        become_subreaper(enabled=False)


def become_subreaper(*, enabled: bool = True) -> bool:
    """Makes this process the parent of its descendants without a parent, or reverses that. Returns whether
    that succeeded.
    """
    return _prctl(_PR_SET_CHILD_SUBREAPER, int(enabled)) and _read(os.getpid()) is not None


def terminate_with_parent() -> bool:
    """Makes the kernel send this process SIGTERM when its parent ends. Returns whether that succeeded."""
    return _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def descendants(exempt: Iterable[RunningProcess] = ()) -> tuple[RunningProcess, ...]:
    """Returns the running processes below this one, except `exempt` and those below them."""
    return tuple(entry.process for entry in _below(frozenset(exempt)) if not entry.ended)


def end_descendants(exempt: Iterable[RunningProcess] = ()) -> tuple[str, ...]:
    """Ends the processes below this one, except `exempt` and those below them, and reaps them.

    They get SIGTERM, and SIGKILL a second later. Returns a description of each that was running.
    """
    kept, seen = frozenset(exempt), dict[RunningProcess, float]()
    started = now = time.monotonic()
    while now - started < _TIMEOUT_S:
        found = _below(kept)
        running = [entry.process for entry in found if not entry.ended]
        for process in running:
            first_seen = seen.setdefault(process, now)
            if first_seen == now or now - first_seen > _GRACE_S:
                _send(process, signal.SIGTERM if first_seen == now else signal.SIGKILL)
        for entry in found:
            if entry.ended and entry.parent == os.getpid():
                _reap(entry.process.pid)
        if not running:
            return tuple(f"{process.name} ({process.pid}), which was ended" for process in seen)
        time.sleep(_POLL_S)
        now = time.monotonic()
    return tuple(f"{process.name} ({process.pid})" for process in seen)


def _below(exempt: frozenset[RunningProcess]) -> list[_Entry]:
    children: dict[int, list[_Entry]] = {}
    with contextlib.suppress(OSError):
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and (entry := _read(int(folder.name))) is not None:
                children.setdefault(entry.parent, []).append(entry)
    found, waiting = [], [os.getpid()]
    while waiting:
        for entry in children.get(waiting.pop(), ()):
            if entry.process not in exempt:
                found.append(entry)
                waiting.append(entry.process.pid)
    return found


def _read(pid: int) -> _Entry | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The name may itself contain blanks and brackets. The state, the parent and the start time are the first,
    # second and 20th field after it.
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    process = RunningProcess(pid, int(fields[19]), head.partition("(")[2])
    return _Entry(process, int(fields[1]), fields[0] in "ZX")


def _send(process: RunningProcess, number: signal.Signals) -> None:
    """Sends a signal to this process, never to a later one with the same id."""
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(process.pid)
        try:
            entry = _read(process.pid)
            if entry is not None and entry.process.started == process.started:
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def _reap(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    return bool(prctl(option, value, 0, 0, 0) == 0)

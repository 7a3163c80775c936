"""The processes that this one has started, directly or indirectly, and their end.

On Linux, a process whose parent has ended becomes a child of the nearest ancestor that asked for it (a
subreaper). Such an ancestor finds all processes that it started, whatever their session or process group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from pacenote.system.prctl import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl
from pacenote.system.process import ProcessIdentity, ProcessStatus, process_status, send_signal

_GRACE_S = 1.0
"""Seconds between SIGTERM and SIGKILL."""

_TIMEOUT_S = 5.0
"""Seconds after which a process that does not end is given up."""

_POLL_S = 0.01


def become_subreaper(*, enabled: bool = True) -> bool:
    """Makes this process the parent of its descendants without a parent, or reverses that. Returns whether
    that succeeded.
    """
    return prctl(PR_SET_CHILD_SUBREAPER, int(enabled)) and process_status(os.getpid()) is not None


def terminate_with_parent() -> bool:
    """Makes the kernel send this process SIGTERM when its parent ends. Returns whether that succeeded."""
    return prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def descendants(exempt: Iterable[ProcessIdentity] = ()) -> tuple[ProcessIdentity, ...]:
    """Returns the running processes below this one, except `exempt` and those below them."""
    return tuple(process.identity for process in _below(frozenset(exempt)) if not process.is_zombie)


def end_descendants(exempt: Iterable[ProcessIdentity] = ()) -> tuple[str, ...]:
    """Ends the processes below this one, except `exempt` and those below them, and reaps them.

    They get SIGTERM, and SIGKILL a second later. Returns a description of each that was running.
    """
    kept, names, first_seen = frozenset(exempt), dict[ProcessIdentity, str](), dict[ProcessIdentity, float]()
    started = now = time.monotonic()
    while now - started < _TIMEOUT_S:
        processes = _below(kept)
        running = [process for process in processes if not process.is_zombie]
        for process in running:
            names.setdefault(process.identity, process.name)
            seen = first_seen.setdefault(process.identity, now)
            if seen == now or now - seen > _GRACE_S:
                with contextlib.suppress(OSError):
                    send_signal(process.identity, signal.SIGTERM if seen == now else signal.SIGKILL)
        for process in processes:
            if process.is_zombie and process.parent == os.getpid():
                _reap(process.identity.pid)
        if not running:
            return tuple(f"{name} ({process.pid}), which was ended" for process, name in names.items())
        time.sleep(_POLL_S)
        now = time.monotonic()
    return tuple(f"{name} ({process.pid})" for process, name in names.items())


def _below(exempt: frozenset[ProcessIdentity]) -> list[ProcessStatus]:
    children: dict[int, list[ProcessStatus]] = {}
    with contextlib.suppress(OSError):
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and (process := process_status(int(folder.name))) is not None:
                children.setdefault(process.parent, []).append(process)
    below, waiting = [], [os.getpid()]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            if process.identity not in exempt:
                below.append(process)
                waiting.append(process.identity.pid)
    return below


def _reap(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)

"""Runs the functions that a track processor returns in parallel processes, at most one per core.

Generating data takes CPU time, and Python threads do not run in parallel. The processes are forked, so
functions and their arguments need not be picklable: plug-ins pass bound methods, whole tracks and open
readers. Changes that a function makes in memory are lost, as in Rally.
"""

from __future__ import annotations

import contextlib
import fcntl
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.problems import describe_value
from pacenote.model.progress import ProgressCallback
from pacenote.plugins.failures import describe

ParallelCall = tuple[Callable[..., Any], dict[str, Any]]
"""A function and its keyword arguments."""

_PROGRESS_INTERVAL_S = 0.5
"""Seconds between two reports of progress."""


def run_in_parallel(name: str, calls: Sequence[ParallelCall], root: Path, progress: ProgressCallback) -> None:
    """Calls all functions in parallel and waits for them; `name` is their track processor, for messages.

    Calls `progress` with the number of functions that have ended. Raises `TrackError` for a call that is not
    a function with its arguments, and with file and line of the first function that raises; the others are
    terminated.
    """
    for number, call in enumerate(calls, 1):
        _check_call(name, number, call)
    running: dict[Connection, BaseProcess] = {}
    waiting, done = list(calls), 0
    try:
        while waiting or running:
            while waiting and len(running) < len(os.sched_getaffinity(0)):
                reader, process = _start(waiting.pop(0), root)
                running[reader] = process
            progress(f"preparing data: {name}", done, len(calls))
            for ready in wait(list(running), _PROGRESS_INTERVAL_S):
                assert isinstance(ready, Connection)
                _finish(name, ready, running.pop(ready))
                done += 1
    finally:
        for reader, process in running.items():
            process.terminate()
            process.join()
            reader.close()
    progress(f"preparing data: {name}", done, len(calls))


def _check_call(name: str, number: int, call: Any) -> None:
    """Raises `TrackError` if a track processor returned something that cannot be called."""
    is_pair = isinstance(call, tuple | list) and len(call) == 2
    if is_pair and callable(call[0]) and isinstance(call[1], Mapping):
        return
    raise TrackError(
        f"the track processor {name} returned {describe_value(call)} as item {number} of on_prepare_track, "
        "but must return pairs of a function and a dictionary of its arguments"
    )


def _start(call: ParallelCall, root: Path) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(call, root, writer), daemon=True)
    with warnings.catch_warnings():
        # The threads of the parent do not exist in the child and hold no locks that it needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    writer.close()
    return reader, process


def _child(call: ParallelCall, root: Path, writer: Connection) -> None:
    # Ctrl-C is sent to the whole process group; the parent terminates this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # The parent reads this descriptor, and closes it if it is killed.
    signal.set_wakeup_fd(-1)
    _end_with_parent()
    function, arguments = call
    try:
        function(**arguments)
    except BaseException as error:  # Some plug-ins raise errors that are not an `Exception`.
        writer.send(describe(error, root))
    else:
        writer.send("")


def _end_with_parent() -> None:
    """Has the kernel end this process when its parent ends, even if the parent is killed.

    The sentinel of the parent is a pipe, whose reader the kernel notifies with a signal when the parent's end
    is closed. Its default action needs no Python code, so a function that never returns ends too.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel
    fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sentinel, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)
    if wait([sentinel], 0):  # The parent ended before.
        os._exit(1)


def _finish(name: str, reader: Connection, process: BaseProcess) -> None:
    reason = "its process ended unexpectedly"
    with contextlib.closing(reader), contextlib.suppress(EOFError):
        reason = reader.recv()
    process.join()
    if reason:
        raise TrackError(f"the track processor {name} failed: {reason}")

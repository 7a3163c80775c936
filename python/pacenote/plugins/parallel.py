"""Runs what track processors ask for side by side: one process per core, as many as there are calls.

Generating data is work for processors, which threads of Python would not share. The processes are forked, so
that functions and their arguments need not be written down to get there: plug-ins pass bound methods, whole
tracks and open readers. What a call changes in memory is lost, as it is in Rally.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.progress import ProgressCallback
from pacenote.plugins.failures import describe

Work = tuple[Callable[..., Any], dict[str, Any]]
"""A function and its arguments by name."""

_PATIENCE_S = 0.5


def run_in_parallel(name: str, work: Sequence[Work], root: Path, progress: ProgressCallback) -> None:
    """Calls all functions; `name` is what asked for them, `progress` is told how many have ended.

    Raises `TrackError` with file and line of the first that raises; the others are ended.
    """
    running: dict[Connection, BaseProcess] = {}
    waiting, done = list(work), 0
    try:
        while waiting or running:
            while waiting and len(running) < (os.cpu_count() or 1):
                reader, process = _start(waiting.pop(0), root)
                running[reader] = process
            progress(f"preparing data: {name}", done, len(work))
            for ready in wait(list(running), _PATIENCE_S):
                assert isinstance(ready, Connection)
                _take(name, ready, running.pop(ready))
                done += 1
    finally:
        for reader, process in running.items():
            process.terminate()
            process.join()
            reader.close()
    progress(f"preparing data: {name}", done, len(work))


def _start(work: Work, root: Path) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, root, writer), daemon=True)
    with warnings.catch_warnings():
        # Threads of ours that do not live on in the child hold nothing that it needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    writer.close()
    return reader, process


def _child(work: Work, root: Path, writer: Connection) -> None:
    # Ctrl-C reaches the whole group; whoever waits for this process ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    function, arguments = work
    try:
        function(**arguments)
    except BaseException as error:  # Also what is no `Exception`: some plug-ins raise that.
        writer.send(describe(error, root))
    else:
        writer.send("")


def _take(name: str, reader: Connection, process: BaseProcess) -> None:
    reason = "its process died"
    with contextlib.closing(reader), contextlib.suppress(EOFError):
        reason = reader.recv()
    process.join()
    if reason:
        raise TrackError(f"the track processor {name} failed: {reason}")

"""Measures the CPU time of the live display of a race at the rate at which a race reports its progress."""

from __future__ import annotations

import io
import json
import os
import struct
import termios
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from fcntl import ioctl

from msgspec.structs import replace
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.cli.console import Console
from pacenote.cli.output.live_progress import LiveListener
from pacenote.model.race_progress import RaceProgress, TaskProgress, TasksToCome, TimeLeft
from pacenote.race.drive import PROGRESS_INTERVAL_S

_LIMIT_SHARE = 0.2
"""Largest CPU time of the display, as a percentage of a core."""

_SIZES = ((80, 24), (140, 50))
_TASKS = 2
"""Tasks that run at the same time: every line about them changes with each redraw."""


def measure(options: Options) -> Outcome:
    """Draws the progress of two tasks on terminals of two sizes, in the rhythm of a race."""
    figures = []
    for size in _SIZES:
        shares = [_share(size, options.choose(20, 3)) for _ in range(options.choose(6, 1))]
        name = f"CPU time of the display at {size[0]} × {size[1]}"
        figures.append(Figure(name, "% of a core", tuple(shares)))
    return Outcome(
        figures=tuple(figures),
        targets=tuple(Target(figure, _LIMIT_SHARE, at_most=True) for figure in figures),
    )


def _share(size: tuple[int, int], seconds: int) -> float:
    """Returns the CPU time of all that follows the driver's snapshots, as a percentage of a core."""
    with _terminal(size) as (stream, written):
        listener = LiveListener(Console(io.StringIO(), stream))
        # What is imported and computed once belongs to the start of a race.
        listener.progress(_progress(0))
        # A wait in between, because a race leaves the caches to the engine and the driver.
        time.sleep(2 * PROGRESS_INTERVAL_S)
        began, used, number = time.perf_counter(), 0.0, 0
        while time.perf_counter() - began < seconds:
            number += 1
            document = json.dumps(_progress(number).to_document())
            before = time.thread_time()
            listener.progress(RaceProgress.from_json(document))
            used += time.thread_time() - before
            time.sleep(PROGRESS_INTERVAL_S)
        elapsed_s = time.perf_counter() - began
        listener.close()
    if len(written) < seconds:
        raise BenchmarkError(f"the terminal received only {len(written)} texts in {seconds} s")
    return 100 * used / elapsed_s


@contextmanager
def _terminal(size: tuple[int, int]) -> Generator[tuple[io.TextIOWrapper, list[int]], None, None]:
    """Yields a stream to a terminal, and the lengths of what it has received."""
    os.environ["TERM"] = "xterm-256color"
    controller, side = os.openpty()
    ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    received: list[int] = []

    def read() -> None:
        # The controller of a terminal that is closed cannot be read.
        try:
            while data := os.read(controller, 1 << 16):
                received.append(len(data))
        except OSError:
            return

    reader = threading.Thread(target=read)
    with os.fdopen(side, "w", encoding="utf-8") as stream:
        reader.start()
        yield stream, received
    reader.join()
    os.close(controller)


def _progress(number: int) -> RaceProgress:
    """Returns a snapshot of which every figure differs from the one before."""
    search = TaskProgress(
        task="search-0",
        unit="ops",
        warming_up=False,
        done_share=number % 100 / 100,
        rate=50.0 - number % 3,
        p50_ms=5.7 + number % 7 / 10,
        p99_ms=17.0 + number % 11,
        operations=50 * number,
        errors=0,
        eta_s=60.0 - number % 60,
        target=50.0,
        has_latency=True,
        late_p99_ms=0.04 + number % 5 / 100,
    )
    tasks = tuple(replace(search, task=f"search-{each}") for each in range(_TASKS))
    left = TimeLeft(120.0 - number % 60, complete=True)
    to_come = TasksToCome(12, tuple(f"search-{each}" for each in range(_TASKS, _TASKS + 8)))
    elapsed_s = number * PROGRESS_INTERVAL_S
    return RaceProgress(9, 22, elapsed_s, tasks, left=left, to_come=to_come)

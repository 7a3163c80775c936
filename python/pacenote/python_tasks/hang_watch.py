"""Reports code of plug-ins that does not return. If a race could never go on because of it, ends the race, or
the tasks of the code.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import Struct

from pacenote.model.messages import quoted

_INTERVAL_S = 1.0
"""Seconds between two checks."""

REPORTED_AFTER_S = 30.0
"""Seconds after which a call that has not returned is reported."""

FATAL_AFTER_S = 10.0
"""Seconds that a step may wait for its preparation while code of an earlier step does not return."""


PREPARATION_LIMIT_S = 300.0
"""Seconds that one call of a source may take before its step begins. Sources read their data then, so it is
long.
"""

SUPPLY_LIMIT_S = 600.0
"""Seconds that one call of a source or scheduler may take while a client of the running step needs it, and
seconds that a runner may take between two requests if only its operations end its task.
"""


class RunningCode(Struct, frozen=True):
    """Code of a plug-in that has not returned."""

    task: str
    """Name of the task."""

    what: str
    """What runs, such as "runner"."""

    started_s: float
    """When it began, in seconds of the clock."""

    location: str
    """The line of the track that is executed; empty if it is unknown."""

    blocks: bool
    """Whether no other code of this kind can run until it returns."""

    needed: bool = False
    """Whether the step cannot end before it returns."""

    answered_s: float = 0.0
    """When a request that it sent last ended, in seconds of the clock; 0 if none has."""

    @property
    def description(self) -> str:
        """What runs, where, and for which task."""
        where = f" at {self.location}" if self.location else ""
        return f"the {self.what} of task {quoted(self.task)}{where}"


class WatchedRace(Protocol):
    """The race of the watched code, as the bridge to the driver shows it."""

    def preparing_s(self) -> float | None:
        """Returns for how many seconds a step has been waiting for its preparation, or None."""

    def fail(self, reason: str) -> None:
        """Ends the race."""


class HangWatch:
    """Watches the code of plug-ins on a thread of its own."""

    def __init__(
        self,
        race: WatchedRace,
        running: Callable[[], Iterable[RunningCode]],
        begin_without: Callable[[str], None],
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`begin_without` begins a step without the sources that are called for it; its argument is why."""
        self._race = race
        self._running = running
        self._begin_without = begin_without
        self._warn = warn
        self._clock = clock
        self._reported: set[tuple[str, str]] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pacenote-watch", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def end(self) -> None:
        """Ends the thread."""
        self._ended.set()
        self._thread.join()

    def check(self) -> None:
        """Reports code that does not return, once for each task."""
        # Read first, so that code that a preparation has called cannot seem to be older than it.
        now = self._clock()
        preparing_s = self._race.preparing_s()
        for code in self._running():
            ran_s = now - code.started_s
            if code.blocks and preparing_s is not None:
                self._check_preparation(code, ran_s, preparing_s)
            elif code.needed and now - max(code.started_s, code.answered_s) > SUPPLY_LIMIT_S:
                did = "sent a request or returned" if code.answered_s > code.started_s else "returned"
                self._race.fail(
                    f"the step cannot go on: {code.description} has not {did} for {SUPPLY_LIMIT_S:g} s"
                )
            if ran_s > REPORTED_AFTER_S and (code.task, code.what) not in self._reported:
                self._reported.add((code.task, code.what))
                self._warn(f"{code.description} has not returned for {ran_s:.0f} s")

    def _check_preparation(self, code: RunningCode, ran_s: float, preparing_s: float) -> None:
        """Does not let code block the preparation of a step: that of an earlier step, or its own."""
        if ran_s > preparing_s > FATAL_AFTER_S:
            self._race.fail(f"the next step cannot be prepared: {code.description} does not return")
        elif preparing_s >= ran_s > PREPARATION_LIMIT_S:
            self._begin_without(
                f"{code.description} did not return within {PREPARATION_LIMIT_S:g} s before the step began"
            )

    def _run(self) -> None:
        while not self._ended.wait(_INTERVAL_S):
            self.check()

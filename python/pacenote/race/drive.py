"""Lets the Rust core drive a plan: listens to it, stores results as they come, and stops it on request.

Nothing here lies between two requests: the core runs on threads of its own, and this loop only hears of what
has happened.
"""

from __future__ import annotations

import dataclasses
import json
import signal
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from pacenote import _core
from pacenote.errors import DriverError
from pacenote.model.race_listener import RaceListener
from pacenote.model.result import Progress, TaskResult, ValueSummary
from pacenote.store.race_folder import RaceFolder

if TYPE_CHECKING:
    from pacenote.python_tasks.tasks import Program

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a race in order: Ctrl-C, a request to terminate, a terminal that was closed."""

PATIENCE_S = 0.2
"""How long the core is listened to at a time; Ctrl-C is heard in between."""

PROGRESS_S = 0.5
"""How often progress is told."""

GRACE_S = 2.0
"""How long requests under way may take to end after Ctrl-C, before they are dropped as unanswered."""


OBITUARY_S = 2.0
"""How long after a failure the engine's process may take to be seen dead."""


@dataclass(frozen=True, slots=True)
class Drive:
    """What came of driving a plan.

    `summary` are the driver's own figures. `aborted` says which failure ended the race, `error` why the
    driver itself could not go on; both empty when nothing did.
    """

    tasks: tuple[TaskResult, ...]
    summary: Mapping[str, object] = field(default_factory=dict)
    interrupted: bool = False
    aborted: str = ""
    error: str = ""

    @property
    def ended_by_itself(self) -> bool:
        """Whether the whole plan was driven."""
        return not (self.interrupted or self.aborted)


def stopping() -> tuple[signal.Signals, ...]:
    """Those of `STOPPING` that are to be heard: whoever starts a race with `nohup` means it to go on without
    its terminal.
    """
    ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return tuple(number for number in STOPPING if not (ignored and number is signal.SIGHUP))


def drive(
    plan: str,
    folder: RaceFolder,
    alive: Callable[[], str | None] | None,
    listener: RaceListener,
    program: Program | None = None,
) -> Drive:
    """Drives a plan document to its end, whichever way it comes.

    `alive` says why the engine is dead, None while it lives; without it nobody is asked. `program` is what
    Python does in it, if the plan needs Python. Raises DriverError when the core cannot start, StoreError
    when a result cannot be stored; the core has then stopped.
    """
    try:
        driver = _core.Driver(plan, str(folder.path))
    except _core.CoreError as error:
        raise DriverError(str(error)) from None
    listening = _Listening(driver, folder, alive, listener)
    lane = driver.lane()
    if lane is None or program is None:
        return listening.to_the_end()
    # Only races that need Python pay for loading it.
    from pacenote.python_tasks.runtime import LaneRuntime

    with LaneRuntime(lane, program) as runtime:
        listening.values = runtime.values
        return listening.to_the_end()


class _Listening:
    """One race that is listened to."""

    def __init__(
        self,
        driver: _core.Driver,
        folder: RaceFolder,
        alive: Callable[[], str | None] | None,
        listener: RaceListener,
    ) -> None:
        self._driver = driver
        self._folder = folder
        self._alive = alive
        self._listener = listener
        self.values: Callable[[int], Mapping[str, ValueSummary]] = lambda _: {}
        self._tasks: list[TaskResult] = []
        self._summary: dict[str, Any] | None = None
        self._interrupted_at: float | None = None
        self._warned = False
        self._died = ""
        self._told_at = 0.0

    def to_the_end(self) -> Drive:
        with self._heeding_signals():
            try:
                while self._summary is None:
                    self._listen()
            except BaseException:
                # Nobody would hear of what the core goes on doing to the engine.
                self._driver.stop(True)
                raise
        error = str(self._summary.pop("error", None) or "")
        failure = str(self._summary.pop("aborted", None) or "")
        if error or failure:
            self._await_obituary()
        return Drive(
            tasks=tuple(self._tasks),
            summary=self._summary,
            interrupted=self._interrupted_at is not None,
            aborted=self._died or error or failure,
            error=self._died or error,
        )

    @contextmanager
    def _heeding_signals(self) -> Generator[None, None, None]:
        """Ctrl-C sets a mark instead of raising: an exception between hearing of an event and taking it down
        would lose the event.
        """
        try:
            before = {number: signal.signal(number, self._interrupt) for number in stopping()}
        except ValueError:  # Not in the main thread, where signals are not ours to handle.
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _listen(self) -> None:
        for message in self._driver.wait(PATIENCE_S):
            self._take(json.loads(message))
        now = time.monotonic()
        if self._interrupted_at is not None and not self._warned:
            self._warned = True
            self._listener.warning("stopping: requests under way may end; Ctrl-C again drops them")
        if self._summary is None and now - self._told_at >= PROGRESS_S:
            self._told_at = now
            self._look_after_engine()
            self._listener.progress(Progress.from_document(json.loads(self._driver.progress())))
        if self._interrupted_at is not None and now - self._interrupted_at > GRACE_S:
            self._driver.stop(True)

    def _take(self, message: dict[str, Any]) -> None:
        if "finished" in message:
            self._summary = message["finished"]
            return
        result = TaskResult.from_document(message["task_finished"])
        if values := self.values(result.index):
            result = dataclasses.replace(result, values=values)
        self._tasks.append(result)
        self._folder.append(result)
        self._listener.task_finished(result)

    def _await_obituary(self) -> None:
        """A refused connection is how the driver sees a death that the engine's process explains better; its
        sockets close before it has ended.
        """
        deadline = time.monotonic() + OBITUARY_S
        while self._alive is not None and not self._died and time.monotonic() < deadline:
            self._look_after_engine()
            time.sleep(0.05)

    def _look_after_engine(self) -> None:
        if not self._died and self._alive is not None and (reason := self._alive()) is not None:
            self._died = reason
            self._driver.stop(True)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """The first time requests under way may end, the second time nothing is waited for."""
        again = self._interrupted_at is not None
        if not again:
            self._interrupted_at = time.monotonic()
        self._driver.stop(again)

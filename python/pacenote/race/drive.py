"""Driving a plan: starts the Rust core, receives its events, stores results, and stops it on request.

The core sends requests on its own threads; the loop of this module only receives events.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, assert_never

from msgspec import Struct, field, structs
from msgspec.structs import replace

from pacenote import _core
from pacenote.errors import DriverError, StoreError
from pacenote.model.race_listener import DriveListener
from pacenote.model.race_progress import RaceProgress
from pacenote.model.redaction import redact_result
from pacenote.model.result import TaskResult, in_plan_order
from pacenote.model.secrets import redact
from pacenote.race.stop_signals import StopRequests
from pacenote.store.race_folder import RaceFolder

if TYPE_CHECKING:
    from pacenote.python_tasks.tasks import PythonTasks

EVENT_TIMEOUT_S = 0.2
"""Seconds that one call waits for events of the core; signals are handled between calls."""

PROGRESS_INTERVAL_S = 0.5
"""Seconds between two progress reports."""

EXIT_REASON_WAIT_S = 2.0
"""Seconds to wait after a failure for the engine's process to exit, which would explain the failure."""


class DriveResult(Struct, frozen=True):
    """The result of driving a plan."""

    tasks: tuple[TaskResult, ...]
    """Results of the tasks that ended, in the order of the plan."""

    summary: Mapping[str, object] = field(default_factory=dict)
    """The driver's health: threads, samples, clock steps."""

    interrupted: bool = False
    """Whether the user stopped the race."""

    aborted: str = ""
    """The failure that ended the race early; empty if there was none."""

    error: str = ""
    """The reason why the driver or the engine could not continue; empty if they did not fail."""

    defect: bool = False
    """Whether the reason is a defect in the code that serves the track's Python code."""

    @property
    def completed(self) -> bool:
        """Whether the whole plan was driven."""
        return not (self.interrupted or self.aborted)


def drive(
    plan: str,
    folder: RaceFolder,
    exit_reason: Callable[[], str | None] | None,
    listener: DriveListener,
    python_tasks: PythonTasks | None = None,
) -> DriveResult:
    """Drives a plan document until it is done, stopped or failed.

    `exit_reason` returns why the engine has ended, and None while it runs; without this function, exits of
    the engine are not detected. `python_tasks` are the tasks that need Python, or None if there are none.
    If a result cannot be stored, the race is stopped and aborted; the results are returned. Raises
    DriverError if the core cannot start.
    """
    try:
        driver = _core.Driver(plan, str(folder.path))
    except _core.CoreError as error:
        raise DriverError(str(error)) from None
    running = _RunningDriver(driver, folder, exit_reason, listener)
    bridge = driver.bridge()
    if bridge is None or python_tasks is None:
        return running.run()
    # Imported only if the plan needs Python.
    from pacenote.plugins.process_guard import protected_process
    from pacenote.python_tasks.runtime import PythonRuntime

    # The first operation may begin before `run` does, and a signal must not interrupt the start. The runtime
    # ends after the block of signals.
    with protected_process(descriptors=False), contextlib.ExitStack() as ending, running.handled_signals():
        runtime = ending.enter_context(PythonRuntime(bridge, python_tasks, folder.secrets))
        running.complete_result = runtime.complete_result
        driven = running.run()
    return replace(driven, defect=runtime.has_defect)


def is_track_code_left() -> bool:
    """Returns whether Python code of a track did not end after its race. The process must then end without
    freeing its objects.
    """
    # The module is only loaded if the track has such code.
    guard = sys.modules.get("pacenote.plugins.process_guard")
    return guard is not None and guard.is_code_abandoned()


def _without_lost_samples(task: TaskResult, lost: Sequence[Mapping[str, Any]]) -> TaskResult:
    """Returns the result with the samples counted as lost that could not be written after the task ended."""
    for samples in lost:
        if samples["index"] == task.index:
            counts, count = task.samples, samples["count"]
            from_s = min(samples["from_s"], math.inf if counts.from_s is None else counts.from_s)
            counts = structs.replace(
                counts, kept=counts.kept - count, lost=counts.lost + count, from_s=from_s
            )
            task = structs.replace(task, samples=counts)
    return task


class _RunningDriver:
    """The event loop of one race."""

    def __init__(
        self,
        driver: _core.Driver,
        folder: RaceFolder,
        exit_reason: Callable[[], str | None] | None,
        listener: DriveListener,
    ) -> None:
        self._driver = driver
        self._folder = folder
        self._exit_reason = exit_reason
        self._listener = listener
        self.complete_result: Callable[[TaskResult], TaskResult] = lambda result: result
        self._tasks: list[TaskResult] = []
        self._summary: dict[str, Any] | None = None
        self._stops = StopRequests(driver.stop)
        self._engine_failure = ""
        self._store_failure = ""
        self._last_progress_at = 0.0

    def handled_signals(self) -> AbstractContextManager[None]:
        return self._stops.handled()

    def run(self) -> DriveResult:
        with self._stops.handled():
            try:
                while self._summary is None:
                    self._poll()
            except BaseException:
                # Otherwise the core would continue to send requests after this loop has ended.
                self._driver.stop(True)
                raise
        secrets = self._folder.secrets
        error = redact(str(self._summary.pop("error", None) or ""), secrets) or self._store_failure
        failure = redact(str(self._summary.pop("aborted", None) or ""), secrets)
        if error or failure:
            self._wait_for_exit_reason()
        lost = self._summary.pop("lost_samples", ())
        return DriveResult(
            tasks=in_plan_order(_without_lost_samples(task, lost) for task in self._tasks),
            summary=self._summary,
            interrupted=self._stops.requested,
            aborted=self._engine_failure or error or failure,
            error=self._engine_failure or error,
        )

    def _poll(self) -> None:
        for event in self._driver.wait(EVENT_TIMEOUT_S):
            self._handle_event(event)
        now = time.monotonic()
        for text in self._stops.new_messages():
            self._listener.warning(text)
        if self._summary is None and now - self._last_progress_at >= PROGRESS_INTERVAL_S:
            self._last_progress_at = now
            self._check_engine()
            self._listener.progress(RaceProgress.from_json(self._driver.progress()))
        self._stops.enforce()

    def _handle_event(self, event: _core.TaskFinished | _core.RaceFinished) -> None:
        match event:
            case _core.RaceFinished():
                self._summary = json.loads(event.summary)
            case _core.TaskFinished():
                self._finish_task(TaskResult.from_document(json.loads(event.result)))
            case _:
                assert_never(event)

    def _finish_task(self, result: TaskResult) -> None:
        result = redact_result(self.complete_result(result), self._folder.secrets)
        self._tasks.append(result)
        try:
            self._folder.append(result)
        except StoreError as error:
            # The results are still written with the final record, for which room is reserved.
            self._store_failure = self._store_failure or error.message
            self._driver.stop(True)
        self._listener.task_finished(result)

    def _wait_for_exit_reason(self) -> None:
        """Waits for the engine's process to exit.

        Its sockets close before it exits, so the driver first reports a refused connection, which the exit
        explains.
        """
        deadline = time.monotonic() + EXIT_REASON_WAIT_S
        while self._exit_reason is not None and not self._engine_failure and time.monotonic() < deadline:
            self._check_engine()
            time.sleep(0.05)

    def _check_engine(self) -> None:
        if self._engine_failure or self._exit_reason is None:
            return
        if (reason := self._exit_reason()) is not None:
            self._engine_failure = reason
            self._driver.stop(True)

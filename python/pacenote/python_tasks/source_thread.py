"""The thread that runs only the sources and schedulers of plug-ins.

Sources are called in turn, for one operation each. For operations of the driver, they are called ahead of
time while its queues have room; for runners, when the previous operation has ended. With a scheduler, a
source is only called after the scheduler, which may read and change the source. Because there is one thread,
code of plug-ins need not be thread-safe.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, assert_never

from msgspec import Struct

from pacenote._core import (
    ClientEnded,
    ClientId,
    CountUnsent,
    OperationEnded,
    PrepareStep,
    PythonBridge,
    StepEnded,
)
from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.model.printable import encodable
from pacenote.operations.registry import resolve_type
from pacenote.operations.supplied import EncodedOperation, OperationSupplier
from pacenote.operations.supplied_bulk import InvalidSourceParams
from pacenote.plugins.failures import describe
from pacenote.plugins.plugin_registry import completes_task
from pacenote.plugins.process_guard import ProcessGuard
from pacenote.plugins.rally_api.type_sources import ConstantParamSource
from pacenote.python_tasks.delays import FailedSources, SchedulerDelays, UncountedBacklogs
from pacenote.python_tasks.messages import (
    ParamsConsumed,
    RunnerEnded,
    RunnerStarted,
    ScheduleQuery,
    Shutdown,
    SourceMessage,
)
from pacenote.python_tasks.schedulers import (
    InvalidDueTime,
    Scheduler,
    build_scheduler,
    built_in_scheduler,
    due_time,
)
from pacenote.python_tasks.sources import (
    build_source,
    is_endless,
    next_params,
    partition,
    source_name,
)
from pacenote.python_tasks.tasks import PythonTask, PythonTasks

_MIN_SLEEP_S, _MAX_SLEEP_S = 0.0005, 0.016
"""Seconds to sleep when all queues are full; doubled each time."""

_COUNTING_TIMEOUT_S = 1.0
"""Seconds in which the schedulers of a task count the operations that were due at its end."""

_MAX_COUNTED = 100_000
"""Largest number of such operations of one client."""

_FILL_TIMEOUT_S = 1.0
"""Seconds to fill queues before a step begins; every client always gets its first operation."""


class ParamsReceiver(Protocol):
    """Receives parameters for runners. Called from the thread of sources."""

    def deliver(self, client: ClientId, params: Mapping[str, Any]) -> None:
        """Delivers the parameters of a client's next operation."""

    def deliver_constant(self, client: ClientId, params: Mapping[str, Any], operations: int | None) -> None:
        """Delivers the parameters of all operations of a client; `operations` limits them unless None."""

    def exhaust(self, client: ClientId) -> None:
        """Declares that no parameters follow those delivered."""

    def fail(self, error: BaseException) -> None:
        """Ends the race, because the thread cannot continue."""


class SourceState(Struct):
    """The source and the scheduler of one client of a task."""

    task: PythonTask
    """The task."""

    client: ClientId
    """The client."""

    source: Any
    """The parameter source, partitioned for the client."""

    scheduler: Scheduler | None
    """Determines when operations are due, or None if the driver determines it."""

    max_operations: int | None
    """Maximum number of operations that the source supplies, or None if not limited."""

    supplied: int = 0
    """Number of operations that the source has supplied."""

    ahead: int = 0
    """Number of supplied operations that the runner has not completed."""

    due_s: float = 0.0
    """Due time of the scheduler's last operation, in seconds since the task began."""

    scheduled: int = 0
    """Number of due times that the scheduler has determined."""

    ended: bool = False
    """Whether the source supplies no further operations."""

    is_complete: bool = True
    """Whether the scheduler has never gone back in time; otherwise, what was due is unknown."""


class PluginCall(Struct, frozen=True):
    """A call of a plug-in's source or scheduler."""

    task: PythonTask
    """The task to which it belongs."""

    started_s: float
    """When it began, in seconds of `time.perf_counter`."""


class SourceThread:
    """Builds and calls sources and schedulers; takes messages from any thread."""

    def __init__(self, bridge: PythonBridge, tasks: PythonTasks, receiver: ParamsReceiver) -> None:
        self._bridge = bridge
        self._tasks = tasks
        self._receiver = receiver
        self._messages: queue.SimpleQueue[SourceMessage] = queue.SimpleQueue()
        self._clients: dict[ClientId, SourceState] = {}
        self._suppliers: dict[int, OperationSupplier] = {}
        self._started: dict[int, float] = {}
        self._units: dict[int, str] = {}
        self._counting_until: dict[int, float] = {}
        self._call: PluginCall | None = None
        self._preparing: int | None = None
        self._ended_clients: set[ClientId] = set()
        self._source_s = 0.0
        self._source_since: float | None = None
        self._sleep_s = _MIN_SLEEP_S
        self._guard = ProcessGuard()
        self.delays = SchedulerDelays()
        """Waits of operations for schedulers."""
        self.backlogs = UncountedBacklogs()
        """Tasks whose schedulers could not be asked for all operations that were due."""
        self.failed = FailedSources()
        """Clients whose sources or schedulers failed."""
        self._thread = threading.Thread(target=self._run, name="pacenote-sources", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def send(self, message: SourceMessage) -> None:
        """Sends the thread a message."""
        if isinstance(message, ClientEnded):
            # Noted here too, because the thread may not return from code of a plug-in.
            self._ended_clients.add(message.client)
        self._messages.put(message)

    def join(self, timeout_s: float) -> bool:
        """Waits for the thread to end, and returns False if it is still running because of plug-in code."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def thread_id(self) -> int | None:
        """The identifier of the thread."""
        return self._thread.ident

    @property
    def call(self) -> PluginCall | None:
        """The call of a plug-in that has not returned, or None."""
        return self._call

    @property
    def is_needed(self) -> bool:
        """Whether a client that has not ended needs further operations or due times."""
        states = list(self._clients.values())
        return any(not state.ended and state.client not in self._ended_clients for state in states)

    @property
    def source_s(self) -> float:
        """Seconds that the thread has spent in sources, including the call that has not returned."""
        since, source_s = self._source_since, self._source_s
        return source_s if since is None else source_s + time.perf_counter() - since

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as error:
            self._receiver.fail(error)
            raise

    def _serve(self) -> None:
        while True:
            active = self._supply_in_turn()
            while (message := self._next_message(active)) is not None:
                if isinstance(message, Shutdown):
                    return
                self._on_message(message)
                active = True

    def _next_message(self, active: bool) -> SourceMessage | None:
        """Returns the next message; waits for one if there is nothing to supply."""
        try:
            if active:
                self._sleep_s = _MIN_SLEEP_S
                return self._messages.get_nowait()
            if not any(state.task.queued and _may_supply(state) for state in self._clients.values()):
                return self._messages.get()
            self._sleep_s = min(self._sleep_s * 2, _MAX_SLEEP_S)
            return self._messages.get(timeout=self._sleep_s)
        except queue.Empty:
            return None

    def _on_message(self, message: SourceMessage) -> None:
        match message:
            case ParamsConsumed():
                self._on_params_consumed(message)
            case ScheduleQuery():
                self._on_schedule_next(message)
            case CountUnsent():
                self._on_count_unsent(message)
            case RunnerStarted():
                self._on_runner_started(message)
            case RunnerEnded():
                self._on_runner_ended(message)
            case OperationEnded():
                self._on_operation_ended(message)
            case ClientEnded():
                self._clients.pop(message.client, None)
            case PrepareStep():
                self._prepare_step(message.step)
            case StepEnded():
                self._end_step(message.step)
            case Shutdown():
                pass
            case _:
                assert_never(message)

    def begin_without(self, reason: str) -> None:
        """Begins the step that is prepared without the sources and schedulers that are called on this thread.

        Called on a different thread, while code of a plug-in does not return. Their clients fail with
        `reason`.
        """
        if (step := self._preparing) is None:
            return
        for task in filter(None, map(self._tasks.tasks.get, self._tasks.steps[step])):
            for client in (ClientId(task.index, number) for number in range(task.task.clients)):
                state = self._clients.get(client)
                # It has ended if its runner has all parameters that it needs.
                if state is None or not state.ended:
                    self._fail(client, encodable(reason))
                if state is not None:
                    state.ended = True
        self._bridge.prepared(step, None)

    def _prepare_step(self, step: int) -> None:
        self._preparing = step
        for index in self._tasks.steps[step]:
            task = self._tasks.tasks.get(index)
            if task is not None:
                self._build(task)
        # Queues are filled before the measurement starts, unless that takes too long.
        until = time.perf_counter() + _FILL_TIMEOUT_S
        while self._supply_in_turn() and time.perf_counter() < until:
            pass
        self._preparing = None
        self._bridge.prepared(step, None)

    def _build(self, task: PythonTask) -> None:
        clients = task.task.clients
        self._call = PluginCall(task, time.perf_counter())
        try:
            source = build_source(self._tasks.registry, self._tasks.track, task.rally_task)
            for client in range(clients):
                self._call = PluginCall(task, time.perf_counter())
                self._add_client(task, ClientId(task.index, client), partition(source, client, clients))
            if task.queued:
                operation_type = resolve_type(task.task.operation.type)
                self._suppliers[task.index] = OperationSupplier(operation_type, self._tasks.context)
        except BaseException as error:  # Some plug-ins raise errors that are not an `Exception`.
            for client in range(clients):
                client_id = ClientId(task.index, client)
                self._clients.pop(client_id, None)
                self._fail(client_id, self._describe(task, error))
        finally:
            self._call = None
        self._guard.end_if_copied()

    def _add_client(self, task: PythonTask, client: ClientId, source: Any) -> None:
        scheduler = self._build_scheduler(task, client, source) if task.scheduled else None
        operations = task.max_operations
        if operations is None and self._supplies_single_operation(task, source):
            operations = task.warmup + 1
        state = SourceState(task, client, source, scheduler, operations)
        if task.has_runner and scheduler is None and isinstance(source, ConstantParamSource):
            # The source need not be called again, so the runner does not have to wait for this thread.
            params = {**source.params(), "operation-type": task.task.operation.type}
            self._receiver.deliver_constant(client, params, operations)
            state.ended = True
        self._clients[client] = state

    def _supplies_single_operation(self, task: PythonTask, source: Any) -> bool:
        if not (task.single_operation and is_endless(source)):
            return False
        return task.warmup > 0 or not self._completes_task(task)

    def _build_scheduler(self, task: PythonTask, client: ClientId, source: Any) -> Scheduler:
        registered = self._tasks.registry.schedulers.get(task.task.schedule)
        if registered is None:
            return built_in_scheduler(task.rally_task, client.client, self._tasks.seed)
        return build_scheduler(registered, task.rally_task, source)

    def _completes_task(self, task: PythonTask) -> bool:
        runner = self._tasks.registry.runners.get(task.task.operation.type)
        if runner is not None:
            return completes_task(runner)
        return task.has_runner and resolve_type(task.task.operation.type).completes_task

    def _end_step(self, step: int) -> None:
        ended = set(self._tasks.steps[step])
        self._clients = {client: state for client, state in self._clients.items() if client.task not in ended}
        self._suppliers = {
            index: supplier for index, supplier in self._suppliers.items() if index not in ended
        }
        self._counting_until = {}

    def _on_params_consumed(self, message: ParamsConsumed) -> None:
        state = self._clients.get(message.client)
        if state is not None:
            state.ahead -= 1

    def _supply_in_turn(self) -> bool:
        """Supplies one operation to each client that has room, and returns False if no client had room."""
        active = False
        for state in list(self._clients.values()):
            if _may_supply(state) and self._has_room(state):
                self._guarded(state, partial(self._supply_or_end, state))
                active = True
        return active

    def _has_room(self, state: SourceState) -> bool:
        return state.ahead < 1 if state.task.has_runner else self._bridge.free_slots(state.client) > 0

    def _supply_or_end(self, state: SourceState) -> None:
        if not self._supply(state) or state.supplied == state.max_operations:
            state.ended = True
            if state.task.has_runner:
                self._receiver.exhaust(state.client)
            else:
                self._bridge.finish(state.client, None)

    def _supply(self, state: SourceState) -> bool:
        """Supplies the next operation, and returns False if there is none."""
        if state.supplied == state.max_operations:
            return False
        params = self._next_params(state.source)
        if params is None:
            return False
        state.supplied += 1
        if state.task.has_runner:
            state.ahead += 1
            if isinstance(params, dict):
                params["operation-type"] = state.task.task.operation.type
            self._receiver.deliver(state.client, params)
        elif state.task.queued:
            operation = self._suppliers[state.task.index].supply(params)
            self._check_unit(state.task, operation)
            self._bridge.enqueue(state.client, operation.document, operation.body)
        return True

    def _next_params(self, source: Any) -> Mapping[str, Any] | None:
        started = self._source_since = time.perf_counter()
        try:
            return next_params(source)
        finally:
            self._source_since = None
            self._source_s += time.perf_counter() - started

    def _check_unit(self, task: PythonTask, operation: EncodedOperation) -> None:
        """Raises `TrackError` if an operation counts its work in another unit than the first one of its task.

        The work of a bulk is its documents, whatever its source calls them.
        """
        unit = self._units.setdefault(task.index, operation.unit)
        if operation.unit != unit and operation.body is None:
            raise TrackError(
                f"returned an operation that counts {operation.unit} after one that counts {unit}: all "
                "operations of a task must have the same unit"
            )

    def _on_schedule_next(self, message: ScheduleQuery) -> None:
        """Calls the scheduler for the time of the next operation, then the source for its parameters."""
        state = self._clients.get(message.client)
        if state is None or state.ended or state.scheduler is None:
            self._bridge.schedule(message.query_id, None)
            return
        scheduler = state.scheduler
        self._guarded(state, lambda: self._schedule(state, scheduler, message))

    def _schedule(self, state: SourceState, scheduler: Scheduler, query: ScheduleQuery) -> None:
        started = self._started.setdefault(state.task.index, time.perf_counter())
        if not self._advance(state, scheduler):
            state.ended = True
            self._bridge.schedule(query.query_id, None)
            return
        elapsed = time.perf_counter() - started
        # An offset of 0 also means immediately for the driver.
        due_s = max(state.due_s, 0.0)
        if not state.task.has_runner:
            # The driver sends the operation at that time; runners report their start with `RunnerStarted`.
            scheduler.before_request(started + max(due_s, elapsed))
        if due_s > 0:
            # An operation that is due immediately cannot be late.
            now = time.perf_counter()
            self.delays.add(state.client.task, max(0.0, now - max(query.read_s, started + due_s)))
        self._bridge.schedule(query.query_id, due_s)

    def _advance(self, state: SourceState, scheduler: Scheduler) -> bool:
        """Advances to the next operation, and returns False if source or scheduler have ended."""
        try:
            next_s = due_time(scheduler.next(state.due_s))
        except StopIteration:
            return False
        if 0 < next_s < state.due_s:
            state.is_complete = False
        state.due_s = next_s
        state.scheduled += 1
        return self._supply(state) if state.task.queued or state.task.has_runner else True

    def _on_count_unsent(self, message: CountUnsent) -> None:
        """Asks the scheduler which operations were due before the end of its client."""
        state, unsent = self._clients.get(message.client), _UnsentCount(message.warmup_s)
        if state is not None and not state.ended and state.scheduler is not None:
            now, index = time.perf_counter(), state.task.index
            until = self._counting_until.setdefault(index, now + _COUNTING_TIMEOUT_S)
            self._guarded(state, partial(_count_due, unsent, state, message, until))
            if not (unsent.is_complete and state.is_complete):
                self.backlogs.add(index)
        self._bridge.count_unsent(message.query_id, unsent.total, unsent.warmup)

    def _on_runner_started(self, message: RunnerStarted) -> None:
        self._call_scheduler(message.client, lambda scheduler: scheduler.before_request(message.started_s))

    def _on_runner_ended(self, message: RunnerEnded) -> None:
        self._call_scheduler(
            message.client,
            lambda scheduler: scheduler.after_request(
                message.ended_s, message.weight, message.unit, message.meta
            ),
        )

    def _on_operation_ended(self, message: OperationEnded) -> None:
        meta: dict[str, Any] = {"success": True}
        if not message.success:
            meta = {"success": False, "error-description": message.error}
        started = self._started.get(message.client.task, time.perf_counter())
        ended_s = started + message.seconds_since_start
        self._call_scheduler(
            message.client,
            lambda scheduler: scheduler.after_request(ended_s, message.weight, message.unit, meta),
        )

    def _call_scheduler(self, client: ClientId, call: Callable[[Scheduler], object]) -> None:
        state = self._clients.get(client)
        if state is not None and state.scheduler is not None and not state.ended:
            scheduler = state.scheduler
            self._guarded(state, lambda: call(scheduler))

    def _guarded(self, state: SourceState, call: Callable[[], object]) -> None:
        """Calls code of a plug-in; an error only ends this client."""
        self._call = PluginCall(state.task, time.perf_counter())
        try:
            call()
        except BaseException as error:  # Some plug-ins raise errors that are not an `Exception`.
            state.ended = True
            self._fail(state.client, self._describe(state.task, error))
        finally:
            self._call = None
        self._guard.end_if_copied()

    def _fail(self, client: ClientId, reason: str) -> None:
        """Ends the task of a client whose source or scheduler failed."""
        self.failed.add(client.task)
        self._bridge.finish(client, reason)

    def _describe(self, task: PythonTask, error: BaseException) -> str:
        name = source_name(task.rally_task)
        if isinstance(error, InvalidDueTime):
            return encodable(f"scheduler {quoted(str(task.task.schedule))} {error.message}")
        if isinstance(error, InvalidSourceParams | TrackError):
            return encodable(f"{name} {error.message}")
        what = "scheduler or " if task.scheduled else ""
        return encodable(f"{what}{name} failed: {describe(error, self._tasks.root)}")


class _UnsentCount(Struct):
    """Numbers of operations that were due and did not begin."""

    warmup_s: float
    """When the warm-up ends, in seconds since the task began."""

    total: int = 0
    """All of them."""

    warmup: int = 0
    """Those that belong to the warm-up."""

    is_complete: bool = True
    """Whether these are all."""

    def add(self, due_s: float) -> None:
        """Counts an operation that was due at this time, in seconds since the task began."""
        self.total += 1
        self.warmup += due_s < self.warmup_s


def _count_due(unsent: _UnsentCount, state: SourceState, message: CountUnsent, until: float) -> None:
    """Adds the operations of a client with a scheduler that were due before its end and did not begin.

    Stops at `until`, in seconds of `time.perf_counter`, or if the scheduler goes back in time: the number may
    then be too small.
    """
    assert state.scheduler is not None
    due_s = state.due_s
    # The driver has not received the last operation. If it is due immediately, it is not late: it follows the
    # one before it.
    if state.scheduled > message.received and 0 < due_s < message.ended_s:
        unsent.add(due_s)
    while unsent.total < message.limit:
        if unsent.total >= _MAX_COUNTED or time.perf_counter() >= until:
            unsent.is_complete = False
            return
        try:
            next_s = due_time(state.scheduler.next(due_s))
        except StopIteration:
            return
        # An operation that is due immediately is not late.
        if next_s <= 0 or next_s >= message.ended_s:
            return
        if next_s < due_s:
            unsent.is_complete = False
            return
        due_s = next_s
        unsent.add(due_s)


def _may_supply(state: SourceState) -> bool:
    """Returns whether the source is called without waiting for a scheduler."""
    return not state.ended and state.scheduler is None and (state.task.queued or state.task.has_runner)

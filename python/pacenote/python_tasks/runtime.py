"""Runs the tasks of a race that need Python: the event loop for runners, and the thread for sources.

`PythonRuntime` reads the driver's events on the event loop's thread and passes those for sources and
schedulers on to `source_thread`.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote._core import (
    ClientEnded,
    ClientId,
    CountUnsent,
    OperationEnded,
    OperationExecuted,
    PrepareStep,
    PythonBridge,
    RaceEnded,
    RequestFailed,
    ResponseReceived,
    RunOperation,
    ScheduleNext,
    StepEnded,
)
from pacenote.model.result import TaskResult
from pacenote.plugins.failures import coroutine_location, describe, describe_defect, thread_location
from pacenote.plugins.process_guard import ProcessGuard, abandon
from pacenote.plugins.rally_api.failed_requests import FAILED_REQUESTS, FailedRequests
from pacenote.plugins.rally_api.request_context import CURRENT_CONTEXT, RequestContext
from pacenote.python_tasks.delays import EventLoopDelays, ReturnedWork
from pacenote.python_tasks.details import details_json
from pacenote.python_tasks.hang_watch import HangWatch, RunningCode
from pacenote.python_tasks.messages import (
    BridgeEvent,
    ParamsConsumed,
    RunnerEnded,
    RunnerStarted,
    ScheduleQuery,
    Shutdown,
)
from pacenote.python_tasks.request_router import OWNER, Owner, RequestRouter
from pacenote.python_tasks.results import ReturnedResults, TaskUnits
from pacenote.python_tasks.runner_executor import RunnerExecutor
from pacenote.python_tasks.runner_faults import RunnerFaults
from pacenote.python_tasks.source_thread import SourceThread
from pacenote.python_tasks.tasks import PythonTasks

_LISTEN_INTERVAL_S = 1.0
"""Seconds after which the reader of the driver's events is added again."""

_EVENTS_TIMEOUT_S = 1.0
"""Seconds that the result of a task waits for the events of its clients."""

_SHUTDOWN_TIMEOUT_S = 5.0
"""Seconds that code of a plug-in may take to end after the race."""


class _Params(Struct, frozen=True):
    """Parameters of an operation."""

    values: Mapping[str, Any]
    """The parameters."""

    source_s: float = 0.0
    """Seconds that the thread of sources had spent in sources when they were delivered."""


class _RunnerState(Struct):
    """The runner of one client: its parameters, and the query that waits for them."""

    params: deque[_Params] = field(default_factory=deque)
    """Parameters of the next operations."""

    constant_params: Mapping[str, Any] | None = None
    """Parameters of all operations, if they are constant."""

    operations_left: int | None = None
    """Number of further operations with the constant parameters, or None if not limited."""

    query: RunOperation | None = None
    """The driver's query that has not been started."""

    queried_s: float = 0.0
    """When the driver sent it, in seconds of `time.perf_counter`."""

    source_s: float = 0.0
    """Seconds that the thread of sources had spent in sources when the query was read."""

    exhausted: bool = False
    """Whether all parameters have been delivered."""

    task: asyncio.Task[None] | None = None
    """The running operation."""

    started_s: float = 0.0
    """When it began, in seconds of `time.perf_counter`."""


class _DaemonExecutor(ThreadPoolExecutor):
    """Default executor of the event loop: a daemon thread per call, so that calls do not keep the
    process alive.
    """

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Calls a function on a new thread."""
        future: Future[Any] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*arguments, **named))
            except BaseException as error:  # The error is raised where the result is awaited.
                future.set_exception(error)

        threading.Thread(target=call, name="pacenote-helper", daemon=True).start()
        return future


class PythonRuntime:
    """Runs sources, runners and schedulers from the beginning of a race to its end."""

    def __init__(
        self, bridge: PythonBridge, tasks: PythonTasks, secrets: frozenset[str] = frozenset()
    ) -> None:
        """`secrets` are removed from the units and details of results, which the driver stores."""
        self._bridge = bridge
        self._tasks = tasks
        self._loop = asyncio.new_event_loop()
        self._router = RequestRouter(bridge)
        self._runners = RunnerExecutor(self._router, tasks)
        self._sources = SourceThread(bridge, tasks, self)
        self._clients: dict[ClientId, _RunnerState] = {}
        self._returned: dict[int, ReturnedResults] = {}
        self._units = TaskUnits(secrets)
        self._secrets = secrets
        self._delays = EventLoopDelays(tasks.alone())
        self._work = ReturnedWork()
        self._faults = RunnerFaults()
        self._watch = HangWatch(bridge, self._running_code, self._sources.begin_without, tasks.warn)
        self._race_ended = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._left: set[asyncio.Task[Any]] = set()
        self._guard = ProcessGuard()
        self._loop.set_exception_handler(self._on_unhandled_error)
        self.has_defect = False
        """Whether the race was ended by an error in the code of this package."""
        self._warned = False
        self._warned_tasks: set[int] = set()
        self._thread = threading.Thread(target=self._run, name="pacenote-python", daemon=True)

    def __enter__(self) -> Self:
        self._sources.start()
        self._thread.start()
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends both threads, even if the driver did not report the end of the race."""
        self._watch.end()
        self._sources.send(Shutdown())
        if not self._loop.is_closed():
            self._call_soon(self._race_ended.set)
        self._thread.join(_SHUTDOWN_TIMEOUT_S)
        sources_ended = self._sources.join(_SHUTDOWN_TIMEOUT_S)
        if self._thread.is_alive() or not sources_ended or self._left:
            abandon([self])
            running = ", ".join([*(code.description for code in self._running_code()), *self._left_code()])
            self._tasks.warn(
                f"Python code of the track is still running and was abandoned{running and f': {running}'}"
            )

    def _left_code(self) -> Iterator[str]:
        """Yields the lines at which coroutines wait that did not end when they were cancelled."""
        lines = {coroutine_location(task.get_coro(), self._tasks.root) for task in self._left}
        yield from (f"a coroutine at {line}" for line in sorted(lines) if line)

    def complete_result(self, result: TaskResult) -> TaskResult:
        """Returns the driver's result of a task with what the task's runners returned."""
        task = self._tasks.tasks.get(result.index)
        if task is not None and task.has_runner:
            self._await_events()
        returned = self._returned.get(result.index)
        result = result if returned is None else returned.add_to(result)
        for text in self._faults.warnings(result):
            self._tasks.warn(text)
        sources = self._sources
        for part in (
            self._faults,
            self._delays,
            self._work,
            sources.delays,
            sources.backlogs,
            sources.failed,
        ):
            result = part.add_to(result)
        return result

    def _await_events(self) -> None:
        """Waits until the events are handled that the driver has sent until now, unless code of a plug-in
        blocks the event loop.
        """
        handled = threading.Event()

        def handle() -> None:
            self._read_events()
            handled.set()

        self._call_soon(handle)
        until = time.perf_counter() + _EVENTS_TIMEOUT_S
        while not (handled.wait(0.01) or self._loop.is_closed()) and time.perf_counter() < until:
            pass

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_default_executor(_DaemonExecutor())
        try:
            self._run_until_ended()
        except BaseException as error:
            self.fail(error)
        finally:
            self._left = asyncio.all_tasks(self._loop) - {self._serving}
            # Errors of tasks that nothing awaited are reported when the tasks are freed.
            gc.collect()
            asyncio.set_event_loop(None)
            self._loop.close()

    def _run_until_ended(self) -> None:
        """Runs the loop until the race has ended, whatever code of plug-ins does to it.

        Such code may stop the loop, cancel all of its tasks, or call `sys.exit` in a task that it started.
        """
        self._listen()
        while self._serving is None or not self._serving.done():
            serving = self._serving = self._serving or self._loop.create_task(self._serve())
            try:
                self._loop.run_until_complete(serving)
            except (SystemExit, KeyboardInterrupt):
                continue
            except asyncio.CancelledError:
                self._serving = None
            except RuntimeError:
                if serving.done() or self._loop.is_closed():
                    raise

    def _listen(self) -> None:
        """Reads the driver's events from now on; repeated, because code of plug-ins may remove the reader.

        Events that were queued before the reader was added keep the descriptor readable.
        """
        if not self._race_ended.is_set():
            self._loop.add_reader(self._bridge.fileno(), self._read_events)
            self._loop.call_later(_LISTEN_INTERVAL_S, self._listen)

    async def _serve(self) -> None:
        await self._race_ended.wait()
        self._loop.remove_reader(self._bridge.fileno())
        # This includes tasks that runners have started and not awaited.
        if running := self._cancel_tasks():
            await asyncio.wait(running, timeout=_SHUTDOWN_TIMEOUT_S / 2)
        await self._runners.close()

    def _cancel_tasks(self) -> set[asyncio.Task[Any]]:
        """Cancels what plug-ins have started on the loop and not awaited, and returns it."""
        running = asyncio.all_tasks(self._loop) - {self._serving}
        for task in running:
            self._runners.cancel(task)
        return running

    def _read_events(self) -> None:
        try:
            for event in self._bridge.events():
                self._on_event(event)
        except Exception as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Ends the race after an error in the code of this package. Without this, the driver would wait."""
        self.has_defect = True
        self._bridge.fail(describe_defect(error, self._tasks.root))

    def _on_event(self, event: BridgeEvent) -> None:
        match event:
            case ResponseReceived() | RequestFailed() | OperationExecuted():
                self._router.on_answer(event)
            case RunOperation():
                state = self._state(event.client)
                state.query, state.source_s = event, self._sources.source_s
                state.queried_s = time.perf_counter() - event.waited_s
                self._start_operation(event.client, state)
            case PrepareStep():
                self._runners.prepare(self._tasks.steps[event.step])
                self._sources.send(event)
            case ClientEnded():
                self._on_client_ended(event.client)
                self._sources.send(event)
            case ScheduleNext():
                self._sources.send(ScheduleQuery(event.client, event.query_id, time.perf_counter()))
            case CountUnsent() | OperationEnded():
                self._sources.send(event)
            case StepEnded():
                self._sources.send(event)
                self._end_step(event.step)
            case RaceEnded():
                self._race_ended.set()
            case _:
                assert_never(event)

    def _on_client_ended(self, client: ClientId) -> None:
        """Ends what the runner of a client has left behind: the driver does not wait for it any longer."""
        state = self._clients.get(client)
        is_running = state is not None and state.task is not None and not state.task.done()
        self._faults.add_unfinished(client.task, self._router.unanswered(client), awaited=is_running)
        if state is not None and state.task is not None and is_running:
            self._warn_of_task(client.task, f"{self._code_of(client, state).description} was cancelled")
            self._runners.cancel(state.task)

    def _warn_of_task(self, task: int, text: str) -> None:
        """Warns about a task, once."""
        if task not in self._warned_tasks:
            self._warned_tasks.add(task)
            self._tasks.warn(text)

    def _running_code(self) -> list[RunningCode]:
        """Returns the code of plug-ins that has not returned, except runners that wait for a request."""
        running_code = []
        if (call := self._sources.call) is not None:
            what = "scheduler or parameter source" if call.task.scheduled else "parameter source"
            location = thread_location(self._sources.thread_id, self._tasks.root)
            code = RunningCode(call.task.task.name, what, call.started_s, location, blocks=True)
            running_code.append(replace(code, needed=self._sources.is_needed))
        for client, state in list(self._clients.items()):
            if state.task is not None and not state.task.done():
                code = self._code_of(client, state)
                if code.blocks or not self._router.in_flight(client):
                    needed = self._tasks.tasks[client.task].only_ends_itself
                    running_code.append(
                        replace(code, needed=needed, answered_s=self._router.answered_s(client))
                    )
        return running_code

    def _code_of(self, client: ClientId, state: _RunnerState) -> RunningCode:
        coroutine: Any = None if state.task is None else state.task.get_coro()
        blocks = bool(getattr(coroutine, "cr_running", False))
        root = self._tasks.root
        location = (
            thread_location(self._thread.ident, root) if blocks else coroutine_location(coroutine, root)
        )
        name = self._tasks.tasks[client.task].task.name
        return RunningCode(name, "runner", state.started_s, location, blocks)

    def _on_unhandled_error(self, _loop: object, context: Mapping[str, Any]) -> None:
        """Warns about the first error that the code of a plug-in does not handle and no operation reports."""
        if not self._warned:
            self._warned = True
            error = context.get("exception")
            text = describe(error, self._tasks.root) if error is not None else str(context.get("message"))
            self._tasks.warn(f"the track's Python code does not handle an error in the background: {text}")

    def _end_step(self, step: int) -> None:
        ended = set(self._tasks.steps[step])
        self._clients = {client: state for client, state in self._clients.items() if client.task not in ended}
        self._runners.end_tasks(ended)
        self._router.end_tasks(ended)
        # The next step has not begun, so all tasks are left over.
        self._cancel_tasks()

    def deliver(self, client: ClientId, params: Mapping[str, Any]) -> None:
        """Delivers the parameters of a client's next operation. Called from the thread of sources."""
        self._call_soon(self._on_params, client, _Params(params, self._sources.source_s))

    def deliver_constant(self, client: ClientId, params: Mapping[str, Any], operations: int | None) -> None:
        """Delivers the parameters of all operations of a client; `operations` limits them unless None."""
        self._call_soon(self._on_constant_params, client, params, operations)

    def exhaust(self, client: ClientId) -> None:
        """Declares that no parameters follow those delivered. Called from the thread of sources."""
        self._call_soon(self._on_exhausted, client)

    def _call_soon(self, callback: Callable[..., object], *arguments: Any) -> None:
        def call() -> None:
            try:
                callback(*arguments)
            except Exception as error:
                self.fail(error)

        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            # The loop has been closed, so there are no operations left.
            return

    def _on_params(self, client: ClientId, params: _Params) -> None:
        state = self._state(client)
        state.params.append(params)
        self._start_operation(client, state)

    def _on_constant_params(
        self, client: ClientId, params: Mapping[str, Any], operations: int | None
    ) -> None:
        state = self._state(client)
        state.constant_params, state.operations_left = params, operations
        self._start_operation(client, state)

    def _on_exhausted(self, client: ClientId) -> None:
        state = self._state(client)
        state.exhausted = True
        self._start_operation(client, state)

    def _state(self, client: ClientId) -> _RunnerState:
        return self._clients.setdefault(client, _RunnerState())

    def _start_operation(self, client: ClientId, state: _RunnerState) -> None:
        """Starts an operation once both the driver's query and its parameters are available."""
        if state.query is None or state.task is not None:
            return
        params = _take_params(state)
        if params is None:
            if state.exhausted:
                state.query = None
                self._bridge.finish(client, None)
            return
        query, state.query = state.query, None
        state.started_s = time.perf_counter()
        state.task = self._loop.create_task(self._execute(query, state, params))
        state.task.add_done_callback(self._on_executed)

    def _on_executed(self, task: asyncio.Task[None]) -> None:
        """Ends the race after an error that is not one of the operation."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    async def _execute(self, query: RunOperation, state: _RunnerState, params: _Params) -> None:
        client, owner = query.client, Owner(query.client, query.query_id)
        # What sources did not cause is the delay of the event loop.
        source_wait_s = max(params.source_s - state.source_s, 0.0)
        delay_s = max(time.perf_counter() - state.queried_s - source_wait_s, 0.0)
        self._router.begin_operation(owner)
        OWNER.set(owner)
        CURRENT_CONTEXT.set(RequestContext())
        FAILED_REQUESTS.set(failed := FailedRequests())
        scheduled = self._tasks.tasks[client.task].scheduled
        if scheduled:
            self._sources.send(RunnerStarted(client, time.perf_counter()))
        result = self._units.check(client.task, await self._runners.execute(client, params.values))
        self._guard.end_if_copied()
        ended_s = time.perf_counter()
        delay_s += self._router.end_operation(owner)
        if result.success:
            self._faults.add_caught(client.task, failed.count)
        if result.is_inconsistent:
            self._faults.add_inconsistent(client.task)
        if query.measured and result.success:
            self._delays.add(client.task, delay_s)
            self._returned.setdefault(client.task, ReturnedResults()).add(result)
        state.task = None
        last = result.completes_task or (state.exhausted and not state.params)
        answer, details = result.for_driver(last=last), details_json(result.meta, self._secrets)
        # Before the driver may end the task, which then has all of it.
        if query.measured and result.success and result.returned_s is not None:
            self._work.add(client.task, time.perf_counter() - result.returned_s)
        self._bridge.complete(query.query_id, answer, source_wait_s, details)
        # The operation has ended, so later failures must not count as its failures. Only now is the source
        # called for the next operation: it may use results of the runner, or change values that it returned
        # before.
        if scheduled:
            self._sources.send(
                RunnerEnded(client, ended_s, result.attempted_weight, result.unit, dict(result.meta))
            )
        if state.constant_params is None:
            self._sources.send(ParamsConsumed(client))


def _take_params(state: _RunnerState) -> _Params | None:
    """Removes and returns the parameters of the next operation, or None if there are none yet."""
    if state.constant_params is not None and not state.exhausted:
        if state.operations_left is not None:
            state.operations_left -= 1
            state.exhausted = state.operations_left == 0
        # A copy, because runners may change the parameters.
        return _Params(dict(state.constant_params))
    return state.params.popleft() if state.params else None

"""Python's side of a race: one thread with an event loop for runners, one that feeds them and the driver."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from pacenote.model.result import ValueSummary
from pacenote.plugins.rally_api.request_context import CURRENT, Call
from pacenote.python_tasks.protocol import Lane
from pacenote.python_tasks.request_router import Wire
from pacenote.python_tasks.results import Values
from pacenote.python_tasks.runners import Runners
from pacenote.python_tasks.source_thread import Feeder
from pacenote.python_tasks.tasks import Program

_PATIENCE_S = 5.0
"""How long code of a plug-in may take to let go when the race is over."""

_FOR_THE_FEEDER = frozenset({"prepare", "next", "after", "ended", "finish"})


@dataclass(slots=True)
class _Waiting:
    """The runner's side of one client: parameters that are there, and the operation that waits for some."""

    ready: deque[Mapping[str, Any]] = field(default_factory=deque)
    always: Mapping[str, Any] | None = None
    left: int | None = None
    run: tuple[int, bool] | None = None
    over: bool = False
    doing: asyncio.Task[None] | None = None


class _Threads(ThreadPoolExecutor):
    """Where runners let something run that would block the loop. No thread keeps the process from ending."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Calls a function on a thread of its own."""
        future: Future[Any] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*arguments, **named))
            except BaseException as error:  # It is raised where the result is awaited.
                future.set_exception(error)

        threading.Thread(target=call, name="pacenote-helper", daemon=True).start()
        return future


class LaneRuntime:
    """Runs what a program asks for, from the beginning of a race to its end."""

    def __init__(self, lane: Lane, program: Program) -> None:
        self._lane = lane
        self._program = program
        self._loop = asyncio.new_event_loop()
        self._wire = Wire(lane)
        self._runners = Runners(self._wire, program)
        self._feeder = Feeder(lane, program, self)
        self._clients: dict[tuple[int, int], _Waiting] = {}
        self._values: dict[int, Values] = {}
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="pacenote-python", daemon=True)

    def __enter__(self) -> Self:
        self._feeder.start()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends both threads, also when the driver did not say that the race is over."""
        self._feeder.tell("quit")
        if not self._loop.is_closed():
            self._call_soon(self._over.set)
        self._thread.join(_PATIENCE_S)
        fed = self._feeder.join(_PATIENCE_S)
        if self._thread.is_alive() or not fed:
            self._program.warn("Python code of the track is still busy, and is left behind")

    def values(self, task: int) -> dict[str, ValueSummary]:
        """What runners returned beside their work in a task, by its position in the plan."""
        values = self._values.get(task)
        return {} if values is None else values.summary()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_default_executor(_Threads())
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _serve(self) -> None:
        self._loop.add_reader(self._lane.fileno(), self._hear)
        # What was posted before there was a reader has rung already, and rings on.
        await self._over.wait()
        self._loop.remove_reader(self._lane.fileno())
        # Also those that runners have started and not awaited.
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_PATIENCE_S / 2)
        await self._runners.close()

    def _hear(self) -> None:
        for name, *parts in self._lane.events():
            if name in _FOR_THE_FEEDER:
                self._feeder.tell(name, *parts)
            elif name == "quit":
                self._over.set()
            if name == "finish":
                self._forget(parts[0])
            handler = _HANDLERS.get(name)
            if handler is not None:
                getattr(self, handler)(*parts)

    def _replied(self, ticket: int, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self._wire.replied(ticket, status, headers, body)

    def _failed(self, ticket: int, kind: str, reason: str) -> None:
        self._wire.failed(ticket, kind, reason)

    def _came_out(self, ticket: int, document: str) -> None:
        self._wire.came_out(ticket, document)

    def _forget(self, step: int) -> None:
        gone = set(self._program.steps[step])
        self._clients = {place: one for place, one in self._clients.items() if place[0] not in gone}
        self._runners.forget(gone)

    def deliver(self, task: int, client: int, params: Mapping[str, Any] | None) -> None:
        """The parameters of a client's next operation; None: there are no more."""
        self._call_soon(self._arrived, task, client, params)

    def deliver_always(self, task: int, client: int, params: Mapping[str, Any], most: int | None) -> None:
        """The parameters of all operations of a client, of which there are so many."""
        self._call_soon(self._arrived_for_good, task, client, params, most)

    def _call_soon(self, call: Any, *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:
            # The loop has been closed meanwhile: nobody waits any more.
            return

    def _arrived(self, task: int, client: int, params: Mapping[str, Any] | None) -> None:
        waiting = self._client(task, client)
        if params is None:
            waiting.over = True
        else:
            waiting.ready.append(params)
        self._begin(task, client, waiting)

    def _arrived_for_good(self, task: int, client: int, params: Mapping[str, Any], most: int | None) -> None:
        waiting = self._client(task, client)
        waiting.always, waiting.left = params, most
        self._begin(task, client, waiting)

    def _asked(self, token: int, task: int, client: int, measured: bool) -> None:
        waiting = self._client(task, client)
        waiting.run = (token, measured)
        self._begin(task, client, waiting)

    def _client(self, task: int, client: int) -> _Waiting:
        return self._clients.setdefault((task, client), _Waiting())

    def _begin(self, task: int, client: int, waiting: _Waiting) -> None:
        """Carries an operation out as soon as it is asked for and its parameters are there."""
        if waiting.run is None or waiting.doing is not None:
            return
        params = self._params(waiting)
        if params is None:
            if waiting.over:
                waiting.run = None
                self._lane.end(task, client, None)
            return
        (token, measured), waiting.run = waiting.run, None
        operation = self._carry_out((task, client), waiting, (token, measured), params)
        waiting.doing = self._loop.create_task(operation)

    def _params(self, waiting: _Waiting) -> Mapping[str, Any] | None:
        """What the next operation is carried out with, None while that is not known."""
        if waiting.always is not None and not waiting.over:
            if waiting.left is not None:
                waiting.left -= 1
                waiting.over = waiting.left == 0
            # Of its own: runners may change it.
            return dict(waiting.always)
        if not waiting.ready:
            return None
        return waiting.ready.popleft()

    async def _carry_out(
        self,
        place: tuple[int, int],
        waiting: _Waiting,
        run: tuple[int, bool],
        params: Mapping[str, Any],
    ) -> None:
        CURRENT.set(Call(place))
        token, measured = run
        task, client = place
        scheduled = self._program.tasks[task].scheduled
        if scheduled:
            self._feeder.tell("begin", task, client, time.perf_counter())
        done, ending = await self._runners.carry_out(place, params)
        ended = time.perf_counter()
        if measured and done.values:
            self._values.setdefault(task, Values()).add(done.values)
        waiting.doing = None
        last = ending or (waiting.over and not waiting.ready)
        self._lane.done(token, done.document(last=last))
        # What fails from here on must not take the operation with it that has just ended. The source is only
        # asked for the next one now: it may look at what the runner did, or change what it gave before.
        if scheduled:
            self._feeder.tell("done", task, client, ended, done.weight, done.unit, dict(done.meta))
        if waiting.always is None:
            self._feeder.tell("taken", task, client)


_HANDLERS = {
    "run": "_asked",
    "reply": "_replied",
    "failed": "_failed",
    "outcome": "_came_out",
}

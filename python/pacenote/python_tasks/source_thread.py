"""The thread on which sources and schedulers of plug-ins run, and nothing else.

Sources are asked in turns, one operation each: for what the driver carries out itself as far ahead as there
is room in its queues, for runners when the operation before has ended. With a scheduler, a source is only
asked when the scheduler has been: it looks at the source, and may change it. Because all of this is one
thread, code of plug-ins need not be safe for several.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pacenote.errors import TrackError
from pacenote.operations.registry import resolve_type
from pacenote.operations.supplied import OperationSupplier
from pacenote.operations.supplied_bulk import InvalidSourceParams
from pacenote.plugins.failures import describe
from pacenote.plugins.registry import ends_by_itself
from pacenote.python_tasks.protocol import Lane
from pacenote.python_tasks.schedulers import Scheduler, build_scheduler, built_in_scheduler
from pacenote.python_tasks.sources import Constant, build_source, draw, is_endless, partition, source_name
from pacenote.python_tasks.tasks import Program, PythonTask


class Receiver(Protocol):
    """Runs operations; told from the feeder's thread."""

    def deliver(self, task: int, client: int, params: Mapping[str, Any] | None) -> None:
        """The parameters of a client's next operation; None: there are no more."""

    def deliver_always(self, task: int, client: int, params: Mapping[str, Any], most: int | None) -> None:
        """The parameters of all operations of a client, of which there are so many."""


_SHORTEST_S, _LONGEST_S = 0.0005, 0.016
"""How long to sleep when all queues are full."""

_FILLING_S = 1.0
"""How long to fill queues before a step begins; every client has its first operation in any case."""


@dataclass(slots=True)
class Seat:
    """One client of a task: its source, its scheduler, and how far they are."""

    part: PythonTask
    client: int
    source: Any
    scheduler: Scheduler | None
    most: int | None
    drawn: int = 0
    ahead: int = 0
    current: float = 0.0
    over: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Task and client."""
        return self.part.index, self.client


class Feeder:
    """Builds and asks sources and schedulers; told what happens by `tell`, from any thread."""

    def __init__(self, lane: Lane, program: Program, receiver: Receiver) -> None:
        self._lane = lane
        self._program = program
        self._receiver = receiver
        self._inbox: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._seats: dict[tuple[int, int], Seat] = {}
        self._suppliers: dict[int, OperationSupplier] = {}
        self._began: dict[int, float] = {}
        self._sleep_s = _SHORTEST_S
        self._thread = threading.Thread(target=self._run, name="pacenote-feeder", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def tell(self, *event: Any) -> None:
        """Tells of an event of the driver, or that a runner is done with its parameters (`taken`)."""
        self._inbox.put(event)

    def join(self, seconds: float) -> bool:
        """Waits for the thread to end; False when code of a plug-in does not let it."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            fed = self._feed_in_turns()
            while (event := self._next_event(fed)) is not None:
                if event[0] == "quit":
                    return
                getattr(self, f"_{event[0]}")(*event[1:])
                fed = True

    def _next_event(self, fed: bool) -> tuple[Any, ...] | None:
        """What has happened; waits for it when there is nothing to feed."""
        try:
            if fed:
                self._sleep_s = _SHORTEST_S
                return self._inbox.get_nowait()
            if not any(seat.part.supplied and self._may_feed(seat) for seat in self._seats.values()):
                return self._inbox.get()
            self._sleep_s = min(self._sleep_s * 2, _LONGEST_S)
            return self._inbox.get(timeout=self._sleep_s)
        except queue.Empty:
            return None

    def _prepare(self, step: int) -> None:
        for index in self._program.steps[step]:
            part = self._program.tasks.get(index)
            if part is not None:
                self._build(part)
        # Queues are filled before any clock starts, as far as that does not take long.
        until = time.perf_counter() + _FILLING_S
        while self._feed_in_turns() and time.perf_counter() < until:
            pass
        self._lane.prepared(step, None)

    def _build(self, part: PythonTask) -> None:
        program = self._program
        try:
            source = build_source(program.registry, program.track, part.rally)
            for client in range(part.task.clients):
                self._seat(part, client, partition(source, client, part.task.clients))
            if part.supplied:
                kind = resolve_type(part.task.operation.type)
                self._suppliers[part.index] = OperationSupplier(kind, program.context)
        except BaseException as error:  # Also what is no `Exception`: some plug-ins raise that.
            for client in range(part.task.clients):
                self._seats.pop((part.index, client), None)
                self._lane.end(part.index, client, self._failed(part, error))

    def _seat(self, part: PythonTask, client: int, source: Any) -> None:
        scheduler = None
        if part.scheduled:
            registered = self._program.registry.schedulers.get(part.task.schedule)
            if registered is None:
                scheduler = built_in_scheduler(part.rally, client)
            else:
                scheduler = build_scheduler(registered, part.rally, source)
        most = part.most
        if most is None and part.once and is_endless(source) and (part.warmup or not self._ends(part)):
            most = part.warmup + 1
        seat = Seat(part, client, source, scheduler, most)
        if part.runs and scheduler is None and isinstance(source, Constant):
            # Nothing has to be asked for, so the runner's thread need not wait for this one.
            params = {**source.params(), "operation-type": part.task.operation.type}
            self._receiver.deliver_always(*seat.place, params, most)
            seat.over = True
        self._seats[part.index, client] = seat

    def _ends(self, part: PythonTask) -> bool:
        runner = self._program.registry.runners.get(part.task.operation.type)
        if runner is not None:
            return ends_by_itself(runner)
        return part.runs and resolve_type(part.task.operation.type).reports_completion

    def _finish(self, step: int) -> None:
        gone = set(self._program.steps[step])
        self._seats = {place: seat for place, seat in self._seats.items() if place[0] not in gone}
        self._suppliers = {index: one for index, one in self._suppliers.items() if index not in gone}

    def _ended(self, task: int, client: int) -> None:
        self._seats.pop((task, client), None)

    def _taken(self, task: int, client: int) -> None:
        seat = self._seats.get((task, client))
        if seat is not None:
            seat.ahead -= 1

    def _feed_in_turns(self) -> bool:
        """One operation for every client that has room; False when none had."""
        fed = False
        for seat in list(self._seats.values()):
            if self._may_feed(seat) and self._has_room(seat):
                self._guarded(seat, self._feed_one)
                fed = True
        return fed

    def _may_feed(self, seat: Seat) -> bool:
        return not seat.over and seat.scheduler is None and (seat.part.supplied or seat.part.runs)

    def _has_room(self, seat: Seat) -> bool:
        return seat.ahead < 1 if seat.part.runs else self._lane.room(*seat.place) > 0

    def _feed_one(self, seat: Seat) -> None:
        if not self._hand_over(seat) or seat.drawn == seat.most:
            self._exhaust(seat)

    def _hand_over(self, seat: Seat) -> bool:
        """The next operation, on its way; False when there is none."""
        if seat.drawn == seat.most:
            return False
        params = draw(seat.source)
        if params is None:
            return False
        seat.drawn += 1
        if seat.part.runs:
            seat.ahead += 1
            if isinstance(params, dict):
                params["operation-type"] = seat.part.task.operation.type
            self._receiver.deliver(*seat.place, params)
        elif seat.part.supplied:
            supplied = self._suppliers[seat.part.index].supply(params)
            self._lane.supply(*seat.place, supplied.document, supplied.body)
        return True

    def _exhaust(self, seat: Seat) -> None:
        seat.over = True
        if seat.part.runs:
            self._receiver.deliver(*seat.place, None)
        else:
            self._lane.end(*seat.place, None)

    def _next(self, token: int, task: int, client: int) -> None:
        """A scheduler says when, then the source what."""
        seat = self._seats.get((task, client))
        if seat is None or seat.over or seat.scheduler is None:
            self._lane.due(token, None)
            return
        self._guarded(seat, lambda seat: self._schedule(seat, token))

    def _schedule(self, seat: Seat, token: int) -> None:
        assert seat.scheduler is not None
        began = self._began.setdefault(seat.part.index, time.perf_counter())
        if not self._advance(seat, seat.scheduler):
            seat.over = True
            self._lane.due(token, None)
            return
        elapsed = time.perf_counter() - began
        # An offset of 0 means at once, to the driver too.
        due_s = max(seat.current, 0.0)
        if not seat.part.runs:
            # The driver sends it then; when a runner begins is told by `begin`.
            seat.scheduler.before_request(began + max(due_s, elapsed))
        self._lane.due(token, due_s)

    def _advance(self, seat: Seat, scheduler: Scheduler) -> bool:
        """Goes to the next operation; False when there is none. A scheduler may end the task, too."""
        try:
            seat.current = float(scheduler.next(seat.current))
        except StopIteration:
            return False
        return self._hand_over(seat) if seat.part.supplied or seat.part.runs else True

    def _begin(self, task: int, client: int, now: float) -> None:
        """A runner begins with an operation."""
        seat = self._seats.get((task, client))
        if seat is not None and seat.scheduler is not None and not seat.over:
            scheduler = seat.scheduler
            self._guarded(seat, lambda _: scheduler.before_request(now))

    def _after(self, task: int, client: int, *what: Any) -> None:
        """What became of an operation that the driver carried out itself."""
        weight, unit, success, error, seconds = what
        meta = {"success": True} if success else {"success": False, "error-description": error}
        now = self._began.get(task, time.perf_counter()) + seconds
        self._done(task, client, now, weight, unit, meta)

    def _done(self, task: int, client: int, *what: Any) -> None:
        """What became of an operation: end, weight, unit, and what else its runner says."""
        seat = self._seats.get((task, client))
        if seat is not None and seat.scheduler is not None and not seat.over:
            scheduler = seat.scheduler
            self._guarded(seat, lambda _: scheduler.after_request(*what))

    def _guarded(self, seat: Seat, call: Callable[[Seat], object]) -> None:
        """Calls code of a plug-in; whatever it raises ends the client's share, and nothing else."""
        try:
            call(seat)
        except BaseException as error:
            seat.over = True
            self._lane.end(*seat.place, self._failed(seat.part, error))

    def _failed(self, part: PythonTask, error: BaseException) -> str:
        name = source_name(part.rally)
        if isinstance(error, InvalidSourceParams | TrackError):
            return f"{name} {error.message}"
        what = "scheduler or " if part.scheduled else ""
        return f"{what}{name} failed: {describe(error, self._program.root)}"

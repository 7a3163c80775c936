"""Describes a plan as data for `race --dry-run`."""

from __future__ import annotations

from msgspec import Struct

from pacenote.model.secrets import redact_query
from pacenote.model.work import (
    BulkWork,
    Call,
    CallSequence,
    OperationStream,
    PagedRequest,
    PythonRunner,
    PythonSource,
    Request,
    Sleep,
    SubOperation,
    TaskWork,
    Wait,
)
from pacenote.plan.document import (
    UNTIL_EXHAUSTED,
    CompletedByTask,
    Deterministic,
    Iterations,
    Plan,
    PlannedTask,
    Poisson,
    PythonScheduler,
    Step,
    TaskAllocation,
    TaskBound,
    Uniform,
)
from pacenote.plan.duration import documents_sent
from pacenote.units import format_bytes, format_count, format_rate, format_seconds


class TaskDescription(Struct, frozen=True):
    """One task of a step."""

    name: str
    """The name of the task."""

    operation: str
    """The name of its operation."""

    operation_type: str
    """The type of its operation."""

    clients: int
    """Number of its clients."""

    pacing: str
    """Its rate, such as `10/s` or `as fast as possible`."""

    bound: str
    """When it ends, such as `5 iterations`."""

    requests: tuple[str, ...]
    """The requests that one operation sends, one line each."""


class ClientDescription(Struct, frozen=True):
    """The tasks that one client runs in a step."""

    client: int
    """The number of the client, from 0."""

    runs: tuple[str, ...]
    """Its allocations in order: `task` or, for tasks of several clients, `task[client]`."""


class StepDescription(Struct, frozen=True):
    """One step of a plan."""

    name: str
    """The name of the step."""

    completed_by: str
    """The task that ends it early, `any task`, or empty if it does not end early."""

    tasks: tuple[TaskDescription, ...]
    """Its tasks, in the order of the plan."""

    clients: tuple[ClientDescription, ...]
    """Its clients, by number."""


def explain(plan: Plan) -> tuple[StepDescription, ...]:
    """Describes the steps of a plan in order."""
    return tuple(_step(plan, step) for step in plan.steps)


def _step(plan: Plan, step: Step) -> StepDescription:
    tasks = sorted({allocation.task for row in step.client_allocations for allocation in row.allocations})
    clients = tuple(
        ClientDescription(row.client, tuple(_allocation(plan, allocation) for allocation in row.allocations))
        for row in step.client_allocations
    )
    ended_by = "" if step.completed_by is None else "any task"
    if isinstance(step.completed_by, CompletedByTask):
        ended_by = plan.tasks[step.completed_by.task].name
    return StepDescription(step.name, ended_by, tuple(_task(plan.tasks[task]) for task in tasks), clients)


def _allocation(plan: Plan, allocation: TaskAllocation) -> str:
    task = plan.tasks[allocation.task]
    return task.name if task.clients == 1 else f"{task.name}[{allocation.client}]"


def _task(task: PlannedTask) -> TaskDescription:
    return TaskDescription(
        name=task.name,
        operation=task.operation,
        operation_type=task.operation_type,
        clients=task.clients,
        pacing=f"{_pacing(task)}, open loop" if task.open_loop else _pacing(task),
        bound=_bound(task.bound, task.work),
        requests=_requests(task.work),
    )


def _pacing(task: PlannedTask) -> str:
    pacing = task.pacing
    if isinstance(pacing, Deterministic | Poisson | Uniform):
        interval_s = pacing.interval_s
        rate = f"{1 / interval_s:g}/s" if interval_s <= 1 else f"one every {interval_s:g} s"
        if task.documents_per_operation is not None:
            rate = f"{format_rate(task.documents_per_operation / interval_s)} {task.unit}/s (mean: {rate})"
        return rate if isinstance(pacing, Deterministic) else f"{rate} at random ({pacing.kind})"
    return "as its scheduler determines" if isinstance(pacing, PythonScheduler) else "as fast as possible"


def _bound(bound: TaskBound, work: TaskWork) -> str:
    if isinstance(bound, Iterations):
        warmup = f"{bound.warmup:,} + " if bound.warmup else ""
        if bound.measured == UNTIL_EXHAUSTED:
            return f"{warmup}{_until(work)}"
        return f"{warmup}{format_count(bound.measured, 'iteration')}"
    warmup = f"{format_seconds(bound.warmup_s)} warm-up, " if bound.warmup_s else ""
    if bound.measured_s is not None:
        return f"{warmup}{format_seconds(bound.measured_s)}"
    return f"{warmup}{_until(work)}"


def _until(work: TaskWork) -> str:
    if isinstance(work, PythonSource | PythonRunner):
        return "until its source or runner in Python ends"
    ends = isinstance(work, BulkWork) and not work.looped
    return f"until {'all documents are sent' if ends else 'another task completes the step'}"


def _requests(work: TaskWork) -> tuple[str, ...]:
    if isinstance(work, Sleep):
        return (f"waits {format_seconds(work.seconds)}",)
    if isinstance(work, CallSequence):
        return tuple(line for call in work.calls for line in _call(call))
    if isinstance(work, PythonSource):
        return ("requests of a parameter source in Python",)
    if isinstance(work, PythonRunner):
        return ("a runner in Python",)
    sent = documents_sent(work)
    if sent is None:
        documents = "documents, not counted yet,"
    else:
        documents = f"of {format_count(sent, 'document')}{', again and again,' if work.looped else ''}"
    files = format_count(len(work.files), "file")
    return (f"POST {work.path} {work.bulk_size:,} {documents} in {files}",)


def _call(call: Call) -> tuple[str, ...]:
    if isinstance(call, Request):
        return (_request(call),)
    if isinstance(call, PagedRequest):
        pages = "all pages" if call.pages is None else format_count(call.pages, "page")
        return (f"{_request(call.first)}, {pages}",)
    if isinstance(call, Wait):
        return (f"waits {format_seconds(call.seconds)}",)
    return tuple(line for item in call.items for line in _item(item))


def _item(item: SubOperation | OperationStream) -> tuple[str, ...]:
    if isinstance(item, OperationStream):
        return tuple(f"| {line}" for inner in item.items for line in _item(inner))
    return tuple(f"{item.name}: {line}" for call in item.calls for line in _call(call))


def _request(request: Request) -> str:
    size = f" {format_bytes(len(request.body.encode()))} body" if request.body is not None else ""
    poll = f", every {format_seconds(request.poll.every_s)} until done" if request.poll else ""
    path = redact_query(request.path)
    if request.placeholder:
        path = path.replace(request.placeholder.marker, f"{{{request.placeholder.name}}}")
    return f"{request.method} {path}{size}{poll}"

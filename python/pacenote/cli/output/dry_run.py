"""What a race would do as text: the output of `race --dry-run`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pacenote.model.printable import printable
from pacenote.plan.explain import ClientDescription, StepDescription, TaskDescription
from pacenote.race.dry_run import DryRun
from pacenote.race.expected_corpora import ExpectedCorpus
from pacenote.units import format_count


def dry_run_text(dry_run: DryRun) -> str:
    """Returns a text with the engine, the data, the duration, and every step: its tasks, their requests, and
    the clients that run them.
    """
    lines = [f"engine: {dry_run.engine}"]
    lines += (_corpus(corpus) for corpus in dry_run.corpora)
    lines.append(f"duration: {dry_run.duration}")
    lines += (line for number, step in enumerate(dry_run.steps, 1) for line in _step(number, step))
    return "".join(f"{printable(line)}\n" for line in lines)


def _corpus(corpus: ExpectedCorpus) -> str:
    counts = corpus.documents.values()
    if not counts:
        return f"corpus {corpus.name}: {corpus.source}"
    files = format_count(len(counts), "file")
    known = sum(count or 0 for count in counts)
    documents = format_count(known, "document") if all(counts) else "documents that are not counted yet"
    return f"corpus {corpus.name}: {documents} in {files}, {corpus.source}"


def _step(number: int, step: StepDescription) -> Iterator[str]:
    ending = f" (completed by {step.completed_by})" if step.completed_by else ""
    yield f"step {number}: {step.name}{ending}"
    for task in step.tasks:
        yield from _task(task)
    for clients, runs in _grouped(step.clients):
        yield f"  {clients}: {' then '.join(runs)}"


def _task(task: TaskDescription) -> Iterator[str]:
    operation = (
        task.operation_type
        if task.operation == task.operation_type
        else f"{task.operation}, {task.operation_type}"
    )
    clients = "1 client" if task.clients == 1 else f"{task.clients} clients"
    yield f"  {task.name} ({operation}): {clients}, {task.pacing}, {task.bound}"
    for request in task.requests:
        yield f"    {request}"


def _grouped(clients: Iterable[ClientDescription]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Joins consecutive clients that run the same tasks into one line."""
    group: list[ClientDescription] = []
    for line in clients:
        if group and _tasks(line) != _tasks(group[0]):
            yield _group(group)
            group = []
        group.append(line)
    if group:
        yield _group(group)


def _group(group: Sequence[ClientDescription]) -> tuple[str, tuple[str, ...]]:
    first, last = group[0], group[-1]
    if len(group) == 1:
        return f"client {first.client}", first.runs
    shares = tuple(
        one if one == other else f"{one} … {other}" for one, other in zip(first.runs, last.runs, strict=True)
    )
    return f"clients {first.client}–{last.client}", shares


def _tasks(line: ClientDescription) -> tuple[str, ...]:
    return tuple(run.partition("[")[0] for run in line.runs)

"""Tasks whose iterations end them before they have sent the documents of their operation."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.document_checks import UnsentDocuments
from pacenote.model.work import BulkWork, IngestDocuments
from pacenote.plan.document import UNTIL_EXHAUSTED, Iterations, Plan, PlannedTask


def unsent_documents(plan: Plan, *, test_mode: bool) -> Iterator[UnsentDocuments]:
    """Yields each task that will not send all documents of its bulks: a race that searches a small part of
    them looks like any other. A test mode is to send few.
    """
    if test_mode:
        return
    for task in plan.tasks:
        if not isinstance(task.work, BulkWork) or task.work.looped:
            continue
        intended = _intended(task.work)
        sent = _most_sent(task, task.work)
        if sent < intended:
            yield UnsentDocuments(task.name, int(sent), intended)


def _intended(work: BulkWork) -> int:
    documents = sum(file.documents for file in work.files)
    if isinstance(work.limit, IngestDocuments):
        return min(documents, work.limit.documents)
    return int(documents * work.limit.share)


def _most_sent(task: PlannedTask, work: BulkWork) -> float:
    """Returns the most documents that a task can send. Each client repeats the iterations."""
    bound = task.bound
    if not isinstance(bound, Iterations) or bound.measured == UNTIL_EXHAUSTED:
        return float("inf")
    return (bound.warmup + bound.measured) * work.bulk_size * task.clients

"""Tasks whose iterations end them before they have sent the documents of their operation."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.document_checks import UnsentDocuments
from pacenote.model.work import BulkWork
from pacenote.plan.client_documents import bulks_in_turns, bulks_of, client_documents, documents_in_bulks
from pacenote.plan.document import UNTIL_EXHAUSTED, Iterations, Plan, PlannedTask


def unsent_documents(plan: Plan, *, test_mode: bool) -> Iterator[UnsentDocuments]:
    """Yields each task that will not send all documents of its bulks: a race that searches a small part of
    them looks like any other. A test mode is to send few.
    """
    if test_mode:
        return
    for task in plan.tasks:
        bulks = _most_bulks(task)
        if bulks is None or not isinstance(task.work, BulkWork) or task.work.looped:
            continue
        work = task.work
        parts = [client_documents(work, client, task.clients) for client in range(task.clients)]
        intended = sum(map(sum, parts))
        shares = [bulks] * task.clients
        if task.open_loop:
            shares = bulks_in_turns([bulks_of(part, work.bulk_size) for part in parts], bulks * task.clients)
        sent = sum(
            documents_in_bulks(part, share, work.bulk_size) for part, share in zip(parts, shares, strict=True)
        )
        if sent < intended:
            yield UnsentDocuments(task.name, sent, intended, is_estimate=task.open_loop)


def _most_bulks(task: PlannedTask) -> int | None:
    """Returns the number of bulks after which a client ends, in an open loop on average, or None if its data
    or a time ends it.
    """
    bound = task.bound
    if not isinstance(bound, Iterations) or bound.measured == UNTIL_EXHAUSTED:
        return None
    return bound.warmup + bound.measured

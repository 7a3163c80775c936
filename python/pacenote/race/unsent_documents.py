"""Tasks whose iterations end them before they have sent the documents of their operation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pacenote.model.document_checks import UnsentDocuments
from pacenote.model.work import BulkWork, IngestDocuments
from pacenote.plan.document import UNTIL_EXHAUSTED, Iterations, Plan, PlannedTask

_ROUNDING = 1e-12
"""Relative excess of a share of bulks that is due to the binary representation of a percentage."""


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
        parts = [_documents_of(work, client, task.clients) for client in range(task.clients)]
        intended = sum(map(sum, parts))
        if task.open_loop:
            # The clients share their iterations: those of one that has sent its documents are left to others.
            sent = min(intended, bulks * task.clients * work.bulk_size)
        else:
            sent = sum(_documents_in(part, bulks, work.bulk_size) for part in parts)
        if sent < intended:
            yield UnsentDocuments(task.name, sent, intended)


def _most_bulks(task: PlannedTask) -> int | None:
    """Returns the number of bulks after which a client ends, or None if its data or a time ends it."""
    bound = task.bound
    if not isinstance(bound, Iterations) or bound.measured == UNTIL_EXHAUSTED:
        return None
    return bound.warmup + bound.measured


def _documents_of(work: BulkWork, client: int, clients: int) -> list[int]:
    """Returns the documents that a client sends of each file, in its order, as the driver does
    (`crates/driver/src/operation/bulk.rs`): a bulk never has documents of two files.
    """
    own = [_range(work.files[at].documents, client, clients) for at in _reading_order(work, client)]
    if isinstance(work.limit, IngestDocuments):
        left = _range(work.limit.documents, client, clients)
    else:
        bulks = sum(_bulks(documents, work.bulk_size) for documents in own) * work.limit.share
        left = _documents_in(own, math.ceil(bulks - bulks * _ROUNDING), work.bulk_size)
    limited = []
    for documents in own:
        limited.append(min(documents, left))
        left -= limited[-1]
    return limited


def _reading_order(work: BulkWork, client: int) -> list[int]:
    """Returns the positions of the files in the order in which a client reads them: it begins with another
    corpus than the client before it, and takes a file of each in turn.
    """
    corpora = sorted({file.corpus for file in work.files})
    first = client % max(1, len(corpora))
    taken = dict.fromkeys(corpora, 0)
    order = []
    for at, file in enumerate(work.files):
        turn = (corpora.index(file.corpus) - first) % len(corpora)
        order.append((taken[file.corpus], turn, at))
        taken[file.corpus] += 1
    return [at for _, _, at in sorted(order)]


def _range(documents: int, client: int, clients: int) -> int:
    """Returns how many of the documents of a file are those of a client."""
    share = documents / clients
    return round(share * (client + 1)) - round(share * client)


def _bulks(documents: int, bulk_size: int) -> int:
    return -(-documents // bulk_size)


def _documents_in(parts: Sequence[int], bulks: int, bulk_size: int) -> int:
    """Returns the number of documents in the first bulks of these parts."""
    sent = 0
    for documents in parts:
        sent += min(documents, bulks * bulk_size)
        bulks = max(0, bulks - _bulks(documents, bulk_size))
    return sent

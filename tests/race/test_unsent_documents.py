"""Bulks that their iterations end before all documents are sent are told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pacenote.model.work import BulkWork, IngestDocuments, IngestShare, Sleep
from pacenote.plan.client_documents import bulks_in_turns
from pacenote.plan.document import UNTIL_EXHAUSTED, Iterations, Plan, TaskBound, TimePeriod
from pacenote.race.unsent_documents import unsent_documents
from race.test_document_check import bulk, file, plan

WORK = bulk(file("a", 150), file("b", 50))
SMALL_FILES = bulk(file("a", 10), file("b", 10), file("c", 10))


def bounded(work: BulkWork | Sleep, bound: TaskBound) -> Plan:
    built = plan(("bulk", work))
    return replace(built, tasks=tuple(replace(task, bound=bound, clients=2) for task in built.tasks))


@pytest.mark.parametrize(
    ("work", "bound", "sent"),
    [
        (WORK, Iterations(0, 2), "40 of 200"),
        (WORK, Iterations(1, 2), "60 of 200"),
        (replace(WORK, limit=IngestDocuments(100)), Iterations(0, 4), "80 of 100"),
        # Of its 8 and 3 bulks, a client sends the first half, rounded up.
        (replace(WORK, limit=IngestShare(0.5)), Iterations(0, 1), "20 of 120"),
        # A bulk has documents of one file only: the last one of the first file has 5.
        (WORK, Iterations(0, 9), "170 of 200"),
        (SMALL_FILES, Iterations(0, 1), "10 of 30"),
        (SMALL_FILES, Iterations(0, 2), "20 of 30"),
    ],
)
def test_documents_beyond_the_iterations_are_told(work: BulkWork, bound: TaskBound, sent: str) -> None:
    plan = bounded(work, bound)
    assert [(task.task, task.text) for task in unsent_documents(plan, test_mode=False)] == [
        ("task0", f"sends {sent} documents, because its iterations end it; omit `iterations` to send all")
    ]
    assert list(unsent_documents(plan, test_mode=True)) == []


@pytest.mark.parametrize(
    ("work", "bound"),
    [
        (WORK, Iterations(0, 11)),
        (WORK, Iterations(0, UNTIL_EXHAUSTED)),
        (WORK, TimePeriod(0.0, 1.0)),
        (replace(WORK, looped=True), Iterations(0, 1)),
        (replace(WORK, limit=IngestShare(0.1)), Iterations(0, 2)),
        (SMALL_FILES, Iterations(0, 3)),
        (Sleep(0), Iterations(0, 1)),
    ],
)
def test_tasks_that_send_what_they_are_to_send_are_not(work: BulkWork | Sleep, bound: TaskBound) -> None:
    assert list(unsent_documents(bounded(work, bound), test_mode=False)) == []


@pytest.mark.parametrize(
    ("work", "iterations", "sent"),
    [
        # Of the nine bulks of each client, the last one of the first file has 5 documents.
        (WORK, 9, "170 of 200"),
        # All bulks have 5 documents, although they may have 10.
        (SMALL_FILES, 1, "10 of 30"),
        (SMALL_FILES, 2, "20 of 30"),
        # The first client has 3 bulks of 10 documents, the second 6 of 10 and 1 in turn: it sends 5 of them.
        (bulk(file("a", 21), file("b", 21), file("c", 21)), 4, "62 of 63"),
        (bulk(file("a", 21), file("b", 21), file("c", 21)), 5, None),
    ],
)
def test_clients_of_an_open_loop_share_their_iterations(
    work: BulkWork, iterations: int, sent: str | None
) -> None:
    shared = bounded(work, Iterations(0, iterations))
    shared = replace(shared, tasks=tuple(replace(task, open_loop=True) for task in shared.tasks))
    text = f"sends about {sent} documents, because its iterations end it; omit `iterations` to send all"
    expected = [] if sent is None else [text]
    assert [task.text for task in unsent_documents(shared, test_mode=False)] == expected


def test_clients_that_have_sent_their_bulks_leave_their_turns_to_others() -> None:
    assert bulks_in_turns([2, 9, 4], 9) == [2, 4, 3]
    assert bulks_in_turns([2, 9, 4], 12) == [2, 6, 4]
    assert bulks_in_turns([2, 9, 4], 20) == [2, 9, 4]
    assert bulks_in_turns([0, 1], 1) == [0, 1]


def test_a_client_that_begins_with_a_small_corpus_sends_fewer_documents() -> None:
    """In a bulk each, the first client sends 10 documents of the large corpus, the second 2 of the other."""
    corpora = bulk(file("a", 100), replace(file("b", 4), corpus=1))
    (unsent,) = unsent_documents(bounded(corpora, Iterations(0, 1)), test_mode=False)
    assert (unsent.sent, unsent.intended) == (12, 104)

"""How many documents were sent, at most, in bulks that the end of a task cut off."""

import pytest
from msgspec import structs

from pacenote.race.document_check import check_documents
from race.test_document_check import DELETE, bulk, engine, file, plan, result, with_clients
from support.records import task


@pytest.mark.parametrize(
    ("files", "clients", "unanswered", "unknown"),
    [
        # Each client has 3 documents of each file.
        ((12, 12), 4, 2, 6),
        # The second and the last client have 3 of 10 documents, the others 2.
        ((10,), 4, 3, 8),
        # The bulks of the second file are full.
        ((4, 100), 2, 1, 10),
        # Two of four clients have a document each.
        ((2,), 4, 4, 2),
        # How many documents the second file has is not known.
        ((12, 0), 4, 2, 20),
    ],
)
def test_a_bulk_that_was_cut_off_had_no_more_documents_than_its_client_has_of_a_file(
    files, clients, unanswered, unknown
):
    """A bulk has up to 10 documents."""
    sends = with_clients(plan(DELETE, ("bulk", bulk(*(file("a", count) for count in files)))), clients)
    counts = structs.replace(task("task1").accounting, unanswered=unanswered)
    cut_off = structs.replace(result(1, 0), accounting=counts)
    (check,) = check_documents(sends, [cut_off], engine({"a": unknown + 1}))
    assert (check.unknown, check.has_additional_documents) == (unknown, True)

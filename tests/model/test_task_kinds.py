"""What the tasks of a report do."""

import pytest

from pacenote.model.task_kinds import searches
from support.records import task


@pytest.mark.parametrize(
    ("operation_type", "expected"),
    [
        *((name, True) for name in ("search", "submit-async-search", "get-async-search", "sql")),
        *((name, False) for name in ("delete-async-search", "force-merge")),
    ],
)
def test_operations_that_only_delete_a_search_do_not_search(operation_type: str, expected: bool) -> None:
    assert searches(task(operation_type=operation_type)) is expected

"""`condition` of an operation that reads statistics: a value at a path, and what it should be.

The comparison is one of text, so that expected 0 equals the number 0 and the string "0".
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import Check, CheckCondition, CheckStatus
from pacenote.operations.request import scalar_text


def read_condition(params: FieldReader, within: str = "") -> Check:
    """The check of a reply; paths begin at the value that the path `within` leads to."""
    if not params.has("condition"):
        return CheckStatus()
    condition = params.child("condition")
    path = condition.required_text("path")
    if "expected-value" not in condition.data:
        condition.problem("expected-value", "is missing")
    expected = condition.data.get("expected-value")
    if isinstance(expected, dict | list):
        condition.problem("expected-value", "must be a single value")
    return CheckCondition(path=within + path, expected=scalar_text(expected))

"""The `condition` of an operation that reads statistics: a path and the expected value.

Values are compared as text, so an expected 0 equals both the number 0 and the string "0".
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import Check, CheckCondition, CheckNoError
from pacenote.operations.request import scalar_text


def read_condition(params: FieldReader, within: str = "") -> Check:
    """Returns the check of a response; paths are relative to the value at path `within`."""
    if not params.has("condition"):
        return CheckNoError()
    condition = params.child("condition")
    path = condition.required_text("path")
    if "expected-value" not in condition.data:
        condition.problem("expected-value", "is missing")
    expected = condition.data.get("expected-value")
    if isinstance(expected, dict | list):
        condition.problem("expected-value", "must be a single value")
    return CheckCondition(path=within + path, expected=scalar_text(expected))

"""Assertions of a track about the results of a plug-in's runner (`--enable-assertions`)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from pacenote.plugins.rally_api.errors import DataError, RallyTaskAssertionError

_CONDITIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}


def check_assertions(params: Mapping[str, Any], returned: Any) -> None:
    """Checks what a runner returned against the assertions of its operation.

    Raises `RallyTaskAssertionError` for the first assertion that fails, and `DataError` for one that cannot
    be checked.
    """
    assertions = params.get("assertions") or ()
    if assertions and not isinstance(returned, Mapping):
        raise DataError("assertions can only be checked if the runner returns a dictionary")
    for assertion in assertions:
        path, condition, expected = assertion["property"], assertion["condition"], assertion["value"]
        if condition not in _CONDITIONS:
            raise DataError(f"the condition {condition!r} of an assertion is unknown")
        value: Any = returned
        # Some names contain dots, such as those of the figures of a profile.
        for key in (path,) if path in returned else path.split("."):
            if not isinstance(value, Mapping) or key not in value:
                raise RallyTaskAssertionError(f"Expected [{path}], but the runner returned no such value.")
            value = value[key]
        if not _CONDITIONS[condition](value, expected):
            raise RallyTaskAssertionError(
                f"Expected [{path}] to be {condition} [{expected}] but was [{value}]."
            )

"""What runners return and raise, as the driver takes it, and the values that they return beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.result import ValueSummary
from pacenote.operations.compile import InvalidOperation
from pacenote.operations.runner import (
    ConnectionFailed,
    HttpStatusError,
    OperationError,
    RequestTimedOut,
    RunResult,
    UnexpectedResponse,
)
from pacenote.plugins.failures import describe
from pacenote.plugins.rally_api.errors import RallyTaskAssertionError
from pacenote.python_tasks.builtin_operations import engine_error
from pacenote.units import OPS

_ABOUT_THE_REQUEST = frozenset({
    *("weight", "unit", "success", "took", "ingest_took", "success-count", "error-count", "retry-count"),
    *("request-status", "max-doc-status", "http-status", "error-type", "error-description", "retried"),
})
"""Keys of results that the driver tells itself, or that say why an operation failed."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why an operation failed: a class of the driver's, the kind of error, and its reason."""

    error_class: str
    kind: str
    reason: str
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """One operation that Python carried out. `values` are what its runner returned beside its work."""

    weight: int = 1
    unit: str = OPS
    success: bool = True
    complaint: Complaint | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def document(self, *, last: bool) -> str:
        """For the driver."""
        error = None
        if self.complaint is not None:
            error = {
                "class": self.complaint.error_class,
                "kind": self.complaint.kind,
                "reason": self.complaint.reason,
                "status": self.complaint.status,
            }
        return json.dumps({
            "weight": self.weight,
            "unit": self.unit,
            "success": self.success,
            "last": last,
            "error": error,
        })


def from_runner(returned: Any) -> Done:
    """What a runner of a plug-in returned: nothing, a truth value, weight and unit, or a dictionary.

    Raises `TrackError` for a weight or a unit that is none.
    """
    if isinstance(returned, tuple) and len(returned) == 2:
        return Done(_weight(returned[0]), _unit(returned[1]), meta={"success": True})
    if not isinstance(returned, Mapping):
        return Done(meta={"success": True})
    success = bool(returned.get("success", True))
    meta = {key: value for key, value in returned.items() if key not in ("weight", "unit")}
    weight, unit = _weight(returned.get("weight", 1)), _unit(returned.get("unit", OPS))
    if not success:
        return Done(weight, unit, False, _complaint(returned), meta=meta)
    values = dict(_numbers("", returned))
    return Done(weight, unit, values=values, meta={"success": True, **meta})


def from_built_in(result: RunResult) -> Done:
    """What a built-in operation returned."""
    complaint = None if result.success else Complaint("condition", "", result.reason or "no success")
    return Done(result.weight, result.unit, result.success, complaint)


def from_error(error: BaseException, root: Path) -> Done:
    """What a runner raised, whether of a plug-in or built in."""
    complaint = _of_lane(error) or _of_client(error)
    if complaint is None and isinstance(error, RallyTaskAssertionError):
        complaint = Complaint("assertion", "", str(error))
    if complaint is None and isinstance(error, InvalidOperation):
        complaint = Complaint("plugin", "", error.problems[0])
    if complaint is None and isinstance(error, TrackError):
        complaint = Complaint("plugin", "", error.message)
    if complaint is None:
        # The text begins with the place and names the kind of error.
        complaint = Complaint("plugin", "", describe(error, root))
    meta = {"success": False, "error-type": complaint.error_class, "error-description": complaint.reason}
    return Done(0, OPS, False, complaint, meta=meta)


def _of_lane(error: BaseException) -> Complaint | None:
    if not isinstance(error, OperationError):
        return None
    if isinstance(error, HttpStatusError):
        return Complaint("http-status", engine_error(error.body)[0], error.reason, error.status)
    kinds = ((RequestTimedOut, "timeout"), (ConnectionFailed, "connect"), (UnexpectedResponse, "protocol"))
    found = next((name for kind, name in kinds if isinstance(error, kind)), "condition")
    return Complaint(found, type(error).__name__, error.message)


def _of_client(error: BaseException) -> Complaint | None:
    """Errors of elasticsearch-py, which is only there if a plug-in's runner was called."""
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if not modules & {"elasticsearch", "elastic_transport"}:
        return None
    import elasticsearch

    if isinstance(error, elasticsearch.ApiError):
        kind, reason = _reason_of(error)
        return Complaint("http-status", kind, reason, int(error.status_code))
    if isinstance(error, elasticsearch.ConnectionTimeout):
        return Complaint("timeout", type(error).__name__, error.message)
    if isinstance(error, elasticsearch.ConnectionError):
        return Complaint("connect", type(error).__name__, error.message)
    return Complaint("protocol", type(error).__name__, str(error))


def _reason_of(error: Any) -> tuple[str, str]:
    body = error.body
    if isinstance(body, Mapping):
        body = json.dumps(body, default=str).encode()
    elif hasattr(body, "getvalue"):
        body = body.getvalue()
    kind, reason = engine_error(body if isinstance(body, bytes) else str(body).encode())
    return kind or str(error.message), reason or str(error.message)


def _complaint(returned: Mapping[str, Any]) -> Complaint:
    status = returned.get("http-status")
    kind = str(returned.get("error-type") or "")
    reason = str(returned.get("error-description") or "its runner says that it was no success")
    error_class = "bulk-item" if kind == "bulk" else "condition" if status is None else "http-status"
    return Complaint(error_class, kind, reason, status if isinstance(status, int) else None)


def _weight(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
        raise TrackError(f"the runner returned the weight {value!r}, must be a whole number of at least 0")
    return int(value)


def _unit(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TrackError(f"the runner returned the unit {value!r}, must be a word such as docs")
    return value


def _numbers(prefix: str, returned: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    """Numbers of a result with their keys, those of dictionaries in it with dots between."""
    for key, value in returned.items():
        name = f"{prefix}{key}"
        if name in _ABOUT_THE_REQUEST:
            continue
        if isinstance(value, Mapping):
            yield from _numbers(f"{name}.", value)
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield name, float(value)


class Values:
    """Values that the measured operations of a task returned."""

    def __init__(self) -> None:
        self._found: dict[str, list[float]] = {}

    def add(self, values: Mapping[str, float]) -> None:
        """Takes those of one operation down."""
        for name, value in values.items():
            known = self._found.get(name)
            if known is None:
                self._found[name] = [1, value, value, value]
            else:
                known[0] += 1
                known[1] = min(known[1], value)
                known[2] += value
                known[3] = max(known[3], value)

    def summary(self) -> dict[str, ValueSummary]:
        """What was found, by name."""
        return {
            name: ValueSummary(count=int(count), min=least, mean=total / count, max=most)
            for name, (count, least, total, most) in self._found.items()
        }

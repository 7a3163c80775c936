"""Results of runners for the driver: return values, errors, and additional returned numbers."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, structs
from msgspec.structs import replace

from pacenote._core import RunnerFailure, RunnerResult
from pacenote.errors import TrackError
from pacenote.model.field_reader import MAX_NAME
from pacenote.model.messages import quoted
from pacenote.model.printable import encodable
from pacenote.model.problems import preview
from pacenote.model.result import TaskResult, ValueSummary
from pacenote.model.secrets import redact, redact_urls
from pacenote.operations.compile import InvalidOperation
from pacenote.operations.runner import (
    MAX_FIGURE,
    MAX_WEIGHT,
    NO_SUCCESS,
    BuiltinResult,
    ConnectionFailed,
    HttpStatusError,
    OperationDefect,
    RequestTimedOut,
    RunnerError,
    UnexpectedResponse,
)
from pacenote.plugins.failures import describe
from pacenote.plugins.rally_api.errors import RallyTaskAssertionError
from pacenote.python_tasks.batch_means import BatchMeans
from pacenote.python_tasks.reported_work import ReportedWork
from pacenote.python_tasks.response_errors import ResponseError, parse_response_error
from pacenote.units import OPS

if TYPE_CHECKING:
    import elasticsearch

_MAX_STATUS = 2**16 - 1

_REQUEST_KEYS = frozenset({
    *("weight", "unit", "success", "took", "ingest_took", "success-count", "error-count", "retry-count"),
    *("request-status", "max-doc-status", "http-status", "error-type", "error-description", "retried"),
})
"""Keys of results that the driver records, or that describe a failure."""


class PythonOperationResult(Struct, frozen=True):
    """Result of one operation that was executed in Python."""

    weight: int = 1
    """Work done, in `unit`."""

    unit: str = OPS
    """Unit of the work."""

    success: bool = True
    """Whether the operation succeeded."""

    failure: RunnerFailure | None = None
    """The failure of the operation, or None for a success."""

    values: Mapping[str, float] = field(default_factory=dict)
    """Numbers that its runner returned besides its work, by name."""

    reported_s: float | None = None
    """Seconds for its work as the engine or its runner reports them, or None if neither does."""

    meta: Mapping[str, Any] = field(default_factory=dict)
    """The values that its runner returned, for schedulers."""

    completes_task: bool = False
    """Whether its runner reports that the client's task is complete."""

    failed_weight: int = 0
    """Work that failed, in `unit`."""

    is_inconsistent: bool = False
    """Whether its runner returned counts that do not add up to its work, although it succeeded."""

    returned_s: float | None = None
    """When its runner returned, in seconds of `time.perf_counter`, or None if no plug-in's runner did."""

    @property
    def attempted_weight(self) -> int:
        """Work done and failed, in `unit`."""
        return self.weight + self.failed_weight

    def for_driver(self, *, last: bool) -> RunnerResult:
        """Returns the result for the driver; `last` means that the client has no further operation."""
        return RunnerResult(self.weight, self.failed_weight, self.unit, last, self.failure)


def from_runner(returned: Any) -> PythonOperationResult:
    """Converts the result of a plug-in's runner: None, a boolean, weight and unit, or a dictionary.

    Raises `TrackError` for an invalid weight, unit or throughput.
    """
    if isinstance(returned, tuple) and len(returned) == 2:
        return PythonOperationResult(_weight(returned[0]), _unit(returned[1]), meta={"success": True})
    if not isinstance(returned, Mapping):
        return PythonOperationResult(meta={"success": True})
    meta = {key: value for key, value in returned.items() if key not in ("weight", "unit")}
    weight, unit = _weight(returned.get("weight", 1)), _unit(returned.get("unit", OPS))
    failed = _failed_weight(returned, weight)
    if failed or not returned.get("success", True):
        failed = weight if failed is None else failed
        failure, meta = _returned_failure(returned), {**meta, "success": False}
        return PythonOperationResult(weight - failed, unit, False, failure, meta=meta, failed_weight=failed)
    values = dict(_numbers("", returned))
    if (reported_s := _reported_seconds(weight, values.get("throughput"))) is not None:
        del values["throughput"]
    meta = {"success": True, **meta}
    return PythonOperationResult(
        weight,
        unit,
        values=values,
        reported_s=reported_s,
        meta=meta,
        is_inconsistent=_is_inconsistent(returned, weight),
    )


def from_builtin(result: BuiltinResult) -> PythonOperationResult:
    """Converts the result of a built-in operation."""
    if result.success:
        return PythonOperationResult(
            result.weight,
            result.unit,
            values=result.values,
            reported_s=_reported_by_engine(result.engine_ms),
            meta={"success": True, **result.values},
            completes_task=result.completes_task,
        )
    failure = _failure("condition", "", result.reason or NO_SUCCESS)
    completes_task, failed = result.completes_task, result.weight
    return PythonOperationResult(
        0, result.unit, False, failure, completes_task=completes_task, failed_weight=failed
    )


def _reported_by_engine(engine_ms: float | None) -> float | None:
    """Returns the seconds that the engine reports, or None if they are unknown.

    The instants of a recovery may come from nodes whose clocks differ, so that their difference is negative.
    """
    return None if engine_ms is None or engine_ms < 0 else engine_ms / 1000


def from_error(error: BaseException, root: Path) -> PythonOperationResult:
    """Converts an error that the runner of a plug-in or of a built-in type raised."""
    failure = None
    # An error that a plug-in has built itself may lack some of the attributes of its class.
    with contextlib.suppress(Exception):
        failure = _known_failure(error)
    # The description begins with the location and includes the type of the error.
    failure = failure or _failure("plugin", "", describe(error, root))
    meta = {"success": False, "error-type": failure.error_class, "error-description": failure.reason}
    return PythonOperationResult(0, OPS, False, failure, meta=meta)


def _known_failure(error: BaseException) -> RunnerFailure | None:
    """Converts an error of Pacenote, of Rally or of elasticsearch-py; returns None for any other error."""
    if isinstance(error, RallyTaskAssertionError):
        return _failure("assertion", "", str(error))
    if isinstance(error, InvalidOperation):
        return _failure("plugin", "", error.problems[0])
    if isinstance(error, TrackError):
        return _failure("plugin", "", error.message)
    return _from_operation_error(error) or _from_client_error(error)


def _from_operation_error(error: BaseException) -> RunnerFailure | None:
    if not isinstance(error, RunnerError):
        return None
    if isinstance(error, HttpStatusError):
        kind = parse_response_error(error.body).kind
        return _failure("http-status", kind, error.reason, error.status)
    if isinstance(error, ConnectionFailed):
        return _failure(error.error_class, type(error).__name__, error.message)
    if isinstance(error, OperationDefect):
        # Like an error of a plug-in, it says nothing about the engine. The verdict recognizes its reason.
        return _failure("plugin", "", error.message)
    kinds = (
        (RequestTimedOut, "timeout"),
        (UnexpectedResponse, "protocol"),
    )
    error_class = next((name for kind, name in kinds if isinstance(error, kind)), "condition")
    return _failure(error_class, type(error).__name__, error.message)


def _from_client_error(error: BaseException) -> RunnerFailure | None:
    """Converts an error of elasticsearch-py, which is only imported if a plug-in's runner is called."""
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if not modules & {"elasticsearch", "elastic_transport"}:
        return None
    import elasticsearch

    if isinstance(error, elasticsearch.ApiError):
        parsed = _parse_api_error(error)
        return _failure("http-status", parsed.kind, parsed.reason, int(error.status_code))
    if isinstance(error, elasticsearch.ConnectionTimeout):
        return _failure("timeout", type(error).__name__, error.message)
    if isinstance(error, elasticsearch.ConnectionError):
        return _failure(_connection_error_class(error), type(error).__name__, error.message)
    return _failure("protocol", type(error).__name__, str(error))


def _connection_error_class(error: elasticsearch.ConnectionError) -> str:
    """Returns the driver's class of a failure, which the client's errors do not distinguish."""
    import elasticsearch

    from pacenote.python_tasks.client import BrokenConnection

    if isinstance(error, BrokenConnection):
        return "reset"
    return "tls" if isinstance(error, elasticsearch.SSLError) else "connect"


def _parse_api_error(error: Any) -> ResponseError:
    body = error.body
    if isinstance(body, Mapping):
        body = json.dumps(body, default=str).encode()
    elif hasattr(body, "getvalue"):
        body = body.getvalue()
    parsed = parse_response_error(body if isinstance(body, bytes) else str(body).encode())
    return ResponseError(parsed.kind or str(error.message), parsed.reason or str(error.message))


def _failure(error_class: str, kind: str, reason: str, status: int | None = None) -> RunnerFailure:
    """Returns a failure for the driver, which accepts only text that UTF-8 can encode."""
    return RunnerFailure(error_class, encodable(kind), encodable(reason), status)


def _returned_failure(returned: Mapping[str, Any]) -> RunnerFailure:
    status = returned.get("http-status")
    kind = str(returned.get("error-type") or "")
    reason = str(returned.get("error-description") or "its runner reported a failure")
    error_class = "bulk-item" if kind == "bulk" else "condition" if status is None else "http-status"
    known = isinstance(status, int) and 0 <= status <= _MAX_STATUS
    return _failure(error_class, kind, reason, status if known else None)


def _failed_weight(returned: Mapping[str, Any], weight: int) -> int | None:
    """Returns how much of the work of a bulk failed, or None if the runner does not return both counts."""
    done, failed = returned.get("success-count"), returned.get("error-count")
    if type(done) is not int or type(failed) is not int or min(done, failed) < 0:
        return None
    return failed if done + failed == weight else None


def _is_inconsistent(returned: Mapping[str, Any], weight: int) -> bool:
    """Returns whether the counts of the work done and failed do not add up to all of the work. Without a
    count of failures, none is assumed.
    """
    counts = (returned.get("success-count"), returned.get("error-count"))
    done, failed = (count if isinstance(count, int | float) else None for count in counts)
    return bool(failed if done is None else done != weight or failed)


def _weight(value: Any) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # NaN and infinity are not within the limits.
    if not is_number or not 0 <= value <= MAX_WEIGHT or value != int(value):
        raise TrackError(
            f"the runner returned the weight {preview(value)}, which must be a whole number from 0 to 2^53"
        )
    return int(value)


def _unit(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME:
        raise TrackError(f"the runner returned the unit {preview(value)}, which must be a word such as docs")
    return encodable(value)


def _reported_seconds(weight: int, throughput: float | None) -> float | None:
    """Returns the seconds that follow from the throughput that a runner returned, or None if it is not above
    0, or so small that they are infinite. Raises `TrackError` if it is too large.
    """
    if throughput is not None and throughput > MAX_WEIGHT:
        raise TrackError(f"the runner returned the throughput {throughput:g}, which must be at most 2^53")
    return weight / throughput if throughput is not None and throughput > 1 / MAX_FIGURE else None


def _numbers(prefix: str, returned: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    """Yields the numbers of a result with their keys; keys of nested dictionaries are joined with dots. Those
    with longer keys than `MAX_NAME` are left out: each figure repeats its key.
    """
    for key, value in returned.items():
        name = encodable(f"{prefix}{key}")
        if name in _REQUEST_KEYS or len(name) > MAX_NAME:
            continue
        if isinstance(value, Mapping):
            yield from _numbers(f"{name}.", value)
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_FIGURE:
            yield name, float(value)


class TaskUnits:
    """The units in which the runners of tasks count their work: one for each task, since work in several
    units cannot be added.
    """

    def __init__(self, secrets: frozenset[str] = frozenset()) -> None:
        """`secrets` are removed from units."""
        self._units: dict[int, str] = {}
        self._secrets = secrets

    def check(self, task: int, result: PythonOperationResult) -> PythonOperationResult:
        """Returns the result of an operation of a task, given by its position in the plan.

        It is a failure without work if its unit is not that of the first operation that did work.
        """
        unit = self._units.get(task)
        if result.unit != unit:
            result = replace(result, unit=redact_urls(redact(result.unit, self._secrets)))
        if unit is None:
            if result.success or result.weight:
                self._units[task] = result.unit
            return result
        if result.unit == unit:
            return result
        if not result.success:
            return replace(result, weight=0, failed_weight=0, unit=unit)
        reason = (
            f"the runner returned the unit {quoted(result.unit)}, but {quoted(unit)} before: all operations "
            "of a task must have the same unit"
        )
        failure = RunnerFailure("plugin", "", reason)
        return replace(result, weight=0, failed_weight=0, unit=unit, success=False, failure=failure)


class _NumberSummary(Struct):
    """Running summary of one returned number."""

    count: int = 0
    minimum: float = math.inf
    total: float = 0.0
    maximum: float = -math.inf
    mean: float = 0.0
    squares: float = 0.0
    batches: BatchMeans = field(default_factory=BatchMeans)

    def add(self, value: float) -> None:
        """Adds the number of an operation."""
        self.count += 1
        self.minimum, self.maximum = min(self.minimum, value), max(self.maximum, value)
        self.total += value
        # B. P. Welford, Technometrics 4, 1962: sums of squares of large numbers would lose the digits.
        off = value - self.mean
        self.mean += off / self.count
        self.squares += off * (value - self.mean)
        self.batches.add(value)

    def summary(self) -> ValueSummary:
        """Returns the summary of all operations."""
        mean, half = self.total / self.count, self.batches.half_width()
        return ValueSummary(
            count=self.count,
            min=self.minimum,
            mean=mean,
            max=self.maximum,
            standard_deviation=self._deviation(),
            low=None if half is None else mean - half,
            high=None if half is None else mean + half,
        )

    def _deviation(self) -> float | None:
        # The squares of the largest numbers that a runner may return are infinite.
        if self.count < 2 or not math.isfinite(self.squares):
            return None
        return math.sqrt(self.squares / (self.count - 1))


class ReturnedResults:
    """What the measured operations of a task returned: numbers, and the times reported for their work."""

    def __init__(self) -> None:
        self._summaries: dict[str, _NumberSummary] = {}
        self._work = ReportedWork()

    def add(self, result: PythonOperationResult) -> None:
        """Adds the result of a successful operation."""
        self._work.add(result.weight, result.reported_s)
        for name, value in result.values.items():
            if name not in self._summaries:
                self._summaries[name] = _NumberSummary()
            self._summaries[name].add(value)

    def add_to(self, result: TaskResult) -> TaskResult:
        """Returns the result of the task with the numbers, and with the throughput by the reported times."""
        result = structs.replace(result, values=self._values()) if self._summaries else result
        return self._work.replace_throughput(result)

    def _values(self) -> dict[str, ValueSummary]:
        return {name: summary.summary() for name, summary in self._summaries.items()}

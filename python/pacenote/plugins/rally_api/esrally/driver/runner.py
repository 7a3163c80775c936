"""Runners that plug-ins extend: the base class, wrappers, and the built-in types as objects.

A built-in type that a plug-in calls is executed by the driver, as in a separate task.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import time
from types import TracebackType
from typing import Any, Self

from pacenote.model.work import RETRY_LIMIT_S
from pacenote.operations.registry import known_types
from pacenote.plugins.plugin_registry import current_registry, innermost
from pacenote.plugins.rally_api.errors import DataError, RallyError
from pacenote.plugins.rally_api.failed_requests import FAILED_REQUESTS, FailedRequests

Params = dict[str, Any]


class Runner:
    """Base class of runners."""

    def __init__(self, *args: Any, config: object = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = logging.getLogger(type(self).__module__)
        self.config = config
        self.serverless_mode = False
        self.serverless_operator = False

    async def __aenter__(self) -> Self:
        return self

    async def __call__(self, es: Any, params: Any) -> Any:
        """Executes one operation."""
        raise NotImplementedError(f"{type(self).__name__} does not implement an operation")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return False

    def _default_kw_params(self, params: Params) -> Params:
        """Returns arguments for the client's methods from the parameters that all operations accept."""
        keys = {"opaque_id": "opaque-id", "params": "request-params", "request_timeout": "request-timeout"}
        keys |= {key: key for key in ("body", "headers", "index")}
        return {argument: params[key] for argument, key in keys.items() if params.get(key) is not None}

    @staticmethod
    def _transport_request_params(params: Params) -> tuple[Params, Params, Params, Params]:
        """Returns the parameters of the operation, of the query and of the transport, and the headers."""
        rest, query = dict(params), dict(params.get("request-params") or {})
        transport: Params = {}
        if timeout := rest.pop("request-timeout", None):
            transport["request_timeout"] = timeout
        if ignored := query.pop("ignore", None) or rest.pop("ignore", None):
            transport["ignore_status"] = ignored
        headers = dict(rest.pop("headers", None) or {})
        if opaque_id := rest.pop("opaque-id", None):
            headers["x-opaque-id"] = opaque_id
        return rest, query, transport, headers


class Delegator:
    """Base class of wrappers around a runner."""

    def __init__(self, delegate: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.delegate = delegate


class _Wrapper(Runner, Delegator):
    """A runner that wraps another and enters and exits its context."""

    async def __aenter__(self) -> Self:
        if hasattr(self.delegate, "__aenter__"):
            await self.delegate.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if hasattr(self.delegate, "__aexit__"):
            return bool(await self.delegate.__aexit__(kind, error, trace))
        return False


class Retry(_Wrapper):
    """A runner that retries as specified by the operation's parameters; all attempts are one sample."""

    def __init__(self, delegate: Any, retry_until_success: bool = False) -> None:
        super().__init__(delegate=delegate)
        self.retry_until_success = retry_until_success

    async def __call__(self, es: Any, params: Params) -> Any:
        """Executes the operation until it succeeds or no retry is allowed."""
        until_success = params.get("retry-until-success", self.retry_until_success)
        on_error = until_success or params.get("retry-on-error", False)
        on_timeout = params.get("retry-on-timeout", True)
        wait_s = _number(params, "retry-wait-period", 0.5)
        limit_s = _number(params, "retry-time-period", RETRY_LIMIT_S)
        retries = _number(params, "retries", 0)
        began = time.monotonic()

        def was_last(attempt: int) -> bool:
            if until_success:
                return time.monotonic() - began + wait_s > limit_s
            return attempt > retries

        failed_requests = FAILED_REQUESTS.get() or FailedRequests()
        failed_before = failed_requests.count
        for attempt in itertools.count(1):
            failed_requests.count = failed_before
            try:
                result = await self.delegate(es, params)
            except Exception as error:
                if not on_timeout or not _is_transient(error) or was_last(attempt):
                    raise
            else:
                failed = isinstance(result, dict) and not result.get("success", True)
                if not (failed and on_error) or was_last(attempt):
                    return result
            await asyncio.sleep(wait_s)
        raise AssertionError("the last attempt returns or raises")

    def __repr__(self) -> str:
        return f"retryable {self.delegate!r}"


def _number(params: Params, key: str, default: float) -> float:
    """Returns a number that may be given as text, as in Rally's parameters from the command line."""
    try:
        number = float(params.get(key, default))
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise DataError(f"{key} is {params[key]!r}, but must be a number")
    return number


def _is_transient(error: Exception) -> bool:
    """Returns whether the cause is the connection or a timeout, not a response of the engine."""
    import elasticsearch

    if isinstance(error, elasticsearch.ApiError):
        return bool(error.status_code == 408)
    return isinstance(error, TimeoutError | elasticsearch.TransportError)


def unwrap(runner: Any) -> Any:
    """Returns the runner inside all its wrappers."""
    return innermost(runner)


def runner_for(operation_type: Any) -> Any:
    """Returns the runner of a type: that of a plug-in, otherwise the built-in one. Raises `RallyError`."""
    name = str(getattr(operation_type, "value", operation_type))
    registered = current_registry().runners.get(name)
    if registered is not None:
        return _Registered(registered)
    if name not in known_types():
        raise RallyError(f"No runner available for operation-type: [{name}]")
    return _Registered(_built_in(name)())


class _Registered(_Wrapper):
    """A runner in Rally's registry: it receives all clients and passes on those that its runner expects."""

    async def __call__(self, es: Any, params: Params) -> Any:
        wants_all = getattr(innermost(self.delegate), "multi_cluster", False)
        return await self.delegate(es if wants_all or not isinstance(es, dict) else es["default"], params)


class BuiltIn(Runner):
    """An operation of a built-in type, executed by the driver."""

    operation_type = ""

    async def __call__(self, es: Any, params: Params) -> Any:
        """Executes the operation, and returns what Rally's runner of the type returns."""
        return await es.pacenote_execute(self.operation_type, params)

    def __repr__(self) -> str:
        return self.operation_type


class BulkIndex(BuiltIn):
    """One bulk request. Subclasses may extend its result."""

    operation_type = "bulk"


class PutSettings(BuiltIn):
    """Cluster settings."""

    operation_type = "put-settings"


class Query(BuiltIn):
    """A search."""

    operation_type = "search"


_CLASSES: dict[str, type[BuiltIn]] = {"bulk": BulkIndex, "put-settings": PutSettings, "search": Query}
_UNLIKE = {"IndicesStats": "index-stats", "IndicesRecovery": "wait-for-recovery"}
"""Classes of Rally whose names differ from those of their types."""


def _built_in(name: str) -> type[BuiltIn]:
    if name not in _CLASSES:
        title = "".join(map(str.capitalize, name.split("-")))
        _CLASSES[name] = type(title, (BuiltIn,), {"operation_type": name, "__module__": __name__})
    return _CLASSES[name]


def __getattr__(name: str) -> type[BuiltIn]:
    """Returns the class of another built-in type by Rally's name."""
    for kind in known_types():
        if name == "".join(map(str.capitalize, kind.split("-"))) or _UNLIKE.get(name) == kind:
            return _built_in(kind)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def mandatory(params: Any, key: str, op: object) -> Any:
    """Returns the value of a mandatory parameter. Raises `DataError` if it is missing."""
    try:
        return params[key]
    except KeyError:
        raise DataError(
            f"Parameter source for operation '{op}' did not provide the mandatory parameter '{key}'. "
            "Add it to your parameter source and try again."
        ) from None


def escape(value: Any) -> str | None:
    """Formats a value for a query string, and returns None for None."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse(text: Any, props: list[str], lists: list[str] | None = None, **_others: Any) -> dict[str, Any]:
    """Returns the values at dotted paths of a raw reply, and whether each of the `lists` is empty."""
    document = json.loads(text.getvalue() if hasattr(text, "getvalue") else text)
    values = {path: value for path in props if (value := _at(document, path)) is not None}
    return values | {path: not value for path in lists or () if (value := _at(document, path)) is not None}


def _at(document: Any, path: str) -> Any:
    for part in path.split("."):
        if not isinstance(document, dict):
            return None
        document = document.get(part)
    return document

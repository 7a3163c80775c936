"""`run-until`: repeats a request until a value in its response meets a criterion.

It pauses for `retry-wait-interval` seconds between two requests. A missing value only meets `not_exists`; 0
and false are not missing.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Mapping
from typing import Any

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted
from pacenote.model.problems import preview
from pacenote.model.work import PythonRunner
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import (
    METHODS,
    check_json,
    common_params,
    encode_path,
    json_body,
    read_common,
    seconds_param,
)
from pacenote.operations.runner import BuiltinResult, DriverClient, OperationFailed, poll

_PAUSE_S = 60.0

_NUMERIC: Mapping[str, Callable[[float, float], bool]] = {
    "gte": operator.ge,
    "lte": operator.le,
    "eq": operator.eq,
    "neq": operator.ne,
}
_OPERATORS = ("exists", "not_exists", *_NUMERIC)


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    read_common(params)
    path = params.required_text("path")
    if path and not path.startswith("/"):
        params.problem("path", f"is {preview(path)}, but must start with /")
    if params.text("method", "GET").upper() not in METHODS:
        method = preview(params.data["method"])
        params.problem("method", f"is {method}, but must be one of {', '.join(METHODS)}")
    params.required_text("json-path")
    params.required("criterion")
    params.number("retry-wait-interval")
    check_json(params, "body")
    if params.has("criterion"):
        _check_criterion(params.child("criterion"))
    return CompiledOperation(PythonRunner())


def _check_criterion(criterion: FieldReader) -> None:
    name = criterion.required_text("operator")
    if name and name not in _OPERATORS:
        criterion.problem("operator", f"is {preview(name)}, but must be one of {', '.join(_OPERATORS)}")
    if name in _NUMERIC and _number(criterion.data.get("value")) is None:
        criterion.problem("value", f"is {preview(criterion.data.get('value'))}, but must be a number")


async def _run(
    client: DriverClient, params: Mapping[str, Any], client_state: dict[str, Any]
) -> BuiltinResult:
    body = params.get("body")
    method, path = str(params.get("method", "GET")).upper(), encode_path(params["path"])
    text = None if body is None else json_body(body)
    request = common_params(params).request(method, path, body=text)
    keys = params["json-path"].split(".")
    pause_s = seconds_param(params, "retry-wait-interval", _PAUSE_S)
    while not _is_met(_value((await poll(client, request, pause_s)).json(), keys), params):
        await asyncio.sleep(pause_s)
    return BuiltinResult()


def _is_met(value: Any, params: Mapping[str, Any]) -> bool:
    criterion = params["criterion"]
    name: str = criterion["operator"]
    if name not in _NUMERIC:
        return (value is None) is (name == "not_exists")
    if value is None:
        return False
    actual, expected = _number(value), _number(criterion["value"])
    if actual is None or expected is None:
        raise OperationFailed(f"{quoted(params['json-path'])} is {preview(value)}, which is not a number")
    return _NUMERIC[name](actual, expected)


def _value(response: Any, keys: list[str]) -> Any:
    """Returns the first value at a dotted path, or None if there is none; `item` matches any list entry."""
    for position, key in enumerate(keys):
        if isinstance(response, list):
            inner = keys[position + 1 :] if key == "item" else keys[position:]
            values = (_value(entry, inner) for entry in response)
            return next((value for value in values if value is not None), None)
        response = response.get(key) if isinstance(response, dict) else None
    return response


def _number(value: Any) -> float | None:
    if not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (OverflowError, ValueError):
        return None


OPERATION = OperationType(
    name="run-until", compile=_compile, may_change_documents=True, run=_run, retryable=True
)

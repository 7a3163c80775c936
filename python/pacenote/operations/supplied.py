"""Converts the parameters from a parameter source to operations for the driver while the race runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.assertion import Assertion
from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import Problems, describe_value
from pacenote.model.track import Operation
from pacenote.model.work import CallSequence, Sleep, Wait
from pacenote.operations.base import CompileContext, OperationType
from pacenote.operations.compile import InvalidOperation, compile_operation, read_type_assertions
from pacenote.operations.supplied_bulk import InvalidSourceParams, compile_supplied_bulk
from pacenote.operations.supplied_json import bulk_json, calls_json

_INVALID = "returned invalid parameters"


class EncodedOperation(Struct, frozen=True):
    """A supplied operation as the driver receives it."""

    document: str
    """The JSON document of the operation."""

    body: bytes | None = None
    """The body of a bulk, which is not part of the document, or None for other operations."""

    weight: int = 1
    """The work of the operation, in `unit`."""

    unit: str = "ops"
    """The unit of work."""


class OperationSupplier:
    """Compiles the parameters that a parameter source returns into operations of one built-in type."""

    def __init__(self, operation_type: OperationType, context: CompileContext) -> None:
        self._operation_type = operation_type
        self._context = replace(context, supplied=True)

    def supply(self, params: object) -> EncodedOperation:
        """Compiles parameters. Raises `InvalidSourceParams` if they are invalid."""
        if not isinstance(params, Mapping):
            raise InvalidSourceParams(
                f"returned {describe_value(params)}, but must return a dictionary of parameters"
            )
        if self._operation_type.indexes_documents:
            bulk = compile_supplied_bulk(params)
            request = replace(bulk.request, assertions=self._assertions(params))
            return EncodedOperation(bulk_json(request), bulk.body, request.documents, bulk.unit)
        operation = Operation(self._operation_type.name, self._operation_type.name, params, key_path=("",))
        try:
            compiled = compile_operation(self._operation_type, operation, self._context)
        except InvalidOperation as error:
            raise InvalidSourceParams(f"{_INVALID}: {error.problems[0]}") from error
        except (TypeError, ValueError) as error:
            # A source may return values of any type.
            raise InvalidSourceParams(f"{_INVALID}: {error}") from error
        work = compiled.work
        if isinstance(work, Sleep):
            work = CallSequence((Wait(work.seconds),))
        assert isinstance(work, CallSequence), "types that run in Python are not supplied"
        return EncodedOperation(calls_json(work), None, compiled.weight, compiled.unit)

    def _assertions(self, params: Mapping[str, Any]) -> tuple[Assertion, ...]:
        if not self._context.assertions or not params.get("assertions"):
            return ()
        problems = Problems()
        assertions = read_type_assertions(self._operation_type, FieldReader(params, (), problems))
        for problem in problems:
            raise InvalidSourceParams(f"{_INVALID}: {problem}")
        return assertions

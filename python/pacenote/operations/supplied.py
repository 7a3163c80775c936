"""Operations that a parameter source supplies while the race runs: from its parameters to the driver's
document.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from pacenote.model.track import Operation
from pacenote.model.work import CallSequence, Sleep, Wait
from pacenote.operations.base import CompileContext, OperationType
from pacenote.operations.compile import InvalidOperation, compile_operation
from pacenote.operations.supplied_bulk import InvalidSourceParams, compile_supplied_bulk, describe_value
from pacenote.operations.supplied_json import bulk_json, calls_json

_WRONG = "returned parameters that are wrong"


@dataclass(frozen=True, slots=True)
class EncodedOperation:
    """One supplied operation as the driver receives it."""

    document: str
    """The JSON document of the operation."""

    body: bytes | None = None
    """The body of a bulk, which is passed beside the document."""

    weight: int = 1
    """The work of the operation, in `unit`."""

    unit: str = "ops"
    """The unit of work."""


class OperationSupplier:
    """Compiles what a parameter source returns into operations of one native type."""

    def __init__(self, kind: OperationType, context: CompileContext) -> None:
        self._kind = kind
        self._context = dataclasses.replace(context, supplied=True)

    def supply(self, params: object) -> EncodedOperation:
        """Compiles these parameters. Raises `InvalidSourceParams` if anything is wrong with them."""
        if not isinstance(params, Mapping):
            raise InvalidSourceParams(
                f"returned {describe_value(params)}, must be a dictionary of parameters"
            )
        if self._kind.name == "bulk":
            bulk = compile_supplied_bulk(params)
            return EncodedOperation(bulk_json(bulk.request), bulk.body, bulk.request.documents, bulk.unit)
        operation = Operation(self._kind.name, self._kind.name, params, key_path=("",))
        try:
            compiled = compile_operation(self._kind, operation, self._context)
        except InvalidOperation as error:
            raise InvalidSourceParams(f"{_WRONG}: {error.problems[0]}") from error
        except (TypeError, ValueError) as error:
            # A source can return values of any type.
            raise InvalidSourceParams(f"{_WRONG}: {error}") from error
        work = compiled.work
        if isinstance(work, Sleep):
            work = CallSequence((Wait(work.seconds),))
        assert isinstance(work, CallSequence), "types that run in Python are not supplied"
        return EncodedOperation(calls_json(work), None, compiled.weight, compiled.unit)

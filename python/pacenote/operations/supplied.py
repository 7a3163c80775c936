"""Operations that a parameter source supplies while the race runs: from what it returned to the document that
the driver carries out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from pacenote.model.track import Operation
from pacenote.model.work import Calls, Sleep, Wait
from pacenote.operations.base import Context, OperationType
from pacenote.operations.compile import OperationRefused, compile_operation
from pacenote.operations.supplied_bulk import SourceRefused, compile_supplied_bulk, described
from pacenote.operations.supplied_json import text_of_bulk, text_of_calls

_WRONG = "returned parameters that are wrong"


@dataclass(frozen=True, slots=True)
class SuppliedOperation:
    """One operation for the driver: the supply document, the body beside it (bulk), and its work."""

    document: str
    body: bytes | None = None
    weight: int = 1
    unit: str = "ops"


class Supplier:
    """Turns what a parameter source returns into operations of one native type."""

    def __init__(self, kind: OperationType, context: Context) -> None:
        self._kind = kind
        self._context = dataclasses.replace(context, supplied=True)

    def supply(self, params: object) -> SuppliedOperation:
        """The operation with these parameters. Raises `SourceRefused` if anything is wrong with them."""
        if not isinstance(params, Mapping):
            raise SourceRefused(f"returned {described(params)}, must be a dictionary of parameters")
        if self._kind.name == "bulk":
            bulk, body, unit = compile_supplied_bulk(params)
            return SuppliedOperation(text_of_bulk(bulk), body, bulk.documents, unit)
        operation = Operation(self._kind.name, self._kind.name, params, place=("",))
        try:
            compiled = compile_operation(self._kind, operation, self._context)
        except OperationRefused as refused:
            raise SourceRefused(f"{_WRONG}: {refused.problems[0]}") from refused
        except (TypeError, ValueError) as error:
            # The values are of the source's own making, and may be anything.
            raise SourceRefused(f"{_WRONG}: {error}") from error
        work = compiled.work
        if isinstance(work, Sleep):
            work = Calls((Wait(work.seconds),))
        assert isinstance(work, Calls), "types that run in Python are not supplied"
        return SuppliedOperation(text_of_calls(work), None, compiled.weight, compiled.unit)

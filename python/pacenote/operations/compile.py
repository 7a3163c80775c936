"""Compiles and runs one operation with the rules of its type."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import Problems
from pacenote.model.track import Operation
from pacenote.operations.assertions import read_assertions, with_assertions
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import read_retry
from pacenote.operations.runner import DriverClient, RunResult, run_with_retry


class InvalidOperation(TrackError):
    """The parameters of an operation are invalid; `found_problems` are the problems with their key paths."""

    def __init__(self, operation: Operation, found: Problems) -> None:
        super().__init__(
            f'operation "{operation.name}" ({operation.type}) cannot be run',
            problems=tuple(str(problem) for problem in found),
        )
        self.found_problems = tuple(found)


def compile_operation(
    kind: OperationType, operation: Operation, context: CompileContext
) -> CompiledOperation:
    """Compiles an operation with the rules of its type.

    Raises `InvalidOperation` with all problems of its parameters, each with its key path.
    """
    problems = Problems()
    compiled = compile_params(
        kind, FieldReader(operation.params, operation.key_path or (operation.name,), problems), context
    )
    if problems:
        raise InvalidOperation(operation, problems)
    return compiled


def compile_params(kind: OperationType, params: FieldReader, context: CompileContext) -> CompiledOperation:
    """Compiles an operation from its parameters; the reader collects their problems."""
    compiled = kind.compile(params, context)
    if not context.assertions or not params.has("assertions"):
        return compiled
    assertions = read_assertions(params, kind.name, kind.assertable)
    return dataclasses.replace(compiled, work=with_assertions(compiled.work, assertions))


async def run_operation(
    kind: OperationType,
    params: Mapping[str, Any],
    context: CompileContext,
    client: DriverClient,
    client_state: dict[str, Any],
) -> RunResult:
    """Runs one execution of a type that is implemented in Python, with its retries.

    `client_state` is shared by all executions of a client in a task. Raises `InvalidOperation` for invalid
    parameters, and `OperationError` if a request or the operation fails.
    """
    if kind.run is None:
        raise ValueError(f"{kind.name} does not run in Python")
    operation = Operation(kind.name, kind.name, params)
    compile_operation(kind, operation, context)
    if not kind.retryable:
        return await kind.run(client, params, client_state)
    retry = read_retry(FieldReader(params, (), Problems()))
    return await run_with_retry(kind.run, retry, client, params, client_state)

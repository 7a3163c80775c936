"""Compiles and runs one operation with the rules of its type."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pacenote.errors import PacenoteError, TrackError
from pacenote.model.assertion import Assertion
from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import DEFECT
from pacenote.model.printable import single_line
from pacenote.model.problems import Problems
from pacenote.model.track import Operation
from pacenote.model.work import NO_RETRY
from pacenote.operations.assertions import AssertableProperties, read_assertions, with_assertions
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import read_retry
from pacenote.operations.runner import (
    BuiltinResult,
    DriverClient,
    OperationDefect,
    check_figures,
    run_with_retry,
)


class InvalidOperation(TrackError):
    """The parameters of an operation are invalid; `found_problems` are the problems with their key paths."""

    def __init__(self, operation: Operation, problems: Problems) -> None:
        super().__init__(
            f'operation "{operation.name}" ({operation.type}) cannot be run',
            problems=tuple(str(problem) for problem in problems),
        )
        self.found_problems = tuple(problems)


def compile_operation(
    operation_type: OperationType, operation: Operation, context: CompileContext
) -> CompiledOperation:
    """Compiles an operation with the rules of its type.

    Raises `InvalidOperation` with all problems of its parameters, each with its key path.
    """
    problems = Problems()
    compiled = compile_params(
        operation_type,
        FieldReader(operation.params, operation.key_path or (operation.name,), problems),
        context,
    )
    if problems:
        raise InvalidOperation(operation, problems)
    return compiled


def compile_params(
    operation_type: OperationType, params: FieldReader, context: CompileContext
) -> CompiledOperation:
    """Compiles an operation from its parameters; the reader collects their problems."""
    compiled = operation_type.compile(params, context)
    if operation_type.completes_task:
        compiled = replace(compiled, until_exhausted=True)
    if not context.assertions or not params.has("assertions"):
        return compiled
    assertions = read_type_assertions(operation_type, params)
    return replace(compiled, work=with_assertions(compiled.work, assertions))


def read_type_assertions(operation_type: OperationType, params: FieldReader) -> tuple[Assertion, ...]:
    """Reads the assertions of an operation; the reader collects their problems."""
    properties = AssertableProperties(operation_type.assertable, operation_type.assertable_details)
    return read_assertions(params, operation_type.name, properties)


async def run_operation(
    operation_type: OperationType,
    params: Mapping[str, Any],
    context: CompileContext,
    client: DriverClient,
    client_state: dict[str, Any],
) -> BuiltinResult:
    """Runs one execution of a type that is implemented in Python, with its retries.

    `client_state` is shared by all executions of a client in a task. Raises `InvalidOperation` for invalid
    parameters, and `RunnerError` if a request or the operation fails, if a response does not have the form
    that the operation expects, or if the code of the type has a defect.
    """
    if operation_type.run is None:
        raise ValueError(f"{operation_type.name} does not run in Python")
    operation = Operation(operation_type.name, operation_type.name, params)
    compile_operation(operation_type, operation, context)
    retryable = operation_type.retryable
    retry = read_retry(FieldReader(params, (), Problems())) if retryable else NO_RETRY
    try:
        return check_figures(await run_with_retry(operation_type.run, retry, client, params, client_state))
    except PacenoteError:
        raise
    except Exception as error:
        # Types read responses with `expected_form`, so this is not an error of the engine.
        text = f"{DEFECT} in {operation_type.name}: {_described(error)}"
        raise OperationDefect(text) from error


def _described(error: Exception) -> str:
    """Returns the type and the text of an error, and the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    line = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return single_line(f"{type(error).__name__}{line}: {error}")

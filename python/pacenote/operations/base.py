"""The contract of an operation type: what a file in this package offers, and what it may know when it
compiles.

Adding an operation is adding one file whose name is the type with underscores and which holds a constant
`OPERATION`; nothing else has to be edited.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Protocol

from pacenote.errors import TrackError
from pacenote.model.reader import Problems, Reader
from pacenote.model.track import Corpus, Documents, Operation, Track
from pacenote.model.work import Work
from pacenote.operations.assertions import read_assertions, with_assertions
from pacenote.operations.client import Client, Runner, RunResult, run_with_retry
from pacenote.operations.request import read_retry
from pacenote.units import OPS


class Serverless(enum.Enum):
    """Whether an operation may run on a serverless cluster."""

    PUBLIC = "public"
    INTERNAL = "internal"
    BLOCKED = "blocked"


class DataFileLookup(Protocol):
    """Where the prepared data of a corpus is."""

    def __call__(self, corpus: Corpus, documents: Documents) -> tuple[PurePath, int]:
        """The absolute path of the unpacked file and the number of documents in it."""


def declared_data_file(corpus: Corpus, documents: Documents) -> tuple[PurePath, int]:
    """What the track declares, for a plan that is only looked at; an undeclared count is 0."""
    count = corpus.declared_counts()[corpus.documents.index(documents)]
    folder = PurePath() if documents.is_local else PurePath(corpus.name)
    return folder / documents.document_file, count or 0


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine under test as far as it is known before the race; empty strings where it is not."""

    distribution: str = ""
    version: str = ""
    flavor: str = "default"


@dataclass(frozen=True, slots=True)
class Context:
    """What an operation may know beside its own parameters.

    `assertions` says whether what tracks assert of replies is looked at. `clients` is how many run the task.
    `supplied` parameters come from a parameter source, so nothing of the track stands in for what is not
    among them. `remembered` are the names of values that the operations of a composite one keep for one
    another; None outside of one.
    """

    track: Track
    data_file: DataFileLookup = declared_data_file
    engine: Engine = field(default_factory=Engine)
    assertions: bool = False
    clients: int = 1
    supplied: bool = False
    remembered: frozenset[str] | None = None

    @property
    def is_opensearch(self) -> bool:
        """Whether the engine is known to be OpenSearch, which has other paths for some requests."""
        return self.engine.distribution == "opensearch"

    @property
    def is_serverless(self) -> bool:
        """Whether the engine is serverless, which keeps cluster settings to itself."""
        return self.engine.flavor == "serverless"


@dataclass(frozen=True, slots=True)
class Compiled:
    """What an operation became.

    `weight` is the work one execution does, in `unit`: the pacer divides a target rate by it. A `finite`
    source ends its task by itself.
    """

    work: Work
    weight: int = 1
    unit: str = OPS
    finite: bool = False


@dataclass(frozen=True, slots=True)
class OperationType:
    """One operation type.

    `unit` is what its work is counted in. `admin` types are left out of the report unless they failed or the
    track asks for them. A type with `run` is carried out in Python and compiles to `Lane`; `retried` says
    that the retry parameters apply to it, `ending` that it says itself when it is done. `asserted` are the
    properties that tracks can assert of it: where in the reply they are; one that ends with a dot stands for
    all that begin with it.
    """

    name: str
    compile: Callable[[Reader, Context], Compiled]
    unit: str = OPS
    admin: bool = False
    serverless: Serverless = Serverless.PUBLIC
    run: Runner | None = None
    retried: bool = False
    ending: bool = False
    asserted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class OperationRefused(TrackError):
    """The parameters of an operation are wrong; `found` are its problems, to be told with their places."""

    def __init__(self, operation: Operation, found: Problems) -> None:
        super().__init__(
            f'operation "{operation.name}" ({operation.type}) cannot be run',
            problems=tuple(str(problem) for problem in found),
        )
        self.found = tuple(found)


def compile_operation(kind: OperationType, operation: Operation, context: Context) -> Compiled:
    """Compiles an operation with the rules of its type.

    Raises `OperationRefused` with every problem of its parameters at once, each with its key path.
    """
    problems = Problems()
    compiled = compile_params(
        kind, Reader(operation.params, operation.place or (operation.name,), problems), context
    )
    if problems:
        raise OperationRefused(operation, problems)
    return compiled


def compile_params(kind: OperationType, params: Reader, context: Context) -> Compiled:
    """Compiles an operation from its parameters, noting what is wrong with them."""
    compiled = kind.compile(params, context)
    if not context.assertions or not params.has("assertions"):
        return compiled
    assertions = read_assertions(params, kind.name, kind.asserted)
    return dataclasses.replace(compiled, work=with_assertions(compiled.work, assertions))


async def carry_out(
    kind: OperationType, params: Mapping[str, Any], context: Context, client: Client, memory: dict[str, Any]
) -> RunResult:
    """Carries out one execution of a type that runs in Python, with its retries.

    `memory` is one dictionary for all executions of a client in a task. Raises `OperationRefused` for wrong
    parameters, `LaneError` for a request or an operation that failed.
    """
    if kind.run is None:
        raise ValueError(f"{kind.name} does not run in Python")
    operation = Operation(kind.name, kind.name, params)
    compile_operation(kind, operation, context)
    if not kind.retried:
        return await kind.run(client, params, memory)
    retry = read_retry(Reader(params, (), Problems()))
    return await run_with_retry(kind.run, retry, client, params, memory)


def included_in_report(kind: OperationType | None, params: Mapping[str, Any]) -> bool:
    """Whether a report shows the operation when nothing failed; `kind` is None for a type nobody knows."""
    default = kind is None or not kind.admin
    value = params.get("include-in-reporting", default)
    return value if isinstance(value, bool) else str(value).lower() == "true"

"""The interface of operation types: what a file in `operations/types` provides, and the context it receives.

To add an operation, add one file to `operations/types`. Its name is that of the type, with underscores
for dashes, and it contains a constant `OPERATION`. No other file has to be changed:

    def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
        path = build_path(join_names(params.names("index")), "_refresh")
        request = read_common(params).request("POST", path)
        return CompiledOperation(CallSequence((request,), read_retry(params)))

    OPERATION = OperationType(name="refresh", compile=_compile, admin=True)
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field

from pacenote.model.engine import EngineInfo
from pacenote.model.field_reader import FieldReader
from pacenote.model.track import CorpusFile, Track
from pacenote.model.work import TaskWork
from pacenote.operations.runner import Runner
from pacenote.units import OPS


class ServerlessStatus(enum.Enum):
    """Whether an operation may run on a serverless cluster."""

    PUBLIC = "public"
    """All users may run it."""

    INTERNAL = "internal"
    """Only the operator of the cluster may run it."""

    BLOCKED = "blocked"
    """Serverless clusters do not support it."""


class DataFile(Struct, frozen=True):
    """An unpacked data file, ready to be read."""

    path: Path
    """The absolute path of the file."""

    documents: int
    """The number of documents, counted in the file."""


class DataFileLookup(Protocol):
    """Looks up the prepared data of a corpus."""

    def __call__(self, file: CorpusFile) -> DataFile:
        """Returns the unpacked file."""


def declared_data_file(file: CorpusFile) -> DataFile:
    """Returns the file as the track declares it, for a plan that is not run. A count that is not declared is
    0.
    """
    corpus, documents = file.corpus, file.documents
    count = corpus.declared_counts()[corpus.documents.index(documents)]
    folder = Path() if documents.is_local else Path(corpus.name)
    return DataFile(folder / documents.document_file, count or 0)


class CompileContext(Struct, frozen=True):
    """The context of a compilation: what an operation type uses in addition to the operation's parameters."""

    track: Track
    """The track."""

    data_file: DataFileLookup = declared_data_file
    """Finds the prepared data file of a corpus."""

    engine: EngineInfo = field(default_factory=EngineInfo)
    """The engine under test."""

    assertions: bool = False
    """Whether assertions of the track are checked."""

    index_settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of all indices that the track creates, by their full names; they override those of the
    track.
    """

    clients: int = 1
    """Number of clients of the task."""

    supplied: bool = False
    """Whether the parameters come from a parameter source; the track's defaults then do not apply."""

    captures: frozenset[str] | None = None
    """Names of values that operations of a composite operation capture for others, or None outside of one."""


class CompiledOperation(Struct, frozen=True):
    """An operation as the driver runs it."""

    work: TaskWork
    """The work that the driver does."""

    weight: int = 1
    """Work of one execution, in `unit`: the sum of the weights of its requests. Pacing divides a target rate
    by it.
    """

    unit: str = OPS
    """The unit of work."""

    until_exhausted: bool = False
    """Whether the task, without periods or iterations, runs until its operations are exhausted, for example
    until a bulk task has sent all its data; otherwise it runs one operation.
    """


class OperationType(Struct, frozen=True):
    """One operation type."""

    name: str
    """The value of `operation-type`: the file name with dashes."""

    compile: Callable[[FieldReader, CompileContext], CompiledOperation]
    """Compiles the parameters; invalid parameters are reported to the reader, not raised."""

    unit: str = OPS
    """The unit of work."""

    admin: bool = False
    """Whether reports omit it unless it failed or the track includes it."""

    serverless: ServerlessStatus = ServerlessStatus.PUBLIC
    """Whether it may run on a serverless cluster."""

    run: Runner | None = None
    """Runs the operation in Python; a type with `run` compiles to `PythonRunner`."""

    retryable: bool = False
    """Whether the retry parameters apply to `run`."""

    completes_task: bool = False
    """Whether the task runs until a result of `run` has `completes_task`; implies `until_exhausted`."""

    indexes_documents: bool = False
    """Whether it sends the documents of data files in bulk requests: it reads the files that its parameters
    select, accepts `looped`, and a parameter source supplies the bodies of its requests.
    """

    searches: bool = False
    """Whether it searches documents with a query of the track; such a type only reads."""

    only_reads: bool = False
    """Whether it changes nothing that later tasks depend on: indices, documents, settings, or their state."""

    may_create_indices: bool = False
    """Whether it can create indices or data streams, also through a request that the track writes."""

    may_change_documents: bool = False
    """Whether it can add or delete documents through a request that the track writes, or restore them."""

    deletes_indices: bool = False
    """Whether it deletes indices or data streams with their documents."""

    needs_modules: tuple[str, ...] = ()
    """Modules and plugins of engines that answer its requests, for every engine that has the type."""

    composable: bool = False
    """Whether it can be a part of a `composite` operation; it must compile to calls or to a pause."""

    captures: bool = False
    """Whether later parts of a `composite` operation can refer by its name to a value that it captures."""

    assertable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Paths in the response of each property that tracks can assert; a name that ends with a dot means
    all names that begin with it. Types with `run` have none, because the driver does not see their results.
    """

    assertable_details: tuple[str, ...] = ()
    """Properties that tracks can assert and that are not in the response: those of the details, or of the
    result of `run`. A name that ends with a dot means all names that begin with it, an empty one all names.
    """


def include_in_reporting(operation_type: OperationType | None, params: Mapping[str, Any]) -> bool:
    """Returns whether a report shows the operation if nothing failed; the type is None for one of a
    plug-in.
    """
    default = operation_type is None or not operation_type.admin
    value = params.get("include-in-reporting", default)
    return value if isinstance(value, bool) else str(value).lower() == "true"

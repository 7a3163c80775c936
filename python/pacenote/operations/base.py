"""The contract of an operation type: what a file of `operations/types` offers, and what it may know.

To add an operation, add one file to `operations/types`. It is named like the type, with underscores for
dashes, and holds a constant `OPERATION`; nothing else has to be edited:

    def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
        path = build_path(join_names(params.names("index")), "_refresh")
        request = read_common(params).request("POST", path)
        return CompiledOperation(CallSequence((request,), read_retry(params)))

    OPERATION = OperationType(name="refresh", compile=_compile, admin=True)
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Protocol

from pacenote.model.field_reader import FieldReader
from pacenote.model.track import CorpusFile, Track
from pacenote.model.work import TaskWork
from pacenote.operations.runner import Runner
from pacenote.units import OPS


class ServerlessStatus(enum.Enum):
    """Whether an operation may run on a serverless cluster."""

    PUBLIC = "public"
    """Every user may run it."""

    INTERNAL = "internal"
    """Only the operator of the cluster may run it."""

    BLOCKED = "blocked"
    """It does not exist there."""


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """An unpacked data file."""

    path: PurePath
    """Its absolute path."""

    documents: int
    """The number of documents in it."""


class DataFileLookup(Protocol):
    """Finds the prepared data of a corpus."""

    def __call__(self, file: CorpusFile) -> PreparedFile:
        """Returns the unpacked file."""


def declared_data_file(file: CorpusFile) -> PreparedFile:
    """Returns what the track declares, for a plan that is not run; an undeclared count is 0."""
    corpus, documents = file.corpus, file.documents
    count = corpus.declared_counts()[corpus.documents.index(documents)]
    folder = PurePath() if documents.is_local else PurePath(corpus.name)
    return PreparedFile(folder / documents.document_file, count or 0)


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """The engine under test as far as it is known before the race."""

    distribution: str = ""
    """`elasticsearch` or `opensearch`, empty if not known."""

    version: str = ""
    """Its version, empty if not known."""

    flavor: str = "default"
    """Its build flavor."""


@dataclass(frozen=True, slots=True)
class CompileContext:
    """What an operation type may know besides the parameters of the operation."""

    track: Track
    """The track."""

    data_file: DataFileLookup = declared_data_file
    """Finds the prepared data file of a corpus."""

    engine: EngineInfo = field(default_factory=EngineInfo)
    """The engine under test."""

    assertions: bool = False
    """Whether assertions of the track are checked."""

    clients: int = 1
    """How many clients run the task."""

    supplied: bool = False
    """Whether the parameters come from a parameter source, so that the track provides no defaults."""

    captures: frozenset[str] | None = None
    """Names of values that the operations of a composite one capture for each other; None outside of one."""

    @property
    def is_opensearch(self) -> bool:
        """Whether the engine is known to be OpenSearch, where some requests have other paths."""
        return self.engine.distribution == "opensearch"

    @property
    def is_serverless(self) -> bool:
        """Whether the engine is serverless, where cluster settings cannot be changed."""
        return self.engine.flavor == "serverless"


@dataclass(frozen=True, slots=True)
class CompiledOperation:
    """An operation as the driver runs it."""

    work: TaskWork
    """What the driver does."""

    weight: int = 1
    """Work of one execution, in `unit`; pacing divides a target rate by it."""

    unit: str = OPS
    """The unit of work."""

    finite: bool = False
    """Whether its source ends, and the task with it."""


@dataclass(frozen=True, slots=True)
class OperationType:
    """One operation type."""

    name: str
    """The value of `operation-type`, which is the file name with dashes."""

    compile: Callable[[FieldReader, CompileContext], CompiledOperation]
    """Compiles the parameters; wrong ones are reported to the reader, not raised."""

    unit: str = OPS
    """The unit of work."""

    admin: bool = False
    """Whether reports leave it out unless it failed or the track includes it."""

    serverless: ServerlessStatus = ServerlessStatus.PUBLIC
    """Whether it may run on a serverless cluster."""

    run: Runner | None = None
    """Runs the operation in Python; such a type compiles to `PythonRunner`."""

    retryable: bool = False
    """Whether the retry parameters apply to `run`."""

    reports_completion: bool = False
    """Whether the results of `run` say when the operation is complete."""

    assertable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Paths in the response of each property that tracks can assert; a name that ends with a dot stands
    for all names that begin with it.
    """


def included_in_report(kind: OperationType | None, params: Mapping[str, Any]) -> bool:
    """Whether a report shows the operation if nothing failed; `kind` is None for a type of a plug-in."""
    default = kind is None or not kind.admin
    value = params.get("include-in-reporting", default)
    return value if isinstance(value, bool) else str(value).lower() == "true"

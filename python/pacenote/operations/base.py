"""The contract of an operation type: what a file in this package offers, and what it may know when it
compiles.

Adding an operation is adding one file whose name is the type with underscores and which holds a constant
`OPERATION`; nothing else has to be edited.
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
    INTERNAL = "internal"
    BLOCKED = "blocked"


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
    """The engine under test as far as it is known before the race; empty strings where it is not."""

    distribution: str = ""
    version: str = ""
    flavor: str = "default"


@dataclass(frozen=True, slots=True)
class CompileContext:
    """What an operation may know beside its own parameters.

    `assertions` says whether what tracks assert of replies is looked at. `clients` is how many run the task.
    `supplied` parameters come from a parameter source, so nothing of the track stands in for what is not
    among them. `remembered` are the names of values that the operations of a composite one keep for one
    another; None outside of one.
    """

    track: Track
    data_file: DataFileLookup = declared_data_file
    engine: EngineInfo = field(default_factory=EngineInfo)
    assertions: bool = False
    clients: int = 1
    supplied: bool = False
    captures: frozenset[str] | None = None

    @property
    def is_opensearch(self) -> bool:
        """Whether the engine is known to be OpenSearch, which has other paths for some requests."""
        return self.engine.distribution == "opensearch"

    @property
    def is_serverless(self) -> bool:
        """Whether the engine is serverless, which keeps cluster settings to itself."""
        return self.engine.flavor == "serverless"


@dataclass(frozen=True, slots=True)
class CompiledOperation:
    """What an operation became.

    `weight` is the work one execution does, in `unit`: the pacer divides a target rate by it. A `finite`
    source ends its task by itself.
    """

    work: TaskWork
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
    compile: Callable[[FieldReader, CompileContext], CompiledOperation]
    unit: str = OPS
    admin: bool = False
    serverless: ServerlessStatus = ServerlessStatus.PUBLIC
    run: Runner | None = None
    retryable: bool = False
    reports_completion: bool = False
    assertable: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def included_in_report(kind: OperationType | None, params: Mapping[str, Any]) -> bool:
    """Whether a report shows the operation when nothing failed; `kind` is None for a type nobody knows."""
    default = kind is None or not kind.admin
    value = params.get("include-in-reporting", default)
    return value if isinstance(value, bool) else str(value).lower() == "true"

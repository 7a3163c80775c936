"""The track for plug-ins: mutable objects with the names and the behaviour of Rally's.

`convert` converts them from the frozen model and back.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pacenote.operations.registry import known_types
from pacenote.plugins.rally_api.errors import InvalidName, InvalidSyntax, RallyAssertionError

Params = dict[str, Any]


class _RallyRepr:
    """Base class with Rally's `repr`, because some tracks hash it."""

    def __repr__(self) -> str:
        return ", ".join(f"{name} = [{value!r}]" for name, value in vars(self).items() if name != "origin")


class _Named(_RallyRepr):
    """Base class of objects that are equal if their names are equal."""

    name: str

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and type(self) is type(other) and self.name == other.name


class _Target(_Named):
    """An index or a data stream."""

    def matches(self, pattern: str | None) -> bool:
        """Returns whether a pattern matches: the name itself, or a pattern for all names."""
        return pattern in (None, "_all", "*", self.name)


class Index(_Target):
    """An index that the track creates; `body` may be changed."""

    def __init__(self, name: str, body: Params | None = None) -> None:
        self.name = name
        self.body = {} if body is None else body


class DataStream(_Target):
    """A data stream that the track writes to."""

    def __init__(self, name: str) -> None:
        self.name = name


class IndexTemplate(_Named):
    """A legacy or composable index template."""

    def __init__(
        self, name: str, pattern: str, content: Params, delete_matching_indices: bool = False
    ) -> None:
        self.name = name
        self.pattern = pattern
        self.content = content
        self.delete_matching_indices = delete_matching_indices


class ComponentTemplate(_Named):
    """A component template, which composable templates include."""

    def __init__(self, name: str, content: Params) -> None:
        self.name = name
        self.content = content


class Documents(_RallyRepr):
    """One data file of a corpus.

    Counts and sizes are properties, because some tracks override them with values computed later.
    """

    SOURCE_FORMAT_BULK = "bulk"

    origin: Any = None
    """The frozen object that it was converted from, or None if a plug-in created it."""

    def __init__(
        self,
        source_format: str,
        document_file: str | None = None,
        document_archive: str | None = None,
        base_url: str | None = None,
        **others: Any,
    ) -> None:
        self.source_format = source_format
        self.document_file = document_file
        self.document_archive = document_archive
        self.base_url = base_url
        self.includes_action_and_meta_data: bool = others.pop("includes_action_and_meta_data", False)
        self._number_of_documents: int = others.pop("number_of_documents", 0)
        self._compressed_size_in_bytes: int | None = others.pop("compressed_size_in_bytes", 0)
        self._uncompressed_size_in_bytes: int | None = others.pop("uncompressed_size_in_bytes", 0)
        self.target_index: str | None = others.pop("target_index", None)
        self.target_data_stream: str | None = others.pop("target_data_stream", None)
        self.meta_data: Params = others.pop("meta_data", None) or {}
        if others:
            raise TypeError(f"Documents takes no argument {', '.join(map(repr, others))}")

    @property
    def number_of_documents(self) -> int:
        """Number of documents in the file, which may differ from the number of lines."""
        return self._number_of_documents

    @number_of_documents.setter
    def number_of_documents(self, value: int) -> None:
        self._number_of_documents = value

    @property
    def compressed_size_in_bytes(self) -> int | None:
        """Size of the archive in bytes, or None if unknown."""
        return self._compressed_size_in_bytes

    @compressed_size_in_bytes.setter
    def compressed_size_in_bytes(self, value: int | None) -> None:
        self._compressed_size_in_bytes = value

    @property
    def uncompressed_size_in_bytes(self) -> int | None:
        """Size of the data file in bytes, or None if unknown."""
        return self._uncompressed_size_in_bytes

    @uncompressed_size_in_bytes.setter
    def uncompressed_size_in_bytes(self, value: int | None) -> None:
        self._uncompressed_size_in_bytes = value

    @property
    def number_of_lines(self) -> int:
        """Number of lines of the data file."""
        return self.number_of_documents * (2 if self.includes_action_and_meta_data else 1)

    @property
    def is_bulk(self) -> bool:
        """Whether the file has the format of bulk requests."""
        return self.source_format == self.SOURCE_FORMAT_BULK

    def has_compressed_corpus(self) -> bool:
        """Returns whether there is an archive of the file."""
        return self.document_archive is not None

    def has_uncompressed_corpus(self) -> bool:
        """Returns whether the data file has a name."""
        return self.document_file is not None

    def __str__(self) -> str:
        return f"{self.source_format} documents from {self.document_file}"


class DocumentCorpus(_RallyRepr):
    """A named group of data files."""

    origin: Any = None

    def __init__(
        self, name: str, documents: list[Documents] | None = None, meta_data: Params | None = None
    ) -> None:
        self.name = name
        self.documents = documents or []
        self.meta_data = meta_data or {}

    def number_of_documents(self, source_format: str) -> int:
        """Returns the number of documents of all files of a format."""
        return sum(
            document.number_of_documents
            for document in self.documents
            if document.source_format == source_format
        )

    def compressed_size_in_bytes(self, source_format: str) -> int | None:
        """Returns the size of all archives in bytes, or None if one is unknown."""
        return self._sum(source_format, [document.compressed_size_in_bytes for document in self.documents])

    def uncompressed_size_in_bytes(self, source_format: str) -> int | None:
        """Returns the size of all data files in bytes, or None if one is unknown."""
        return self._sum(source_format, [document.uncompressed_size_in_bytes for document in self.documents])

    def filter(
        self,
        source_format: str | None = None,
        target_indices: Sequence[str] | None = None,
        target_data_streams: Sequence[str] | None = None,
    ) -> DocumentCorpus:
        """Returns a copy of the corpus with only the files that match."""
        chosen = [
            document
            for document in self.documents
            if (not source_format or document.source_format == source_format)
            and (not target_indices or document.target_index in target_indices)
            and (not target_data_streams or document.target_data_stream in target_data_streams)
        ]
        corpus = DocumentCorpus(self.name, chosen, dict(self.meta_data))
        corpus.origin = self.origin
        return corpus

    def union(self, other: DocumentCorpus) -> DocumentCorpus:
        """Returns the corpus with the files of this one and the other. Raises `RallyAssertionError` if they
        have different names.
        """
        if self.name != other.name:
            raise RallyAssertionError(f"Corpora names differ: [{self.name}] and [{other.name}].")
        documents = [
            *self.documents,
            *(document for document in other.documents if document not in self.documents),
        ]
        corpus = DocumentCorpus(self.name, documents, dict(self.meta_data))
        corpus.origin = self.origin
        return corpus

    def _sum(self, source_format: str, sizes: list[int | None]) -> int | None:
        known = [size for size in sizes if size is not None]
        complete = len(known) == len(sizes)
        return (
            sum(known)
            if complete and all(document.source_format == source_format for document in self.documents)
            else None
        )

    def __str__(self) -> str:
        return self.name


class Throughput(NamedTuple):
    """A target rate over all clients; `unit` ends in `/s`."""

    value: float
    unit: str


class _TypeOfOperation(enum.Enum):
    """Base class of `OperationType`, whose members are the built-in types."""

    def to_hyphenated_string(self) -> str:
        """Returns the name that tracks use: `force-merge` for `ForceMerge`."""
        return str(self.value)

    @classmethod
    def from_hyphenated_string(cls, name: str) -> Any:
        """Returns the member for the name that tracks use. Raises `KeyError` unless the type is built in."""
        try:
            return cls(name)
        except ValueError:
            raise KeyError(f"No enum value for [{name}]") from None


_make_types: Any = _TypeOfOperation
OperationType = _make_types(
    "OperationType", {"".join(map(str.capitalize, name.split("-"))): name for name in known_types()}
)
"""The built-in operation types."""


@dataclass(eq=False, repr=False)
class Operation(_Named):
    """The work of a task. `params` contains all keys of the track, including name and type."""

    name: str
    operation_type: dataclasses.InitVar[str]
    meta_data: Params | None = None
    params: Params | None = None
    param_source: str | None = None
    origin: Any = None

    def __post_init__(self, operation_type: str) -> None:
        self.type = operation_type
        self.meta_data = self.meta_data or {}
        self.params = {} if self.params is None else self.params

    @property
    def include_in_reporting(self) -> bool:
        """Whether the report shows it."""
        return bool((self.params or {}).get("include-in-reporting", True))

    @property
    def run_on_serverless(self) -> bool | None:
        """The operation's `run-on-serverless`, or None if it is missing."""
        return (self.params or {}).get("run-on-serverless")


_RATE = re.compile(r"(?P<value>(\d*\.)?\d+)\s(?P<unit>\w+/s)")


@dataclass(eq=False, repr=False)
class Task(_RallyRepr):
    """An operation in the schedule. `params` is the whole task, unchanged from the track."""

    name: str
    operation: Operation
    tags: Any = None
    meta_data: Params | None = None
    warmup_iterations: int | None = None
    iterations: int | None = None
    warmup_time_period: float | None = None
    time_period: float | None = None
    ramp_up_time_period: float | None = None
    clients: int = 1
    completes_parent: bool = False
    any_completes_parent: bool = False
    schedule: str | None = None
    params: Params = field(default_factory=dict)
    origin: Any = None
    nested: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.tags = [self.tags] if isinstance(self.tags, str) else list(self.tags or ())
        self.meta_data = self.meta_data or {}
        self.params = self.params or {}

    @property
    def target_throughput(self) -> Throughput | None:
        """The target rate over all clients, or None if there is none. Raises `InvalidSyntax`."""
        rate, interval = self.params.get("target-throughput"), self.params.get("target-interval")
        if rate is not None and interval is not None:
            raise InvalidSyntax(f"Task [{self}] has both a target-throughput and a target-interval")
        if interval:
            return Throughput(1 / self._number("target-interval", interval), "ops/s")
        if not rate:
            return None
        if isinstance(rate, str):
            match = _RATE.match(rate)
            if match is None:
                raise InvalidSyntax(f"Task [{self}] has the invalid target-throughput [{rate}]")
            return Throughput(float(match["value"]), match["unit"])
        return Throughput(self._number("target-throughput", rate), "ops/s")

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidSyntax(f"The {key} [{value}] of task [{self}] is not a number")
        return float(value)

    @property
    def ignore_response_error_level(self) -> str | None:
        """`non-fatal` if the task always continues after errors, otherwise None."""
        return self.params.get("ignore-response-error-level")

    def _identity(self) -> tuple[object, ...]:
        return (
            *(self.name, self.operation, self.warmup_iterations, self.iterations, self.warmup_time_period),
            *(self.time_period, self.ramp_up_time_period, self.clients, self.schedule),
            *(self.completes_parent, self.any_completes_parent),
        )

    def __hash__(self) -> int:
        return hash(self._identity())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self._identity() == other._identity()

    def __iter__(self) -> Iterator[Task]:
        return iter([self])

    def __str__(self) -> str:
        return self.name


class Parallel(_RallyRepr):
    """Tasks that run in parallel."""

    nested = True
    origin: Any = None

    def __init__(self, tasks: list[Task], clients: int | None = None) -> None:
        self.tasks = tasks
        self.wanted = clients

    @property
    def clients(self) -> int:
        """Number of clients that the element uses."""
        return self.wanted if self.wanted is not None else sum(task.clients for task in self.tasks)

    def remove_task(self, task: Task) -> None:
        """Removes a task."""
        self.tasks.remove(task)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def __str__(self) -> str:
        return f"{len(self.tasks)} parallel tasks"


@dataclass(eq=False, repr=False)
class Challenge(_Named):
    """A schedule with a name; plug-ins read and write its `parameters`."""

    name: str
    description: str | None = None
    user_info: str | None = None
    default: bool = False
    selected: bool = False
    auto_generated: bool = False
    parameters: Params = field(default_factory=dict)
    meta_data: Params = field(default_factory=dict)
    schedule: list[Task | Parallel] = field(default_factory=list)
    origin: Any = None

    def __post_init__(self) -> None:
        self.parameters = {} if self.parameters is None else self.parameters
        self.meta_data = {} if self.meta_data is None else self.meta_data
        self.schedule = [] if self.schedule is None else self.schedule

    def prepend_tasks(self, tasks: list[Task | Parallel]) -> None:
        """Inserts tasks before all others."""
        self.schedule = tasks + self.schedule

    def remove_task(self, task: Task | Parallel) -> None:
        """Removes an element of the schedule."""
        self.schedule.remove(task)


@dataclass(eq=False, repr=False)
class Track(_Named):
    """The track; plug-ins may append to its lists."""

    name: str
    description: str | None = None
    meta_data: Params = field(default_factory=dict)
    challenges: list[Challenge] = field(default_factory=list)
    indices: list[Index] = field(default_factory=list)
    data_streams: list[DataStream] = field(default_factory=list)
    templates: list[IndexTemplate] = field(default_factory=list)
    composable_templates: list[IndexTemplate] = field(default_factory=list)
    component_templates: list[ComponentTemplate] = field(default_factory=list)
    corpora: list[DocumentCorpus] = field(default_factory=list)
    dependencies: list[str] = field(default_factory=list)
    has_plugins: bool = False
    root: str | None = None

    def __post_init__(self) -> None:
        for name, empty in _EMPTY.items():
            if getattr(self, name) is None:
                setattr(self, name, empty())

    @property
    def default_challenge(self) -> Challenge | None:
        """The challenge that runs if the user does not select one."""
        return next((challenge for challenge in self.challenges if challenge.default), None)

    @property
    def selected_challenge(self) -> Challenge | None:
        """The challenge that the user selected, or None if the default one runs."""
        return next((challenge for challenge in self.challenges if challenge.selected), None)

    @property
    def selected_challenge_or_default(self) -> Challenge | None:
        """The challenge that runs."""
        return self.selected_challenge or self.default_challenge

    def find_challenge_or_default(self, name: str | None) -> Challenge | None:
        """Returns the challenge with this name, the default challenge for None. Raises `InvalidName`."""
        return self.find_challenge(name) if name else self.default_challenge

    def find_challenge(self, name: str) -> Challenge:
        """Returns the challenge with this name. Raises `InvalidName`."""
        challenge = next((challenge for challenge in self.challenges if challenge.name == name), None)
        if challenge is None:
            raise InvalidName(f"Unknown challenge [{name}] for track [{self.name}]")
        return challenge

    @property
    def number_of_documents(self) -> int:
        """Number of documents of all corpora."""
        return sum(corpus.number_of_documents(Documents.SOURCE_FORMAT_BULK) for corpus in self.corpora)

    def index_names(self) -> list[str]:
        """Returns the names of the indices."""
        return [index.name for index in self.indices]

    def data_stream_names(self) -> list[str]:
        """Returns the names of the data streams."""
        return [stream.name for stream in self.data_streams]


_EMPTY = {
    **dict.fromkeys(("challenges", "indices", "data_streams", "templates", "composable_templates"), list),
    **dict.fromkeys(("component_templates", "corpora", "dependencies"), list),
    "meta_data": dict,
}
"""Fields of a track that plug-ins may set to None, and the types of their defaults."""

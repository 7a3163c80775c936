"""The model of a track: indices, data, operations and the challenges that schedule them.

All types are frozen and do no input or output. Unknown keys of a track are kept in `params`, because plug-ins
may read them. Units: seconds for times, bytes for sizes, documents for counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct

from pacenote.errors import TrackError
from pacenote.model.messages import did_you_mean, quoted, quoted_list
from pacenote.model.pacing_options import Arrivals
from pacenote.model.problems import KeyPath, Problem
from pacenote.units import Rate, split_by_weight

JsonObject = Mapping[str, Any]
"""A JSON object as it was read; it is never modified."""

ARCHIVE_SUFFIXES = (".tar.gz", ".tar.bz2", ".tar.zst", ".tgz", ".zip", ".bz2", ".gz", ".tar", ".zst")
"""Suffixes of archives; the name of the data file has no such suffix."""

BUILT_IN_SCHEDULES: tuple[str, ...] = get_args(Arrivals)
"""Values of a task's `schedule` that need no scheduler of a plug-in."""

ANY_TASK = "any"
"""The value of `completed-by` that means the task that ends first."""


class Index(Struct, frozen=True):
    """An index that the track creates."""

    name: str
    """The name of the index."""

    body: JsonObject | None = None
    """Settings and mappings, or None if the track names no file."""


class DataStream(Struct, frozen=True):
    """A data stream that the track writes to."""

    name: str
    """The name of the data stream."""


class IndexTemplate(Struct, frozen=True):
    """A legacy index template."""

    name: str
    """The name of the template."""

    pattern: str
    """The pattern of the indices that it applies to."""

    body: JsonObject
    """The body of the request that creates it."""

    delete_matching_indices: bool = True
    """Whether deleting the template deletes the indices that match `pattern`."""


class ComposableTemplate(Struct, frozen=True):
    """A composable index template."""

    name: str
    """The name of the template."""

    pattern: str
    """The pattern of the indices that it applies to."""

    body: JsonObject
    """The body of the request that creates it."""

    delete_matching_indices: bool = True
    """Whether deleting the template deletes the indices that match `pattern`."""


class ComponentTemplate(Struct, frozen=True):
    """A component template, which composable templates include."""

    name: str
    """The name of the template."""

    body: JsonObject
    """The body of the request that creates it."""


class CorpusGenerator(Struct, frozen=True):
    """The generator of a corpus that is not downloaded; Pacenote's addition to the track format."""

    name: str
    """The name of a generator of `crates/corpus`."""

    documents: int
    """Documents of the whole corpus, distributed over its files in proportion to their declared counts."""

    params: JsonObject = msgspec.field(default_factory=dict)
    """All keys of the generator, unchanged from the track."""


class Documents(Struct, frozen=True):
    """One data file of a corpus. Counts and sizes are None where the track does not declare them."""

    source_file: str
    """The name of the file or of its archive; in test mode, that of the short file."""

    document_count: int | None = None
    """Number of documents."""

    compressed_bytes: int | None = None
    """Size of the archive in bytes."""

    uncompressed_bytes: int | None = None
    """Size of the data file in bytes."""

    includes_action_and_meta_data: bool = False
    """Whether the file contains the action line of every document."""

    target_index: str | None = None
    """The index that the documents are written to."""

    target_data_stream: str | None = None
    """The data stream that the documents are written to."""

    base_url: str | None = None
    """The URL of the folder that the file is downloaded from."""

    source_format: str = "bulk"
    """The format of the file; the only value is `bulk`."""

    meta: JsonObject = msgspec.field(default_factory=dict)
    """Metadata of the file."""

    params: JsonObject = msgspec.field(default_factory=dict)
    """All keys, unchanged from the track; in test mode, those of the full file."""

    @property
    def document_file(self) -> str:
        """The name of the unpacked file: the source file without the suffix of an archive."""
        for suffix in ARCHIVE_SUFFIXES:
            if self.source_file.endswith(suffix):
                return self.source_file.removesuffix(suffix)
        return self.source_file

    @property
    def archive(self) -> str | None:
        """The name of the archive, or None if the source file is not an archive."""
        return self.source_file if self.document_file != self.source_file else None

    @property
    def is_local(self) -> bool:
        """Whether the source file is named by a path, which the data folder does not precede."""
        return self.source_file.startswith(("/", "./", "../"))


class Corpus(Struct, frozen=True):
    """Data files that belong together."""

    name: str
    """The name of the corpus."""

    documents: tuple[Documents, ...]
    """Its data files."""

    base_url: str | None = None
    """The URL of the folder from which files without their own URL are downloaded."""

    meta: JsonObject = msgspec.field(default_factory=dict)
    """Metadata of the corpus."""

    generator: CorpusGenerator | None = None
    """Its generator, or None if it can only be downloaded."""

    params: JsonObject = msgspec.field(default_factory=dict)
    """All keys, unchanged from the track."""

    def declared_counts(self) -> tuple[int | None, ...]:
        """Returns the number of documents of each file: the generator's share, otherwise the declared
        count.
        """
        if self.generator is None:
            return tuple(documents.document_count for documents in self.documents)
        weights = tuple(documents.document_count or 0 for documents in self.documents)
        return split_by_weight(self.generator.documents, weights)


class CorpusFile(Struct, frozen=True):
    """A data file together with its corpus."""

    corpus: Corpus
    """The corpus."""

    documents: Documents
    """The data file, one of `corpus.documents`."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The work of a task: an operation type with its parameters."""

    name: str
    """The name of the operation."""

    type: str
    """The operation type."""

    params: JsonObject = field(default_factory=dict)
    """All keys of the operation except its name and type."""

    meta: JsonObject = field(default_factory=dict)
    """Metadata of the operation."""

    key_path: KeyPath = field(default=(), compare=False)
    """Key path of the operation in the rendered track, for messages."""


@dataclass(frozen=True, slots=True)
class Task:
    """An operation in the schedule with its number of clients, duration and rate."""

    name: str
    """The name of the task, unique within its challenge."""

    operation: Operation
    """The operation that each of its clients runs."""

    clients: int = 1
    """Number of clients."""

    warmup_iterations: int | None = None
    """Operations per client that warm up and are not measured."""

    iterations: int | None = None
    """Measured operations per client."""

    warmup_time_period: float | None = None
    """Seconds of warm-up, which are not measured."""

    time_period: float | None = None
    """Seconds that are measured."""

    ramp_up_time_period: float | None = None
    """Seconds over which the clients start, one after another."""

    target_throughput: Rate | None = None
    """Target rate, summed over all clients."""

    target_interval: float | None = None
    """Seconds between two operations over all clients, as an alternative to a target rate."""

    schedule: str = "deterministic"
    """The spacing of operations with a target rate: a built-in schedule or a scheduler of a plug-in."""

    tags: tuple[str, ...] = ()
    """Tags that filters can select."""

    tolerates_errors: bool = False
    """Whether a failed operation never ends the race (`ignore-response-error-level: non-fatal`)."""

    run_on_serverless: bool | None = None
    """Whether it runs on serverless clusters, or None if neither the task nor its operation specifies it."""

    meta: JsonObject = field(default_factory=dict)
    """Metadata of the task."""

    params: JsonObject = field(default_factory=dict)
    """All keys, unchanged from the track, for schedulers of plug-ins."""

    key_path: KeyPath = field(default=(), compare=False)
    """Key path of the task in the rendered track, for messages."""

    @property
    def is_time_based(self) -> bool:
        """Whether the task is bounded by a time rather than a number of iterations."""
        return self.time_period is not None or self.warmup_time_period is not None

    @property
    def is_iteration_based(self) -> bool:
        """Whether the task is bounded by a number of iterations."""
        return not self.is_time_based and (self.iterations is not None or self.warmup_iterations is not None)


@dataclass(frozen=True, slots=True)
class Parallel:
    """Tasks that run at the same time."""

    tasks: tuple[Task, ...]
    """The tasks."""

    clients: int | None = None
    """Number of clients; if the tasks need more together, they share clients and run in turn."""

    completed_by: str | None = None
    """The task whose end ends all others, or `ANY_TASK`."""

    name: str = ""
    """The name of the element, or empty if it has none."""

    key_path: KeyPath = field(default=(), compare=False)
    """Key path of the element in the rendered track, for messages."""

    @property
    def client_count(self) -> int:
        """Number of clients that the element uses."""
        return self.clients if self.clients is not None else sum(task.clients for task in self.tasks)


class Challenge(Struct, frozen=True):
    """A schedule with a name."""

    name: str
    """The name of the challenge."""

    schedule: tuple[Task | Parallel, ...]
    """Its elements, which run one after another."""

    description: str = ""
    """The author's description."""

    user_info: str = ""
    """A note that is shown before the race."""

    default: bool = False
    """Whether it is selected if no challenge is requested."""

    auto_generated: bool = False
    """Whether it was created from a bare schedule of a track without challenges."""

    meta: JsonObject = msgspec.field(default_factory=dict)
    """Metadata of the challenge."""

    parameters: JsonObject = msgspec.field(default_factory=dict)
    """Parameters of the challenge, including those of the track."""

    def tasks(self) -> Iterator[Task]:
        """Yields all tasks in schedule order, including those of parallel elements."""
        for element in self.schedule:
            if isinstance(element, Parallel):
                yield from element.tasks
            else:
                yield element


DescribeProblems = Callable[[Iterable[Problem]], tuple[str, ...]]
"""Formats problems for the user."""


def _describe_plainly(problems: Iterable[Problem]) -> tuple[str, ...]:
    return tuple(str(problem) for problem in problems)


@dataclass(frozen=True, slots=True)
class Track:
    """A benchmark scenario: what to index and what to run."""

    name: str
    """The name of the track."""

    root: Path
    """The folder of the track."""

    challenges: tuple[Challenge, ...]
    """Its challenges, at least one."""

    description: str = ""
    """The author's description."""

    indices: tuple[Index, ...] = ()
    """Indices that it creates."""

    data_streams: tuple[DataStream, ...] = ()
    """Data streams that it creates."""

    templates: tuple[IndexTemplate, ...] = ()
    """Legacy index templates that it creates."""

    composable_templates: tuple[ComposableTemplate, ...] = ()
    """Composable templates that it creates."""

    component_templates: tuple[ComponentTemplate, ...] = ()
    """Component templates that it creates."""

    corpora: tuple[Corpus, ...] = ()
    """The data that it indexes."""

    operations: tuple[Operation, ...] = ()
    """Its named operations."""

    dependencies: tuple[str, ...] = ()
    """Requirements of its plug-in, in pip's format."""

    plugin: Path | None = None
    """The file of its plug-in, or None if it has none."""

    meta: JsonObject = field(default_factory=dict)
    """Metadata of the track."""

    params: JsonObject = field(default_factory=dict)
    """The whole track, as read from its JSON."""

    describe: DescribeProblems = field(default=_describe_plainly, repr=False, compare=False)
    """Formats problems that are found after loading, with file and line and without secrets."""

    parameters: Callable[[], Mapping[str, object]] = field(default=dict, repr=False, compare=False)
    """Returns the parameters that its templates read, with their default values, or None without one."""

    @property
    def default_challenge(self) -> Challenge:
        """Returns the challenge that is selected by default; a single challenge is always the default."""
        return next((challenge for challenge in self.challenges if challenge.default), self.challenges[0])

    def challenge(self, name: str | None) -> Challenge:
        """Returns the challenge of that name, the default one for None.

        Raises `TrackError` if the track has no such challenge.
        """
        if name is None:
            return self.default_challenge
        for challenge in self.challenges:
            if challenge.name == name:
                return challenge
        known = [challenge.name for challenge in self.challenges]
        raise TrackError(
            f"track {quoted(self.name)} has no challenge {quoted(name)}{did_you_mean(name, known)}",
            hint=f"choose one of {quoted_list(known)}",
        )

    def corpus_files(self) -> Iterator[CorpusFile]:
        """Yields every data file of every corpus, in the order of the track."""
        for corpus in self.corpora:
            for documents in corpus.documents:
                yield CorpusFile(corpus, documents)

    def targets(self) -> tuple[str, ...]:
        """Returns the names of all indices and data streams of the track."""
        return (*(index.name for index in self.indices), *(stream.name for stream in self.data_streams))

    def sole_target(self) -> str | None:
        """Returns the only index, otherwise the only data stream, or None if there is no such single
        target.
        """
        for names in (self.indices, self.data_streams):
            if len(names) == 1:
                return names[0].name
        return None

    def metadata(self, challenge: Challenge, task: Task) -> dict[str, Any]:
        """Returns the metadata of a task's samples, merged from track, challenge, operation and task.

        Values of later levels override those of earlier levels.
        """
        return {**self.meta, **challenge.meta, **task.operation.meta, **task.meta}

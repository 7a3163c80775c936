"""A track as Rally's users know it: indices, data, operations and the challenges that schedule them.

Everything is frozen, without input or output. Keys of a track that Pacenote does not know are kept in
`params`, because plug-ins may read them. Units: seconds for times, bytes for sizes, documents for counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pacenote.errors import TrackError
from pacenote.model.messages import did_you_mean, quoted, quoted_list
from pacenote.model.pacing_options import Arrivals
from pacenote.model.problems import KeyPath, Problem
from pacenote.units import Rate, split_by_weight

JsonObject = Mapping[str, Any]
"""A JSON object as it was read; never changed."""

ARCHIVE_SUFFIXES = (".tar.gz", ".tar.bz2", ".tar.zst", ".tgz", ".zip", ".bz2", ".gz", ".tar", ".zst")
"""Suffixes of archives; the data file has the name without it."""

BUILT_IN_SCHEDULES: tuple[str, ...] = get_args(Arrivals)
"""Values of a task's `schedule` that need no scheduler of a plug-in."""

ANY_TASK = "any"
"""The value of `completed-by` that means whichever task ends first."""


@dataclass(frozen=True, slots=True)
class Index:
    """An index that the track creates."""

    name: str
    """The name of the index."""

    body: JsonObject | None = None
    """Settings and mappings, None if the track names no file."""


@dataclass(frozen=True, slots=True)
class DataStream:
    """A data stream that the track writes to."""

    name: str
    """The name of the data stream."""


@dataclass(frozen=True, slots=True)
class IndexTemplate:
    """A legacy index template."""

    name: str
    """The name of the template."""

    pattern: str
    """The pattern of the indices that it applies to."""

    body: JsonObject
    """What is sent to create it."""

    delete_matching_indices: bool = True
    """Whether deleting the template deletes the indices that match `pattern`."""


@dataclass(frozen=True, slots=True)
class ComposableTemplate:
    """A composable index template."""

    name: str
    """The name of the template."""

    pattern: str
    """The pattern of the indices that it applies to."""

    body: JsonObject
    """What is sent to create it."""

    delete_matching_indices: bool = True
    """Whether deleting the template deletes the indices that match `pattern`."""


@dataclass(frozen=True, slots=True)
class ComponentTemplate:
    """A component of composable templates."""

    name: str
    """The name of the template."""

    body: JsonObject
    """What is sent to create it."""


@dataclass(frozen=True, slots=True)
class CorpusGenerator:
    """How to generate a corpus instead of downloading it: an addition of Pacenote to the track format."""

    name: str
    """The name of a generator of `crates/corpus`."""

    documents: int
    """Documents of the whole corpus, spread over its files in proportion to their declared counts."""

    params: JsonObject = field(default_factory=dict)
    """All keys of the generator as the track writes them."""


@dataclass(frozen=True, slots=True)
class Documents:
    """One data file of a corpus. Counts and sizes are None where the track does not declare them."""

    source_file: str
    """The name of the file or of its archive; in test mode, of the short file."""

    document_count: int | None = None
    """Number of documents."""

    compressed_bytes: int | None = None
    """Size of the archive in bytes."""

    uncompressed_bytes: int | None = None
    """Size of the data file in bytes."""

    includes_action_and_meta_data: bool = False
    """Whether the file holds the action line of every document."""

    target_index: str | None = None
    """The index that the documents are written to."""

    target_data_stream: str | None = None
    """The data stream that the documents are written to."""

    base_url: str | None = None
    """The URL of the folder that the file is downloaded from."""

    source_format: str = "bulk"
    """The format of the file; Rally knows `bulk` only."""

    meta: JsonObject = field(default_factory=dict)
    """Metadata of the file."""

    params: JsonObject = field(default_factory=dict)
    """All keys as the track writes them; in test mode, those of the full file."""

    @property
    def document_file(self) -> str:
        """The name of the unpacked file: the source file without the suffix of an archive."""
        for suffix in ARCHIVE_SUFFIXES:
            if self.source_file.endswith(suffix):
                return self.source_file.removesuffix(suffix)
        return self.source_file

    @property
    def archive(self) -> str | None:
        """The name of the archive, None if the source file is not packed."""
        return self.source_file if self.document_file != self.source_file else None

    @property
    def is_local(self) -> bool:
        """Whether the source file is a path given by the user, not a name in the data folder."""
        return self.source_file.startswith(("/", "./", "../"))


@dataclass(frozen=True, slots=True)
class Corpus:
    """Data files that belong together."""

    name: str
    """The name of the corpus."""

    documents: tuple[Documents, ...]
    """Its data files."""

    base_url: str | None = None
    """The URL of the folder that its files are downloaded from, where they do not have their own."""

    meta: JsonObject = field(default_factory=dict)
    """Metadata of the corpus."""

    generator: CorpusGenerator | None = None
    """How to generate it, None if it can only be downloaded."""

    params: JsonObject = field(default_factory=dict)
    """All keys as the track writes them."""

    def declared_counts(self) -> tuple[int | None, ...]:
        """Returns how many documents each file holds: the generator's share, else what the track declares."""
        if self.generator is None:
            return tuple(documents.document_count for documents in self.documents)
        weights = tuple(documents.document_count or 0 for documents in self.documents)
        return split_by_weight(self.generator.documents, weights)


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A data file with the corpus that it belongs to."""

    corpus: Corpus
    """The corpus."""

    documents: Documents
    """The data file, one of `corpus.documents`."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What a task does: an operation type with its parameters."""

    name: str
    """The name of the operation."""

    type: str
    """The operation type."""

    params: JsonObject = field(default_factory=dict)
    """Every key of the operation except its name and type."""

    meta: JsonObject = field(default_factory=dict)
    """Metadata of the operation."""

    key_path: KeyPath = field(default=(), compare=False)
    """Where the operation is in the rendered track, for messages."""


@dataclass(frozen=True, slots=True)
class Task:
    """An operation on the schedule: how many clients run it, how long and how fast."""

    name: str
    """The name of the task, unique within its challenge."""

    operation: Operation
    """What each of its clients runs."""

    clients: int = 1
    """Number of clients."""

    warmup_iterations: int | None = None
    """Operations per client before the measurement."""

    iterations: int | None = None
    """Measured operations per client."""

    warmup_time_period: float | None = None
    """Seconds before the measurement."""

    time_period: float | None = None
    """Measured seconds."""

    ramp_up_time_period: float | None = None
    """Seconds over which the clients start, one after another."""

    target_throughput: Rate | None = None
    """Target rate over all clients."""

    target_interval: float | None = None
    """Seconds between two operations over all clients: another way to give a target rate."""

    schedule: str = "deterministic"
    """How operations with a target rate are spaced: a built-in schedule or a scheduler of a plug-in."""

    tags: tuple[str, ...] = ()
    """Tags that filters can select."""

    tolerates_errors: bool = False
    """Whether a failed operation never ends the race (`ignore-response-error-level: non-fatal`)."""

    run_on_serverless: bool | None = None
    """Whether it runs on serverless clusters; None where neither the task nor its operation says so."""

    meta: JsonObject = field(default_factory=dict)
    """Metadata of the task."""

    params: JsonObject = field(default_factory=dict)
    """All keys as the track writes them, for custom schedulers."""

    key_path: KeyPath = field(default=(), compare=False)
    """Where the task is in the rendered track, for messages."""

    @property
    def is_time_based(self) -> bool:
        """Whether the task is bounded by a time and not by a number of iterations."""
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
    """Number of clients; with fewer than the tasks need together, tasks share clients and run in turn."""

    completed_by: str | None = None
    """The task whose end ends all others, or `ANY_TASK`."""

    name: str = ""
    """The name of the element, empty if it has none."""

    key_path: KeyPath = field(default=(), compare=False)
    """Where the element is in the rendered track, for messages."""

    @property
    def client_count(self) -> int:
        """How many clients the element occupies."""
        return self.clients if self.clients is not None else sum(task.clients for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Challenge:
    """A schedule with a name."""

    name: str
    """The name of the challenge."""

    schedule: tuple[Task | Parallel, ...]
    """Its elements, which run one after another."""

    description: str = ""
    """What the author says about it."""

    user_info: str = ""
    """A note that is shown before the race."""

    default: bool = False
    """Whether it runs when no challenge is named."""

    auto_generated: bool = False
    """Whether the track has a bare schedule and no challenge."""

    meta: JsonObject = field(default_factory=dict)
    """Metadata of the challenge."""

    parameters: JsonObject = field(default_factory=dict)
    """Parameters of the challenge, those of the track included."""

    def tasks(self) -> Iterator[Task]:
        """Yields every task in schedule order, those of parallel elements included."""
        for element in self.schedule:
            if isinstance(element, Parallel):
                yield from element.tasks
            else:
                yield element


DescribeProblems = Callable[[Iterable[Problem]], tuple[str, ...]]
"""Writes problems for the user."""


def _describe_plainly(problems: Iterable[Problem]) -> tuple[str, ...]:
    return tuple(str(problem) for problem in problems)


@dataclass(frozen=True, slots=True)
class Track:
    """A benchmark scenario: what to index and what to run."""

    name: str
    """The name of the track."""

    root: Path
    """Its folder."""

    challenges: tuple[Challenge, ...]
    """Its challenges, at least one."""

    description: str = ""
    """What the author says about it."""

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
    """Requirements of its plug-in, as pip reads them."""

    plugin: Path | None = None
    """The file of its Python code."""

    meta: JsonObject = field(default_factory=dict)
    """Metadata of the track."""

    params: JsonObject = field(default_factory=dict)
    """The whole track as it is written."""

    describe: DescribeProblems = field(default=_describe_plainly, repr=False, compare=False)
    """Writes problems that are found after loading: with file and line, without secrets."""

    @property
    def default_challenge(self) -> Challenge:
        """The challenge that runs when none is named; the only one is always the default."""
        return next((challenge for challenge in self.challenges if challenge.default), self.challenges[0])

    def challenge(self, name: str | None) -> Challenge:
        """Returns the challenge of that name, the default one for None.

        Raises `TrackError` when the track has no such challenge.
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
        """Returns the only index, else the only data stream; None when there are several or none."""
        for names in (self.indices, self.data_streams):
            if len(names) == 1:
                return names[0].name
        return None

    def metadata(self, challenge: Challenge, task: Task) -> dict[str, Any]:
        """Returns the metadata of a task's samples: of track, challenge, operation and task; later ones
        win.
        """
        return {**self.meta, **challenge.meta, **task.operation.meta, **task.meta}

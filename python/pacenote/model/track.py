"""A track as Rally's users know it: indices, data, operations and the challenges that schedule them.

Everything is frozen and free of input and output. Keys of a track that nobody knows are carried in
`params`, because plug-ins and later versions may read them. Units: seconds for times, bytes for sizes,
documents for counts.
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
"""Name endings of archives; the data file has the name without it."""

BUILT_IN_SCHEDULES: tuple[str, ...] = get_args(Arrivals)
"""Values of a task's `schedule` that need no scheduler of a plugin."""

ANY_TASK = "any"
"""The value of `completed-by` that names no task: whichever of them ends first."""


@dataclass(frozen=True, slots=True)
class Index:
    """An index the track creates. `body` holds settings and mappings, None if the track names no file."""

    name: str
    body: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class DataStream:
    """A data stream the track writes to."""

    name: str


@dataclass(frozen=True, slots=True)
class IndexTemplate:
    """A legacy index template."""

    name: str
    pattern: str
    body: JsonObject
    delete_matching_indices: bool = True


@dataclass(frozen=True, slots=True)
class ComposableTemplate:
    """A composable index template."""

    name: str
    pattern: str
    body: JsonObject
    delete_matching_indices: bool = True


@dataclass(frozen=True, slots=True)
class ComponentTemplate:
    """A building block of composable templates."""

    name: str
    body: JsonObject


@dataclass(frozen=True, slots=True)
class CorpusGenerator:
    """How to make a corpus instead of downloading it: our own addition to the track format.

    `documents` are spread over the files of the corpus in proportion to their declared counts.
    """

    name: str
    documents: int
    params: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Documents:
    """One data file of a corpus. Counts and sizes are None where the track does not declare them.

    In test mode `source_file` is the short file that is wanted, and `params` still says which one it is the
    beginning of.
    """

    source_file: str
    document_count: int | None = None
    compressed_bytes: int | None = None
    uncompressed_bytes: int | None = None
    includes_action_and_meta_data: bool = False
    target_index: str | None = None
    target_data_stream: str | None = None
    base_url: str | None = None
    source_format: str = "bulk"
    meta: JsonObject = field(default_factory=dict)
    params: JsonObject = field(default_factory=dict)

    @property
    def document_file(self) -> str:
        """The name of the unpacked file: the source file without the ending of an archive."""
        for ending in ARCHIVE_SUFFIXES:
            if self.source_file.endswith(ending):
                return self.source_file.removesuffix(ending)
        return self.source_file

    @property
    def archive(self) -> str | None:
        """The name of the archive, None if the source file is not packed."""
        return self.source_file if self.document_file != self.source_file else None

    @property
    def is_local(self) -> bool:
        """Whether the source file is a path of the user's own, not a name in the data folder."""
        return self.source_file.startswith(("/", "./", "../"))


@dataclass(frozen=True, slots=True)
class Corpus:
    """Data files that belong together."""

    name: str
    documents: tuple[Documents, ...]
    base_url: str | None = None
    meta: JsonObject = field(default_factory=dict)
    generator: CorpusGenerator | None = None
    params: JsonObject = field(default_factory=dict)

    def declared_counts(self) -> tuple[int | None, ...]:
        """How many documents each file is going to hold: the generator's share, else what the track
        declares.
        """
        if self.generator is None:
            return tuple(documents.document_count for documents in self.documents)
        weights = tuple(documents.document_count or 0 for documents in self.documents)
        return split_by_weight(self.generator.documents, weights)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a task does: a type with its parameters.

    `params` holds every key of the operation except its name and type. `place` is where the operation
    stands in the rendered track, for messages; it is no part of the operation's identity.
    """

    name: str
    type: str
    params: JsonObject = field(default_factory=dict)
    meta: JsonObject = field(default_factory=dict)
    key_path: KeyPath = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Task:
    """An operation on the schedule: by how many clients, how long, how fast.

    Iterations count per client; times are seconds; the target rate is over all clients. `schedule` may be the
    name of a plugin's scheduler. `run_on_serverless` is None where neither task nor operation say so.
    `params` is the whole task as the track writes it, for custom schedulers.
    """

    name: str
    operation: Operation
    clients: int = 1
    warmup_iterations: int | None = None
    iterations: int | None = None
    warmup_time_period: float | None = None
    time_period: float | None = None
    ramp_up_time_period: float | None = None
    target_throughput: Rate | None = None
    target_interval: float | None = None
    schedule: str = "deterministic"
    tags: tuple[str, ...] = ()
    tolerates_errors: bool = False
    run_on_serverless: bool | None = None
    meta: JsonObject = field(default_factory=dict)
    params: JsonObject = field(default_factory=dict)
    key_path: KeyPath = field(default=(), compare=False)

    @property
    def is_time_based(self) -> bool:
        """Whether a time, not a number of iterations, bounds the task."""
        return self.time_period is not None or self.warmup_time_period is not None

    @property
    def is_iteration_based(self) -> bool:
        """Whether a number of iterations bounds the task."""
        return not self.is_time_based and (self.iterations is not None or self.warmup_iterations is not None)


@dataclass(frozen=True, slots=True)
class Parallel:
    """Tasks that run beside one another.

    With fewer `clients` than the tasks need together, tasks wrap around the clients and queue.
    `completed_by` is the task whose end ends all others, or [`ANY_TASK`].
    """

    tasks: tuple[Task, ...]
    clients: int | None = None
    completed_by: str | None = None
    name: str = ""
    key_path: KeyPath = field(default=(), compare=False)

    @property
    def client_count(self) -> int:
        """How many clients the element occupies."""
        return self.clients if self.clients is not None else sum(task.clients for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Challenge:
    """A schedule with a name. `parameters` already holds those of the track below its own."""

    name: str
    schedule: tuple[Task | Parallel, ...]
    description: str = ""
    user_info: str = ""
    default: bool = False
    auto_generated: bool = False
    meta: JsonObject = field(default_factory=dict)
    parameters: JsonObject = field(default_factory=dict)

    def tasks(self) -> Iterator[Task]:
        """Every task in schedule order, those of parallel elements too."""
        for element in self.schedule:
            if isinstance(element, Parallel):
                yield from element.tasks
            else:
                yield element


DescribeProblems = Callable[[Iterable[Problem]], tuple[str, ...]]
"""Writes problems for the user."""


def _as_they_are(problems: Iterable[Problem]) -> tuple[str, ...]:
    return tuple(str(problem) for problem in problems)


@dataclass(frozen=True, slots=True)
class Track:
    """A benchmark scenario: what to index, what to run.

    `plugin` is the file of the track's Python code, `dependencies` are the packages it needs.
    `describe` writes problems that are found later as those of reading were written: with their places in
    the files, without secrets.
    """

    name: str
    root: Path
    challenges: tuple[Challenge, ...]
    description: str = ""
    indices: tuple[Index, ...] = ()
    data_streams: tuple[DataStream, ...] = ()
    templates: tuple[IndexTemplate, ...] = ()
    composable_templates: tuple[ComposableTemplate, ...] = ()
    component_templates: tuple[ComponentTemplate, ...] = ()
    corpora: tuple[Corpus, ...] = ()
    operations: tuple[Operation, ...] = ()
    dependencies: tuple[str, ...] = ()
    plugin: Path | None = None
    meta: JsonObject = field(default_factory=dict)
    params: JsonObject = field(default_factory=dict)
    describe: DescribeProblems = field(default=_as_they_are, repr=False, compare=False)

    @property
    def default_challenge(self) -> Challenge:
        """The challenge that runs when none is named; the only one is always the default."""
        return next((challenge for challenge in self.challenges if challenge.default), self.challenges[0])

    def challenge(self, name: str | None) -> Challenge:
        """The challenge of that name, the default one for None.

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

    def targets(self) -> tuple[str, ...]:
        """Names of all indices and data streams of the track."""
        return (*(index.name for index in self.indices), *(stream.name for stream in self.data_streams))

    def sole_target(self) -> str | None:
        """The only index, else the only data stream; None when there are several or none."""
        for names in (self.indices, self.data_streams):
            if len(names) == 1:
                return names[0].name
        return None

    def metadata(self, challenge: Challenge, task: Task) -> dict[str, Any]:
        """The metadata of a task's samples: those of track, challenge, operation and task, the latter
        winning.
        """
        return {**self.meta, **challenge.meta, **task.operation.meta, **task.meta}

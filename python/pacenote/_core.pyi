"""The Rust core: runs plans, generates and unpacks corpora, reads GC logs.

tests/shape compares this stub with the module.

Documents are passed as JSON text. Every call that can take time releases the GIL. Calls with a `progress`
parameter call it ten times a second, and handle Ctrl-C at these times. Only `race/`, `python_tasks/`,
`evidence/`, `export/` and `metrics_store/` import this module.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias, final

_Path: TypeAlias = str | PathLike[str]
_Progress: TypeAlias = Callable[[int, int], object]

__all__ = [
    "ClientEnded",
    "ClientId",
    "CoreError",
    "CountUnsent",
    "Driver",
    "GcLogs",
    "GeneratedFile",
    "GeneratedFiles",
    "HostSampler",
    "OperationEnded",
    "OperationExecuted",
    "PrepareStep",
    "PythonBridge",
    "RaceEnded",
    "RaceFinished",
    "RequestFailed",
    "ResponseReceived",
    "RunOperation",
    "RunnerFailure",
    "RunnerRequest",
    "RunnerResult",
    "SampleReader",
    "ScheduleNext",
    "StepEnded",
    "TableFile",
    "TaskFinished",
    "TelemetryFile",
    "UnpackedFile",
    "__version__",
    "arrivals",
    "count_lines",
    "crc32c",
    "engine_times",
    "generate",
    "generator_files",
    "generator_version",
    "generators",
    "merged_percentiles",
    "race_timeline",
    "read_recordings",
    "realtime_refusal",
    "recover_files",
    "telemetry_cuts",
    "telemetry_points",
    "telemetry_timeline",
    "unpack",
]

__version__: str
"""Version of the Rust crates and of the Python package."""

class CoreError(Exception):
    """A call of the core failed; the message is one line with the reason."""

@final
class Driver:
    """A running race on its own threads. Dropping the last reference ends it and drops requests in flight."""

    def __new__(cls, plan: str, folder: _Path) -> Self:
        """Starts the race of a plan document and records it in the existing folder `folder`.

        Raises CoreError if the plan is invalid, or if files or threads cannot be created.
        """

    def wait(self, seconds: float) -> list[_RaceEvent]:
        """Returns the events since the last call; waits up to `seconds` for the first one.

        `RaceFinished` is the last event.
        """

    def progress(self) -> str:
        """Returns the progress of the race: a JSON object with `step`, `steps`, `elapsed_s`, `tasks`
        and `waits`.
        """

    def bridge(self) -> PythonBridge | None:
        """Returns the connection to the Python code of the race, or None if the plan needs no Python."""

    def stop(self, abandon: bool) -> None:
        """Stops the race: no further operation begins; those in flight finish, or are dropped
        with `abandon`.
        """

@final
class TaskFinished:
    """A task has ended."""

    @property
    def result(self) -> str:
        """Result of the task: an entry of `tasks` in `race.json`, as JSON."""

@final
class RaceFinished:
    """The race has ended; no event follows."""

    @property
    def summary(self) -> str:
        """The driver's own figures as JSON: `driver` in `race.json`, and `error` and `aborted`, null unless
        the race failed.
        """

_RaceEvent: TypeAlias = TaskFinished | RaceFinished

@final
class ClientId:
    """One client of one task. Ids are compared and hashed by value."""

    def __new__(cls, task: int, client: int) -> Self:
        """Identifies a client by the position of its task in the plan and its index among the
        task's clients.
        """

    @property
    def task(self) -> int:
        """Position of the task in the plan."""

    @property
    def client(self) -> int:
        """Index of the client among the task's clients."""

    def __eq__(self, value: object, /) -> bool:
        """Returns whether both ids refer to the same client."""

    def __hash__(self) -> int:
        """Returns the hash of task and client."""

@final
class PythonBridge:
    """Connection between a race and its Python code. Created by `Driver.bridge`.

    The driver sends events, and Python answers with calls. No call blocks, and all are thread-safe. An
    `owner` is the query id of the `RunOperation` to which a request belongs: the times of such an operation
    are those of its requests, as the driver measured them. A request that is sent after the operation has
    ended counts only towards the requests and bytes of the task.
    """

    def fileno(self) -> int:
        """Returns a file descriptor that is readable while events are queued. The bridge owns
        and closes it.
        """

    def events(self) -> list[_Event]:
        """Removes and returns all events, oldest first. `RaceEnded` is the last event."""

    def prepared(self, step: int, error: str | None) -> None:
        """Answers `PrepareStep`. An error ends the race and becomes the reason of its failure."""

    def enqueue(self, client: ClientId, operation: str, body: bytes | None) -> bool:
        """Queues the next operation of a client: the JSON of a supplied operation, and the body of a bulk.

        Returns False if the queue is full or the client has ended. Raises CoreError if the operation is
        invalid, or if the client has no queue or has been finished.
        """

    def free_slots(self, client: ClientId) -> int:
        """Returns how many more operations currently fit into the queue of a client.

        Raises CoreError if the task needs no Python.
        """

    def finish(self, client: ClientId, error: str | None) -> None:
        """Declares that a client has no operations after those queued; later calls have no effect.

        An error ends the client with a failed operation of class `plugin`, whose reason is the error. The
        call also answers a pending `RunOperation` or `ScheduleNext`: there is no further operation. Raises
        CoreError if the task needs no Python.
        """

    def schedule(self, query_id: int, offset_s: float | None) -> None:
        """Answers `ScheduleNext` with the seconds from the start of the task to the next operation.

        0 means immediately, None that there is no further operation. Raises CoreError if the time is negative
        or not finite, or if the query is unknown.
        """

    def count_unsent(self, query_id: int, total: int, warmup: int) -> None:
        """Answers `CountUnsent` with the number of operations, and how many of them are warm-up.

        Raises CoreError if the query is unknown.
        """

    def fail(self, reason: str) -> None:
        """Ends the race at once because the code that serves the events cannot continue."""

    def preparing_s(self) -> float | None:
        """Returns for how many seconds the driver has been waiting for `prepared`, or None if it does not."""

    def complete(
        self, query_id: int, result: RunnerResult, source_wait_s: float = 0.0, details: str | None = None
    ) -> None:
        """Answers `RunOperation`. Has no effect if the operation has been abandoned.

        `source_wait_s` is how long the operation waited for its parameter source, in seconds. `details` is
        the text of a JSON object that is kept with its sample.

        Raises CoreError if the query is unknown.
        """

    def count_retry(self, owner: int) -> None:
        """Counts a request that repeats an earlier one of the same operation.

        Raises CoreError if the query is unknown.
        """

    def request(self, owner: int | None, cluster: str, request: RunnerRequest) -> int:
        """Sends a request to a cluster (`default`, or another that the plan names) and returns its id.

        The answer is `ResponseReceived` or `RequestFailed`. Raises CoreError if there is no such cluster, the
        request cannot be written as HTTP, or the race is over.
        """

    def execute(self, owner: int | None, cluster: str, operation: str, body: bytes | None) -> int:
        """Executes a supplied operation in the driver as part of the owner's operation, and returns its id.

        The answer is `OperationExecuted`. Raises CoreError for the same reasons as `enqueue` and `request`.
        """

@final
class RunnerRequest:
    """An HTTP request of a runner."""

    def __new__(
        cls,
        method: str,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes | None,
        timeout_s: float | None,
    ) -> Self:
        """Creates a request for `target`, a path with a query string.

        Headers are sent in addition to those of the cluster; framing headers and `user-agent` are set by the
        driver and ignored here. Without a timeout, that of the plan applies. Raises CoreError if the timeout
        is negative or not finite.
        """

@final
class RunnerFailure:
    """Why one operation failed."""

    def __new__(cls, error_class: str, kind: str, reason: str, status: int | None = None) -> Self:
        """Creates a failure for a `RunnerResult`. Raises CoreError if there is no such error class."""

    @property
    def error_class(self) -> str:
        """One of the error classes of the race record, such as `http-status`."""

    @property
    def kind(self) -> str:
        """The engine's error type, or the name of the exception."""

    @property
    def reason(self) -> str:
        """The engine's or the exception's message."""

    @property
    def status(self) -> int | None:
        """HTTP status, or None if there was none."""

@final
class RunnerResult:
    """Result that a runner returned for one operation."""

    def __new__(
        cls, weight: int, failed_weight: int, unit: str, last: bool, failure: RunnerFailure | None
    ) -> Self:
        """Creates a result with `weight` units of work done and `failed_weight` that failed.

        Without a failure, the operation succeeded. `last` means that the client has no further operation.
        """

@final
class PrepareStep:
    """Requests the sources, runners and schedulers of a step, and full queues; answered by `prepared`.

    Sent only for steps with a task that needs Python.
    """

    @property
    def step(self) -> int:
        """Position of the step in the plan."""

@final
class RunOperation:
    """Requests the execution of one operation; answered by `complete`, or by `finish` if there is none."""

    @property
    def query_id(self) -> int:
        """Identifies the query in the answer."""

    @property
    def client(self) -> ClientId:
        """The client that executes the operation."""

    @property
    def measured(self) -> bool:
        """Whether the operation counts as measured; warm-up does not."""

    @property
    def waited_s(self) -> float:
        """Seconds for which the event waited until it was read."""

@final
class ScheduleNext:
    """Requests the time at which the client's next operation is due; answered by `schedule`."""

    @property
    def query_id(self) -> int:
        """Identifies the query in the answer."""

    @property
    def client(self) -> ClientId:
        """The client whose operation is scheduled."""

@final
class CountUnsent:
    """Requests the number of operations that a scheduler had due before the end of its client, but whose due
    times the driver has not received; answered by `count_unsent`.
    """

    @property
    def query_id(self) -> int:
        """Identifies the query in the answer."""

    @property
    def client(self) -> ClientId:
        """The client, which has ended its task."""

    @property
    def received(self) -> int:
        """Number of due times that the driver has received."""

    @property
    def ended_s(self) -> float:
        """When the client ended, in seconds since the task began; what is due later does not count."""

    @property
    def warmup_s(self) -> float:
        """When the warm-up ends, in seconds since the task began; 0 if it does not end at a given time."""

    @property
    def limit(self) -> int:
        """Largest number to count."""

@final
class OperationEnded:
    """An operation ended that the driver executed and a scheduler in Python paces."""

    @property
    def client(self) -> ClientId:
        """The client that executed the operation."""

    @property
    def weight(self) -> int:
        """Work done."""

    @property
    def unit(self) -> str:
        """Unit of the work."""

    @property
    def success(self) -> bool:
        """Whether the operation succeeded."""

    @property
    def error(self) -> str:
        """Error class and reason of a failure, or empty for a success."""

    @property
    def seconds_since_start(self) -> float:
        """Seconds from the start of the task to the end of the operation."""

@final
class ClientEnded:
    """A client has finished its task; no further operations of it are executed."""

    @property
    def client(self) -> ClientId:
        """The client that has ended."""

@final
class StepEnded:
    """All clients of a step have ended."""

    @property
    def step(self) -> int:
        """Position of the step in the plan."""

@final
class ResponseReceived:
    """The response to a request."""

    @property
    def request_id(self) -> int:
        """Identifies the request."""

    @property
    def status(self) -> int:
        """HTTP status."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Header fields, with names spelled as the server sent them."""

    @property
    def body(self) -> bytes:
        """The decompressed body, without framing."""

    @property
    def waited_s(self) -> float:
        """Seconds for which the event waited until it was read."""

@final
class RequestFailed:
    """A request failed without a response."""

    @property
    def request_id(self) -> int:
        """Identifies the request."""

    @property
    def kind(self) -> str:
        """`connect`, `tls`, `reset`, `timeout` or `protocol`."""

    @property
    def reason(self) -> str:
        """The system's message."""

    @property
    def waited_s(self) -> float:
        """Seconds for which the event waited until it was read."""

@final
class OperationExecuted:
    """The driver has executed an operation on behalf of a runner."""

    @property
    def request_id(self) -> int:
        """Identifies the operation."""

    @property
    def success(self) -> bool:
        """Whether it succeeded."""

    @property
    def weight(self) -> int:
        """Work done."""

    @property
    def status(self) -> int:
        """HTTP status of the last response, 0 if there was none."""

    @property
    def took_ms(self) -> int | None:
        """Milliseconds that the engine reports as `took`, or None if it reports none."""

    @property
    def failure(self) -> RunnerFailure | None:
        """The failure of the operation, or None for a success."""

    @property
    def details(self) -> str | None:
        """The details of its responses as the text of a JSON object, or None if it did not ask for them."""

    @property
    def waited_s(self) -> float:
        """Seconds for which the event waited until it was read."""

@final
class RaceEnded:
    """The race is over; this is the last event."""

_Event: TypeAlias = (
    PrepareStep
    | RunOperation
    | ScheduleNext
    | CountUnsent
    | OperationEnded
    | ClientEnded
    | StepEnded
    | ResponseReceived
    | RequestFailed
    | OperationExecuted
    | RaceEnded
)

def generate(
    name: str, files: dict[str, int], seed: int, folder: _Path, progress: _Progress
) -> GeneratedFiles:
    """Generates the files of a corpus in the existing folder `folder`.

    `files` has the number of documents by file name. If the corpus has several parts or kinds, the name of
    a file selects one. `progress(done, total)` is called with documents; an exception that it raises ends the
    call. Raises CoreError.
    """

@final
class GeneratedFile:
    """A generated data file."""

    @property
    def name(self) -> str:
        """File name, without a folder."""

    @property
    def documents(self) -> int:
        """Number of documents."""

    @property
    def bytes(self) -> int:
        """Size in bytes."""

@final
class GeneratedFiles:
    """The files of a generated corpus."""

    @property
    def version(self) -> int:
        """Version of the generator."""

    @property
    def files(self) -> list[GeneratedFile]:
        """The files, in the order in which they were requested."""

@final
class UnpackedFile:
    """An unpacked data file."""

    @property
    def path(self) -> Path:
        """Path of the file."""

    @property
    def bytes(self) -> int:
        """Size in bytes."""

@final
class GcLogs:
    """The GC logs of all runs of a JVM in some files."""

    def __new__(cls, files: list[_Path]) -> Self:
        """Reads files that belong together: one log, or all files of a rotated one, in any order.

        Handles Ctrl-C. Raises CoreError if a file cannot be read or none is a GC log.
        """

    @property
    def input(self) -> str:
        """What was read as JSON: `files`, `bytes`, `lines` and `problems`."""

    def __len__(self) -> int:
        """Returns the number of logs, one for each run of a JVM; at least 1."""

    def log(self, index: int) -> str:
        """Returns a log as JSON, with the statistics of all of it: `jvm`, `start`, `end`, `statistics`,
        `openj9`.

        `start` and `end` of a log of OpenJ9 are on the local clock of the JVM, as if its time zone were UTC.
        """

    def times(self) -> list[tuple[float | None, float | None, bool]]:
        """Returns `start` and `end` of each log, without its statistics, and whether it is one of OpenJ9."""

    def between(self, index: int, start: float, end: float) -> str:
        """Returns a log as JSON, with the statistics of a window in seconds since 1970, like `start`.

        Raises CoreError if the log has no wall-clock times.
        """

    def pauses(self, index: int, most: int) -> tuple[list[str], list[tuple[float, float, int]]]:
        """Returns the names of kinds of pauses, and the first pauses of a log, at most `most`: begin (in
        seconds like `start`), length in milliseconds, and position of the kind among the names.

        There are none if the log has no wall-clock times.
        """

def generator_files(name: str, documents: int) -> dict[str, int]:
    """Returns the numbers of documents of a generated corpus by file name; they add up to `documents`.

    The files are those that the public track declares. Raises CoreError.
    """

def generators() -> list[str]:
    """Returns the names of the corpora that can be generated."""

def generator_version(name: str) -> int:
    """Returns the version of a generator; each version generates different bytes. Raises CoreError."""

def unpack(archive: _Path, folder: _Path, max_bytes: int | None, progress: _Progress) -> UnpackedFile:
    """Unpacks an archive (.gz, .bz2, .zst, .tar, packed .tar, .zip) into `folder`.

    The file gets the name of the archive without its suffix. If the archive holds several files, the one with
    that name is unpacked. At most `max_bytes` are written; None means 1 GiB or 1000 times the size of the
    archive, whichever is more. `progress(done, total)` is called with bytes of the archive; an exception that
    it raises ends the call. Raises CoreError, also for members outside the folder, links and devices.
    """

def count_lines(file: _Path) -> int:
    """Counts the lines of a data file; writes its `.offset` file unless a valid one exists.
    Raises CoreError.
    """

def realtime_refusal() -> str | None:
    """Returns why the driver's threads cannot have real-time priority, or None if they can."""

def recover_files(folder: _Path) -> int | None:
    """Completes `samples.parquet`, `series.parquet` and `telemetry.parquet` of a race that was killed.

    Writes what was lost to `recovery.json`. Returns the number of rows of the series, or of the samples if
    the series is complete, or of the telemetry if both are; None if there is nothing to complete or the race
    is still running. Raises CoreError; what could be recovered before can be recovered later.
    """

def merged_percentiles(files: list[_Path]) -> str:
    """Returns the merged percentiles of `series.parquet` files as a JSON object.

    `tasks` has the measured operations that succeeded, by name of the task: `service_time` and `latency`,
    each with `count` and those `percentiles` below 100 (`q`, `ms`) that the count is enough for. `unread`
    has `index`, `kind` (`missing`, `unreadable` or `damaged`) and `reason` of files that are not part of it.
    """

def race_timeline(file: _Path, most_points: int) -> str:
    """Returns a `RaceTimeline` of `model/race_timeline.py` as JSON, from a `series.parquet` file.

    It has at most `most_points` points, unless there are more tasks. Raises CoreError if the file cannot be
    read.
    """

def arrivals(file: _Path, tasks: set[str], length_s: int, most_rows: int) -> str | None:
    """Returns when operations of these tasks were due and done, from a `samples.parquet` file, as JSON.

    By name of the task, `due` and `done` have the numbers of operations in parts of `length_s` seconds. None
    if the file has more than `most_rows`. Raises CoreError if it cannot be read.
    """

def engine_times(file: _Path, most_groups: int, most_samples: int) -> str:
    """Returns what the engine reports as its time, by task, from a `samples.parquet` file, as JSON.

    Each task has `operations`, and the sums `took_ms` and `service_ns` of the measured operations that
    succeeded and for which the engine reported `took`. At most `most_groups` row groups are read, spread over
    the file, and about `most_samples` samples, spread over these. Raises CoreError if it cannot be read.
    """

def read_recordings(files: list[_Path], windows_ns: list[tuple[int, int] | None]) -> list[str]:
    """Returns Flight Recorder recordings of one JVM as one, for each window: a `Recording` of
    `model/recording.py` as JSON, with indexes of `names` instead of names. The files are read once.

    Only events that begin within the window are counted, given by its start and end in ns since 1970; None
    counts all. Handles Ctrl-C after each chunk. Raises CoreError if a file cannot be opened.
    """

def crc32c(file: _Path) -> int:
    """Returns the CRC-32C checksum of a file. Raises CoreError."""

_TelemetrySample: TypeAlias = tuple[str, str, float | None, str, str, dict[str, str]]
"""Source, name, value (None for a gap), unit, kind (`gauge` or `counter`) and labels of a sample."""

_TelemetryPoints: TypeAlias = tuple[str, str, dict[str, str], list[tuple[int, float | None]]]
"""Name, unit and labels of a series, and its values with their times in nanoseconds since 1970."""

@final
class TelemetryFile:
    """`telemetry.parquet` of a running race. Any thread may write to it."""

    def __new__(cls, folder: _Path) -> Self:
        """Creates the journal of the file in an existing folder. Raises CoreError."""

    def now_ns(self) -> int:
        """Returns the time for samples: nanoseconds since 1970 that never go backwards."""

    def write(self, time_ns: int, samples: Sequence[_TelemetrySample]) -> None:
        """Appends samples of one time. If the disk does not accept them, or there are too many series,
        `close` raises the error.

        Raises CoreError for another kind than `gauge` and `counter`.
        """

    def add_task(self, task: str, begin_ns: int, end_ns: int) -> None:
        """Appends the times of a task, which replace earlier ones of the same task."""

    def close(self) -> int:
        """Writes `telemetry.parquet` and returns the number of its rows; later calls return 0.

        Raises CoreError, also for the first error of earlier calls of `write`.
        """

@final
class HostSampler:
    """A thread that samples the counters of this machine. Dropping the last reference ends it."""

    def __new__(
        cls,
        file: TelemetryFile,
        processes: list[tuple[str, int]],
        data_paths: list[tuple[str, str]],
        cpus: list[int],
        interval_s: float,
    ) -> Self:
        """Starts to sample the machine, these processes by name and id, and the space of these data paths by
        the name of the node.

        The thread uses only these CPUs; with an empty list, it uses those of the calling thread. Raises
        CoreError if the thread cannot be started.
        """

    def stop(self) -> str:
        """Samples once more, ends the thread, and returns a JSON object about it.

        It has `sweeps`, `missed`, `cpu_s`, `wall_s`, and `not_available` with the reason by file. Raises
        CoreError if it has been stopped before.
        """

_StoredSample: TypeAlias = tuple[
    str, str, str, bool, int, str, int, int, int, int, bool, int, str, str | None
]
"""A row of `samples.parquet`: the fields of `metrics_store/samples.py`'s `StoredSample`, in their order."""

@final
class SampleReader:
    """A `samples.parquet` file that is being read. Memory depends on its row groups, not on its length."""

    def __new__(cls, file: _Path) -> Self:
        """Opens the file. Raises CoreError if it cannot be read."""

    def next_rows(self, most: int) -> list[_StoredSample]:
        """Returns the next rows, at most `most`; none at the end of the file.

        Raises CoreError if the file is damaged.
        """

@final
class TableFile:
    """A Parquet file with any columns that is being written."""

    def __new__(cls, path: _Path, columns: list[tuple[str, str]]) -> Self:
        """Creates the file, or truncates the existing one.

        A column has a name and a kind: `text`, `number`, `flag` or `time`. Raises CoreError.
        """

    def write(self, columns: list[list[object]]) -> None:
        """Appends rows as one row group, given by column, with None where a row has no value.

        Times are milliseconds since 1970. Raises CoreError if the file cannot be written, and TypeError for
        values of another kind.
        """

    def close(self) -> None:
        """Completes the file. Raises CoreError."""

def telemetry_cuts(file: _Path, measured: Mapping[str, tuple[float, float]]) -> str:
    """Returns the series of a `telemetry.parquet` file, cut to the tasks of its race or, of the tasks in
    `measured`, to the windows with these begins and lengths in seconds, as a JSON object.

    `tasks` has `task` and the times to which it was cut, `begin_ns` and `end_ns`; `series` has `source`,
    `name`, `unit`, `kind`, `labels` and `cuts`, one per task or null. Raises CoreError if the file cannot be
    read.
    """

def telemetry_points(file: _Path, source: str, names: list[str]) -> list[_TelemetryPoints]:
    """Returns the values over time of the series with this source and one of these names.

    Raises CoreError.
    """

def telemetry_timeline(file: _Path, names: list[tuple[str, str]], grid: tuple[int, int, int]) -> str:
    """Returns series of a `telemetry.parquet` file in parts of a race, as JSON: a list of series with
    `source`, `name`, `unit`, `kind`, `labels`, and `mean` and `max` of each part.

    `names` are sources and names; a name that ends with a dot stands for all that begin with it. `grid` is
    the beginning of the first part in nanoseconds since 1970, the length of the parts in seconds, and their
    number. Raises CoreError if the file cannot be read.
    """

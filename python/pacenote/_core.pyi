"""The Rust core: runs plans, makes and unpacks corpora. Compared with the built module by tests/shape.

Documents cross as JSON text. Every call that can take time releases the GIL; those with a `progress`
call it ten times a second and handle Ctrl-C then. Only `race/` and `python_tasks/`
import this module.
"""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias, final

_Path: TypeAlias = str | PathLike[str]
_Progress: TypeAlias = Callable[[int, int], object]

__all__ = [
    "ClientEnded",
    "ClientId",
    "CoreError",
    "Driver",
    "OperationEnded",
    "OperationExecuted",
    "OperationFailure",
    "PrepareStep",
    "PythonBridge",
    "RaceEnded",
    "ReplyReceived",
    "RequestFailed",
    "RunOperation",
    "RunnerRequest",
    "RunnerResult",
    "ScheduleNext",
    "StepEnded",
    "__version__",
    "count_lines",
    "crc32c",
    "generate",
    "generator_files",
    "generator_version",
    "generators",
    "recover_series",
    "unpack",
]

__version__: str
"""The version of the Rust crates; the package has the same."""

class CoreError(Exception):
    """The core could not do what was asked; the text is one line that says why."""

@final
class Driver:
    """A running race, on its own threads. Ends with its last reference; requests under way are dropped."""

    def __new__(cls, plan: str, folder: _Path) -> Self:
        """Starts a plan document; its recording goes to `folder`, which exists.

        Raises CoreError: the plan is not understood, or files or threads cannot be created.
        """

    def wait(self, seconds: float) -> list[str]:
        """Events since the last call; waits up to `seconds` for the first one.

        Each is a JSON object with one key: `task_finished` (a task's result) or `finished` (the driver's own
        figures), which is the last.
        """

    def progress(self) -> str:
        """Progress of the race: a JSON object with `step`, `steps`, `elapsed_s` and `tasks`."""

    def bridge(self) -> PythonBridge | None:
        """Connection to the Python code that takes part in the race; None if the plan needs no Python."""

    def stop(self, abandon: bool) -> None:
        """Stops the race: no operation begins. Those under way may end, or are dropped with `abandon`."""

@final
class ClientId:
    """One client of one task. Equal ids are equal and have one hash."""

    def __new__(cls, task: int, client: int) -> Self:
        """A client by the position of its task in the plan and its index among the task's clients."""

    @property
    def task(self) -> int:
        """Position of the task in the plan."""

    @property
    def client(self) -> int:
        """Index of the client among the task's clients."""

    def __eq__(self, value: object, /) -> bool:
        """Whether both are the same client."""

    def __hash__(self) -> int:
        """The hash of task and index."""

@final
class PythonBridge:
    """Connection between a race and the Python code that takes part in it. Made by `Driver.bridge`.

    The driver sends events, Python answers with calls; no call waits, and all may come from any thread. An
    `owner` is the client whose running operation a request belongs to: times of such an operation are those
    of its requests, as the driver measured them.
    """

    def fileno(self) -> int:
        """A descriptor that is readable while events are queued; it stays the bridge's."""

    def events(self) -> list[_Event]:
        """Removes and returns all events, oldest first. After `RaceEnded` there are no more."""

    def prepared(self, step: int, error: str | None) -> None:
        """Answers `PrepareStep`. An error ends the race and is its reason."""

    def enqueue(self, client: ClientId, operation: str, body: bytes | None) -> bool:
        """Queues the next operation of a client: the JSON of a supplied operation, with a bulk's body beside
        it.

        False when the queue is full or the client has ended. Raises CoreError: the operation is not
        understood, the client has no queue or has been finished.
        """

    def free_slots(self, client: ClientId) -> int:
        """How many operations fit into the queue of a client now.

        Raises CoreError: the task needs no Python.
        """

    def finish(self, client: ClientId, error: str | None) -> None:
        """Declares that a client has no operations after those queued; the first call counts.

        An error ends the client with a failed operation of class `plugin` and is its reason. An unanswered
        `RunOperation` or `ScheduleNext` is answered by that: there was no operation. Raises CoreError: the
        task needs no Python.
        """

    def schedule(self, query_id: int, offset_s: float | None) -> None:
        """Answers `ScheduleNext`: seconds since the task began, 0 for immediately, None for no further
        operation.

        Raises CoreError: a time that is negative or not finite, an unknown query.
        """

    def complete(self, query_id: int, result: RunnerResult) -> None:
        """Answers `RunOperation`. Ignored when the operation was abandoned meanwhile.

        Raises CoreError: an unknown query.
        """

    def request(self, owner: ClientId | None, cluster: str, request: RunnerRequest) -> int:
        """Sends a request to a cluster (`default`, or another that the plan names) and returns its id.

        Answered by `ReplyReceived` or `RequestFailed`. Raises CoreError: there is no such cluster, the
        request cannot be written as HTTP, the race is over.
        """

    def execute(self, owner: ClientId | None, cluster: str, operation: str, body: bytes | None) -> int:
        """Has the driver execute a supplied operation as part of the owner's, and returns its id.

        Answered by `OperationExecuted`. Raises CoreError as `enqueue` and `request` do.
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
        """A request for path and query string `target`.

        Headers are sent in addition to those of the cluster; those that frame the message, and `user-agent`,
        are the driver's own and ignored. Without timeout, that of the plan applies. Raises CoreError: a
        timeout that is negative or not finite.
        """

@final
class OperationFailure:
    """Why one operation failed."""

    def __new__(cls, error_class: str, kind: str, reason: str, status: int | None = None) -> Self:
        """A failure for a `RunnerResult`. Raises CoreError: there is no such error class."""

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
        """HTTP status, None if there was none."""

@final
class RunnerResult:
    """What a runner returned for one operation."""

    def __new__(
        cls, weight: int, unit: str, success: bool, last: bool, failure: OperationFailure | None
    ) -> Self:
        """A result of `weight` units of work done, or attempted if there was no success.

        `last`: the client has no further operation. A failure of class `plugin` is its last one, too.
        """

@final
class PrepareStep:
    """Build sources, runners and schedulers of a step and fill its queues; answered by `prepared`.

    Sent only for steps with a task that needs Python.
    """

    @property
    def step(self) -> int:
        """Position of the step in the plan."""

@final
class RunOperation:
    """Execute one operation; answered by `complete`, or by `finish` if there is none."""

    @property
    def query_id(self) -> int:
        """Identifies the query in the answer."""

    @property
    def client(self) -> ClientId:
        """The client that executes it."""

    @property
    def measured(self) -> bool:
        """Whether the operation counts as measured; warm-up does not."""

@final
class ScheduleNext:
    """Decide when the client's next operation is due; answered by `schedule`."""

    @property
    def query_id(self) -> int:
        """Identifies the query in the answer."""

    @property
    def client(self) -> ClientId:
        """The client whose operation is scheduled."""

@final
class OperationEnded:
    """An operation ended that the driver executed itself and that a scheduler in Python paces."""

    @property
    def client(self) -> ClientId:
        """The client that executed it."""

    @property
    def weight(self) -> int:
        """Work done."""

    @property
    def unit(self) -> str:
        """Unit of the work."""

    @property
    def success(self) -> bool:
        """Whether it succeeded."""

    @property
    def error(self) -> str:
        """Error class and reason of a failure, empty for a success."""

    @property
    def seconds_since_start(self) -> float:
        """When it ended, in seconds since the task began."""

@final
class ClientEnded:
    """A client has finished its task: nothing more is taken from it."""

    @property
    def client(self) -> ClientId:
        """The client."""

@final
class StepEnded:
    """All clients of a step have ended."""

    @property
    def step(self) -> int:
        """Position of the step in the plan."""

@final
class ReplyReceived:
    """The reply to a request."""

    @property
    def request_id(self) -> int:
        """Identifies the request."""

    @property
    def status(self) -> int:
        """HTTP status."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Header fields; names as the server wrote them."""

    @property
    def body(self) -> bytes:
        """The body, without its framing and decompressed."""

@final
class RequestFailed:
    """A request that got no reply."""

    @property
    def request_id(self) -> int:
        """Identifies the request."""

    @property
    def kind(self) -> str:
        """`connect`, `tls`, `reset`, `timeout` or `protocol`."""

    @property
    def reason(self) -> str:
        """The system's message."""

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
        """HTTP status of the last reply, 0 if there was none."""

    @property
    def took_ms(self) -> int | None:
        """Milliseconds that the engine reports as spent, None if it reports none."""

    @property
    def failure(self) -> OperationFailure | None:
        """Why it failed, None for a success."""

@final
class RaceEnded:
    """The race is over; no event follows."""

_Event: TypeAlias = (
    PrepareStep
    | RunOperation
    | ScheduleNext
    | OperationEnded
    | ClientEnded
    | StepEnded
    | ReplyReceived
    | RequestFailed
    | OperationExecuted
    | RaceEnded
)

def generate(
    name: str, files: list[tuple[str, int]], seed: int, folder: _Path, progress: _Progress
) -> tuple[int, list[tuple[str, int, int]]]:
    """Generates files of a corpus, given as (name, documents), into `folder`, which exists.

    The name of a file says which part or kind of the corpus it is, where there are several. `progress(done,
    total)` is called with documents; what it raises ends the call. Returns the version of the generator and
    the files as (name, documents, bytes). Raises CoreError.
    """

def generator_files(name: str, documents: int) -> list[tuple[str, int]]:
    """The files, as (name, documents), of a generated corpus of `documents` documents: those the public track
    declares; their documents add up to exactly that. Raises CoreError.
    """

def generators() -> list[str]:
    """Names of the corpora that can be generated."""

def generator_version(name: str) -> int:
    """Version of a generator: another version generates other bytes. Raises CoreError."""

def unpack(archive: _Path, folder: _Path, max_bytes: int | None, progress: _Progress) -> tuple[Path, int]:
    """Unpacks an archive (.gz, .bz2, .zst, .tar, packed .tar, .zip) into `folder`, under its name without the
    ending: of several files the one of that name, else the only one.

    At most `max_bytes`; None for 1 GiB, or 1000 times the size of the archive where that is more.
    `progress(done, total)` is called with bytes of the archive; what it raises ends the call. Returns the
    unpacked file and its length in bytes. Raises CoreError: also for an archive with members that lead out of
    a folder, links or devices.
    """

def count_lines(file: _Path) -> int:
    """Lines of an unpacked file; writes its `.offset` file if there is none that fits. Raises CoreError."""

def recover_series(folder: _Path) -> int | None:
    """Completes `series.parquet` of a race that was killed.

    Returns the number of its rows, None when there was no journal. Raises CoreError.
    """

def crc32c(file: _Path) -> int:
    """The CRC-32C of a file. Raises CoreError."""

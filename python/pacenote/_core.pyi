"""The Rust core: runs plans, makes and unpacks corpora. Compared with the built module by tests/shape.

Documents cross as JSON text. Every call that can take time lets go of Python's lock; those with a `progress`
come back ten times a second to call it and to hear Ctrl-C. Only `race/` imports this module.
"""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeAlias, final

_Path: TypeAlias = str | PathLike[str]
_Progress: TypeAlias = Callable[[int, int], object]

__all__ = [
    "CoreError",
    "Driver",
    "Lane",
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
    """A running race, on threads of its own. Ends with its last reference; what is under way is dropped."""

    def __new__(cls, plan: str, folder: _Path) -> Self:
        """Starts a plan document; its recording goes to `folder`, which exists.

        Raises CoreError: a plan that is not understood, https, files or threads that cannot be created.
        """

    def wait(self, seconds: float) -> list[str]:
        """What has happened since the last call; waits up to `seconds` for something to happen.

        Each is a JSON object with one key: `task_finished` (a task's result) or `finished` (the driver's own
        figures), which is the last. What is returned once is not returned again.
        """

    def progress(self) -> str:
        """Where the race stands: a JSON object with `step`, `steps`, `elapsed_s` and `tasks`."""

    def lane(self) -> Lane | None:
        """Where operations in Python meet the race; None if the plan needs no Python."""

    def stop(self, abandon: bool) -> None:
        """Ends the race: nothing new begins. What is under way may end, or with `abandon` is dropped."""

@final
class Lane:
    """Where parameter sources, runners and schedulers in Python meet the race. Made by `Driver.lane`.

    The driver asks by events, Python answers by calls; no call waits, and all may come from any thread. A
    `task` is a position in the plan, a `client` one of the task's, an `owner` both: whose running operation a
    request belongs to. Times of such an operation are those of its requests, as the driver saw them.
    """

    def fileno(self) -> int:
        """A descriptor that is readable while events are queued; it stays the lane's."""

    def events(self) -> list[tuple[Any, ...]]:
        """Takes all events, oldest first. The first part of each is its name:

        ("prepare", step): build sources, runners and schedulers of the step, fill queues; answer `prepared`.
          Only steps with a task that needs Python are told of.
        ("run", token, task, client, measured): carry out one operation; answer `done`, or `end` if there is
          none.
        ("next", token, task, client): when is the next operation due? answer `due`.
        ("after", task, client, weight, unit, success, error, seconds_since_start): what became of an
          operation whose task has a scheduler in Python and that the driver carried out itself.
        ("ended", task, client): the client's share of the task is over: nothing more is taken.
        ("finish", step): all clients of the step have ended.
        ("reply", ticket, status, headers, body): the reply to a `request`.
        ("failed", ticket, kind, reason): no reply came; kind is connect, reset, timeout or protocol.
        ("outcome", ticket, json): what became of an `execute`: an object with `success`, `weight`, `status`,
          `took_ms` (-1: not said), `error` (null, or `class`, `kind`, `reason`, `status`) and `body`, the
          last reply's text.
        ("quit",): the race is over; nothing follows.
        """

    def prepared(self, step: int, error: str | None) -> None:
        """Answers `prepare`; with an error, which is the reason told, the race ends."""

    def supply(self, task: int, client: int, operation: str, body: bytes | None) -> bool:
        """Hands over the next operation of a client: a `Supply` document, with a bulk's body beside it.

        False: there is no room now, or the client's share is over. Raises CoreError: this is no such
        document, the task takes none, its source has ended.
        """

    def room(self, task: int, client: int) -> int:
        """How many operations can be handed over to a client now.

        Raises CoreError: the task needs no Python.
        """

    def end(self, task: int, client: int, error: str | None) -> None:
        """Says that a client has no more operations than those handed over; the first call counts.

        With an error, which is the reason told, the share ends with a failed operation of class `plugin`. A
        `run` or `next` that is not answered yet is answered by that: there was no operation. Raises
        CoreError: the task needs no Python.
        """

    def due(self, token: int, offset_s: float | None) -> None:
        """Answers `next`: seconds since the task began, 0 for at once; None: there is no further
        operation.

        Raises CoreError: a time below 0 or without end.
        """

    def done(self, token: int, result: str) -> None:
        """Answers `run`: an object with `weight`, `unit`, `success`, `last` and `error`.

        `last`: no operation follows. `error` is null or has `class` (one of the error classes), `kind`,
        `status` (or null) and `reason`; an error of class `plugin` is the last of its share, too. An answer
        that comes after its operation was abandoned is not heard. Raises CoreError: this is no result.
        """

    def request(
        self,
        owner: tuple[int, int] | None,
        cluster: str,
        method: str,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes | None,
        timeout_s: float | None,
    ) -> int:
        """Sends a request to a cluster (`default`, or another that the plan names); returns its ticket.

        `target` is path and query string. Headers go beside those of the cluster; those that frame the
        message are the driver's own and left out, and so is `user-agent`. Without timeout that of the
        plan holds. Raises CoreError: there is no such cluster, the request cannot be written as HTTP, the
        race is over.
        """

    def execute(self, owner: tuple[int, int] | None, cluster: str, operation: str, body: bytes | None) -> int:
        """Has a `Supply` document carried out by the driver itself, as part of the owner's operation.

        Returns its ticket. Raises CoreError as `supply` and `request` do.
        """

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
    """Version of a generator: another one makes other bytes of the same recipe. Raises CoreError."""

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

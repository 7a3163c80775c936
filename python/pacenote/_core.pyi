"""The Rust core: runs plans, makes and unpacks corpora. Compared with the built module by tests/shape.

Documents cross as JSON text. Every call that can take time lets go of Python's lock; those with a `progress`
come back ten times a second to call it and to hear Ctrl-C. Only `race/` imports this module.
"""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias, final

_Path: TypeAlias = str | PathLike[str]
_Progress: TypeAlias = Callable[[int, int], object]

__all__ = [
    "CoreError",
    "Driver",
    "__version__",
    "count_lines",
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

    def stop(self, abandon: bool) -> None:
        """Ends the race: nothing new begins. What is under way may end, or with `abandon` is dropped."""

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
    """Unpacks an archive (.gz, .bz2, .zst) into `folder`; at most `max_bytes`, None for no limit.

    `progress(done, total)` is called with bytes of the archive; what it raises ends the call. Returns the
    unpacked file and its length in bytes. Raises CoreError.
    """

def count_lines(file: _Path) -> int:
    """Lines of an unpacked file; writes its `.offset` file if there is none that fits. Raises CoreError."""

def recover_series(folder: _Path) -> int | None:
    """Completes `series.parquet` of a race that was killed.

    Returns the number of its rows, None when there was no journal. Raises CoreError.
    """

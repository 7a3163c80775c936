"""Data files for parameter sources."""

from __future__ import annotations

import mmap
import os
from types import TracebackType
from typing import IO, Any, Self


class MmapSource:
    """A memory-mapped file, read line by line as bytes."""

    def __init__(self, file_name: str, mode: str, encoding: str = "utf-8") -> None:
        self.file_name = file_name
        self.mode = mode
        self.encoding = encoding
        self.f: IO[bytes] | None = None
        self.mm: Any = None

    def open(self) -> Self:
        """Opens the file. Raises `ValueError` if it is empty."""
        self.f = open(self.file_name, "rb")  # noqa: SIM115, PTH123  # Closed by `close`.
        try:
            self.mm = mmap.mmap(self.f.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            self.f.close()
            raise
        self.mm.madvise(mmap.MADV_SEQUENTIAL)
        return self

    def seek(self, offset: int) -> None:
        """Moves to a byte offset."""
        self.mm.seek(offset)

    def read(self) -> bytes:
        """Returns the rest of the file."""
        return bytes(self.mm.read())

    def readline(self) -> bytes:
        """Returns the next line, or an empty one at the end."""
        return bytes(self.mm.readline())

    def readlines(self, num_lines: int) -> list[bytes]:
        """Returns the next `num_lines` lines, fewer at the end of the file."""
        lines = []
        readline = self.mm.readline
        for _ in range(num_lines):
            line = readline()
            if not line:
                break
            lines.append(line)
        return lines

    def close(self) -> None:
        """Closes the file."""
        self.mm.close()
        self.mm = None
        if self.f is not None:
            self.f.close()
            self.f = None

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return self.file_name


class FileSource(MmapSource):
    """A file read line by line as text."""

    def open(self) -> Self:
        """Opens the file."""
        self.mm = open(self.file_name, self.mode, encoding=self.encoding)  # noqa: SIM115, PTH123
        return self

    def read(self) -> Any:
        """Returns the rest of the file."""
        return self.mm.read()

    def readline(self) -> Any:
        """Returns the next line, or an empty one at the end."""
        return self.mm.readline()


def skip_lines(data_file_path: str, data_file: Any, number_of_lines_to_skip: int) -> None:
    """Moves to a line, starting at the nearest line before it that the file's `.offset` table lists."""
    if number_of_lines_to_skip == 0:
        return
    line, byte = _nearest(f"{data_file_path}.offset", number_of_lines_to_skip)
    data_file.seek(byte)
    for _ in range(number_of_lines_to_skip - line):
        data_file.readline()


def _nearest(table: str, target: int) -> tuple[int, int]:
    best = (0, 0)
    if not os.path.exists(table):  # noqa: PTH110
        return best
    with open(table, encoding="utf-8") as offsets:  # noqa: PTH123
        for text in offsets:
            line, byte = (int(part) for part in text.split(";"))
            if line > target:
                break
            best = (line, byte)
    return best


def normalize_path(path: str, cwd: str = ".") -> str:
    """Returns the absolute path; `~` is the home folder."""
    expanded = os.path.expanduser(path)  # noqa: PTH111
    return os.path.normpath(os.path.join(cwd, expanded)) if not os.path.isabs(expanded) else expanded  # noqa: PTH117, PTH118


def ensure_dir(directory: str) -> None:
    """Creates a folder and its parents."""
    if directory:
        os.makedirs(directory, exist_ok=True)  # noqa: PTH103

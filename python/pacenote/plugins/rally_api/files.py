"""Data files for parameter sources."""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pacenote.plugins.tools import current_tools
from pacenote.system.folder_trees import walk_folders


class _Source:
    """Base class of files that a `with` block opens and closes."""

    def open(self) -> Self:
        """Opens the file."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the file."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class MmapSource(_Source):
    """A memory-mapped file, read line by line as bytes."""

    def __init__(self, file_name: str, mode: str, encoding: str = "utf-8") -> None:
        self.file_name = file_name
        self.mode = mode
        self.encoding = encoding
        self.mm: Any = None

    def open(self) -> Self:
        """Opens the file. Raises `ValueError` if it is empty."""
        # The map has a descriptor of its own. So an abandoned source leaves no open file object.
        with open(self.file_name, "rb") as file:  # noqa: PTH123
            self.mm = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
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


def ensure_dir(directory: str, mode: int = 0o777) -> None:
    """Creates a folder and its parents."""
    if directory:
        os.makedirs(directory, mode, exist_ok=True)  # noqa: PTH103


SUPPORTED_ARCHIVE_FORMATS = [".zip", ".bz2", ".gz", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".zst"]
"""Extensions of archives."""

dirname = os.path.dirname
"""Returns the folder of a path."""

basename = os.path.basename
"""Returns the last part of a path."""

exists = os.path.exists
"""Returns whether a path exists."""


def escape_path(path: str) -> str:
    """Returns a path with its backslashes escaped."""
    return path.replace("\\", "\\\\")


def splitext(file_name: str) -> tuple[str, str]:
    """Returns a file name without its extension, and the extension, such as `.tar.gz`."""
    for extension in (".tar.gz", ".tar.bz2"):
        if file_name.endswith(extension):
            return file_name.removesuffix(extension), extension
    return os.path.splitext(file_name)  # noqa: PTH122


def has_extension(file_name: str, extension: str) -> bool:
    """Returns whether a file name has an extension, such as `.json`."""
    return splitext(file_name)[1] == extension


def is_archive(name: str) -> bool:
    """Returns whether a file name is that of an archive that can be unpacked."""
    return splitext(name)[1] in SUPPORTED_ARCHIVE_FORMATS


def is_executable(name: str) -> bool:
    """Returns whether there is a program of this name."""
    return shutil.which(name) is not None


def decompress(zip_name: str, target_directory: str) -> None:
    """Unpacks an archive into a folder. Raises `DataError` while no race is being prepared."""
    ensure_dir(target_directory)
    current_tools().unpack(Path(zip_name), Path(target_directory, basename(splitext(zip_name)[0])))


def prepare_file_offset_table(data_file_path: str, corpus_base_url: str | None = None) -> int | None:  # noqa: ARG001
    """Writes the table by which `skip_lines` finds lines, and returns the number of lines, or None if it is
    not known. Raises `DataError` while no race is being prepared.
    """
    return current_tools().count_lines(Path(data_file_path))


def remove_file_offset_table(data_file_path: str) -> None:
    """Removes the table of a file."""
    Path(f"{data_file_path}.offset").unlink()


def get_size(start_path: str = ".") -> int:
    """Returns the size of all files below a folder, in bytes."""
    files = (Path(folder, name) for folder, _, names in walk_folders(start_path) for name in names)
    return sum(file.stat().st_size for file in files)


class StringAsFileSource(_Source):
    """Lines that are read like a file, for tests of plug-ins."""

    def __init__(self, contents: Sequence[str], mode: str, encoding: str = "utf-8") -> None:
        self.contents = list(contents)
        self.mode = mode
        self.encoding = encoding
        self.current_index = 0

    def open(self) -> Self:
        """Returns the source."""
        return self

    def seek(self, offset: int) -> None:
        """Moves to the beginning. Raises AssertionError for any other offset."""
        if offset:
            raise AssertionError("StringAsFileSource does not support random seeks")

    def read(self) -> str:
        """Returns all lines."""
        return "\n".join(self.contents)

    def readline(self) -> str:
        """Returns the next line, or an empty one at the end."""
        (line,) = self.readlines(1) or [""]
        return line

    def readlines(self, num_lines: int) -> list[str]:
        """Returns the next lines, fewer at the end."""
        lines = self.contents[self.current_index : self.current_index + num_lines]
        self.current_index += len(lines)
        return lines

    def close(self) -> None:
        """Drops the lines."""
        self.contents = []


class DictStringFileSourceFactory:
    """Opens lines by the name of their file, for tests of plug-ins."""

    def __init__(self, name_to_contents: Mapping[str, Sequence[str]]) -> None:
        self.name_to_contents = name_to_contents

    def __call__(self, name: str, mode: str, encoding: str = "utf-8") -> StringAsFileSource:
        """Returns the file with this name."""
        return StringAsFileSource(self.name_to_contents[name], mode, encoding)

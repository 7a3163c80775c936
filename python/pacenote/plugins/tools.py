"""Functions of the race that plug-ins can use to prepare data: downloading, unpacking, counting lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from pacenote.plugins.rally_api.errors import DataError


def _unavailable(*_arguments: object) -> None:
    raise DataError("files can only be downloaded while a race is being prepared")


class DataTools(Struct, frozen=True):
    """Functions that the race provides."""

    download: Callable[[str, str, int | None], object] = _unavailable
    """Downloads a URL to a path; the third argument is the size in bytes, or None if unknown."""

    unpack: Callable[[Path, Path], object] = _unavailable
    """Unpacks an archive to the path of its data file, in the same folder."""

    count_lines: Callable[[Path], int | None] = _unavailable
    """Counts the lines of a file, and writes its `.offset` table."""

    track_folder: Path | None = None
    """The folder of the track, if data files are also looked up there."""

    data_root: Path = Path()
    """The folder with one folder for each corpus."""


_current: list[DataTools] = [DataTools()]


def current_tools() -> DataTools:
    """Returns the functions of the race that is being prepared."""
    return _current[-1]


def set_current_tools(tools: DataTools) -> None:
    """Sets the functions that plug-ins can use."""
    _current[:] = [tools]

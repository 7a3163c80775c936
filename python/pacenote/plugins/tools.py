"""What plug-ins may have done for them by the race: files fetched, unpacked and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pacenote.plugins.rally_api.errors import DataError


def _nobody(*_arguments: object) -> None:
    raise DataError("files are only fetched while a race is prepared")


@dataclass(frozen=True, slots=True)
class Tools:
    """Functions of the race.

    `download(url, path, size)` fetches a file to a path; the size is None where it is not known.
    `unpack(archive, path)` makes the data file of an archive beside it. `count_lines(path)` counts, and
    writes the file's `.offset` table.
    """

    download: Callable[[str, str, int | None], object] = _nobody
    unpack: Callable[[Path, Path], object] = _nobody
    count_lines: Callable[[Path], int | None] = _nobody


_in_use: list[Tools] = [Tools()]


def current() -> Tools:
    """The tools of the race that is being prepared."""
    return _in_use[-1]


def use(tools: Tools) -> None:
    """Lets plug-ins have these tools."""
    _in_use[:] = [tools]

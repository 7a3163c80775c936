"""What a capture writes to the folder of its track. The folder may have been made by someone else, and what
is in it can become a part of the track: with a `track.py`, all modules in it run; any file can be included.
What file systems and other programs put there (`.nfs…`, `.DS_Store`, `.git`) is hidden, and not a part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from pacenote.capture.dump import JOURNAL, NEW_JOURNAL, data_names, store_errors
from pacenote.capture.foreign_folder import new_name, unknown_path
from pacenote.capture.sources import CaptureSource
from pacenote.capture.track_files import TRACK_FILE, text_names
from pacenote.errors import UsageError

LOCK = ".create-track.lock"
"""File in the folder of a track that is locked while a capture writes to it."""

_FOLDERS = ("challenges", "indices", "operations", "templates")

_OF_ANY = re.compile(
    r"[^/]+-documents(?:-1k)?\.json(?:\.bz2)?|\.[^/]+-documents(?:-1k)?\.json\.bz2\.new"
    r"|(?:indices|templates)/(?:[^/]+\.json|\.[^/]+\.json\.new)",
    re.DOTALL,
)
"""The files of sources with any name."""


def check_names(folder: Path, sources: Sequence[CaptureSource] | None = None) -> None:
    """Raises UsageError for a folder with a track, or with something else that a capture of the sources does
    not write, unless that is hidden; None stands for sources that are not known yet. Raises StoreError if it
    cannot be read.
    """
    if (folder / TRACK_FILE).exists():
        raise UsageError(
            f"{folder} already contains a track", hint="remove it, or choose another --output-path"
        )
    with store_errors(folder):
        try:
            unknown = unknown_path(folder, _FOLDERS, _written(sources))
        except FileNotFoundError:
            return
    if unknown:
        raise UsageError(
            f"{folder / unknown} is not a file that this create-track writes, and a track could load it",
            hint="remove it, or choose another --output-path",
        )


def _written(sources: Sequence[CaptureSource] | None) -> Callable[[str], bool]:
    """Returns whether a capture writes to a path."""
    texts = text_names(sources or ())
    data = [name for source in sources or () for name in data_names(source.name)]
    names = {LOCK, JOURNAL, NEW_JOURNAL, *texts, *map(new_name, texts), *data}
    return lambda path: path in names or (sources is None and _OF_ANY.fullmatch(path) is not None)

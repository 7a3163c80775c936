"""The files of nodes among the artifacts of a race."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

RECORDINGS = re.compile(r".*\.jfr(\.gz)?")
"""Names of Flight Recorder recordings."""


def node_files(artifacts: Path, names: re.Pattern[str]) -> Mapping[str, Sequence[Path]]:
    """Returns the files whose names match, by node; one node has no folder of its own and an empty name.

    Links are left out: a race folder of someone else may have one to a file that is not part of the race.
    """
    found = {
        node: sorted(path for path in folder.glob("*") if names.fullmatch(path.name) and _is_file(path))
        for node, folder in _node_folders(artifacts)
    }
    return {node: files for node, files in found.items() if files}


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _node_folders(artifacts: Path) -> Iterator[tuple[str, Path]]:
    if artifacts.is_symlink():
        return
    yield "", artifacts
    if artifacts.is_dir():
        folders = (path for path in sorted(artifacts.iterdir()) if path.is_dir() and not path.is_symlink())
        yield from ((path.name, path) for path in folders)

"""The files of nodes among the artifacts of a race."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

RECORDINGS = re.compile(r".*\.jfr(\.gz)?")
"""Names of Flight Recorder recordings."""


def node_files(artifacts: Path, names: re.Pattern[str]) -> Mapping[str, Sequence[Path]]:
    """Returns the files whose names match, by node; one node has no folder of its own and an empty name."""
    found = {
        node: sorted(path for path in folder.glob("*") if names.fullmatch(path.name) and path.is_file())
        for node, folder in _node_folders(artifacts)
    }
    return {node: files for node, files in found.items() if files}


def _node_folders(artifacts: Path) -> Iterator[tuple[str, Path]]:
    yield "", artifacts
    if artifacts.is_dir():
        yield from ((path.name, path) for path in sorted(artifacts.iterdir()) if path.is_dir())

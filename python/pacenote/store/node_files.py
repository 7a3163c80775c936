"""The files of nodes among the artifacts of a race."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pacenote.system.paths import is_dir, is_file, is_link, named_paths_in

RECORDINGS = re.compile(r".*\.jfr(\.gz)?")
"""Names of Flight Recorder recordings."""


def node_files(artifacts: Path, names: re.Pattern[str]) -> Mapping[str, Sequence[Path]]:
    """Returns the files whose names match, by node; one node has no folder of its own and an empty name.

    Links are left out: a race folder of someone else may have one to a file that is not part of the race. So
    are names that cannot be printed.
    """
    files_by_node = {
        node: [path for path in named_paths_in(folder) if names.fullmatch(path.name) and _is_file(path)]
        for node, folder in _node_folders(artifacts)
    }
    return {node: files for node, files in files_by_node.items() if files}


def _is_file(path: Path) -> bool:
    return is_file(path) and not is_link(path)


def _node_folders(artifacts: Path) -> Iterator[tuple[str, Path]]:
    if is_link(artifacts):
        return
    yield "", artifacts
    yield from ((path.name, path) for path in named_paths_in(artifacts) if is_dir(path) and not is_link(path))

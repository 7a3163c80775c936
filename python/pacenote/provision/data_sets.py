"""Data sets: the data of an engine after a race, from which later races start.

    data/NAME/data.json          what the data is, and what it was stored with
    data/NAME/nodes/N/P          data path P of node N

A data set is written under a temporary name and renamed, so that one of that name is complete.
"""

from __future__ import annotations

import errno
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from pacenote.errors import EngineError, PacenoteError, UsageError
from pacenote.fetch.disk import check_free_space, disk_error, read_small_file
from pacenote.model.codec import Stored, decode, encode
from pacenote.model.decoding import parse_json
from pacenote.model.messages import list_with_rest
from pacenote.model.shell_command import shell_command
from pacenote.provision.data_copy import DataSize, data_size, unshared_bytes
from pacenote.provision.layout import EngineLayout
from pacenote.provision.public_files import make_public_dir, write_public
from pacenote.system.folder_trees import remove_tree
from pacenote.system.locks import locked
from pacenote.system.paths import exists, is_dir, paths_in
from pacenote.units import format_bytes, format_count

MANIFEST = "data.json"
"""The file that describes a data set."""

_FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAX_NAMED = 5


class DataOrigin(Stored, frozen=True):
    """What a data set was stored with."""

    distribution: str
    """The name of the distribution."""
    version: str
    """The version of the engine."""
    race_id: str
    """The id of the race that stored it."""
    track: str
    """The name of its track."""
    challenge: str
    """The name of its challenge; empty if the track has none."""
    created: str
    """When it was stored, in UTC (ISO 8601)."""


class DataSet(Struct, frozen=True):
    """A stored data set."""

    name: str
    """Its name."""
    folder: Path
    """Its folder."""
    origin: DataOrigin
    """What it was stored with."""
    paths: tuple[int, ...] = ()
    """Number of data paths of each node."""
    size: DataSize = field(default_factory=DataSize)
    """Its files."""

    def folders(self, node: int) -> tuple[Path, ...]:
        """Returns the folders with the data paths of a node."""
        return tuple(_node_folder(self.folder, node, path) for path in range(self.paths[node]))

    def __str__(self) -> str:
        origin = self.origin
        return (
            f"{self.name} ({format_bytes(self.size.bytes)}, {origin.distribution} {origin.version}, track "
            f"{origin.track}, stored {origin.created})"
        )


def check_data_set_name(name: str, option: str = "--data") -> None:
    """Raises UsageError for a text that cannot be the name of a data set."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{option}: '{name}' cannot be the name of a data set",
            hint="use up to 64 letters, digits and . _ -, the first one a letter or digit",
        )


def list_data_sets(layout: EngineLayout) -> tuple[DataSet, ...]:
    """Returns all data sets that can be read, sorted by name."""
    data_sets = (_read(folder) for folder in paths_in(layout.data) if _NAME.fullmatch(folder.name))
    return tuple(data for data in data_sets if data is not None)


def find_data_set(layout: EngineLayout, name: str) -> DataSet | None:
    """Returns a data set, or None if it does not exist. Raises EngineError for one that cannot be read."""
    folder = layout.data / name
    if not is_dir(folder):
        return None
    data_set = _read(folder)
    if data_set is None:
        raise EngineError(
            f"data set '{name}' cannot be read: {folder / MANIFEST} is missing or damaged",
            hint=f"`{_deletion(name)}` removes it",
        )
    return data_set


def get_data_set(layout: EngineLayout, name: str) -> DataSet:
    """Returns a data set. Raises UsageError if it does not exist, and EngineError if it cannot be read."""
    data_set = find_data_set(layout, name)
    if data_set is None:
        names = [other.name for other in list_data_sets(layout)]
        known = f"those that exist: {list_with_rest(names, _MAX_NAMED)}" if names else "none exists"
        keep = shell_command(f"--data=keep:{name}")
        raise UsageError(f"there is no data set '{name}'", hint=f"{known}; a race with {keep} stores it")
    return data_set


def check_data_set(data: DataSet, distribution: str, version: str, paths: Sequence[int]) -> None:
    """Raises EngineError if a data set does not suit an engine; `paths` has the number of data paths of each
    node.
    """
    origin = data.origin
    if (origin.distribution, origin.version) != (distribution, version):
        option = shell_command(f"--distribution-version={origin.version}")
        raise EngineError(
            f"data set '{data.name}' is of {origin.distribution} {origin.version}, not of {distribution} "
            f"{version}",
            hint=f"add {option}, or store another one with --data=keep:NAME",
        )
    if tuple(paths) != data.paths:
        raise EngineError(
            f"data set '{data.name}' is of {_nodes(data.paths)}, not of {_nodes(paths)}",
            hint="start as many nodes with as many data paths as in the race that stored it",
        )


def check_unchanged(data: DataSet) -> None:
    """Raises EngineError if the files of a data set are not those that were stored."""
    size = data_size(data.folder / "nodes")
    if size != data.size:
        changed = "a file was changed"
        if (size.files, size.bytes) != (data.size.files, data.size.bytes):
            changed = f"it has {_files(size)} instead of {_files(data.size)}"
        raise EngineError(
            f"data set '{data.name}' is damaged: {changed}",
            hint=f"`{_deletion(data.name)}` removes it; then store it again",
        )


def check_not_replaced(layout: EngineLayout, data: DataSet) -> None:
    """Raises EngineError if another command has replaced or deleted a data set that was just copied.

    The nodes may have parts of both.
    """
    try:
        current = find_data_set(layout, data.name)
    except EngineError:
        current = None
    if current != data:
        raise EngineError(
            f"data set '{data.name}' was replaced or deleted while it was copied", hint="start again"
        )


def check_room(data: DataSet, node: int, targets: Sequence[Path]) -> None:
    """Raises DiskError if there is no room for copies of a node's data at `targets`."""
    for source, target in zip(data.folders(node), targets, strict=True):
        existing = next(folder for folder in (target, *target.parents) if exists(folder))
        check_free_space(existing, unshared_bytes(source, existing), f"a copy of data set '{data.name}'")


def delete_data_set(layout: EngineLayout, name: str) -> None:
    """Deletes a data set. Raises UsageError if it does not exist, and DiskError."""
    check_data_set_name(name, "--id")
    if not is_dir(layout.data / name):
        get_data_set(layout, name)
    try:
        with locked(layout.data / ".lock"):
            removed = Path(tempfile.mkdtemp(prefix=".build-", dir=layout.data))
            (layout.data / name).rename(removed / name)
        remove_tree(removed)
        if exists(removed):
            raise OSError(errno.ENOTEMPTY, f"files in {removed} cannot be removed")
    except OSError as failure:
        raise disk_error(failure, layout.data / name) from failure


class DataSetWriter:
    """Collects the data of the nodes of a cluster, and stores it as a data set."""

    def __init__(self, layout: EngineLayout, name: str, origin: DataOrigin) -> None:
        """Creates a temporary folder. Raises DiskError."""
        self.name = name
        """The name of the data set."""
        self._layout = layout
        self._origin = origin
        try:
            make_public_dir(layout.data)
            self._build = Path(tempfile.mkdtemp(prefix=".build-", dir=layout.data))
            self._build.chmod(0o755)
            make_public_dir(self._build / "nodes")
        except OSError as failure:
            raise disk_error(failure, layout.data) from failure

    def targets(self, node: int, paths: int) -> tuple[Path, ...]:
        """Returns the folders, which do not exist, for the data paths of a node; their parent exists.

        Raises DiskError.
        """
        folders = tuple(_node_folder(self._build, node, path) for path in range(paths))
        try:
            make_public_dir(folders[0].parent)
        except OSError as failure:
            raise disk_error(failure, folders[0]) from failure
        return folders

    def commit(self, paths: Sequence[int]) -> DataSet:
        """Replaces the data set of that name with what was written to the targets. Raises DiskError."""
        target = self._layout.data / self.name
        data = DataSet(self.name, target, self._origin, tuple(paths), data_size(self._build / "nodes"))
        document = {
            "format": _FORMAT,
            "origin": encode(data.origin),
            "paths": list(data.paths),
            "size": encode(data.size),
        }
        try:
            write_public(self._build / MANIFEST, json.dumps(document, indent=2) + "\n")
            with locked(self._layout.data / ".lock"):
                if exists(target):
                    old = Path(tempfile.mkdtemp(prefix=".build-", dir=self._layout.data))
                    target.rename(old / self.name)
                else:
                    old = None
                self._build.rename(target)
        except OSError as failure:
            raise disk_error(failure, target) from failure
        if old is not None:
            remove_tree(old)
        return data

    def discard(self) -> None:
        """Removes what was written and not committed. May be called again."""
        remove_tree(self._build)


def _node_folder(folder: Path, node: int, path: int) -> Path:
    return folder / "nodes" / str(node) / str(path)


def _read(folder: Path) -> DataSet | None:
    try:
        document = parse_json(read_small_file(folder / MANIFEST))
        if document["format"] != _FORMAT:
            return None
        origin = decode(DataOrigin, document["origin"], MANIFEST)
        size = decode(DataSize, document["size"], MANIFEST)
        paths = decode(tuple[int, ...], document["paths"], MANIFEST)
    except (OSError, ValueError, KeyError, TypeError, PacenoteError):
        return None
    return DataSet(folder.name, folder, origin, paths, size)


def _nodes(paths: Sequence[int]) -> str:
    most = max(paths, default=1)
    per_node = f" with {most} data paths" if most > 1 else ""
    return format_count(len(paths), "node") + per_node


def _files(size: DataSize) -> str:
    return f"{format_count(size.files, 'file')} of {size.bytes:,} bytes"


def _deletion(name: str) -> str:
    """Returns the command that deletes a data set."""
    return shell_command("pacenote", "delete", "data", f"--id={name}")

"""Folders for the data of a node outside of Pacenote's home (`--data-paths`).

    PATH/pacenote-ID/pacenote-node.json    names the node and the home; shows that Pacenote made the folder
    PATH/pacenote-ID/data                  the indices, written by the node

A folder is removed only if it has this file, and if the file names the node and the home.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Generator, Iterable
from pathlib import Path

from pacenote.errors import EngineError, UsageError
from pacenote.fetch.disk import disk_error
from pacenote.model.decoding import parse_json
from pacenote.provision import resources
from pacenote.provision.layout import EngineLayout, reachable
from pacenote.system.folder_trees import remove_tree
from pacenote.system.ownership import replaceable_folder
from pacenote.system.paths import exists, is_dir, real_path

_MARKER = "pacenote-node.json"
_DATA = "data"


def data_folder(path: Path, node_id: str) -> Path:
    """Returns the folder of a node below one of its data paths."""
    return path / f"pacenote-{node_id}"


def indices_folder(folder: Path) -> Path:
    """Returns the folder that the node writes to, below its folder."""
    return folder / _DATA


def mount_point(path: Path) -> Path:
    """Returns where the disk of a folder is mounted."""
    path = real_path(path)
    return next(folder for folder in (path, *path.parents) if os.path.ismount(folder))


def check_data_paths(paths: Iterable[Path], layout: EngineLayout) -> None:
    """Raises UsageError for paths that are not folders, and EngineError for those that the user of a node
    cannot use or whose disk is full.
    """
    for path in dict.fromkeys(paths):
        # A folder is not created: if a disk is not mounted, the race would measure another one.
        if not is_dir(path):
            raise UsageError(f"--data-paths: {path} is not a folder", hint="create it, or mount its disk")
        if not os.access(path, os.W_OK | os.X_OK):
            raise EngineError(
                f"--data-paths: {path} cannot be written", hint="choose a folder that you can write"
            )
        if layout.user is not None and not reachable(real_path(path)):
            raise EngineError(
                f"--data-paths: the user {layout.user.name}, which nodes run as, cannot enter {path}",
                hint="chmod o+x this folder and those above it",
            )
        problem = replaceable_folder(path) if layout.user is not None else ""
        if problem:
            raise EngineError(
                f"--data-paths: {problem}, who could lead Pacenote, which is root, to other folders",
                hint="give it to root, and only root the right to write there: nodes get a folder in it",
            )
        resources.check_disk(path, hint="free some space, or choose another folder for --data-paths")


def create_data_folder(
    folder: Path, node_id: str, layout: EngineLayout, *, kept: bool = False, give: bool = True
) -> None:
    """Creates a node's folder below a data path, with a folder for its indices, which belongs to the user of
    the node only with `give`. With `kept`, leaves an existing one as it is. Raises DiskError.
    """
    try:
        if kept and exists(folder):
            with _opened(folder) as descriptor:
                if _is_made_for(descriptor, node_id, layout):
                    return
        folder.mkdir(mode=0o755)
        with _opened(folder) as descriptor:
            os.fchmod(descriptor, 0o755)
            _write_marker(descriptor, node_id, layout)
            os.mkdir(_DATA, 0o700, dir_fd=descriptor)
            if give and layout.user is not None:
                with _opened(Path(_DATA), descriptor) as data:
                    os.fchown(data, layout.user.uid, layout.user.gid)
    except OSError as failure:
        raise disk_error(failure, folder) from failure


def remove_data_folder(folder: Path, node_id: str, layout: EngineLayout) -> None:
    """Removes a node's folder below a data path; ignores a folder that Pacenote did not make for it."""
    if folder.name != data_folder(folder.parent, node_id).name:
        return
    # Pacenote may have been killed before it wrote the file. A folder with content is not removed without it.
    with contextlib.suppress(OSError), _opened(folder) as descriptor:
        if _is_made_for(descriptor, node_id, layout):
            remove_tree(_DATA, descriptor)
            # The marker goes last: if this is interrupted, the next attempt still recognizes the folder.
            if _DATA not in os.listdir(descriptor):  # noqa: PTH208
                os.unlink(_MARKER, dir_fd=descriptor)
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _opened(folder: Path, parent: int | None = None) -> Generator[int, None, None]:
    """Yields a descriptor of a folder, which stays the same if other users rename it or put a link in its
    place. Raises OSError for a link.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(folder, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_made_for(folder: int, node_id: str, layout: EngineLayout) -> bool:
    if os.fstat(folder).st_uid != os.geteuid():
        return False
    try:
        marker = os.open(_MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(marker, encoding="utf-8") as file:
            return bool(parse_json(file.read()) == _marker(node_id, layout))
    except (OSError, ValueError):
        return False


def _marker(node_id: str, layout: EngineLayout) -> dict[str, str]:
    return {"node": node_id, "home": str(layout.home)}


def _write_marker(folder: int, node_id: str, layout: EngineLayout) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(_MARKER, flags, 0o644, dir_fd=folder), "w", encoding="utf-8") as file:
        json.dump(_marker(node_id, layout), file)

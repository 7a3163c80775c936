"""Creates the folders and files of a node before it starts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from pacenote.fetch.disk import disk_error
from pacenote.provision import node_registry
from pacenote.provision.data_copy import copy_data
from pacenote.provision.data_folders import create_data_folder
from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.engine_program import EngineProgram, NodeSetup
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_registry import NodeEntry
from pacenote.provision.public_files import make_public_dir
from pacenote.system.folder_trees import walk_folders

_FOLDERS = ("config", "data", "logs", "tmp")


def node_paths(entry: NodeEntry) -> NodePaths:
    """Returns the folders of a node; its home is not known yet."""
    config, data, logs, tmp = (entry.folder / name for name in _FOLDERS)
    paths = NodePaths(Path(), config, data, logs, tmp)
    if not entry.data_folders:
        return paths
    first, *more = entry.indices_folders
    return replace(paths, data=first, more_data=tuple(more))


def create_files(
    setup: NodeSetup,
    entry: NodeEntry,
    program: EngineProgram,
    layout: EngineLayout,
    initial_data: Sequence[Path] = (),
) -> NodeSetup:
    """Creates the node's folders and files, and returns the setup with its home; only after that, the node's
    user may write there. Copies `initial_data`, a folder for each data path.

    Folders of an earlier attempt are removed first: the node could have put a link where Pacenote, which may
    be root, writes. Raises DiskError.
    """
    paths = setup.paths
    data = () if entry.data_folders else (paths.data,)
    created = [paths.config, paths.logs, paths.tmp, entry.repository, *data]
    node_registry.remove_files(layout, entry)
    try:
        entry.folder.mkdir(mode=0o755, exist_ok=bool(entry.kept))
        # Pacenote owns this folder so that the node cannot replace one of its folders with a link.
        entry.folder.chmod(0o755)
        for folder in created:
            folder.mkdir(mode=0o700, exist_ok=folder.name in entry.kept)
        for folder in entry.data_folders:
            # A copy gives its folder to the node's user when it is complete.
            create_data_folder(folder, entry.id, layout, kept=entry.keeps_data, give=not initial_data)
        for source, target in zip(initial_data, (paths.data, *paths.more_data), strict=bool(initial_data)):
            copy_data(source, target, layout.user)
        setup = replace(setup, paths=replace(paths, home=program.install(entry.folder)))
        for name, text in program.config_files(setup).items():
            make_public_dir((paths.config / name).parent)
            _write_new(paths.config / name, text)
        program.complete(setup)
        if layout.user is not None:
            # The folders are last, so that until then only Pacenote can change what is in them.
            for inside, folders, files in walk_folders(paths.config):
                for name in (*folders, *files):
                    os.lchown(Path(inside, name), layout.user.uid, layout.user.gid)
            for folder in created:
                os.chown(folder, layout.user.uid, layout.user.gid)
    except OSError as failure:
        raise disk_error(failure, entry.folder) from failure
    return setup


def _write_new(path: Path, text: str) -> None:
    """Creates a file that every user can read. Fails if it exists, and does not follow links."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        # The node's user must be able to read it, whatever the umask.
        os.fchmod(file.fileno(), 0o644)
        file.write(text)

"""The folders of engines on this machine, and the user that nodes run as.

    ROOT/jars       cache of jars                        written by Pacenote, read by nodes
    ROOT/archives   cache of official archives           written and read by Pacenote
    ROOT/installs   assembled engines, shared by races   written by Pacenote, read by nodes
    ROOT/java       copies of Java, if needed            written by Pacenote, read by nodes
    ROOT/profiler   libraries of async-profiler          written by Pacenote, read by nodes
    ROOT/data       stored data of engines            written by Pacenote, its files belong to nodes
    ROOT/nodes/ID   config, data, logs, tmp and repository of one running node, written by the node

ROOT is `engines` in the home folder, or a folder below /var/tmp if the node's user cannot enter the home
folder.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.provision.public_files import make_public_dir
from pacenote.system.child_process import ProcessUser
from pacenote.system.own_home import check_own_home
from pacenote.system.paths import exists, real_path

# This folder survives reboots, is on a disk (unlike /tmp on many systems), and is open to every user.
_SHARED = Path("/var/tmp")  # noqa: S108  # the folders below it are checked for their owner


class EngineLayout(Struct, frozen=True):
    """The folders of engines that belong to one home folder."""

    home: Path
    """The home folder of Pacenote."""
    root: Path
    """The folder of the files that nodes read."""
    user: ProcessUser | None
    """The user that nodes run as, or None for the user that Pacenote runs as."""

    @property
    def jars(self) -> Path:
        """The cache of jars."""
        return self.root / "jars"

    @property
    def archives(self) -> Path:
        """The cache of archives."""
        return self.root / "archives"

    @property
    def installs(self) -> Path:
        """The assembled engines and the unpacked archives."""
        return self.root / "installs"

    @property
    def java(self) -> Path:
        """Java runtimes that were copied or downloaded."""
        return self.root / "java"

    @property
    def profiler(self) -> Path:
        """The libraries of async-profiler."""
        return self.root / "profiler"

    @property
    def nodes(self) -> Path:
        """One folder per running node."""
        return self.root / "nodes"

    @property
    def data(self) -> Path:
        """The data sets; see `data_sets.py`."""
        return self.root / "data"

    @property
    def locks(self) -> Path:
        """Lock files of engine versions that were resolved on this machine."""
        return self.home / "locks"

    @property
    def registry(self) -> Path:
        """The registry of running nodes; see `node_registry.py`."""
        return self.home / "nodes"


def create_layout(home: Path, *, root: bool | None = None, shared: Path = _SHARED) -> EngineLayout:
    """Returns the layout for `home` and creates missing folders.

    `root` is whether Pacenote runs as root; None determines it from the process. Raises DiskError if a folder
    cannot be created, and EngineError if it belongs to another user, who could change the programs in it.
    """
    home = home.expanduser().absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
        check_own_home(home, must_exist=True)
        layout = plan_layout(home, root=root, shared=shared)
        if layout.root.parent == layout.home:
            make_public_dir(layout.root)
        else:
            layout.root.mkdir(mode=0o755, exist_ok=True)
        check_ownership(layout.root)
        layout.root.chmod(0o755)
        for folder in (layout.jars, layout.archives, layout.installs, layout.java, layout.nodes):
            make_public_dir(folder)
    except OSError as failure:
        raise disk_error(failure, home) from failure
    return layout


def plan_layout(home: Path, *, root: bool | None = None, shared: Path = _SHARED) -> EngineLayout:
    """Returns the layout that `create_layout` would create, without creating anything. Raises EngineError if
    another user could change what is in the home folder, or has made the folder of engines.
    """
    is_root = os.geteuid() == 0 if root is None else root
    home = home.expanduser().absolute()
    check_own_home(home)
    home = real_path(home)
    user = node_user() if is_root else None
    if user is None or reachable(next(folder for folder in (home, *home.parents) if exists(folder))):
        return EngineLayout(home, home / "engines", user)
    root_folder = shared / f"pacenote-{hashlib.sha256(os.fsencode(home)).hexdigest()[:12]}"
    if os.path.lexists(root_folder):
        check_ownership(root_folder)
    return EngineLayout(home, root_folder, user)


def node_user() -> ProcessUser:
    """Returns the user `nobody`, with its usual number if the system has no user of that name."""
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return ProcessUser("nobody", 65534, 65534)
    return ProcessUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def reachable(folder: Path) -> bool:
    """Returns whether every user may pass through `folder` and all folders above it."""
    return all(part.stat().st_mode & stat.S_IXOTH for part in (folder, *folder.parents))


def check_ownership(folder: Path) -> None:
    """Raises EngineError for a folder that is a link, belongs to another user or is writable by others.

    In a shared folder, another user may have created it first, and Pacenote would then run that user's files.
    """
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        problem = "is not a folder"
    elif status.st_uid != os.geteuid():
        problem = f"belongs to user {status.st_uid}"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        problem = "can be written by other users"
    else:
        return
    raise EngineError(
        f"the engine folder {folder} {problem}",
        hint="remove it, or set PACENOTE_HOME to a folder that every user can enter and only you can write",
    )

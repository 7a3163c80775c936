"""Where engine files live, and which user the node runs as.

    PLACE/jars       the cache of jars                     written by us, read by the node
    PLACE/installs   assembled engines, shared by races    written by us, read by the node
    PLACE/java       copies of Java, where needed          written by us, read by the node
    PLACE/nodes/ID   one running node: config, data, logs, tmp    written by the node; the folder itself is
    ours

PLACE is `engines` in the home folder, unless the node's user could not get there.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.provision.files import make_public_dir

# Kept across reboots, on a disk (unlike /tmp on many systems), and open to every user.
_SHARED = Path("/var/tmp")  # noqa: S108  # the folders below it are checked for their owner


@dataclass(frozen=True, slots=True)
class NodeUser:
    """The unprivileged user a node runs as when we are root, which engines refuse to be."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Place:
    """The engine folders that belong to one home folder. `user` is None when the node runs as ourselves."""

    home: Path
    root: Path
    user: NodeUser | None

    @property
    def jars(self) -> Path:
        """The cache of jars."""
        return self.root / "jars"

    @property
    def installs(self) -> Path:
        """The assembled engines."""
        return self.root / "installs"

    @property
    def java(self) -> Path:
        """Copies of Java the node's user can reach."""
        return self.root / "java"

    @property
    def nodes(self) -> Path:
        """One folder per running node."""
        return self.root / "nodes"

    @property
    def locks(self) -> Path:
        """Locks made on this machine."""
        return self.home / "locks"

    @property
    def registry(self) -> Path:
        """One file per running node, read by `sweep`."""
        return self.home / "nodes"


def find_place(home: Path, *, root: bool | None = None, shared: Path = _SHARED) -> Place:
    """The place for `home`, created when missing.

    `root` says whether we run as root (asked of the system by default). Raises EngineError when the folder
    cannot be created, or belongs to someone else who could change what the engine runs.
    """
    home = home.expanduser().absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
        place = planned_place(home, root=root, shared=shared)
        if place.root.parent == place.home:
            make_public_dir(place.root)
        else:
            place.root.mkdir(mode=0o755, exist_ok=True)
        check_owned(place.root)
        place.root.chmod(0o755)
        for folder in (place.jars, place.installs, place.java, place.nodes):
            make_public_dir(folder)
    except OSError as failure:
        raise disk_error(failure, home) from failure
    return place


def planned_place(home: Path, *, root: bool | None = None, shared: Path = _SHARED) -> Place:
    """Where the place for `home` is or would be; creates nothing. `root` as for `find_place`."""
    is_root = os.geteuid() == 0 if root is None else root
    home = home.expanduser().absolute().resolve()
    user = node_user() if is_root else None
    if user is None or reachable(next(each for each in (home, *home.parents) if each.exists())):
        return Place(home, home / "engines", user)
    return Place(home, shared / f"pacenote-{hashlib.sha256(os.fsencode(home)).hexdigest()[:12]}", user)


def node_user() -> NodeUser:
    """`nobody`, by its number where the system has no such name."""
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return NodeUser("nobody", 65534, 65534)
    return NodeUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def reachable(folder: Path) -> bool:
    """Whether any user can pass through `folder` and everything above it."""
    return all(each.stat().st_mode & stat.S_IXOTH for each in (folder, *folder.parents))


def check_owned(folder: Path) -> None:
    """Refuse a folder that is a link, belongs to another user or can be written by others.

    In a shared folder anyone may have created it before us, to run files of their choice in our name.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        trouble = "is not a folder"
    elif found.st_uid != os.geteuid():
        trouble = f"belongs to user {found.st_uid}"
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        trouble = "can be written by other users"
    else:
        return
    raise EngineError(
        f"the engine folder {folder} {trouble}",
        hint="remove it, or set PACENOTE_HOME to a folder that every user can enter and only you can write",
    )

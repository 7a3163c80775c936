"""What links of other processes in `/proc` lead to: their working folders, their roots and their open files.

A process can have its own mounts, or get a folder of them from another one. A user can mount a file system
there in which every look waits, without end and without regard to signals, for a program of that user. So a
link is opened as a place, which looks at nothing, and the kernel is asked for its mount.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

_MOUNT = re.compile(r"^mnt_id:\s*(\d+)$", re.MULTILINE)
_MOUNTS = re.compile(r"^(\d+) ", re.MULTILINE)

_OWN = Path("/proc/self")


@contextmanager
def process_place(pid: int, link: str) -> Generator[int, None, None]:
    """Opens what a link of a process leads to, such as `cwd`, with `O_PATH`, and yields the descriptor.

    Raises OSError, with EXDEV if that is not in one of the mounts that this process sees.
    """
    place = os.open(f"/proc/{pid}/{link}", os.O_PATH | os.O_CLOEXEC)
    try:
        if not _is_seen(place):
            raise OSError(errno.EXDEV, f"/proc/{pid}/{link} is in a mount of other processes")
        yield place
    finally:
        os.close(place)


def _is_seen(place: int) -> bool:
    """Returns whether a place is in one of the mounts that this process sees. In a folder that is its root
    (chroot), it sees the mount of this folder, which is not in the list.
    """
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        mount, own = _mount_of(place), _mount_of(root)
    finally:
        os.close(root)
    # A kernel that does not number its mounts has no mounts of other users either, such as gVisor.
    if own is None or mount == own:
        return True
    return mount in _MOUNTS.findall((_OWN / "mountinfo").read_text("utf-8", "replace"))


def _mount_of(place: int) -> str | None:
    match = _MOUNT.search((_OWN / f"fdinfo/{place}").read_text("ascii", "replace"))
    return match[1] if match else None

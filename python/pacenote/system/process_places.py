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
        mount = _MOUNT.search((_OWN / f"fdinfo/{place}").read_text("ascii", "replace"))
        mounts = _MOUNTS.findall((_OWN / "mountinfo").read_text("utf-8", "replace"))
        if mount is None or mount[1] not in mounts:
            raise OSError(errno.EXDEV, f"/proc/{pid}/{link} is in a mount of other processes")
        yield place
    finally:
        os.close(place)

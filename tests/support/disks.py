"""A small disk, and a full one."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size_kb: int) -> Iterator[Path]:
    """Mounts a file system of this size, in memory; skips the test where that is not permitted."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={size_kb}k,mode=0700"
    command = ["mount", "-t", "tmpfs", "-o", options, "pacenote-test", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"a small disk cannot be mounted: {error}")
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave_kb: int = 0) -> Path:
    """Fills the disk of a folder except for `leave_kb`; returns the file that takes up the space."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        # Others may write at the same time.
        while (size := _free(folder) - (leave_kb << 10)) > 0:
            with contextlib.suppress(OSError):
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
    return filler


def _free(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize

"""A small disk, and a full one."""

from __future__ import annotations

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
    with filler.open("wb", buffering=0) as file:
        size = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize - (leave_kb << 10)
        if size > 0:
            os.posix_fallocate(file.fileno(), 0, size)
    return filler

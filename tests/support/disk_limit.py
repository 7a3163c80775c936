"""A limit on what a process writes to a disk, which makes the disk slow for this process alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_PARENT = Path("/sys/fs/cgroup/blkio")
_LIMIT = "blkio.throttle.write_iops_device"
_PROCESSES = "cgroup.procs"


def why_writes_cannot_be_limited(folder: Path) -> str:
    """Returns why writes to the disk of a folder cannot be limited; empty if they can."""
    if not os.access(_PARENT / _LIMIT, os.W_OK):
        return f"no control group of version 1 that limits disks can be created in {_PARENT}"
    if not _block_device(folder).exists():
        return f"{folder} is not on a block device"
    return ""


@contextlib.contextmanager
def limited_writes(process: int, folder: Path, per_s: int) -> Iterator[None]:
    """Limits how often per second a process writes to the disk of a folder, for example to sync a file."""
    group = _PARENT / f"pacenote-test-{process}"
    before = _PARENT / _group_of(process).lstrip("/")
    group.mkdir()
    try:
        (group / _LIMIT).write_text(f"{_disk_number(folder)} {per_s}")
        (group / _PROCESSES).write_text(str(process))
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            (before / _PROCESSES).write_text(str(process))
        group.rmdir()


def _group_of(process: int) -> str:
    for line in Path(f"/proc/{process}/cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if "blkio" in controllers.split(","):
            return group
    raise AssertionError(f"process {process} is in no control group of {_PARENT}")


def _block_device(folder: Path) -> Path:
    device = folder.stat().st_dev
    return Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()


def _disk_number(folder: Path) -> str:
    """Returns the number of the disk of a folder, as limits are not for partitions."""
    device = _block_device(folder)
    disk = device.parent if (device / "partition").exists() else device
    return (disk / "dev").read_text().strip()

"""Memory and disk space that a node needs and that this machine has."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from msgspec import Struct

from pacenote.errors import EngineError, UsageError
from pacenote.units import format_bytes

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

NON_HEAP_BYTES = 512 * MIB
"""Bytes that a JVM with an idle engine uses in addition to its heap: code, metaspace, threads, buffers."""

MIN_FREE_DISK_BYTES = 512 * MIB
"""Bytes that are enough to start a node and index some documents; they do not include space for a corpus."""

_UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB}


class _CgroupFiles(Struct, frozen=True):
    """Names of the memory files of a control group."""

    limit: str
    usage: str
    inactive_cache: str
    """A key in `memory.stat`."""


_CGROUP_V2 = _CgroupFiles("memory.max", "memory.current", "inactive_file")
_CGROUP_V1 = _CgroupFiles("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def parse_heap(text: str) -> int:
    """Converts a heap size such as `1g`, `512m` or `2gb` to bytes. Raises UsageError for any other text."""
    match = re.fullmatch(r"(\d{1,12})\s*([kmg]?)b?", text.strip().lower())
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if size < 128 * MIB:
        raise UsageError(
            f"heap_size '{text}' is not a heap size of at least 128m", hint="write it as 1g or 512m"
        )
    return size


def available_memory(root: Path = Path("/")) -> int | None:
    """Returns the bytes of memory that a new process can use, or None if the system does not report it.

    It is the kernel's estimate, or less if a control group has a limit. `root` is the folder that contains
    `proc` and `sys`.
    """
    sizes = [size for size in (_system_memory(root), *_cgroup_memory(root)) if size is not None]
    return min(sizes, default=None)


def _system_memory(root: Path) -> int | None:
    match = re.search(r"^MemAvailable:\s+(\d+) kB", _read(root / "proc/meminfo"), re.MULTILINE)
    return int(match[1]) * KIB if match else None


def _cgroup_memory(root: Path) -> list[int | None]:
    available: list[int | None] = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        controllers, path = line.split(":", 2)[1:]
        if controllers == "":
            mount, files = root / "sys/fs/cgroup", _CGROUP_V2
        elif controllers == "memory":
            mount, files = root / "sys/fs/cgroup/memory", _CGROUP_V1
        else:
            continue
        # Limits of parent groups apply as well. In a container, the path may not exist below the mount.
        group = mount / path.lstrip("/")
        while group != mount:
            available.append(_headroom(group, files))
            group = group.parent
        available.append(_headroom(mount, files))
    return available


def _headroom(group: Path, files: _CgroupFiles) -> int | None:
    """Returns the bytes that a group may still use, or None if there is no limit."""
    limit, usage = _read(group / files.limit).strip(), _read(group / files.usage).strip()
    if not limit.isdigit() or not usage.isdigit():
        return None
    # Page cache counts as used memory, but the kernel reclaims it before it kills a process.
    cache = re.search(rf"^{files.inactive_cache} (\d+)", _read(group / "memory.stat"), re.MULTILINE)
    return max(0, int(limit) - int(usage) + (int(cache[1]) if cache else 0))


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""


def check_memory(heap: int, available: int | None, nodes: int = 1) -> None:
    """Raises EngineError if nodes with `heap` bytes of heap each need more than `available` bytes."""
    needed = (heap + NON_HEAP_BYTES) * nodes
    if available is not None and available < needed:
        who = "a node" if nodes == 1 else f"{nodes} nodes"
        what = f"{who} with {format_bytes(heap)} of heap" + ("" if nodes == 1 else " each")
        fewer = "" if nodes == 1 else ", start fewer nodes"
        raise EngineError(
            f"too little memory: {what} {'needs' if nodes == 1 else 'need'} {format_bytes(needed)}, "
            f"but only {format_bytes(available)} are available",
            hint=f"choose a smaller heap (--car or --car-params=heap_size:512m){fewer}, or free some memory",
        )


def check_memory_limit(heap: int, limit: int | None) -> None:
    """Raises UsageError if a node with `heap` bytes of heap needs more than its limit."""
    needed = heap + NON_HEAP_BYTES
    if limit is not None and limit < needed:
        raise UsageError(
            f"--node-memory={format_bytes(limit)} is too little: a node with {format_bytes(heap)} of heap "
            f"needs {format_bytes(needed)}",
            hint="raise the limit, or choose a smaller heap (--car or --car-params=heap_size:512m)",
        )


def check_disk(
    folder: Path,
    needed: int = MIN_FREE_DISK_BYTES,
    hint: str = "free some space, or set PACENOTE_HOME to a folder on another disk",
) -> None:
    """Raises EngineError if the disk of `folder` has fewer than `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EngineError(
            f"too little disk: {format_bytes(needed)} are needed in {folder}, "
            f"but only {format_bytes(free)} are free",
            hint=hint,
        )

"""Is there room for a node: memory that can still be had, free disk."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from pacenote.errors import EngineError, UsageError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

# What a JVM with an idle engine takes beside its heap: code, metaspace, threads, buffers.
BESIDE_HEAP = 512 * MIB
# Enough to start and to index a little; what the corpus takes is the track's to check.
FREE_DISK = 512 * MIB

_UNITS = {"": 1, "k": KIB, "m": MIB, "g": GIB}


def parse_heap(text: str) -> int:
    """Bytes of a heap size such as `1g`, `512m` or `2gb`. Raises UsageError when it is none."""
    match = re.fullmatch(r"(\d+)\s*([kmg]?)b?", text.strip().lower())
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if size < 128 * MIB:
        raise UsageError(
            f"heap_size '{text}' is not a heap size of at least 128m", hint="write it as 1g or 512m"
        )
    return size


def words(size: int) -> str:
    """A number of bytes for people: GB or MB in powers of two, as heap sizes are."""
    return f"{size / GIB:.1f} GB" if size >= GIB else f"{size / MIB:.0f} MB"


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes a new process can have: the system's estimate, or less where a control group limits us.

    None where the system does not say. `root` is where `proc` and `sys` are found.
    """
    found = [size for size in (_system_memory(root), *_group_memory(root)) if size is not None]
    return min(found, default=None)


def _system_memory(root: Path) -> int | None:
    match = re.search(r"^MemAvailable:\s+(\d+) kB", _read(root / "proc/meminfo"), re.MULTILINE)
    return int(match[1]) * KIB if match else None


def _group_memory(root: Path) -> list[int | None]:
    rooms: list[int | None] = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        controllers, path = line.split(":", 2)[1:]
        if controllers == "":
            mount, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif controllers == "memory":
            mount = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # A limit anywhere above us holds for us too. In a container the path may not exist below the mount.
        group = mount / path.lstrip("/")
        while group != mount:
            rooms.append(_room(group, names))
            group = group.parent
        rooms.append(_room(mount, names))
    return rooms


def _room(group: Path, names: tuple[str, str, str]) -> int | None:
    limit, used = _read(group / names[0]).strip(), _read(group / names[1]).strip()
    if not limit.isdigit() or not used.isdigit():
        return None
    # Page cache counts as used, but the kernel gives it back before it kills anyone.
    cache = re.search(rf"^{names[2]} (\d+)", _read(group / "memory.stat"), re.MULTILINE)
    return max(0, int(limit) - int(used) + (int(cache[1]) if cache else 0))


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""


def check_memory(heap: int, available: int | None) -> None:
    """Raise EngineError when a node with `heap` bytes of heap does not fit into `available` bytes."""
    needed = heap + BESIDE_HEAP
    if available is not None and available < needed:
        raise EngineError(
            f"too little memory: a node with {words(heap)} of heap needs {words(needed)}, "
            f"{words(available)} are available",
            hint="choose a smaller heap (--car or --car-params=heap_size:512m), or free some memory",
        )


def check_disk(folder: Path, needed: int = FREE_DISK) -> None:
    """Raise EngineError when the disk of `folder` has fewer than `needed` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise EngineError(
            f"too little disk: {words(needed)} are needed in {folder}, {words(free)} are free",
            hint="free some space, or set PACENOTE_HOME to a folder on another disk",
        )

"""Facts about the file systems and devices behind paths."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from pacenote.host.facts import Facts, names_in, selected
from pacenote.model.secrets import redact, redact_urls
from pacenote.system.paths import exists, open_place, real_path

_MAX_DEPTH = 4
"""How many devices may be stacked, such as encryption on a logical volume on a RAID."""

_MAX_MOUNTS_BYTES = 16 << 20
"""Size up to which the list of mounts is read: hosts of containers have thousands."""

_QUEUE_FILES = (
    *("rotational", "nr_requests", "read_ahead_kb", "write_cache", "nomerges", "rq_affinity"),
    *("wbt_lat_usec", "logical_block_size", "max_sectors_kb"),
)

_LAYER = re.compile(r"(?:lowerdir|datadir|upperdir|workdir)\+?=")
"""The beginning of an option that names a folder of an overlay."""

_ESCAPED = re.compile(r"\\([0-7]{3})")


class Mount(Struct, frozen=True):
    """One mounted file system."""

    device: str
    """Its device number, such as `254:0`; the major number is 0 if it has no device of its own."""
    mount_point: str
    """The folder where it is mounted."""
    options: str
    """Options of the mount."""
    kind: str
    """The kind of file system."""
    source: str
    """The device or other source."""
    super_options: str
    """Options of the file system."""


def parse_mounts(mountinfo: str) -> dict[str, Mount]:
    """Returns the mounts in the text of /proc/self/mountinfo by their mount points: of several at the same
    one, the last, which hides the others. Lines in another form are left out.
    """
    mounts = {}
    for line in mountinfo.splitlines():
        first, _, last = line.partition(" - ")
        start, end = first.split(" "), last.split(" ")
        if len(start) >= 6 and len(end) >= 3:  # fields that every line has
            point = _unescaped(start[4])
            mounts[point] = Mount(start[2], point, start[5], end[0], _unescaped(end[1]), end[2])
    return mounts


def mount_of(path: Path, mounts: Mapping[str, Mount]) -> Mount | None:
    """Returns the mount that contains an absolute path: of those above it, the lowest. The time it takes does
    not depend on the number of mounts, which a user of containers can choose.
    """
    folder = str(path)
    while folder not in mounts:
        above = os.path.dirname(folder)  # noqa: PTH120  # a path of thousands of parts has as many parents
        if above == folder:
            return None
        folder = above
    return mounts[folder]


def read_disks(facts: Facts, proc: Path, sys: Path, paths: Mapping[str, Path]) -> None:
    """Adds the facts of the file systems that contain paths; `paths` has their roles, such as `data`."""
    text = facts.text("disk.*", proc / "self/mountinfo", _MAX_MOUNTS_BYTES)
    if text is None:
        return
    mounts = parse_mounts(text)
    for role, path in paths.items():
        _read_disk(facts, sys, f"disk.{role}", path, mounts)


def _read_disk(facts: Facts, sys: Path, key: str, path: Path, mounts: Mapping[str, Mount]) -> None:
    path = _existing(path)
    mount = mount_of(path, mounts)
    if mount is None:
        facts.unread(f"{key}.*", f"no mount contains {path}")
        return
    facts.set(f"{key}.mount_point", mount.mount_point)
    facts.set(f"{key}.file_system", mount.kind)
    # A remote file system may have a password among its options, or in its address.
    facts.set(f"{key}.mount_options", redact(mount.options, ()))
    facts.set(f"{key}.file_system_options", redact(_own_options(mount), ()))
    facts.set(f"{key}.source", redact_urls(mount.source))
    _read_space(facts, key.removeprefix("disk."), path)
    device = block_device(sys, mount_of_changes(mount, mounts) or mount)
    if device is None:
        has_none = mount.device.startswith("0:") and not mount.source.startswith("/dev/")
        reason = f"{mount.kind} has no block device of its own"
        facts.unread(f"{key}.device.*", reason if has_none else f"{sys} does not show {mount.source}")
        return
    facts.set(f"{key}.device", device.name)
    _read_device(facts, f"{key}.device", device, _MAX_DEPTH)
    if mount.kind == "btrfs":
        _read_btrfs(facts, sys, f"{key}.device", real_path(Path(mount.source)).name)


def _own_options(mount: Mount) -> str:
    """Returns the options of a file system without the folders of an overlay: each container has others."""
    options = mount.super_options.split(",")
    return ",".join(option for option in options if not _LAYER.match(option))


def mount_of_changes(mount: Mount, mounts: Mapping[str, Mount]) -> Mount | None:
    """Returns the mount that an overlay writes to, or None if it is not visible, as within a container."""
    upper = re.search(r"(?:^|,)upperdir=([^,]+)", mount.super_options)
    folder = Path(_unescaped(upper[1])) if upper and mount.kind == "overlay" else None
    return mount_of(folder, mounts) if folder is not None and exists(folder) else None


def _read_space(facts: Facts, role: str, path: Path) -> None:
    try:
        place = open_place(path)
        try:
            space = os.fstatvfs(place)
        finally:
            os.close(place)
    except OSError as error:
        facts.unread(f"reading.disk.{role}.*", f"{path}: {error.strerror}")
        return
    facts.set(f"reading.disk.{role}.free_bytes", space.f_bavail * space.f_frsize)
    if space.f_blocks:
        # As the engine computes it: what it may use, of the whole file system.
        facts.set(f"reading.disk.{role}.free_percent", f"{100 * space.f_bavail / space.f_blocks:.1f}")
    # Some file systems share their space, so that even their size varies.
    facts.set(f"reading.disk.{role}.size_bytes", space.f_blocks * space.f_frsize)


def block_device(sys: Path, mount: Mount) -> Path | None:
    """Returns the folder of the whole disk of a mount in sysfs, or None if it has no block device."""
    folder = sys / "dev/block" / mount.device
    if not exists(folder) and mount.source.startswith("/dev/"):
        # Btrfs has a device number of its own for each volume.
        folder = sys / "class/block" / real_path(Path(mount.source)).name
    device = real_path(folder)
    return whole_disk(device) if exists(device) else None


def whole_disk(device: Path) -> Path:
    """Returns the folder of the disk of a partition in sysfs, or that of the device itself."""
    return device.parent if exists(device / "partition") else device


def _read_device(facts: Facts, key: str, device: Path, depth: int) -> None:
    queue = device / "queue"
    facts.file(f"{key}.scheduler", queue / "scheduler", selected)
    for name in _QUEUE_FILES:
        facts.optional(f"{key}.{name}", queue / name)
    facts.optional(f"{key}.model", device / "device/model")
    facts.optional(f"{key}.sectors", device / "size")
    parts = names_in(device / "slaves")
    facts.set(f"{key}.made_of", " ".join(parts) or None)
    for part in parts if depth > 0 else ():
        below = whole_disk(real_path(device / "slaves" / part))
        _read_device(facts, f"{key}.{part}", below, depth - 1)


def _read_btrfs(facts: Facts, sys: Path, key: str, member: str) -> None:
    """Adds the devices of the Btrfs that a device is a member of, and its readahead: that of the device has
    no effect. Linux tells them since 5.9.
    """
    for folder in (sys / "fs/btrfs" / name for name in names_in(sys / "fs/btrfs")):
        members = names_in(folder / "devices")
        if member in members:
            facts.set(f"{key}.members", " ".join(members))
            facts.optional(f"{key}.read_ahead_kb", folder / "bdi/read_ahead_kb")


def _existing(path: Path) -> Path:
    """Returns the path, or the lowest folder above it that exists."""
    path = path.absolute()
    while not exists(path) and path != path.parent:
        path = path.parent
    return real_path(path)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)

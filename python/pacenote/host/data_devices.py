"""The block devices behind the data paths of nodes, partitions, and physical network interfaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from pacenote.host.disks import block_device, mount_of, mount_of_changes, parse_mounts, whole_disk
from pacenote.host.facts import names_in, read_text
from pacenote.system.paths import exists, real_path

_MAX_MOUNTS_BYTES = 16 << 20
"""Size up to which the list of mounts is read."""

_MAX_DEPTH = 4
"""How many devices may be stacked."""


class DataDevice(Struct, frozen=True):
    """The device behind a data path."""

    node: str
    """Name of the node."""

    path: str
    """The data path."""

    file_system: str | None = None
    """Kind of its file system; None if no mount contains it."""

    device: str | None = None
    """Name of the device in `/proc/diskstats`, such as `dm-0` or `nvme0n1`; None if it has none, as on a
    network or in memory.
    """

    disks: tuple[str, ...] = ()
    """The disks that a logical device consists of, such as the stripes of `dm-0`; empty for a disk."""

    rotational: bool | None = None
    """Whether it is a rotating disk, as the kernel knows it; None if it does not."""


def data_devices(
    paths: Mapping[str, tuple[Path, ...]],
    proc: Path = Path("/proc"),
    sys: Path = Path("/sys"),
    pid: int | None = None,
) -> tuple[DataDevice, ...]:
    """Returns the devices behind data paths; `paths` has those of each node by its name.

    The paths are those that the process with this id sees, or this process.
    """
    try:
        mountinfo = proc / ("self" if pid is None else str(pid)) / "mountinfo"
        mounts = parse_mounts(read_text(mountinfo, _MAX_MOUNTS_BYTES))
    except OSError:
        mounts = {}
    devices = []
    for node, path in ((node, path) for node, data_paths in paths.items() for path in data_paths):
        mount = mount_of(real_path(path) if pid is None else path, mounts)
        device = None if mount is None else block_device(sys, mount_of_changes(mount, mounts) or mount)
        kind = None if mount is None else mount.kind
        if device is None:
            devices.append(DataDevice(node, str(path), kind))
            continue
        disks = tuple(dict.fromkeys(disk for disk in _disks(device, _MAX_DEPTH) if disk != device.name))
        devices.append(DataDevice(node, str(path), kind, device.name, disks, _rotational(device)))
    return tuple(devices)


def _disks(device: Path, depth: int) -> Iterator[str]:
    """Yields the disks at the bottom of a stack of devices."""
    parts = names_in(device / "slaves") if depth > 0 else ()
    if not parts:
        yield device.name
    for part in parts:
        yield from _disks(whole_disk(real_path(device / "slaves" / part)), depth - 1)


def _rotational(device: Path) -> bool | None:
    try:
        return read_text(device / "queue/rotational") == "1"
    except OSError:
        return None


def partitions(sys: Path = Path("/sys")) -> dict[str, str]:
    """Returns the disk of each partition of this host, by their names."""
    blocks = sys / "class/block"
    disks = {name: whole_disk(real_path(blocks / name)).name for name in names_in(blocks)}
    return {name: disk for name, disk in disks.items() if disk != name}


def physical_interfaces(sys: Path = Path("/sys")) -> tuple[str, ...]:
    """Returns the network interfaces with a device of their own. Bonds, VLANs, bridges and the ends of
    tunnels and of containers count the packets of these once more.
    """
    net = sys / "class/net"
    return tuple(name for name in names_in(net) if exists(net / name / "device"))


def link_speeds(sys: Path = Path("/sys")) -> dict[str, float]:
    """Returns the speeds of the physical network interfaces that report one, in bytes per second."""
    speeds = {}
    for name in physical_interfaces(sys):
        try:
            megabits = int(read_text(sys / "class/net" / name / "speed"))
        except (OSError, ValueError):
            continue  # Interfaces without a link, and those of virtual machines, may have none.
        if megabits > 0:
            speeds[name] = megabits * 1e6 / 8
    return speeds

"""The devices behind data paths, and the speeds of interfaces."""

from __future__ import annotations

from pathlib import Path

from host.test_disks import write
from pacenote.host.data_devices import (
    DataDevice,
    data_devices,
    link_speeds,
    partitions,
    physical_interfaces,
)


def test_the_device_behind_a_data_path_is_named_with_its_disks(tmp_path: Path) -> None:
    system, proc = tmp_path / "sys", tmp_path / "proc"
    paths = {name: tmp_path / name for name in ("striped", "plain", "memory", "lost")}
    for path in paths.values():
        path.mkdir()
    block = system / "devices/block"
    write(block / "sda/queue", rotational="1")
    write(block / "sda/sda1", partition="1")
    write(block / "sdb/queue", rotational="0")
    write(block / "dm-0/queue", rotational="0")
    write(block / "dm-1/queue", rotational="0")
    # An encrypted volume on a logical volume of two stripes.
    for device, parts in {"dm-0": ("sda/sda1", "sdb"), "dm-1": ("dm-0",)}.items():
        (block / device / "slaves").mkdir()
        for part in parts:
            (block / device / "slaves" / Path(part).name).symlink_to(block / part)
    (system / "dev/block").mkdir(parents=True)
    (system / "dev/block/253:1").symlink_to(block / "dm-1")
    (system / "dev/block/8:1").symlink_to(block / "sda/sda1")
    write(
        proc / "self",
        mountinfo=f"31 22 253:1 / {paths['striped']} rw - xfs /dev/mapper/v rw\n"
        f"32 22 8:1 / {paths['plain']} rw - ext4 /dev/sda1 rw\n"
        f"33 22 0:40 / {paths['memory']} rw - tmpfs tmpfs rw\n",
    )
    devices = data_devices(
        {
            "node-0": (paths["striped"], paths["plain"]),
            "node-1": (paths["memory"], paths["lost"]),
        },
        proc,
        system,
    )
    striped, plain, memory, lost = (str(path) for path in paths.values())
    assert devices == (
        DataDevice("node-0", striped, "xfs", "dm-1", ("sda", "sdb"), rotational=False),
        DataDevice("node-0", plain, "ext4", "sda", (), rotational=True),
        DataDevice("node-1", memory, "tmpfs"),
        DataDevice("node-1", lost),
    )
    assert data_devices({"node-0": (paths["plain"],)}, tmp_path / "none", system) == (
        DataDevice("node-0", plain),
    )
    # In a container, another device has the same path.
    write(proc / "7", mountinfo=f"31 22 253:1 / {paths['plain']} rw - xfs /dev/mapper/v rw\n")
    [inside] = data_devices({"node-0": (paths["plain"],)}, proc, system, 7)
    assert (inside.path, inside.device) == (plain, "dm-1")


def test_only_physical_interfaces_with_a_speed_have_one(tmp_path: Path) -> None:
    net = tmp_path / "class/net"
    for name, speed in {"eth0": "1000\n", "down": "-1\n", "odd": "fast\n"}.items():
        write(net / name, speed=speed)
        (net / name / "device").mkdir()
    for name in ("bond0", "eth0.100", "br0", "veth1"):
        write(net / name, speed="10000\n")
    (net / "lo").mkdir()
    assert link_speeds(tmp_path) == {"eth0": 1.25e8}
    assert physical_interfaces(tmp_path) == ("down", "eth0", "odd")
    assert (link_speeds(tmp_path / "none"), physical_interfaces(tmp_path / "none")) == ({}, ())


def test_partitions_are_those_of_which_the_kernel_says_so(tmp_path: Path) -> None:
    devices, blocks = tmp_path / "devices/block", tmp_path / "class/block"
    for name in ("sda", "dm-1", "dm-10", "nvme0n1"):
        (devices / name).mkdir(parents=True)
    write(devices / "sda/sda1", partition="1")
    write(devices / "nvme0n1/nvme0n1p2", partition="2")
    blocks.mkdir(parents=True)
    for path in ("sda", "dm-1", "dm-10", "nvme0n1", "sda/sda1", "nvme0n1/nvme0n1p2"):
        (blocks / Path(path).name).symlink_to(devices / path)
    assert partitions(tmp_path) == {"sda1": "sda", "nvme0n1p2": "nvme0n1"}
    assert partitions(tmp_path / "none") == {}


def test_a_data_path_that_leads_nowhere_has_a_device(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    [device] = data_devices({"node": (tmp_path / "loop",)})
    assert device.path == str(tmp_path / "loop")

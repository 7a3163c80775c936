"""The file systems and devices behind paths."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from pacenote.host.disks import Mount, mount_of, parse_mounts, read_disks
from pacenote.host.facts import Facts

MOUNTINFO = """\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
30 22 0:40 / /data\\040one rw,noatime - tmpfs tmpfs rw,size=1g
31 22 253:0 / /data rw,noatime - xfs /dev/mapper/v rw
short line
"""


def test_the_lowest_mount_above_a_path_contains_it() -> None:
    mounts = parse_mounts(MOUNTINFO)
    assert len(mounts) == 3
    for path, kind in (("/data/x", "xfs"), ("/data one/x", "tmpfs"), ("/database", "ext4"), ("/", "ext4")):
        mount = mount_of(Path(path), mounts)
        assert mount is not None
        assert mount.kind == kind


class OnlyLookedUp(dict[str, Mount]):
    """Mounts that cannot be walked through."""

    def _walk(self) -> NoReturn:
        raise AssertionError("a path takes a look-up for each of its parts, not a comparison for each mount")

    __iter__ = keys = values = items = _walk


def test_the_time_to_find_a_mount_does_not_depend_on_their_number() -> None:
    mounts = OnlyLookedUp(parse_mounts(MOUNTINFO))
    mount = mount_of(Path("/data/" + "x/" * 1_000), mounts)
    assert mount is not None
    assert mount.kind == "xfs"
    assert mount_of(Path("/x"), OnlyLookedUp()) is None


def test_of_several_mounts_at_one_point_the_last_hides_the_others() -> None:
    hidden = MOUNTINFO.replace("short line", "32 31 0:41 / /data rw - tmpfs tmpfs rw")
    mount = mount_of(Path("/data/x"), parse_mounts(hidden))
    assert mount is not None
    assert mount.kind == "tmpfs"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def test_the_devices_below_a_logical_volume_and_the_disk_of_a_partition_are_read(tmp_path: Path) -> None:
    system, proc, data = tmp_path / "sys", tmp_path / "proc", tmp_path / "data"
    data.mkdir()
    block = system / "devices/block"
    write(block / "vda/queue", scheduler="none [mq-deadline]", read_ahead_kb="128", rotational="0")
    write(block / "vda/vda1", partition="1")
    write(block / "dm-0/queue", scheduler="none", read_ahead_kb="4096", rotational="0")
    (block / "dm-0/slaves").mkdir()
    (block / "dm-0/slaves/vda1").symlink_to(block / "vda/vda1")
    (system / "dev/block").mkdir(parents=True)
    (system / "dev/block/253:0").symlink_to(block / "dm-0")
    write(
        proc / "self",
        mountinfo=f"31 22 253:0 / {data} rw,noatime - nfs //u:hunter22@h/x rw,password=hunter23\n",
    )
    facts = Facts()
    read_disks(facts, proc, system, {"data": data / "later"})
    disk_facts = facts.snapshot().facts
    assert disk_facts["disk.data.device"] == "dm-0"
    assert disk_facts["disk.data.mount_options"] == "rw,noatime"
    assert disk_facts["disk.data.device.read_ahead_kb"] == "4096"
    assert disk_facts["disk.data.device.made_of"] == "vda1"
    assert disk_facts["disk.data.device.vda1.scheduler"] == "mq-deadline"
    assert float(disk_facts["reading.disk.data.free_percent"]) <= 100
    assert "hunter23" not in str(disk_facts)


@pytest.mark.parametrize(
    ("mount", "reason"),
    [
        ("0:40 / {} rw - tmpfs tmpfs", "tmpfs has no block device of its own"),
        ("8:1 / {} rw - ext4 /dev/sda1", "{}/sys does not show /dev/sda1"),
        ("0:41 / {} rw - btrfs /dev/sda1", "{}/sys does not show /dev/sda1"),
    ],
)
def test_a_file_system_without_a_known_device_says_so(tmp_path: Path, mount: str, reason: str) -> None:
    write(tmp_path / "proc/self", mountinfo=f"31 22 {mount.format(tmp_path)} rw\n")
    facts = Facts()
    read_disks(facts, tmp_path / "proc", tmp_path / "sys", {"data": tmp_path})
    assert facts.snapshot().unread["disk.data.device.*"] == reason.format(tmp_path)


def test_all_mounts_of_a_host_with_many_are_read(tmp_path: Path) -> None:
    others = "".join(f"{number} 22 0:41 / /run/x{number} rw - tmpfs tmpfs rw\n" for number in range(4000))
    write(tmp_path / "proc/self", mountinfo=f"{MOUNTINFO}{others}31 22 0:40 / {tmp_path} rw - zfs pool rw\n")
    facts = Facts()
    read_disks(facts, tmp_path / "proc", tmp_path / "sys", {"data": tmp_path})
    assert facts.snapshot().facts["disk.data.file_system"] == "zfs"


@pytest.mark.parametrize("is_visible", [True, False])
def test_an_overlay_has_the_device_that_it_writes_to_if_that_is_visible(
    tmp_path: Path, is_visible: bool
) -> None:
    system, layer = tmp_path / "sys", tmp_path / "layer"
    if is_visible:
        layer.mkdir()
    write(system / "dev/block/8:1/queue", scheduler="none")
    layers = f"rw,lowerdir=/a:/b,upperdir={layer},workdir=/w,uuid=on"
    mounts = (
        f"31 22 8:1 / {tmp_path} rw - ext4 /dev/sda rw",
        f"32 31 0:9 / {tmp_path}/data rw - overlay overlay {layers}",
    )
    write(tmp_path / "proc/self", mountinfo="\n".join(mounts))
    (tmp_path / "data").mkdir()
    facts = Facts()
    read_disks(facts, tmp_path / "proc", system, {"data": tmp_path / "data"})
    snapshot = facts.snapshot()
    assert snapshot.facts["disk.data.file_system_options"] == "rw,uuid=on"
    assert snapshot.facts.get("disk.data.device.scheduler") == ("none" if is_visible else None)
    assert ("disk.data.device.*" in snapshot.unread) != is_visible


def test_the_readahead_of_btrfs_is_not_that_of_its_device(tmp_path: Path) -> None:
    system = tmp_path / "sys"
    write(system / "class/block/no-such-vda/queue", read_ahead_kb="128")
    write(system / "fs/btrfs/features", raid="1")
    for identity, members in (("a-b", ("vdb",)), ("c-d", ("no-such-vda", "vdc"))):
        write(system / "fs/btrfs" / identity / "bdi", read_ahead_kb=str(4096 * len(members)))
        write(system / "fs/btrfs" / identity / "devices", **dict.fromkeys(members, ""))
    mount = f"31 22 0:40 /volume {tmp_path} rw - btrfs /dev/no-such-vda rw,subvol=/volume\n"
    write(tmp_path / "proc/self", mountinfo=mount)
    facts = Facts()
    read_disks(facts, tmp_path / "proc", system, {"data": tmp_path})
    disk_facts = facts.snapshot().facts
    assert disk_facts["disk.data.device.read_ahead_kb"] == "8192"
    assert disk_facts["disk.data.device.members"] == "no-such-vda vdc"

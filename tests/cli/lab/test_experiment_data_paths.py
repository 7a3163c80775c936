"""The disks of data paths that an experiment compares."""

import pytest

from pacenote.cli.lab.experiment_data_paths import check_compared_paths
from pacenote.errors import UsageError
from pacenote.model.experiment import Experiment, Factor, Variant


@pytest.fixture
def check(tmp_path):
    """Checks an experiment that compares folders on a machine with these mounts, as (device, kind)."""

    def checked(**mounts):
        lines = []
        for name, (device, kind) in mounts.items():
            (tmp_path / name).mkdir()
            (tmp_path / "sys/dev/block" / device).mkdir(parents=True, exist_ok=True)
            lines.append(f"31 22 {device} / {tmp_path / name} rw - {kind} source rw\n")
        proc = tmp_path / "proc/self"
        proc.mkdir(parents=True)
        (proc / "mountinfo").write_text("".join(lines))
        levels = tuple(Variant(name, {"data-paths": str(tmp_path / name)}) for name in mounts)
        clients = (Variant("c2", {"track-params": {"clients": 2}}), Variant("c4"))
        factors = (Factor("disk", levels), Factor("clients", clients))
        experiment = Experiment(name="e", design="matrix", factors=factors)
        check_compared_paths(experiment, tmp_path / "proc", tmp_path / "sys")

    return checked


def test_folders_on_two_disks_may_be_compared(check):
    check(first=("8:1", "ext4"), second=("8:16", "ext4"))


def test_folders_on_one_disk_are_refused(check, tmp_path):
    with pytest.raises(UsageError) as raised:
        check(first=("8:1", "ext4"), second=("8:1", "xfs"))
    assert raised.value.message == (
        f"data-paths: {tmp_path}/first and {tmp_path}/second are on the same disk, so that nothing is "
        "compared"
    )


def test_a_folder_in_memory_is_refused(check, tmp_path):
    with pytest.raises(UsageError) as raised:
        check(first=("8:1", "ext4"), second=("0:40", "tmpfs"))
    assert raised.value.message == f"data-paths: {tmp_path}/second is in memory, not on a disk"


def test_one_folder_for_all_races_need_not_be_on_a_disk_of_its_own():
    variants = (Variant("a", {"car": "1gheap"}), Variant("b"))
    check_compared_paths(Experiment(name="e", race={"data-paths": "/missing"}, variants=variants))

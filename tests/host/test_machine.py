"""The facts of a machine, read from files like those of the kernel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.host import machine
from pacenote.host.machine import MachineRequest, read_machine
from pacenote.model.snapshot import Snapshot

FILES = {
    "proc/cmdline": "quiet root=/dev/vda password=hunter22 seed=https://u:hunter22@h/\n",
    "proc/cpuinfo": "processor\t: 0\nmicrocode\t: 0x1\nflags\t\t: fpu avx2 avx512f\n",
    "proc/meminfo": "MemTotal: 8000 kB\nMemAvailable: 6000 kB\nCached: 100 kB\nSwapTotal: 0 kB\n",
    "proc/loadavg": "0.50 0.40 0.30 1/100 4\n",
    "proc/pressure/cpu": "some avg10=1.50 avg60=2.00 avg300=3.00 total=4\n",
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/vm/max_map_count": "65530\n",
    "proc/sys/kernel/sched_migration_cost_ns": "500000\n",
    "proc/self/limits": "Limit   Soft Limit  Hard Limit  Units\nMax open files     1024     4096    files\n"
    "Max locked memory     8     16    bytes\n",
    "proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-3\nVmSwap:\t  12 kB\n",
    "proc/self/oom_score_adj": "0\n",
    "proc/self/cgroup": "0::/outer/inner\n",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
    "sys/fs/cgroup/outer/inner/cpu.max": "max 100000\n",
    "sys/fs/cgroup/outer/cpu.max": "150000 100000\n",
    "sys/fs/cgroup/outer/inner/memory.max": "max\n",
    "sys/fs/cgroup/outer/inner/pids.max": "500\n",
    "sys/fs/cgroup/outer/pids.max": "60\n",
    "sys/fs/cgroup/outer/inner/io.max": "\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/kernel/mm/transparent_hugepage/defrag": "always defer [madvise] never\n",
    "sys/devices/system/cpu/online": "0-3\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/class/net/eth0/device/vendor": "0x1\n",
    "sys/class/net/eth0/mtu": "9000\n",
    "sys/class/net/eth0/queues/rx-0/rps_cpus": "00000000,00000000\n",
    "sys/class/net/eth0/queues/rx-1/rps_cpus": "0000000f\n",
    "sys/class/net/veth1/mtu": "1500\n",
    "sys/class/net/lo/mtu": "65536\n",
    "etc/os-release": 'NAME="Linux"\nPRETTY_NAME="A Linux 1"\n',
}


def read(root: Path, files: dict[str, str], **paths: Path) -> Snapshot:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_machine(
        MachineRequest(paths, proc=root / "proc", sys=root / "sys", os_release=root / "etc/os-release")
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kernel.command_line", "quiet root=/dev/vda password=<hidden> seed=https://<hidden>@h/"),
        ("kernel.transparent_huge_pages.enabled", "madvise"),
        ("sysctl.vm.swappiness", "60"),
        ("sysctl.kernel.sched_migration_cost_ns", "500000"),
        ("cpu.scaling_governor", "powersave (1), performance (1)"),
        ("cpu.vector_instructions", "avx2 avx512f"),
        ("memory.total_kb", "8000"),
        ("driver.process.limit.locked_memory.soft", "8"),
        ("driver.process.limit.open_files.hard", "4096"),
        ("driver.process.cpus_allowed", "0-3"),
        ("driver.process.cgroup.cpu.max", "150000 100000"),
        ("driver.process.cgroup.memory.max", "max"),
        ("driver.process.cgroup.pids.max", "60"),
        ("network.eth0.mtu", "9000"),
        ("network.eth0.rps_cpus", "0 (1), 0000000f (1)"),
        ("network.eth0.rx_queues", "2"),
        ("software.linux", "A Linux 1"),
        ("reading.memory.available_kb", "6000"),
        ("reading.pressure.cpu.some_10s", "1.50"),
        ("reading.driver.process.swapped_kb", "12"),
    ],
)
def test_facts_are_read_where_the_kernel_has_them(tmp_path: Path, key: str, value: str) -> None:
    assert read(tmp_path, FILES).facts[key] == value


def test_the_lowest_quota_of_the_groups_applies_also_in_version_1(tmp_path: Path) -> None:
    files = FILES | {"proc/self/cgroup": "4:memory:/\n3:cpu,cpuacct:/outer/inner\n"}
    del files["sys/fs/cgroup/cgroup.controllers"]
    for group, quota, period in (
        ("", "-1", "100000"),
        ("/outer", "50000", "50000"),
        ("/outer/inner", "300000", "100000"),
    ):
        files[f"sys/fs/cgroup/cpu{group}/cpu.cfs_quota_us"] = quota
        files[f"sys/fs/cgroup/cpu{group}/cpu.cfs_period_us"] = period
    files["sys/fs/cgroup/memory/memory.limit_in_bytes"] = "9223372036854771712"
    facts = read(tmp_path, files).facts
    assert facts["driver.process.cgroup.cpu.max"] == "50000 50000"
    assert facts["driver.process.cgroup.memory.limit_in_bytes"] == "max"


def test_a_limit_in_a_strange_form_is_left_out(tmp_path: Path) -> None:
    snapshot = read(
        tmp_path,
        FILES | {"sys/fs/cgroup/outer/inner/memory.max": "much\n", "sys/fs/cgroup/outer/memory.max": "1\n"},
    )
    assert "driver.process.cgroup.memory.max" in snapshot.unread
    assert snapshot.facts["driver.process.cgroup.pids.max"] == "60"


def test_the_limit_that_the_driver_raises_itself_is_not_a_fact_of_its_configuration(tmp_path: Path) -> None:
    assert "driver.process.limit.open_files.soft" not in read(tmp_path, FILES).facts


def test_interfaces_without_a_device_are_left_out(tmp_path: Path) -> None:
    facts = read(tmp_path, FILES).facts
    assert facts["network.lo.mtu"] == "65536"
    assert not [key for key in facts if key.startswith("network.veth1")]


def test_what_cannot_be_read_is_left_out_with_the_reason(tmp_path: Path) -> None:
    snapshot = read(tmp_path, {})
    assert "sysctl.vm.swappiness" not in snapshot.facts
    assert snapshot.unread["sysctl.vm.swappiness"].endswith(
        "proc/sys/vm/swappiness: No such file or directory"
    )
    assert {"disk.*", "network.*", "cpu.scaling_governor", "reading.memory.*"} <= snapshot.unread.keys()
    assert snapshot.unread["cpu.scaling_governor"].endswith("/sys/devices/system/cpu cannot be read")
    # What only some machines have is not missed.
    assert "cpu.intel_pstate.status" not in snapshot.unread


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    os.mkfifo(tmp_path / "proc/loadavg")
    assert read(tmp_path, {}).unread["reading.load"].endswith("it is not a regular file")


def test_this_machine_can_be_read(tmp_path: Path) -> None:
    own = {"node.n": os.getpid()}
    snapshot = read_machine(MachineRequest({"data": tmp_path / "absent"}, own))
    assert {"kernel.release", "memory.total_kb", "disk.data.file_system"} <= snapshot.facts.keys()
    assert snapshot.facts["software.python_package.jinja2"]
    assert snapshot.facts["node.n.process.environment.PATH"] == os.environ["PATH"]
    # An area that fails as a whole has the name of an exception as its reason.
    assert not [reason for reason in snapshot.unread.values() if "Error:" in reason]


def test_secrets_of_the_environment_are_hidden(tmp_path: Path) -> None:
    files = FILES | {f"proc/7/{name}": FILES[f"proc/self/{name}"] for name in ("limits", "status", "cgroup")}
    files["proc/7/environ"] = (
        "DB_PASSWORD=hunter22\0DFLTCC=1\0DB=x://u:hunter22@h\0ES_JAVA_OPTS=-Xmx1g -Da.password=hunter22\0"
    )
    (tmp_path / "x").mkdir()
    read(tmp_path, files)
    request = MachineRequest({}, {"node.n": 7}, proc=tmp_path / "proc", sys=tmp_path / "sys")
    snapshot = read_machine(request)
    assert "hunter22" not in str(snapshot)
    assert snapshot.facts["node.n.process.environment.DFLTCC"] == "1"


def test_a_folder_that_cannot_be_entered_hides_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(path: Path, **_: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    read(tmp_path, FILES)
    # Unlike os.path, pathlib raises for a path in a folder that cannot be entered.
    monkeypatch.setattr(Path, "stat", closed)
    request = MachineRequest({"data": tmp_path}, proc=tmp_path / "proc", sys=tmp_path / "sys")
    snapshot = read_machine(request)
    assert not [reason for reason in snapshot.unread.values() if "PermissionError" in reason]


@pytest.mark.skipif(Path("/run/systemd/container").exists(), reason="this machine names its container")
def test_a_container_is_recognized_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"docker": tmp_path / "missing", "podman": tmp_path}
    monkeypatch.setattr(machine, "_CONTAINER_FILES", files)
    assert read(tmp_path, {}).facts["machine.container"] == "podman"

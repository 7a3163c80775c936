"""The process of a node is found by what both the node and the kernel say about it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pacenote.host import engine_processes, facts
from pacenote.host.engine_processes import ReportedProcess, find_processes, shares_files

BOOT_S = 1_700_000_000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

ROUTES = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 172.17.0.0/16 2 0 2
        |-- 172.17.0.0
           /16 link UNICAST
        |-- 172.17.0.2
           /32 host LOCAL
        |-- 172.17.255.255
           /32 link BROADCAST
"""
NODE = ReportedProcess("node-0", 7, BOOT_S + 103.5, "172.17.0.2")


def machine(root: Path, *processes: tuple[int, str, float]) -> Path:
    """Writes what the kernel says about processes: their ids outside and in containers, and their starts."""
    (root / "stat").write_text(f"cpu 1 2\nbtime {BOOT_S}\nprocesses 9\n")
    for pid, ids, started_s in processes:
        folder = root / str(pid)
        (folder / "net").mkdir(parents=True)
        (folder / "status").write_text(f"Name:\tjava\nNSpid:\t{ids}\nNSpgid:\t1\n")
        after = ["S", *["0"] * 18, str(round(started_s * TICKS_PER_S)), "0"]
        (folder / "stat").write_text(f"{pid} (a) b) {' '.join(after)}\n")
        (folder / "net/fib_trie").write_text(ROUTES)
        (folder / "net/if_inet6").write_text("fe800000000000000000000000000001 02 40 20 80 eth0\n")
    return root


@pytest.mark.parametrize(
    ("processes", "pid"),
    [
        ([(7, "7", 100.0)], 7),
        # In a container, whose first process has another number outside.
        ([(4711, "4711\t12\t7", 100.0), (7, "7", 5.0)], 4711),
        ([(4711, "4711\t7", 103.9)], 4711),
        ([(7, "7", 107.0)], None),  # It started after the JVM.
        ([(7, "7", 20.0)], None),
        ([(8, "8", 100.0)], None),
        ([(8, "8\t7", 100.0), (9, "9\t7", 100.0)], None),
        ([], None),
    ],
)
def test_the_process_has_the_id_and_the_start_of_the_node(
    processes: list[tuple[int, str, float]], pid: int | None, tmp_path: Path
) -> None:
    result = find_processes([NODE], machine(tmp_path, *processes))
    assert result.pids == ({} if pid is None else {"node-0": pid})
    assert set(result.missing) == (set() if pid else {"node-0"})


def test_the_process_has_the_address_of_the_node(tmp_path: Path) -> None:
    proc = machine(tmp_path, (7, "7", 100.0))
    for address, is_found in [
        ("172.17.0.2", True),
        ("fe80::1", True),
        ("172.17.0.0", False),
        ("172.17.255.255", False),
        ("172.17.0.3", False),
        ("fe80::2", False),
        ("a name", False),
    ]:
        node = ReportedProcess("n", 7, NODE.started_s, address)
        assert ("n" in find_processes([node], proc).pids) == is_found, address


def test_two_nodes_do_not_have_the_same_process(tmp_path: Path) -> None:
    proc = machine(tmp_path, (7, "7", 100.0))
    twin = ReportedProcess("node-1", 7, NODE.started_s, NODE.address)
    processes = find_processes([NODE, twin], proc)
    assert (processes.pids, list(processes.missing)) == ({"node-0": 7}, ["node-1"])


def test_addresses_are_read_once_for_all_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may report a thousand nodes with the id that all containers have."""
    proc = machine(tmp_path, *((100 + number, f"{100 + number}\t1", 100.0) for number in range(5)))
    read = list[Path]()

    def read_text(path: Path, *limit: int) -> str:
        read.append(path)
        return facts.read_text(path, *limit)

    monkeypatch.setattr(engine_processes, "read_text", read_text)
    nodes = [ReportedProcess(f"n{number}", 1, NODE.started_s, NODE.address) for number in range(200)]
    processes = find_processes(nodes, proc)
    assert set(processes.missing.values()) == {"several processes may be it"}
    assert len(processes.missing) == 200
    assert sum(path.name == "fib_trie" for path in read) == 5


def test_a_network_is_read_once_for_all_its_processes(tmp_path: Path) -> None:
    proc = machine(tmp_path, (7, "7", 100.0), (8, "8", 100.0))
    for pid in ("7", "8"):
        (proc / pid / "ns").mkdir()
        (proc / pid / "ns/net").symlink_to("net:[4026531840]")
    (proc / "8/net/fib_trie").unlink()
    other = ReportedProcess("other", 8, NODE.started_s, NODE.address)
    assert find_processes([NODE, other], proc).pids == {"node-0": 7, "other": 8}


def test_more_processes_than_are_compared_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_processes, "_MAX_ALIKE", 20)
    proc = machine(tmp_path, *((100 + number, f"{100 + number}\t7", 100.0) for number in range(21)))
    processes = find_processes([NODE], proc)
    assert (processes.pids, processes.missing) == ({}, {"node-0": "more than 20 processes may be it"})


def test_addresses_are_not_read_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_processes, "_ADDRESSES_S", -1.0)
    processes = find_processes([NODE], machine(tmp_path, (7, "7", 100.0)))
    assert processes.pids == {}
    assert "reading the addresses of processes took more than" in processes.missing["node-0"]


def test_a_machine_that_shows_no_processes_has_none(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    assert find_processes([NODE], tmp_path).pids == {}
    assert not shares_files(7, tmp_path)


def own_start_s() -> float:
    """Returns when this process started, in seconds since 1970."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - uptime_s + int(fields[19]) / TICKS_PER_S


def test_this_process_is_found() -> None:
    own = ReportedProcess("own", os.getpid(), own_start_s(), "127.0.0.1")
    assert find_processes([own]).pids == {"own": os.getpid()}
    assert shares_files(os.getpid())

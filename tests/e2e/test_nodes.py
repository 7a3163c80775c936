"""Races on clusters of several nodes, each with its CPUs, limits and disks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import EngineError
from pacenote.model.node_options import NodeLimits
from pacenote.provision.control_groups import check_limits
from pacenote.provision.layout import create_layout
from pacenote.provision.node_registry import registered_nodes
from pacenote.system.process import is_running

pytestmark = pytest.mark.engine

RUN = uuid.uuid4().hex[:8]
MEMORY = Path("/dev/shm")
LIMIT = 2 << 30
PARAMS = "docs:{docs},number_of_shards:2,number_of_replicas:{replicas},iterations:10,warmup_iterations:5"


def start(home: Path, name: str, *more: str, docs: int = 3_000, replicas: int = 1) -> subprocess.Popen[str]:
    """Starts a race on nodes with small heaps."""
    arguments = (
        "race",
        "--track=http_logs",
        "--track-repository=bundled",
        "--challenge=append-no-conflicts-index-only",
        f"--race-id={name}-{RUN}",
        f"--track-params={PARAMS.format(docs=docs, replicas=replicas)}",
        "--car-params=heap_size:256m",
        *more,
    )
    return subprocess.Popen(
        [sys.executable, "-m", "pacenote", *arguments],
        env={**os.environ, "PACENOTE_HOME": str(home)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def folder(home: Path, name: str) -> Path:
    return home / "races" / f"{name}-{RUN}"


def wait_for(condition: Callable[[], object], what: str) -> Any:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited 120 s for {what}")


def indexing(home: Path, name: str) -> Callable[[], bool]:
    journal = folder(home, name) / "series.jsonl"
    return lambda: journal.exists() and '"index-append"' in journal.read_text()


@pytest.fixture
def disks() -> Iterator[tuple[Path, Path]]:
    """A folder on a disk and one in memory, which every user can enter."""
    with (
        tempfile.TemporaryDirectory(dir="/var/tmp") as disk,
        tempfile.TemporaryDirectory(dir=MEMORY) as memory,
    ):
        for path in (disk, memory):
            Path(path).chmod(0o755)
        yield Path(disk), Path(memory)


def limits() -> tuple[str, ...]:
    """Returns the options for limits, if they are possible here."""
    try:
        check_limits(NodeLimits(LIMIT, 1.5))
    except EngineError:
        return ()
    return (f"--node-memory={LIMIT}", "--node-cpu-limit=1.5")


@pytest.mark.skipif(not MEMORY.is_dir(), reason="there is no file system in memory")
def test_each_node_has_its_roles_cpus_limits_and_disks(home: Path, disks: tuple[Path, Path]) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    disk, memory = disks
    given = limits()
    process = start(
        home,
        "roles",
        *("--nodes=master:1,data+ingest:2", f"--data-paths={disk};{disk},{memory};{memory}", *given),
        *(f"--node-cpus={cpus[0]};{cpus[-1]};{cpus[-1]}", f"--driver-cpus={cpus[0]}"),
    )
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert "the driver and the nodes share CPU" in err
    race = json.loads((folder(home, "roles") / "race.json").read_text())
    assert all(check["counted"] == check["acknowledged"] for check in race["documents"])
    manager, first, second = race["cluster"]["started_nodes"]
    assert [node["roles"] for node in (manager, first, second)] == [
        ["cluster_manager"],
        ["data", "ingest"],
        ["data", "ingest"],
    ]
    assert [node["cpus"] for node in (manager, second)] == [str(cpus[0]), str(cpus[-1])]
    assert [Path(path).parents[1] for path in first["data_paths"]] == [disk, memory]
    # Dedicated managers take no requests.
    assert len(race["client"]["hosts"]) == 2
    facts = json.loads((folder(home, "roles") / "snapshot.json").read_text())["before"]["facts"]
    assert facts["node.rally-node-1.process.cpus_allowed"] == str(cpus[-1])
    assert facts["disk.data.rally-node-2.0.file_system"] == "tmpfs"
    assert facts["disk.data.rally-node-0.0.file_system"] != "tmpfs"
    if given:
        group = "node.rally-node-2.process.cgroup"
        applied = {value for key, value in facts.items() if key.startswith(group)}
        assert {str(LIMIT), "150000 100000"} <= applied
        assert not any(Path(path).exists() for node in (manager, first) for path in node["control_groups"])
    artifacts = folder(home, "roles") / "artifacts"
    assert sorted(path.name for path in artifacts.iterdir()) == [f"rally-node-{index}" for index in range(3)]
    assert all((artifacts / f"rally-node-{index}" / "gc.log").exists() for index in range(3))
    assert not list(disk.iterdir())
    assert not list(memory.iterdir())


def test_a_node_that_is_killed_ends_the_race_with_its_name(home: Path) -> None:
    process = start(home, "bereft-node", "--nodes=2", docs=400_000, replicas=0)
    try:
        wait_for(indexing(home, "bereft-node"), "bulks")
        own = [one for one in registered_nodes(create_layout(home)) if one.owner.pid == process.pid]
        entries = {entry.facts.name: entry for entry in own if entry.facts}
        killed = entries["rally-node-1"].process
        assert killed is not None
        os.kill(killed.pid, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 3, err
    race = json.loads((folder(home, "bereft-node") / "race.json").read_text())
    assert race["aborted"].startswith("node rally-node-1 ended unexpectedly: killed by SIGKILL")
    remaining = entries["rally-node-0"].process
    assert remaining is not None
    assert not is_running(remaining)


@pytest.mark.skipif(not MEMORY.is_dir(), reason="there is no file system in memory")
def test_the_next_command_removes_the_data_of_a_killed_race(home: Path, disks: tuple[Path, Path]) -> None:
    _, memory = disks
    (memory / "precious").write_text("of the user")
    options = ("--nodes=2", f"--data-paths={memory}", *limits())
    process = start(home, "killed-nodes", *options, docs=400_000, replicas=0)
    try:
        wait_for(indexing(home, "killed-nodes"), "bulks")
        mine = [entry for entry in registered_nodes(create_layout(home)) if entry.owner.pid == process.pid]
    finally:
        process.kill()
        process.communicate(timeout=60)
    assert len(mine) == 2
    assert len(list(memory.iterdir())) == 3
    subprocess.run(
        [sys.executable, "-m", "pacenote", "list", "nodes"],
        env={**os.environ, "PACENOTE_HOME": str(home)},
        check=True,
        capture_output=True,
    )
    assert not any(entry.process and is_running(entry.process) for entry in mine)
    assert [path.name for path in memory.iterdir()] == ["precious"]
    assert not any(path.exists() for entry in mine for path in entry.control_groups)
    assert not any(entry.folder.exists() for entry in mine)

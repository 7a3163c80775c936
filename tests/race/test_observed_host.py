"""What is sampled of the host of a race."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.evidence.telemetry_values import host_figures_by_task, telemetry_cuts
from pacenote.host.interrupt_times import counts_interrupts_exactly
from pacenote.race.drive import DriveResult
from pacenote.race.local_engines import LocalEngine, LocalEngines
from pacenote.race.observed_host import DRIVER, observed_host, sampler_cpus
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.store.race_folder import RaceFolder
from pacenote.system.process import process_identity
from support.records import task


@pytest.mark.parametrize(
    ("driver", "nodes", "cpus"),
    [
        ((), [], ()),
        ((), [()], ()),
        ((0,), [()], (1, 2, 3)),
        ((0,), [(1,), (2,)], (3,)),
        # The nodes have all others: the sampler must not run beside the driver.
        ((0,), [(1, 2), (3,)], (1, 2, 3)),
        ((), [(0, 1)], (2, 3)),
        ((0, 1, 2, 3), [(0,)], ()),
    ],
)
def test_the_sampler_runs_away_from_what_is_measured(
    driver: tuple[int, ...], nodes: list[tuple[int, ...]], cpus: tuple[int, ...]
) -> None:
    assert sampler_cpus(driver, nodes, frozenset(range(4))) == cpus


@contextmanager
def engines(**cpus: set[int]) -> Iterator[LocalEngines]:
    """Nodes of these names, as processes that may use these CPUs; all if there are none."""
    with ExitStack() as stack:
        nodes = []
        for name, allowed in cpus.items():
            process = stack.enter_context(subprocess.Popen(["sleep", "60"]))
            stack.callback(process.kill)
            if allowed:
                os.sched_setaffinity(process.pid, allowed)
            identity = process_identity(process.pid)
            assert identity is not None
            nodes.append(LocalEngine(name, identity, (), shares_files=True))
        yield LocalEngines(tuple(nodes))


def test_each_process_has_the_cpus_that_it_may_use() -> None:
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        pytest.skip("this needs 2 CPUs")
    with engines(a={first}, b={others[0]}) as local:
        host = observed_host((), (), local)
    assert {name: host.process_cpus[name] for name in "ab"} == {"a": (first,), "b": (others[0],)}
    assert host.node_cpus() == (first, others[0])
    document = host.to_document()
    assert document["process_cpus"]["a"] == [first]
    assert document["node_cpus"] == [first, others[0]]
    with engines(a={first}, b=set()) as local:
        host = observed_host((), (others[0],), local)
    assert host.process_cpus[DRIVER] == (others[0],)
    # One of them may use all that this process may use.
    usable = tuple(sorted(os.sched_getaffinity(0)))
    assert host.node_cpus() in ((), usable)


@pytest.mark.process
def test_a_node_that_has_inherited_its_cpus_is_not_told_to_have_idle_ones(tmp_path: Path) -> None:
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        pytest.skip("this needs 2 CPUs")
    code = "print(flush=True)\nwhile True: pass"
    command = ["taskset", "-c", str(first), sys.executable, "-S", "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as busy:
        try:
            assert busy.stdout is not None
            busy.stdout.readline()
            identity = process_identity(busy.pid)
            assert identity is not None
            engine = LocalEngine("node-0", identity, (), shares_files=True)
            host = observed_host((), (others[0],), LocalEngines((engine,)))
            race = RaceTelemetry(RaceFolder(tmp_path), host)
            race.start_sampler()
            begin_ns = race.now_ns()
            busy_until = time.process_time() + 0.2
            while time.process_time() < busy_until:
                pass
            time.sleep(0.8)
            result = replace(task("index"), started_s=0.0, duration_s=(race.now_ns() - begin_ns) / 1e9)
            values, _ = race.close(DriveResult((result,), {"started_unix_ns": begin_ns}))
        finally:
            busy.kill()
    assert values["host-sampler"]["node_cpus"] == [first]
    assert values["host-sampler"]["exact_interrupts"] is counts_interrupts_exactly()
    file = tmp_path / "telemetry.parquet"
    figures = host_figures_by_task(file, telemetry_cuts(file), values)["index"]
    # Whatever runs beside it, its CPU is busy; the others are not part of the whole.
    shares = {name: float(figures[f"cpu.{name}_share"]) for name in ("idle", "engine", "other", "driver")}
    assert shares["idle"] < 0.1
    assert shares["engine"] > 0.1
    assert sum(shares.values()) <= 1.1
    assert shares["driver"] == 0.0
    # In races of earlier versions, only the options say which CPUs the driver might use.
    earlier = {name: value for name, value in values["host-sampler"].items() if name != "process_cpus"}
    by_task = host_figures_by_task(file, telemetry_cuts(file), {"host-sampler": earlier}, str(first))
    assert float(by_task["index"]["cpu.driver_share"]) > 0.03


@pytest.mark.process
def test_what_an_engine_has_started_is_not_one_of_other_programs(tmp_path: Path) -> None:
    """As that of Elasticsearch for machine learning, which its controller starts."""
    cpu = min(os.sched_getaffinity(0))
    busy = "print(flush=True)\nwhile True: pass"
    start = (
        "import subprocess, sys\nsubprocess.run([sys.executable, '-S', '-c', sys.argv[-1], *sys.argv[1:-1]])"
    )
    command = ["taskset", "-c", str(cpu), sys.executable, "-c", start, start, busy]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as engine:
        try:
            assert engine.stdout is not None
            engine.stdout.readline()
            identity = process_identity(engine.pid)
            assert identity is not None
            node = LocalEngine("node-0", identity, (), shares_files=True)
            race = RaceTelemetry(RaceFolder(tmp_path), observed_host((), (), LocalEngines((node,))))
            race.start_sampler()
            begin_ns = race.now_ns()
            time.sleep(1.5)
            result = replace(task("index"), started_s=0.0, duration_s=(race.now_ns() - begin_ns) / 1e9)
            values, _ = race.close(DriveResult((result,), {"started_unix_ns": begin_ns}))
        finally:
            os.killpg(engine.pid, signal.SIGKILL)
    file = tmp_path / "telemetry.parquet"
    figures = host_figures_by_task(file, telemetry_cuts(file), values)["index"]
    assert float(figures["cpu.engine_share"]) > 0.1


def test_nodes_of_further_clusters_are_sampled_under_names_of_their_own() -> None:
    """Two clusters may have nodes with equal names, and one cluster may have two names."""
    with engines(node=set(), same=set(), other=set()) as local:
        node, same, other = local.engines
        of_far = (replace(other, name="far: node"), replace(node, name="far: again"))
        others = LocalEngines((node, replace(same, name="far: node")), further=of_far)
        host = observed_host((), (), others)
    assert (host.nodes, host.further_engines) == (("node", "far: node"), ("far: node (2)",))
    ids = [engine.process.pid for engine in local.engines]
    assert host.processes == (
        ("node", ids[0]),
        ("far: node", ids[1]),
        ("far: node (2)", ids[2]),
        ("driver", os.getpid()),
    )
    assert host.to_document()["further_engines"] == ["far: node (2)"]


def test_a_node_does_not_have_the_name_of_the_process_of_the_driver(tmp_path: Path) -> None:
    """The server chooses it: its time would be that of Pacenote, and that of other programs unknown."""
    with engines(driver=set(), taken=set()) as local:
        node, other = local.engines
        node = replace(node, data_paths=(tmp_path,), shares_files=True)
        host = observed_host((), (), LocalEngines((node, replace(other, name="driver (2)"))))
    ids = [engine.process.pid for engine in local.engines]
    assert host.processes == (("driver (3)", ids[0]), ("driver (2)", ids[1]), ("driver", os.getpid()))
    assert host.nodes == ("driver (3)", "driver (2)")
    assert [device.node for device in host.devices] == ["driver (3)"]


def test_a_host_without_nodes_has_the_driver_only() -> None:
    host = observed_host((), ())
    assert host.processes == (("driver", os.getpid()),)
    document = host.to_document()
    assert (document["nodes"], document["data_devices"], document["cpus"]) == ([], [], [])

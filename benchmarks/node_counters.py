"""Measures what a sample of the nodes' counters costs: CPU time of the engine and of Pacenote, and its time.

The engine has ten indices with documents, and does nothing else. Its idle CPU time is measured before each
series of samples and subtracted.
"""

from __future__ import annotations

import time
from pathlib import Path

from machine import temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.cluster.cluster import EmbeddedCluster, start_cluster
from pacenote.net.rest import RestClient
from pacenote.provision.engine_request import EngineRequest
from pacenote.telemetry.device import ObservedCluster
from pacenote.telemetry.node_counters import EngineCounters

_INDICES = 10
_INTERVAL_S = 2.0
_LIMIT_SHARE = 0.5
"""Largest CPU time of the engine and Pacenote together, as a percentage of a core."""


def measure(options: Options) -> Outcome:
    """Samples an idle engine without pauses, and relates the CPU time to the interval of a race."""
    engine_ms, pacenote_ms, wall_ms, shares = [], [], [], []
    with temporary_folder() as folder, start_cluster(EngineRequest(options.engines, folder)) as cluster:
        _index_documents(cluster.rest())
        count = options.choose(100, 5)
        _sample(cluster, count)
        for _ in range(options.choose(6, 1)):
            engine, own, wall = _sample(cluster, count)
            engine_ms.append(engine)
            pacenote_ms.append(own)
            wall_ms.append(wall)
            shares.append(100 * (engine + own) / (1000 * _INTERVAL_S))
    share = Figure("CPU time of samples every 2 s", "% of a core", tuple(shares))
    return Outcome(
        figures=(
            share,
            Figure("CPU time of the engine per sample", "ms", tuple(engine_ms)),
            Figure("CPU time of Pacenote per sample", "ms", tuple(pacenote_ms)),
            Figure("time of a sample", "ms", tuple(wall_ms)),
        ),
        targets=(Target(share, _LIMIT_SHARE, at_most=True),),
        notes=(f"{_INDICES} indices with a shard each; samples without pauses between them",),
    )


def _index_documents(client: RestClient) -> None:
    lines = "".join(
        f'{{"index": {{"_index": "index-{number % _INDICES}"}}}}\n{{"number": {number}}}\n'
        for number in range(1000)
    )
    if client.request("POST", "/_bulk?refresh=true", lines)["errors"]:
        raise BenchmarkError("documents could not be indexed")


def _sample(cluster: EmbeddedCluster, count: int) -> tuple[float, float, float]:
    """Returns CPU time of the engine and of this process, and wall time, of one sample in ms."""
    (node,) = cluster.local_nodes()
    idle_from, began = _cpu_ms(node.pid), time.monotonic()
    time.sleep(2.0)
    idle = (_cpu_ms(node.pid) - idle_from) / (time.monotonic() - began)
    connection = RestClient(cluster.hosts, 10.0, cluster.client_config)
    device = EngineCounters(ObservedCluster(cluster.rest().get, None))
    try:
        engine, own, began = _cpu_ms(node.pid), time.process_time(), time.monotonic()
        for _ in range(count):
            if not list(device.sample(connection)):
                raise BenchmarkError("a sample has no values")
        seconds = time.monotonic() - began
        used = _cpu_ms(node.pid) - engine - idle * seconds
        return used / count, 1000 * (time.process_time() - own) / count, 1000 * seconds / count
    finally:
        connection.close()


def _cpu_ms(pid: int) -> float:
    """Returns the CPU time of all threads of a process, as the scheduler counts it."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / 1e6

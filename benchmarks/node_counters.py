"""Measures what sampling the nodes costs: CPU time of the engine and of Pacenote, for each device.

The engine has ten indices with documents, and does nothing else. Its idle CPU time is measured before each
series of samples and subtracted.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from machine import temporary_folder
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.cluster.cluster import EmbeddedCluster, start_cluster
from pacenote.model.telemetry_sample import TelemetrySample
from pacenote.net.rest import RestClient
from pacenote.provision.engine_request import EngineRequest
from pacenote.race.observed_host import ObservedHost
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.store.race_folder import RaceFolder
from pacenote.telemetry.device import ObservedCluster
from pacenote.telemetry.node_counters import EngineCounters
from pacenote.telemetry.node_gauges import NodeGauges
from pacenote.telemetry.parameters import TelemetryParams
from pacenote.telemetry.sampler import SampledDevice

_INDICES = 10
_DEVICES = (EngineCounters, NodeGauges)
_LIMIT_SHARE = 0.2
"""Largest CPU time of the engine and Pacenote together, for both devices, as a percentage of a core."""


@dataclass(slots=True)
class _Cost:
    """CPU times and wall times of the samples of a device, in ms, one for each series."""

    engine: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def shares(self, interval_s: float) -> Sequence[float]:
        """Returns the CPU time of samples at an interval, as a percentage of a core."""
        pairs = zip(self.engine, self.own, strict=True)
        return [100 * (engine + own) / (1000 * interval_s) for engine, own in pairs]


def measure(options: Options) -> Outcome:
    """Samples an idle engine without pauses, and relates the CPU time to the intervals of a race."""
    costs = {device: _Cost() for device in _DEVICES}
    with temporary_folder() as folder, start_cluster(EngineRequest(options.engines, folder)) as cluster:
        _index_documents(cluster.rest())
        telemetry = RaceTelemetry(RaceFolder(folder), ObservedHost((), (), (), {}))
        count = options.choose(100, 5)
        for turn in range(1 + options.choose(6, 1)):
            for device, cost in costs.items():
                engine, own, wall = _sample(cluster, device, telemetry, count)
                if turn:
                    cost.engine.append(engine)
                    cost.own.append(own)
                    cost.wall.append(wall)
        telemetry.close(None)
    by_device = [cost.shares(_interval_s(device)) for device, cost in costs.items()]
    both = tuple(map(sum, zip(*by_device, strict=True)))
    share = Figure("CPU time of both devices", "% of a core", both)
    return Outcome(
        figures=(share, *(figure for device, cost in costs.items() for figure in _figures(device, cost))),
        targets=(Target(share, _LIMIT_SHARE, at_most=True),),
        notes=(
            f"{_INDICES} indices with a shard each; samples without pauses between them",
            *(f"{device.name}: a sample every {_interval_s(device):g} s" for device in _DEVICES),
        ),
    )


def _interval_s(device: type[SampledDevice]) -> float:
    return TelemetryParams().seconds(device.interval)


def _figures(device: type[SampledDevice], cost: _Cost) -> tuple[Figure, ...]:
    return (
        Figure(f"CPU time of the engine per sample, {device.name}", "ms", tuple(cost.engine)),
        Figure(f"CPU time of Pacenote per sample, {device.name}", "ms", tuple(cost.own)),
        Figure(f"time of a sample, {device.name}", "ms", tuple(cost.wall)),
    )


def _index_documents(client: RestClient) -> None:
    lines = "".join(
        f'{{"index": {{"_index": "index-{number % _INDICES}"}}}}\n{{"number": {number}}}\n'
        for number in range(1000)
    )
    if client.request("POST", "/_bulk?refresh=true", lines)["errors"]:
        raise BenchmarkError("documents could not be indexed")


def _sample(
    cluster: EmbeddedCluster, device: type[SampledDevice], telemetry: RaceTelemetry, count: int
) -> tuple[float, float, float]:
    """Returns CPU time of the engine and of this process, and wall time, of one sample in ms."""
    (node,) = cluster.local_nodes()
    idle_from, began = _cpu_ms(node.pid), time.monotonic()
    time.sleep(2.0)
    idle = (_cpu_ms(node.pid) - idle_from) / (time.monotonic() - began)
    connection = RestClient(cluster.hosts, 10.0, cluster.client_config)
    sampled = device(ObservedCluster(cluster.rest().get, None))
    try:
        engine, own, began = _cpu_ms(node.pid), time.process_time(), time.monotonic()
        for _ in range(count):
            _store(sampled, connection, telemetry)
        seconds = time.monotonic() - began
        used = _cpu_ms(node.pid) - engine - idle * seconds
        return used / count, 1000 * (time.process_time() - own) / count, 1000 * seconds / count
    finally:
        connection.close()


def _store(device: SampledDevice, connection: RestClient, telemetry: RaceTelemetry) -> None:
    """Takes a sample and stores it, as the thread of the device does."""
    figures = list(device.sample(connection))
    if not figures:
        raise BenchmarkError(f"a sample of {device.name} has no values")
    at_ns = telemetry.now_ns()
    telemetry.write([
        TelemetrySample(at_ns, device.name, one.name, one.value, one.unit, one.kind, one.labels)
        for one in figures
    ])


def _cpu_ms(pid: int) -> float:
    """Returns the CPU time of all threads of a process, as the scheduler counts it."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / 1e6

"""Reads `telemetry.parquet` of a race: its series cut to the tasks, and the figures of the host."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from pacenote.errors import StoreError
from pacenote.model.measured_window import measured_window
from pacenote.model.messages import DEFECT
from pacenote.model.race_record import RaceRecord
from pacenote.model.reported_cpu import node_places
from pacenote.model.result import TaskResult
from pacenote.model.snapshot import RaceSnapshot
from pacenote.model.task_observations import TaskObservation, task_observations, with_observations
from pacenote.model.telemetry_cuts import TelemetryCuts
from pacenote.model.telemetry_sample import TelemetrySample
from pacenote.stats.cpu_frequency import SERIES as FREQUENCY
from pacenote.stats.cpu_history import SERIES as CPU_TIMES
from pacenote.stats.cpu_history import Counters
from pacenote.stats.device_history import SERIES, Point, device_history
from pacenote.stats.host_figures import Figures, HostHistory, SampledHost, host_figures, node_cpu_figures

HOST = "host"
"""Source of the series of the host sampler."""


def telemetry_cuts(file: Path, tasks: Iterable[TaskResult] = ()) -> TelemetryCuts:
    """Returns the series of `telemetry.parquet`, cut to the measured windows of these tasks, and to the whole
    time of others. Raises StoreError.

    The last file that was read is kept, because several parts of a diagnosis need it.
    """
    windows = {task.task: measured_window(task) for task in tasks}
    measured = tuple((name, (window.from_s, window.length_s)) for name, window in windows.items())
    try:
        status = file.lstat()
    except OSError:
        return _read_cuts(file, (0, 0), measured)
    return _read_cuts(file, (status.st_mtime_ns, status.st_size), measured)


@lru_cache(maxsize=1)
def _read_cuts(
    file: Path, _version: tuple[int, int], measured: tuple[tuple[str, tuple[float, float]], ...]
) -> TelemetryCuts:
    from pacenote import _core  # Not needed for races without telemetry, such as imported ones.

    try:
        return TelemetryCuts.from_document(json.loads(_core.telemetry_cuts(str(file), dict(measured))))
    except _core.CoreError as error:
        raise StoreError(str(error)) from None


def device_readings(file: Path, device: str) -> Iterator[TelemetrySample]:
    """Yields what a device has read, in the order of time; the values of one reading about the same thing
    follow one another. Raises StoreError.
    """
    from pacenote import _core

    names = sorted({cut.name for cut in telemetry_cuts(file).series if cut.source == device})
    if not names:
        return
    try:
        series = _core.telemetry_points(str(file), device, names)
    except _core.CoreError as error:
        raise StoreError(str(error)) from None
    # Each series is sorted by time, and all of them may be too many for a copy.
    rows = heapq.merge(
        *(_rows(number, labels, points) for number, (_, _, labels, points) in enumerate(series))
    )
    for time_ns, labels, number, at in rows:
        name, unit, _, points = series[number]
        yield TelemetrySample(time_ns, device, name, points[at][1], unit, labels=dict(labels))


def _rows(
    number: int, labels: Mapping[str, str], points: Sequence[tuple[int, float | None]]
) -> Iterator[tuple[int, tuple[tuple[str, str], ...], int, int]]:
    """Yields time, labels, number of the series and position of each of its points."""
    key = tuple(sorted(labels.items()))
    yield from ((time_ns, key, number, at) for at, (time_ns, _) in enumerate(points))


def host_history(file: Path) -> HostHistory:
    """Returns what block devices and CPUs did from sample to sample. Raises StoreError."""
    from pacenote import _core

    points = dict[str, dict[str, list[Point]]]()
    frequencies = dict[str, list[Point]]()
    try:
        for name, _, labels, values in _core.telemetry_points(str(file), HOST, [*SERIES, FREQUENCY]):
            if name == FREQUENCY:
                frequencies[labels.get("cpu", "")] = values
            else:
                points.setdefault(labels.get("device", ""), {})[name] = values
    except _core.CoreError as error:
        raise StoreError(str(error)) from None
    devices = {device: device_history(series) for device, series in points.items()}
    return HostHistory(devices, frequencies)


def _cpu_times(file: Path, wanted: Iterable[frozenset[int]]) -> Counters:
    """Returns the times of processes and of these CPUs, an empty set for all of them together, from sample to
    sample. Raises StoreError.
    """
    from pacenote import _core

    numbers = {number for cpus in wanted for number in (map(str, cpus) if cpus else ("",))}
    try:
        series = _core.telemetry_points(str(file), HOST, list(CPU_TIMES))
    except _core.CoreError as error:
        raise StoreError(str(error)) from None
    return {
        (name, labels.get("process", labels.get("cpu", ""))): points
        for name, _, labels, points in series
        if "process" in labels or labels.get("cpu", "") in numbers
    }


def host_figures_by_task(
    file: Path, cuts: TelemetryCuts, telemetry: Mapping[str, Any], driver_cpus: str | None = None
) -> dict[str, Figures]:
    """Returns the figures of the sampled host by task; `cuts` are those of the file, `telemetry` that of the
    race record, and `driver_cpus` the CPUs that were selected for the driver.

    Raises StoreError if the file does not exist or cannot be read.
    """
    host = SampledHost.from_record(telemetry, driver_cpus)
    history = replace_fields(host_history(file), cpu_times=_cpu_times(file, [host.node_cpus]))
    return {
        task.task: host_figures(cuts.of_source(HOST, task.task), task, host, history) for task in cuts.tasks
    }


def node_figures_by_task(
    file: Path, cuts: TelemetryCuts, telemetry: Mapping[str, Any], driver_cpus: str | None = None
) -> dict[str, dict[str, Figures]]:
    """Returns, by task and node, the figures of the CPUs of nodes that may not use the same ones as all nodes
    of the sampled host; the parameters are those of `host_figures_by_task`. Raises StoreError.
    """
    host = SampledHost.from_record(telemetry, driver_cpus)
    own_cpus = host.own_cpus().values()
    history = HostHistory(cpu_times=_cpu_times(file, own_cpus)) if own_cpus else HostHistory()
    return {
        task.task: node_cpu_figures(cuts.of_source(HOST, task.task), task, host, history)
        for task in cuts.tasks
    }


def sampled_nodes(telemetry: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the nodes that ran on the sampled host; `telemetry` is that of the race record."""
    return SampledHost.from_record(telemetry).nodes


def observe_tasks(record: RaceRecord, file: Path, snapshot: RaceSnapshot | None) -> RaceRecord:
    """Returns the record with what `telemetry.parquet` says about its tasks that is a reason for the verdict.
    A file that cannot be read says nothing.
    """
    try:
        return with_observations(record, _observations(record, file, snapshot))
    except StoreError:
        return record
    except Exception as error:  # The race has been measured: telemetry does not make it fail.
        problem = f"state of cluster and host by task: {DEFECT}: {type(error).__name__}: {error}"
        return replace(record, telemetry_errors=(*record.telemetry_errors, problem))


def _observations(
    record: RaceRecord, file: Path, snapshot: RaceSnapshot | None
) -> dict[str, TaskObservation]:
    cuts = telemetry_cuts(file, record.tasks)
    driver_cpus = record.options.driver_cpus
    hosts = host_figures_by_task(file, cuts, record.telemetry, driver_cpus)
    nodes = sampled_nodes(record.telemetry)
    of_nodes = node_figures_by_task(file, cuts, record.telemetry, driver_cpus)
    sampled = {task: (figures, *of_nodes[task].values()) for task, figures in hosts.items()}
    facts = snapshot.before.facts if snapshot is not None else {}
    places = node_places(record.cluster.nodes, facts, nodes)
    return task_observations(cuts, facts, sampled, nodes, places)

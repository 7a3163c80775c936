"""What was observed of engine and host while each task ran, as far as it may be a reason for the verdict.

The samples themselves are in `telemetry.parquet`; the verdict rests on the race record alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.model.cluster_states import COUNTERS, ClusterState, cluster_states
from pacenote.model.race_record import RaceRecord
from pacenote.model.reported_cpu import LocalDriver, NodePlace, ReportedCpu, local_driver, reported_cpu
from pacenote.model.same_machine import NODES
from pacenote.model.task_kinds import diagnosed_tasks
from pacenote.model.telemetry_cuts import TelemetryCuts
from pacenote.model.telemetry_series import TaskSeries, ratio

KEY = "task-observations"
"""The key of `telemetry` in the race record that has them."""

_GAUGES = "node-gauges"
"""Source of the series of the queues of nodes."""

POOLS = ("search", "write")
"""The thread pools in whose queues operations wait for the engine."""

IDLE_SHARE = 0.3
"""Idle time of cores from which on their mean frequency says nothing: an idle one may run slowly."""


class TaskObservation(Struct, frozen=True):
    """What was observed while a task was measured; None for what is not known."""

    other_share: float | None = None
    """CPU time of programs beside engine and driver, as a share of the time of the cores that the engine may
    use, on the host on which that is the largest.
    """

    other_least_share: float | None = None
    """What that is at least, on a host on which it is not known how much of it the driver or interrupts had.
    """

    cluster: ClusterState = field(default_factory=ClusterState)
    """The worst state of the cluster."""

    lacked_share: float | None = None
    """What others had at most while the engine waited for a core, as a share of the processor time that it
    could have used, of the node that lacked most: guests of the host, and other programs while hardly any
    core was idle.
    """

    lacked_least_share: float | None = None
    """The same of other programs, at least, of nodes of which the time of the driver is not known."""

    steal_share: float | None = None
    """Time of the cores that the engine may use which the hypervisor gave to other guests, as a share, on the
    host that was sampled.
    """

    busy_frequency_hz: float | None = None
    """Mean frequency of these cores, if they were idle for less than `IDLE_SHARE` of the time."""

    used_share: float | None = None
    """CPU time of the engine as a share of all time of the cores that it may use: its own, that of other
    processes and other guests, and idle time. If one of these is not known, the least that it can be. Of
    several hosts, the largest.
    """

    queued: Mapping[str, float] = field(default_factory=dict)
    """Mean lengths of the queues of the `search` and the `write` pool, of the node with the longest, by pool.
    """

    lacked_possible_share: float | None = None
    """What other programs and guests had as `lacked_share`, if it is not known whether the engine waited for
    it, of the node with the most.
    """

    def to_document(self) -> dict[str, Any]:
        """Returns what is known, as JSON."""
        state = self.cluster
        figures = {
            "other_share": self.other_share,
            "other_least_share": self.other_least_share,
            "lacked_share": self.lacked_share,
            "lacked_least_share": self.lacked_least_share,
            "lacked_possible_share": self.lacked_possible_share,
            "steal_share": self.steal_share,
            "busy_frequency_hz": self.busy_frequency_hz,
            "used_share": self.used_share,
            "queued": dict(self.queued) or None,
            "health": state.health,
            "relocating_shards": state.relocating_shards,
            "above_watermark": state.above_watermark,
        }
        return {name: value for name, value in figures.items() if value is not None}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> TaskObservation:
        """Reads that again."""
        return cls(
            document.get("other_share"),
            document.get("other_least_share"),
            ClusterState(
                document.get("health"), document.get("relocating_shards"), document.get("above_watermark")
            ),
            document.get("lacked_share"),
            document.get("lacked_least_share"),
            document.get("steal_share"),
            document.get("busy_frequency_hz"),
            document.get("used_share"),
            _stored_queues(document.get("queued")),
            document.get("lacked_possible_share"),
        )


def task_observations(
    cuts: TelemetryCuts,
    facts: Mapping[str, str],
    figures: Mapping[str, Iterable[Mapping[str, float | str]]],
    sampled: Collection[str],
    places: Mapping[str, NodePlace] = MappingProxyType({}),
) -> dict[str, TaskObservation]:
    """Returns what was observed of each task. `facts` is the configuration of the engine; `figures` are
    those of the host that was sampled, by task: of all CPUs that the nodes `sampled` may use, and of those of
    single nodes. `places` is where nodes run.
    """
    states = cluster_states(cuts, facts)
    observations = {}
    for task in cuts.tasks:
        series, gauges = (
            TaskSeries(cuts.of_source(source, task.task), task.duration_s) for source in (COUNTERS, _GAUGES)
        )
        driver = local_driver(cuts, task.task, task.duration_s)
        reported = tuple(_reported(series, facts, sampled, places, driver))
        of_host = tuple(figures.get(task.task, ()))
        observations[task.task] = TaskObservation(
            _largest(of_host, "cpu.other_share", (cpu.other_share for cpu in reported)),
            _largest(of_host, "cpu.other_least_share", (cpu.other_least_share for cpu in reported)),
            states[task.task],
            _largest(of_host, "cpu.lacked_share", (cpu.lacked_share for cpu in reported)),
            _largest(of_host, "cpu.lacked_least_share", (cpu.lacked_least_share for cpu in reported)),
            _largest(of_host, "cpu.steal_share") if sampled else None,
            _busy_frequency(of_host) if sampled else None,
            _largest_of(*map(_used_share, of_host), *(cpu.used_share for cpu in reported)),
            _longest_queues(gauges, series.values_of(NODES, "node")),
            _largest(of_host, "cpu.lacked_possible_share", (cpu.lacked_possible_share for cpu in reported)),
        )
    return observations


def _largest(
    figures: Iterable[Mapping[str, float | str]], name: str, others: Iterable[float | None] = ()
) -> float | None:
    return _largest_of(*(host.get(name) for host in figures), *others)


def _largest_of(*values: float | str | None) -> float | None:
    return max((value for value in values if isinstance(value, float)), default=None)


def _used_share(host: Mapping[str, float | str]) -> float | None:
    """Returns the share that the engine had of what it could have: what driver, other programs and other
    guests had, too, because an engine that needs it gets a part of it. If it is not known what one of them
    had, it may be all that remains, and the engine had at least its share of the whole time.
    """
    engine, idle, driver, other, stolen, further = (
        host.get(f"cpu.{name}_share")
        for name in ("engine", "idle", "driver", "other", "steal", "further_engines")
    )
    if not isinstance(engine, float):
        return None
    if not (isinstance(idle, float) and isinstance(driver, float) and isinstance(other, float)):
        return min(engine, 1.0)
    # A kernel that does not count stolen time counts all time without it.
    rest = sum(share for share in (stolen, further) if isinstance(share, float))
    return ratio(engine, engine + idle + driver + other + rest)


def _longest_queues(gauges: TaskSeries, nodes: Iterable[str]) -> dict[str, float]:
    names, longest = tuple(nodes), {}
    for pool in POOLS:
        lengths = [gauges.mean(f"thread_pool.{pool}.queue", node=node) for node in names]
        if known := [length for length in lengths if length is not None]:
            longest[pool] = max(known)
    return longest


def _stored_queues(stored: object) -> dict[str, float]:
    """Returns the lengths of queues from a document. An older version stored the longest one alone, which may
    be that of any pool: it says nothing about that of a task.
    """
    if not isinstance(stored, Mapping):
        return {}
    return {str(pool): float(length) for pool, length in stored.items() if isinstance(length, int | float)}


def _busy_frequency(figures: Iterable[Mapping[str, float | str]]) -> float | None:
    """Returns the frequency of the cores of all nodes, unless they were often idle, and slow then."""
    for host in figures:
        frequency, idle = host.get("cpu.frequency_hz"), host.get("cpu.idle_share")
        if isinstance(frequency, float) and isinstance(idle, float) and idle < IDLE_SHARE:
            return frequency
    return None


def _reported(
    series: TaskSeries,
    facts: Mapping[str, str],
    sampled: Collection[str],
    places: Mapping[str, NodePlace],
    driver: LocalDriver | None,
) -> Iterator[ReportedCpu]:
    for node in series.values_of(NODES, "node"):
        if node not in sampled:
            # The setting `node.processors` changes the allocated ones, but not what the node can use.
            named = (
                facts.get(f"node.{node}.os.{kind}_processors", "") for kind in ("available", "allocated")
            )
            known = next((float(cores) for cores in named if cores.isdecimal()), None)
            yield reported_cpu(series, node, known, places.get(node, NodePlace()), driver)


def measured_observations(record: RaceRecord) -> dict[str, TaskObservation]:
    """Returns what was observed of the tasks of a race that count; empty if nothing was."""
    documents = record.telemetry.get(KEY)
    if not isinstance(documents, Mapping):
        return {}
    measured = [task.task for task in diagnosed_tasks(record)]
    return {task: TaskObservation.from_document(documents[task]) for task in measured if task in documents}


def lacked_shares(record: RaceRecord) -> dict[str, float]:
    """Returns, by task, which share of the processor time that the engine could have used others had while it
    waited, as far as that is known: at most, or at least if only that is known.
    """
    documents = record.telemetry.get(KEY)
    if not isinstance(documents, Mapping):
        return {}
    observations = {task: TaskObservation.from_document(document) for task, document in documents.items()}
    shares = {
        task: (observation.lacked_share, observation.lacked_least_share)
        for task, observation in observations.items()
    }
    return {
        task: max(share for share in known if share is not None)
        for task, known in shares.items()
        if any(share is not None for share in known)
    }


def possible_lacked_shares(record: RaceRecord) -> dict[str, float]:
    """Returns, by task, which share of the processor time that the engine could have used others had, of the
    tasks of which it is not known whether the engine waited for it.
    """
    documents = record.telemetry.get(KEY)
    if not isinstance(documents, Mapping):
        return {}
    observations = {task: TaskObservation.from_document(document) for task, document in documents.items()}
    shares = {task: observation.lacked_possible_share for task, observation in observations.items()}
    return {task: share for task, share in shares.items() if share is not None}


def signs_of_saturation(record: RaceRecord) -> dict[str, TaskObservation]:
    """Returns, by task, what was observed that may show whether the engine could do more: `used_share` and
    `queued`.
    """
    documents = record.telemetry.get(KEY)
    if not isinstance(documents, Mapping):
        return {}
    observations = {task: TaskObservation.from_document(document) for task, document in documents.items()}
    return {
        task: TaskObservation(used_share=observation.used_share, queued=observation.queued)
        for task, observation in observations.items()
    }


def busy_frequencies(record: RaceRecord) -> dict[str, float]:
    """Returns, by task, the mean frequency in Hz of the cores that the engine kept busy, as far as that is
    known.
    """
    documents = record.telemetry.get(KEY)
    if not isinstance(documents, Mapping):
        return {}
    frequencies = {
        task: document.get("busy_frequency_hz")
        for task, document in documents.items()
        if isinstance(document, Mapping)
    }
    return {
        task: float(value)
        for task, value in frequencies.items()
        if isinstance(value, int | float) and value > 0
    }


def with_observations(record: RaceRecord, observations: Mapping[str, TaskObservation]) -> RaceRecord:
    """Returns a record with what was observed of its tasks."""
    documents = {
        task: document
        for task, observation in observations.items()
        if (document := observation.to_document())
    }
    return replace(record, telemetry={**record.telemetry, KEY: documents}) if documents else record

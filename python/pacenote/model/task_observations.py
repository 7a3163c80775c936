"""What was observed of engine and host while each task ran, as far as it is a reason for the verdict.

The samples themselves are in `telemetry.parquet`; the verdict rests on the race record alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pacenote.model.cluster_states import COUNTERS, ClusterState, cluster_states
from pacenote.model.driver_facts import own_cores
from pacenote.model.driver_health import STOLEN_SHARE, STOLEN_SHARE_OF_FIGURES
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import RaceRecord
from pacenote.model.reported_cpu import NODES, ReportedCpu, reported_cpu
from pacenote.model.task_kinds import diagnosed_tasks
from pacenote.model.telemetry_cuts import TelemetryCuts
from pacenote.model.telemetry_series import TaskSeries
from pacenote.units import format_count, format_excess

KEY = "task-observations"
"""The key of `telemetry` in the race record that has them."""

OTHER_SHARE = 0.20
"""Highest acceptable CPU time of other programs on a host of the engine, as a share of all of its cores."""

IDLE_SHARE = 0.3
"""Idle time of cores from which on their mean frequency says nothing: an idle one may run slowly."""

_CALM = "wait until the cluster is green and idle, and repeat the race"


@dataclass(frozen=True, slots=True)
class TaskObservation:
    """What was observed while a task ran; None for what is not known."""

    other_share: float | None = None
    """CPU time of programs beside engine and driver, as a share of the time of the cores that the engine may
    use, on the host on which that is the largest.
    """

    other_least_share: float | None = None
    """What that is at least, on a host on which it is not known how much of it the driver had."""

    cluster: ClusterState = field(default_factory=ClusterState)
    """The worst state of the cluster."""

    lacked_share: float | None = None
    """What other programs and guests of the host had at most while the engine waited for a core, as a share
    of the processor time that the engine could have used, of the node that lacked most.
    """

    steal_share: float | None = None
    """Time of the cores that the engine may use which the hypervisor gave to other guests, as a share, on the
    host that was sampled.
    """

    busy_frequency_hz: float | None = None
    """Mean frequency of these cores, if they were idle for less than `IDLE_SHARE` of the time."""

    def to_document(self) -> dict[str, Any]:
        """Returns what is known, as JSON."""
        state = self.cluster
        found = {
            "other_share": self.other_share,
            "other_least_share": self.other_least_share,
            "lacked_share": self.lacked_share,
            "steal_share": self.steal_share,
            "busy_frequency_hz": self.busy_frequency_hz,
            "health": state.health,
            "relocating_shards": state.relocating_shards,
            "above_watermark": state.above_watermark,
        }
        return {name: value for name, value in found.items() if value is not None}

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
            document.get("steal_share"),
            document.get("busy_frequency_hz"),
        )


def task_observations(
    cuts: TelemetryCuts,
    facts: Mapping[str, str],
    figures: Mapping[str, Iterable[Mapping[str, float | str]]],
    sampled: Collection[str],
    beside: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> dict[str, TaskObservation]:
    """Returns what was observed of each task. `facts` is the configuration of the engine; `figures` are
    those of the host that was sampled, by task: of all CPUs that the nodes `sampled` may use, and of those of
    single nodes. `beside` has the other nodes on the host of each node.
    """
    states = cluster_states(cuts, facts)
    found = {}
    for task in cuts.tasks:
        series = TaskSeries(cuts.of_source(COUNTERS, task.task), task.duration_s)
        reported = tuple(_reported(series, facts, sampled, beside))
        of_host = tuple(figures.get(task.task, ()))
        found[task.task] = TaskObservation(
            _largest(of_host, "cpu.other_share", (cpu.other_share for cpu in reported)),
            _largest(of_host, "cpu.other_least_share"),
            states[task.task],
            _largest(of_host, "cpu.lacked_share", (cpu.lacked_share for cpu in reported)),
            _largest(of_host, "cpu.steal_share") if sampled else None,
            _busy_frequency(of_host) if sampled else None,
        )
    return found


def _largest(
    figures: Iterable[Mapping[str, float | str]], name: str, others: Iterable[float | None] = ()
) -> float | None:
    values = (*(host.get(name) for host in figures), *others)
    return max((value for value in values if isinstance(value, float)), default=None)


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
    beside: Mapping[str, Collection[str]],
) -> Iterator[ReportedCpu]:
    for node in series.values_of(NODES, "node"):
        if node not in sampled:
            # The setting `node.processors` changes the allocated ones, but not what the node can use.
            named = (
                facts.get(f"node.{node}.os.{each}_processors", "") for each in ("available", "allocated")
            )
            known = next((float(cores) for cores in named if cores.isdecimal()), None)
            yield reported_cpu(series, node, known, beside.get(node, ()))


def observed_findings(record: RaceRecord) -> Iterator[Finding]:
    """Yields the reasons why a race is suspect that were observed on the engine's side."""
    found = measured_observations(record)
    yield from machine_findings(record.driver, found)
    states = {task: each.cluster for task, each in found.items()}
    yield from _cluster_states(states, len(record.cluster.nodes))


def measured_observations(record: RaceRecord) -> dict[str, TaskObservation]:
    """Returns what was observed of the tasks of a race that count; empty if nothing was."""
    documents = record.telemetry.get(KEY)
    if not isinstance(documents, Mapping):
        return {}
    measured = [task.task for task in diagnosed_tasks(record)]
    return {task: TaskObservation.from_document(documents[task]) for task in measured if task in documents}


def machine_findings(driver: Mapping[str, object], found: Mapping[str, TaskObservation]) -> Iterator[Finding]:
    """Yields what other programs and machines took from the engine; `driver` is what the driver reports."""
    yield from _other_programs(found)
    yield from _stolen(driver, found)


def _other_programs(found: Mapping[str, TaskObservation]) -> Iterator[Finding]:
    above = {task: share for task, each in found.items() if (share := _other_share(each)) > OTHER_SHARE}
    if above:
        worst = max(above, key=lambda task: above[task])
        up_to = "up to " if len(above) > 1 else ""
        or_more = " or more" if (found[worst].other_share or 0.0) < above[worst] else ""
        largest = format_excess(above[worst], OTHER_SHARE)
        yield Finding(
            f"programs beside engine and driver used {up_to}{largest}{or_more} of the processor time of the "
            f"cores that the engine may use (limit {OTHER_SHARE * 100:.0f} %)",
            "machine",
            "stop them, and repeat the race on a quiet machine",
            tuple(above),
        )


def _other_share(observation: TaskObservation) -> float:
    """Returns what other programs used, as far as that is known."""
    return max(observation.other_share or 0.0, observation.other_least_share or 0.0)


def _stolen(driver: Mapping[str, object], found: Mapping[str, TaskObservation]) -> Iterator[Finding]:
    """Reports time that was stolen from the cores of the engine, unless that is reported of all cores, and
    makes as many figures doubtful.
    """
    of_driver = own_cores(driver)
    of_all = of_driver.stolen_share if of_driver.numbers is None else 0.0
    shares = {task: each.steal_share for task, each in found.items() if each.steal_share is not None}
    doubtful = {task: share for task, share in shares.items() if share > STOLEN_SHARE_OF_FIGURES}
    other = {task: share for task, share in shares.items() if STOLEN_SHARE < share <= STOLEN_SHARE_OF_FIGURES}
    # A disturbance of one task says nothing about the figures of another one.
    for above, doubtful_from, limit in (
        (doubtful, EVERYTHING, STOLEN_SHARE_OF_FIGURES),
        (other, None, STOLEN_SHARE),
    ):
        if above and of_all <= limit:
            worst = format_excess(max(above.values()), STOLEN_SHARE)
            up_to = "up to " if len(above) > 1 else ""
            yield Finding(
                f"other virtual machines took {up_to}{worst} of the processor time of the cores that the "
                f"engine may use (limit {STOLEN_SHARE * 100:.0f} %)",
                "machine",
                "repeat on a quiet host, or on one with cores of its own",
                tuple(above),
                doubtful_from,
            )


def lacked_shares(record: RaceRecord) -> dict[str, float]:
    """Returns, by task, which share of the processor time that the engine could have used others had at most
    while it waited, as far as that is known.
    """
    documents = record.telemetry.get(KEY)
    if not isinstance(documents, Mapping):
        return {}
    found = {task: TaskObservation.from_document(document) for task, document in documents.items()}
    return {task: each.lacked_share for task, each in found.items() if each.lacked_share is not None}


def busy_frequencies(record: RaceRecord) -> dict[str, float]:
    """Returns, by task, the mean frequency in Hz of the cores that the engine kept busy, as far as that is
    known.
    """
    documents = record.telemetry.get(KEY)
    if not isinstance(documents, Mapping):
        return {}
    found = {
        task: document.get("busy_frequency_hz")
        for task, document in documents.items()
        if isinstance(document, Mapping)
    }
    return {
        task: float(value) for task, value in found.items() if isinstance(value, int | float) and value > 0
    }


def _cluster_states(states: Mapping[str, ClusterState], nodes: int) -> Iterator[Finding]:
    """Yields states in which the cluster did other work, or lacked data. With one node, replicas are not
    allocated, so that yellow is as good as it gets.
    """
    bad = ("yellow", "red") if nodes > 1 else ("red",)
    for health in bad:
        if tasks := tuple(task for task, state in states.items() if state.health == health):
            yield Finding(f"the cluster was {health}", "engine", _CALM, tasks)
    moved = {task: state.relocating_shards for task, state in states.items() if state.relocating_shards}
    if moved:
        shards = format_count(round(max(moved.values())), "shard")
        text = f"the cluster moved {shards} between nodes at a time"
        yield Finding(text, "engine", _CALM, tuple(moved))
    if full := tuple(task for task, state in states.items() if state.above_watermark):
        yield Finding(
            "the disk of a node is fuller than the low watermark of the engine",
            "engine",
            "free space on its disk, and repeat the race",
            full,
        )


def with_observations(record: RaceRecord, found: Mapping[str, TaskObservation]) -> RaceRecord:
    """Returns a record with what was observed of its tasks."""
    documents = {task: document for task, each in found.items() if (document := each.to_document())}
    return replace(record, telemetry={**record.telemetry, KEY: documents}) if documents else record

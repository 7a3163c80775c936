"""What the machine did during a probe: the checks that a race has of the hosts of its engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pacenote.errors import StoreError
from pacenote.evidence.telemetry_values import (
    host_figures_by_task,
    node_figures_by_task,
    sampled_nodes,
    telemetry_cuts,
)
from pacenote.lab.probe import MachineUse
from pacenote.model.finding import Finding
from pacenote.model.task_observations import TaskObservation, task_observations
from pacenote.race.context import RaceContext
from pacenote.race.drive import DriveResult
from pacenote.race.observed_host import observed_host
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.store.race_folder import RaceFolder
from pacenote.units import format_excess
from pacenote.verdict.observation_rules import lacked_most, machine_findings, used_by_others
from pacenote.verdict.schedule_rules import LACKED_SHARE


class ProbeHost:
    """The host of one run, which is sampled as in a race: to `telemetry.parquet` of its folder."""

    def __init__(self, context: RaceContext, folder: RaceFolder) -> None:
        nodes, others = context.cluster.local_nodes(), context.snapshots.engines
        self._file = folder.telemetry
        host = observed_host(nodes, context.request.driver_cpus, others)
        self._engine_cpus = host.node_cpus() if host.nodes else None
        self._telemetry = RaceTelemetry(folder, host)
        # Without it, a search would not know of other programs, whatever telemetry a race has.
        self._telemetry.start_sampler()

    def end(self, driven: DriveResult | None, task: str) -> MachineUse:
        """Ends the sampler, and returns what others took from the engine while the task was measured. A host
        that could not be sampled has no findings, as in a race.
        """
        values, _ = self._telemetry.close(driven)
        if driven is None:
            return MachineUse()
        return machine_use(driven.summary, task, self._observation(values, driven, task), self._engine_cpus)

    def _observation(self, values: Mapping[str, Any], driven: DriveResult, task: str) -> TaskObservation:
        try:
            cuts = telemetry_cuts(self._file, driven.tasks)
            hosts = host_figures_by_task(self._file, cuts, values)
            of_nodes = node_figures_by_task(self._file, cuts, values)
        except StoreError:
            return TaskObservation()
        sampled = {name: (figures, *of_nodes[name].values()) for name, figures in hosts.items()}
        return task_observations(cuts, {}, sampled, sampled_nodes(values)).get(task, TaskObservation())


def machine_use(
    driver: Mapping[str, object],
    task: str,
    observation: TaskObservation,
    engine_cpus: Collection[int] | None,
) -> MachineUse:
    """Returns what others took from the engine during a task. `driver` is what the driver reports, and
    `engine_cpus` are the CPUs of the engine, if it runs on the driver's machine: none for all.
    """
    findings = (*machine_findings(driver, {task: observation}), *_lacked(task, observation))
    return MachineUse(findings, used_by_others(driver, observation, engine_cpus))


def _lacked(task: str, observation: TaskObservation) -> Iterator[Finding]:
    lacked = lacked_most(observation)
    if lacked > LACKED_SHARE:
        bound = "least" if lacked == observation.lacked_least_share else "most"
        yield Finding(
            f"other programs or virtual machines had at {bound} {format_excess(lacked, LACKED_SHARE)} of the "
            f"processor time that the engine could have used (limit {LACKED_SHARE * 100:.0f} %)",
            "machine",
            "stop them, and repeat the search on a quiet machine",
            (task,),
        )

"""What the machine did during a probe: the checks that a race has of the hosts of its engine."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.errors import StoreError
from pacenote.evidence.telemetry_values import (
    host_figures_by_task,
    node_figures_by_task,
    sampled_nodes,
    telemetry_cuts,
)
from pacenote.model.finding import Finding
from pacenote.model.task_observations import TaskObservation, task_observations
from pacenote.race.context import RaceContext
from pacenote.race.drive import DriveResult
from pacenote.race.observed_host import observed_host
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.store.race_folder import RaceFolder
from pacenote.units import format_excess
from pacenote.verdict.observation_rules import machine_findings
from pacenote.verdict.schedule_rules import LACKED_SHARE


class ProbeHost:
    """The host of one run, which is sampled as in a race: to `telemetry.parquet` of its folder."""

    def __init__(self, context: RaceContext, folder: RaceFolder) -> None:
        nodes, others = context.cluster.local_nodes(), context.snapshots.engines
        self._file = folder.telemetry
        self._telemetry = RaceTelemetry(folder, observed_host(nodes, context.request.driver_cpus, others))
        # Without it, a search would not know of other programs, whatever telemetry a race has.
        self._telemetry.start_sampler()

    def end(self, driven: DriveResult | None, task: str) -> tuple[Finding, ...]:
        """Ends the sampler, and returns what may have disturbed the task. A host that could not be sampled
        has no findings, as in a race.
        """
        values, _ = self._telemetry.close(driven)
        if driven is None:
            return ()
        try:
            cuts = telemetry_cuts(self._file)
            hosts = host_figures_by_task(self._file, cuts, values)
        except StoreError:
            return ()
        of_nodes = node_figures_by_task(cuts, values)
        sampled = {name: (figures, *of_nodes[name].values()) for name, figures in hosts.items()}
        found = task_observations(cuts, {}, sampled, sampled_nodes(values)).get(task, TaskObservation())
        return tuple(_findings(driven, task, found))


def _findings(driven: DriveResult, task: str, found: TaskObservation) -> Iterator[Finding]:
    yield from machine_findings(driven.summary, {task: found})
    # Whether the engine waited for what others had may not be known.
    most = max(found.lacked_share or 0.0, found.lacked_possible_share or 0.0)
    least = found.lacked_least_share or 0.0
    lacked = max(most, least)
    if lacked > LACKED_SHARE:
        bound = "most" if most >= least else "least"
        yield Finding(
            f"other programs or virtual machines had at {bound} {format_excess(lacked, LACKED_SHARE)} of the "
            f"processor time that the engine could have used (limit {LACKED_SHARE * 100:.0f} %)",
            "machine",
            "stop them, and repeat the search on a quiet machine",
            (task,),
        )

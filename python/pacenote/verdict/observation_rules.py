"""Rules about what was observed of engine and host while each task ran."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pacenote.model.cluster_states import ClusterState
from pacenote.model.driver_facts import cores_around, own_cores
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import RaceRecord
from pacenote.model.task_observations import TaskObservation, measured_observations
from pacenote.units import format_count, format_excess
from pacenote.verdict.driver_health import STOLEN_SHARE, STOLEN_SHARE_OF_FIGURES, STOLEN_SHARE_OF_WINDOW
from pacenote.verdict.schedule_rules import LACKED_SHARE

OTHER_SHARE = 0.20
"""Highest acceptable CPU time of other programs on a host of the engine, as a share of all of its cores."""

_CALM = "wait until the cluster is green and idle, and repeat the race"


def observed_findings(record: RaceRecord) -> Iterator[Finding]:
    """Yields the reasons why a race is suspect that were observed on the engine's side."""
    observations = measured_observations(record)
    yield from machine_findings(record.driver, observations)
    states = {task: each.cluster for task, each in observations.items()}
    yield from _cluster_states(states, len(record.cluster.nodes))


def machine_findings(
    driver: Mapping[str, object], observations: Mapping[str, TaskObservation]
) -> Iterator[Finding]:
    """Yields what other programs and machines took from the engine; `driver` is what the driver reports."""
    yield from _other_programs(observations)
    yield from _stolen(driver, observations)


def used_by_others(
    driver: Mapping[str, object], observation: TaskObservation, engine_cpus: Collection[int] | None
) -> bool:
    """Returns whether other programs or machines used the cores of the engine beyond a limit while a task
    ran. `engine_cpus` are the numbers of these cores, if they are of the driver's machine: none for all.

    `machine_findings` does not show it, because it leaves out what is reported of the driver's cores. The
    worst ten seconds are known of these and of all cores.
    """
    if _other_share(observation) > OTHER_SHARE or lacked_most(observation) > LACKED_SHARE:
        return True
    if (observation.steal_share or 0.0) > STOLEN_SHARE:
        return True
    if engine_cpus is None:
        return False
    cores = cores_around(driver, engine_cpus)
    return cores.stolen_share > STOLEN_SHARE or cores.most_stolen_share > STOLEN_SHARE_OF_WINDOW


def lacked_most(observation: TaskObservation) -> float:
    """Returns what others had of the processor time that the engine could have used, as far as it is known:
    at most, also if it is not known whether the engine waited for it, or at least.
    """
    known = max(observation.lacked_share or 0.0, observation.lacked_least_share or 0.0)
    return max(known, observation.lacked_possible_share or 0.0)


def _other_programs(observations: Mapping[str, TaskObservation]) -> Iterator[Finding]:
    above = {
        task: share for task, each in observations.items() if (share := _other_share(each)) > OTHER_SHARE
    }
    if above:
        worst = max(above, key=lambda task: above[task])
        up_to = "up to " if len(above) > 1 else ""
        or_more = " or more" if (observations[worst].other_share or 0.0) < above[worst] else ""
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


def _stolen(driver: Mapping[str, object], observations: Mapping[str, TaskObservation]) -> Iterator[Finding]:
    """Reports time that was stolen from the cores of the engine, unless that is reported of all cores, and
    makes as many figures doubtful.
    """
    of_driver = own_cores(driver)
    of_all = of_driver.stolen_share if of_driver.numbers is None else 0.0
    shares = {task: each.steal_share for task, each in observations.items() if each.steal_share is not None}
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

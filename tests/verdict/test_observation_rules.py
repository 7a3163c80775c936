"""What other programs and the cluster did while tasks ran makes a race suspect."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from diagnose.cuts import TASK
from pacenote.model.cluster_states import ClusterState
from pacenote.model.race_record import RaceRecord, RecordedCluster
from pacenote.model.task_observations import (
    TaskObservation,
    with_observations,
)
from pacenote.verdict.determine import determine_verdict
from pacenote.verdict.observation_rules import OTHER_SHARE
from support.records import bulk, judged, record, task

NODES = ({"name": "a"}, {"name": "b"})


def race(observation: TaskObservation, nodes: int = 1) -> RaceRecord:
    """A race of one task during which this was observed."""
    cluster = RecordedCluster("opensearch", "3.3.0", nodes=NODES[:nodes])
    return with_observations(record(tasks=(bulk(),), cluster=cluster), {TASK: observation})


def test_other_programs_on_the_host_of_the_engine_make_a_race_suspect() -> None:
    assert judged(race(TaskObservation(other_share=0.436))) == (
        "suspect",
        (
            "index-append: programs beside engine and driver used 44 % of the processor time of the cores "
            "that the engine may use (limit 20 %): stop them, and repeat the race on a quiet machine",
        ),
    )
    least = race(TaskObservation(other_least_share=0.436))
    assert "used 44 % or more of the processor time" in judged(least)[1][0]
    assert judged(race(TaskObservation(other_share=OTHER_SHARE)))[0] == "valid"
    assert judged(race(TaskObservation()))[0] == "valid"


@pytest.mark.parametrize(
    ("state", "nodes", "reason"),
    [
        (ClusterState(health="yellow"), 2, "the cluster was yellow"),
        (ClusterState(health="yellow"), 1, ""),
        (ClusterState(health="red"), 1, "the cluster was red"),
        (ClusterState(health="green", relocating_shards=0.0, above_watermark=False), 2, ""),
        (ClusterState(relocating_shards=3.0), 2, "the cluster moved 3 shards between nodes at a time"),
        (ClusterState(above_watermark=True), 1, "the disk of a node is fuller than the low watermark"),
    ],
)
def test_a_cluster_that_is_not_healthy_or_busy_with_itself_makes_a_race_suspect(
    state: ClusterState, nodes: int, reason: str
) -> None:
    verdict = determine_verdict(race(TaskObservation(cluster=state), nodes))
    assert verdict.state == ("suspect" if reason else "valid")
    assert [finding.text.startswith(reason) for finding in verdict.findings] == ([True] if reason else [])


def test_time_that_was_stolen_from_the_cores_of_the_engine_makes_a_race_suspect() -> None:
    reason = (
        "index-append: other virtual machines took 12 % of the processor time of the cores that the engine "
        "may use (limit 5 %): repeat on a quiet host, or on one with cores of its own"
    )
    stolen = race(TaskObservation(steal_share=0.12))
    assert judged(stolen) == ("suspect", (reason,))
    assert judged(race(TaskObservation(steal_share=0.05)))[0] == "valid"

    def reasons(share: float, of_all: float) -> tuple[str, ...]:
        raced = race(TaskObservation(steal_share=share))
        return judged(replace(raced, driver={**raced.driver, "machine": {"stolen_share": of_all}}))[1]

    for share, of_all in ((0.06, 0.06), (0.12, 0.11)):
        [text] = reasons(share, of_all)
        assert "stolen by other virtual machines" in text
    # That of all cores makes no figure doubtful.
    assert len(reasons(0.12, 0.06)) == 2
    # The cores of the driver are not those of the engine.
    of_driver = {"machine": {"stolen_share": 0.09}, "cpus": {"numbers": [1], "stolen_share": 0.06}}
    assert len(judged(replace(stolen, driver={**stolen.driver, **of_driver}))[1]) == 2


def test_stolen_time_of_one_task_does_not_make_the_figures_of_another_doubtful() -> None:
    shares = {"much": 0.12, "little": 0.06, "more": 0.11, "none": 0.05}
    observations = {name: TaskObservation(steal_share=share) for name, share in shares.items()}
    stolen = with_observations(record(tasks=tuple(task(name) for name in observations)), observations)
    findings = determine_verdict(stolen).findings
    assert [(finding.tasks, finding.makes_doubtful) for finding in findings] == [
        (("much", "more"), True),
        (("little",), False),
    ]
    assert "took up to 12 %" in findings[0].text
    assert "took 6 %" in findings[1].text


def test_only_tasks_that_are_measured_count() -> None:
    once = task("force-merge", operation_type="force-merge", clients=1, throughput=None)
    once = replace(once, accounting=replace(once.accounting, operations=1))
    observations = {name: TaskObservation(other_share=0.9) for name in ("force-merge", "cleanup", "unknown")}
    quiet = record(tasks=(bulk(), once, task("cleanup")), unreported=("cleanup",))
    assert determine_verdict(with_observations(quiet, observations)).state == "valid"

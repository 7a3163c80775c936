"""What others took from the engine during a probe, and the failures that it excuses."""

from __future__ import annotations

import pytest

from pacenote.lab.probe import RunEvidence, evaluate_probe
from pacenote.lab.probe_host import machine_use
from pacenote.model.result import OperationTotals, Throughput, WorkTotals
from pacenote.model.saturation import LatencyLimit, Objective, Probe
from pacenote.model.task_observations import TaskObservation
from support.records import paced, times

OBJECTIVE = Objective((LatencyLimit(99.0, 10.0),), error_rate=0.01)

OVERLOADED = paced(
    window_operations=2000,
    window_s=20.0,
    throughput=Throughput(*[98.0] * 4),
    work=WorkTotals(1960, 40),
    error_rate=0.02,
    latency=times(count=1960),
    accounting=OperationTotals(2000, 1960, 40, 0, 0, 0, 2000, 2000),
    reported_failures=40,
    overload_failures=40,
)
"""A probe of which the engine rejected 2 % of the operations, because it could not keep up."""


def probe(
    driver: dict[str, object], seen: TaskObservation, engine_cpus: tuple[int, ...] | None = ()
) -> Probe:
    evidence = RunEvidence(driver, machine_use(driver, "term", seen, engine_cpus))
    return evaluate_probe(1, 100.0, OVERLOADED, OBJECTIVE, evidence)


def stolen(share: float, numbers: list[int] | None = None, *, worst: float = 0.0) -> dict[str, object]:
    """Returns what a driver on these cores reports if others took a share of their time, and `worst` in ten
    seconds.
    """
    cores = {"stolen_share": share, "most_stolen": {"share": worst or share, "from_s": 3.0}}
    return {"machine": cores, "cpus": cores | {"numbers": numbers, "count": len(numbers or (0, 1))}}


@pytest.mark.parametrize("share", [0.06, 0.08, 0.12])
@pytest.mark.parametrize("numbers", [None, [0]])
def test_rejections_while_guests_used_the_cores_of_the_engine_are_excused(
    share: float, numbers: list[int] | None
) -> None:
    """Whether this is reported of the cores of the driver, of those of the engine, or of both."""
    evaluated = probe(stolen(share, numbers), TaskObservation(steal_share=share, lacked_share=share))
    assert evaluated.outcome == "void"
    assert any("by other virtual machines" in reason for reason in evaluated.reasons)


@pytest.mark.parametrize(
    ("driver", "engine_cpus", "outcome"),
    [
        (stolen(0.04, worst=0.24), (), "void"),
        (stolen(0.04, worst=0.24), (1,), "void"),
        (stolen(0.04, [0], worst=0.24), (0,), "void"),
        # Those of the machine are known as well.
        (stolen(0.04, [0], worst=0.24), (), "void"),
        (stolen(0.04, [0], worst=0.24) | {"machine": {"stolen_share": 0.02}}, (1,), "failed"),
        (stolen(0.04, worst=0.19), (), "failed"),
        # The engine runs on another machine.
        (stolen(0.04, worst=0.24), None, "failed"),
        (stolen(0.3), None, "failed"),
        # The engine could not be sampled.
        (stolen(0.3), (), "void"),
    ],
)
def test_ten_seconds_in_which_guests_used_these_cores_are_enough(
    driver: dict[str, object], engine_cpus: tuple[int, ...] | None, outcome: str
) -> None:
    seen = TaskObservation(steal_share=None if engine_cpus is None else 0.04)
    assert probe(driver, seen, engine_cpus).outcome == outcome


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (TaskObservation(other_share=0.21), "void"),
        (TaskObservation(other_least_share=0.21), "void"),
        (TaskObservation(other_share=0.2, lacked_share=0.1, steal_share=0.05), "failed"),
        (TaskObservation(lacked_share=0.11), "void"),
        (TaskObservation(lacked_least_share=0.11), "void"),
        (TaskObservation(), "failed"),
    ],
)
def test_rejections_while_other_programs_used_the_cores_of_the_engine_are_excused(
    seen: TaskObservation, outcome: str
) -> None:
    assert probe({}, seen, None).outcome == outcome


def test_the_bound_of_what_the_engine_lacked_is_stated() -> None:
    for seen, bound in (
        (TaskObservation(lacked_share=0.2), "at most 20 %"),
        (TaskObservation(lacked_least_share=0.2, lacked_share=0.1), "at least 20 %"),
    ):
        (finding,) = machine_use({}, "term", seen, None).findings
        assert bound in finding.text


@pytest.mark.parametrize(
    ("scheduling", "changes", "outcome"),
    [
        ({"workers": "realtime", "health": "realtime", "demotions": 0, "tasks": []}, {}, "failed"),
        ({"workers": "realtime", "health": "realtime"}, {"underrun_s": 0.1}, "void"),
        ({"workers": "realtime", "health": "realtime", "tasks": [{"index": 0, "share": 0.3}]}, {}, "void"),
        ({"workers": "short_slice", "health": "short_slice", "tasks": []}, {}, "void"),
        ({}, {}, "void"),
    ],
)
def test_a_quota_of_a_container_with_the_engine_excuses_it_only_if_it_stopped_the_driver(
    scheduling: dict[str, object], changes: dict[str, object], outcome: str
) -> None:
    throttling = {"group": "/docker/x", "throttled_s": 8.0, "periods": 90, "share": 0.32, "cores": 2}
    slow = paced(
        window_operations=2000,
        window_s=20.0,
        throughput=Throughput(*[100.0] * 4),
        latency=times(count=2000, p99=900.0),
        accounting=OperationTotals(2000, 2000, 0, 0, 0, 0, 2000, 2000),
        **changes,
    )
    evidence = RunEvidence({"scheduling": scheduling, "throttling": throttling})
    assert evaluate_probe(1, 100.0, slow, OBJECTIVE, evidence).outcome == outcome

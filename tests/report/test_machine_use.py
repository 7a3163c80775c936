"""The use of the CPUs is that of the CPUs that each process may use."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.model.race_timeline import RaceObservations, TelemetryLine
from pacenote.model.recorded_options import RecordedOptions
from pacenote.report.machine_use import cpu_use
from pacenote.report.screen.engine import engine_paragraph
from report.page.race.observed import cpus, telemetry
from support.records import record

# CPU 0 is busy for 95 % of the time and CPU 1 for 30 %: the engine has 0.6 CPUs, the driver 0.2.
LINES = (
    *(telemetry(f"cpu.{state}", [ms]) for state, ms in (("user", 1250.0), ("idle", 750.0))),
    *(telemetry("cpu.user", [ms], labels={"cpu": cpu}) for cpu, ms in (("0", 950.0), ("1", 300.0))),
    *(telemetry("cpu.idle", [ms], labels={"cpu": cpu}) for cpu, ms in (("0", 50.0), ("1", 700.0))),
    telemetry("process.user", [600.0], labels={"process": "node-0"}),
    telemetry("process.user", [200.0], labels={"process": "driver"}),
)


@pytest.mark.parametrize(
    ("sampler", "busy", "engine", "driver", "others"),
    [
        ({}, 0.625, 0.3, 0.1, 0.225),
        ({"node_cpus": [0], "process_cpus": {"driver": [1]}}, 0.95, 0.6, 0.2, 0.35),
        ({"node_cpus": [0], "process_cpus": {"driver": [0]}}, 0.95, 0.6, 0.2, 0.15),
    ],
)
def test_the_shares_are_those_of_the_cpus_that_a_process_may_use(
    sampler: dict[str, Any], busy: float, engine: float, driver: float, others: float
) -> None:
    use = cpu_use(LINES, record(telemetry={"host-sampler": sampler}))
    shares = [values[0] for values in (use.busy, use.engine, use.driver, use.others)]
    assert shares == [pytest.approx(value) for value in (busy, engine, driver, others)]
    assert not use.others_are_bound


@pytest.mark.parametrize("allowed", [{}, {"driver": [0, 1]}])
def test_other_programs_used_at_least_what_all_time_of_a_driver_leaves_that_may_use_other_cpus(
    allowed: dict[str, list[int]],
) -> None:
    """Others had from 0.15 to 0.35 of CPU 0: the driver had between 0 and all of its time there."""
    sampler = {"node_cpus": [0], "process_cpus": {"node-0": [0], **allowed}}
    use = cpu_use(LINES, record(telemetry={"host-sampler": sampler}))
    assert (use.others, use.others_are_bound) == ([pytest.approx(0.15)], True)


def test_processes_that_a_node_has_started_belong_to_the_engine() -> None:
    """As programs of an engine for machine learning."""
    children = telemetry("process.children_cpu", [200.0], labels={"process": "node-0"})
    use = cpu_use((*LINES, children), record(telemetry={"host-sampler": {}}))
    assert (use.engine, use.others) == ([pytest.approx(0.4)], [pytest.approx(0.125)])


def test_nodes_of_further_clusters_are_no_other_programs() -> None:
    further = telemetry("process.user", [300.0], labels={"process": "far: node-0"})
    use = cpu_use((*LINES, further), record(telemetry={"host-sampler": {"further_engines": ["far: node-0"]}}))
    parts = (use.engine, use.further_engines, use.others)
    assert parts == ([pytest.approx(0.3)], [pytest.approx(0.15)], [pytest.approx(0.075)])
    bound = {"node_cpus": [0], "process_cpus": {"driver": [0]}, "further_engines": ["far: node-0"]}
    assert cpu_use((*LINES, further), record(telemetry={"host-sampler": bound})).others_are_bound


def test_other_programs_are_unknown_while_not_all_of_the_engine_is_read() -> None:
    unread = {"host-sampler": {"not_available": {"node-0: child processes": "too many"}}}
    use = cpu_use(LINES, record(telemetry=unread))
    assert (use.engine, use.others) == ([], [])


def test_earlier_versions_recorded_only_the_cpus_that_were_selected_for_the_driver() -> None:
    sampler = {"host-sampler": {"node_cpus": [0]}}
    bound = record(telemetry=sampler, options=RecordedOptions(driver_cpus="1"))
    assert cpu_use(LINES, bound).others == [pytest.approx(0.35)]
    assert cpu_use(LINES, record(telemetry=sampler)).others_are_bound


@pytest.mark.parametrize(
    ("sampler", "text"),
    [
        ({}, "engine mean 30 %, peak 30 %; driver 10 %; other programs 22 %"),
        (
            {"node_cpus": [0], "process_cpus": {"driver": [1]}},
            "engine mean 60 % of 1 CPU, peak 60 %; driver 20 % of 1 CPU; other programs 35 % of the "
            "engine's CPUs",
        ),
        (
            {"node_cpus": [0], "process_cpus": {"driver": [0]}},
            "engine mean 60 % of 1 CPU, peak 60 %; driver 20 %; other programs 15 %",
        ),
        (
            {"node_cpus": [0], "process_cpus": {}},
            "engine mean 60 % of 1 CPU, peak 60 %; driver 10 % of all CPUs; other programs at least 15 % "
            "of the engine's CPUs",
        ),
        (
            {"process_cpus": {"driver": [1]}},
            "engine mean 30 % of all CPUs, peak 30 %; driver 20 % of 1 CPU; other programs 22 % of the "
            "engine's CPUs",
        ),
    ],
)
def test_shares_of_different_cpus_say_of_which_they_are(sampler: dict[str, Any], text: str) -> None:
    observed = RaceObservations(telemetry=LINES)
    paragraph = engine_paragraph(record(telemetry={"host-sampler": sampler}), observed)
    (group,) = [group for group in paragraph.groups if group[0].startswith("CPU")]
    assert "; ".join(group) == f"CPU: {text}"


@pytest.mark.parametrize("lines", [(), cpus([0.5])])
def test_cpus_that_were_not_sampled_have_no_use(lines: tuple[TelemetryLine, ...]) -> None:
    use = cpu_use(lines, record(telemetry={"host-sampler": {"node_cpus": [3]}}))
    assert not use.busy
    assert not use.engine
    assert not use.others


def test_time_of_other_guests_of_the_host_is_not_that_of_other_programs() -> None:
    """Of 2 CPUs, the engine had 0.6, the driver 0.2, others 0.1, and other virtual machines 0.5."""
    states = (("user", 900.0), ("idle", 600.0), ("steal", 500.0))
    lines = (
        *(telemetry(f"cpu.{state}", [ms]) for state, ms in states),
        telemetry("process.user", [600.0], labels={"process": "node-0"}),
        telemetry("process.user", [200.0], labels={"process": "driver"}),
    )
    use = cpu_use(lines, record(telemetry={"host-sampler": {}}))
    assert (use.busy, use.others) == ([pytest.approx(0.45)], [pytest.approx(0.05)])


def test_interrupts_are_busy_time_of_no_program() -> None:
    """Of 2 CPUs, engine and driver had 0.8, others 0.1, and the kernel 0.3 to handle packets."""
    states = (("user", 900.0), ("softirq", 200.0), ("irq", 100.0), ("idle", 800.0))
    lines = (
        *(telemetry(f"cpu.{state}", [ms]) for state, ms in states),
        telemetry("process.user", [600.0], labels={"process": "node-0"}),
        telemetry("process.user", [200.0], labels={"process": "driver"}),
    )
    uses = {
        exact: cpu_use(lines, record(telemetry={"host-sampler": {"exact_interrupts": exact}}))
        for exact in (True, False, None)
    }
    assert uses[True].busy == [pytest.approx(0.6)]
    assert (uses[True].others, uses[True].others_are_bound) == ([pytest.approx(0.05)], False)
    # They are also time of the programs that they stop.
    assert (uses[False].others, uses[False].others_are_bound) == ([pytest.approx(0.2)], False)
    assert (uses[None].others, uses[None].others_are_bound) == ([pytest.approx(0.05)], True)

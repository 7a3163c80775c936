"""The use of the CPUs is that of the CPUs that each process may use."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.model.race_timeline import TelemetryLine
from pacenote.report.machine_use import cpu_use
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
        ({"node_cpus": [0]}, 0.95, 0.6, 0.1, 0.15),
        ({"node_cpus": [0], "process_cpus": {"driver": [1]}}, 0.95, 0.6, 0.2, 0.35),
        ({"node_cpus": [0], "process_cpus": {"driver": [0]}}, 0.95, 0.6, 0.2, 0.15),
    ],
)
def test_the_shares_are_those_of_the_cpus_that_a_process_may_use(
    sampler: dict[str, Any], busy: float, engine: float, driver: float, others: float
) -> None:
    use = cpu_use(LINES, record(telemetry={"host-sampler": sampler}))
    found = [values[0] for values in (use.busy, use.engine, use.driver, use.others)]
    assert found == [pytest.approx(value) for value in (busy, engine, driver, others)]


@pytest.mark.parametrize("lines", [(), cpus([0.5])])
def test_cpus_that_were_not_sampled_have_no_use(lines: tuple[TelemetryLine, ...]) -> None:
    use = cpu_use(lines, record(telemetry={"host-sampler": {"node_cpus": [3]}}))
    assert not use.busy
    assert not use.engine
    assert not use.others

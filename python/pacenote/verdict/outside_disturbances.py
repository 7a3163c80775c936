"""What disturbed a race from outside: other programs, other virtual machines, or a suspended machine.

It is judged without a look at what was measured, and without what the race itself may have caused: an engine
that uses more of the processor also lets the driver wait for it, and misses its rate.
"""

from __future__ import annotations

from collections.abc import Iterable

from pacenote.model.finding import Finding, name_tasks
from pacenote.model.race_record import RaceRecord
from pacenote.model.task_observations import measured_observations
from pacenote.verdict.determine import schedule_findings
from pacenote.verdict.driver_health import outside_findings
from pacenote.verdict.observation_rules import machine_findings

_OF_THE_MACHINE = ("machine", "driver")
"""Causes of what a disturbance from outside brings about."""


def outside_disturbance(record: RaceRecord) -> str:
    """Returns what disturbed a race from outside; empty if nothing did, or if its verdict also has a reason
    that the machine does not explain, such as operations that failed, a target rate that was missed or a
    cluster that was not healthy.
    """
    verdict, schedules = record.verdict, schedule_findings(record)
    # What the engine or the load cannot keep makes no figure doubtful, but others did not cause it.
    blamed = [
        *schedules.missed,
        *schedules.unsent,
        *(
            each
            for each in verdict.findings
            if verdict.state == "void" or each.makes_doubtful or each.cause == "engine"
        ),
    ]
    if record.options.test_mode or any(each.cause not in _OF_THE_MACHINE for each in blamed):
        return ""
    findings: Iterable[Finding] = (
        *outside_findings(record.driver),
        *machine_findings(record.driver, measured_observations(record)),
    )
    first = next(iter(findings), None)
    return "" if first is None else ": ".join(filter(None, (name_tasks(first.tasks), first.text)))

"""Late readings of the driver's clocks make the figures doubtful that late replies can have changed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from pacenote.model.finding import Finding
from pacenote.model.result import DurationSummary, TaskResult
from pacenote.model.target_rate import TargetRate
from pacenote.verdict.determine import determine_verdict
from pacenote.verdict.driver_pauses import stopped_s
from pacenote.verdict.late_readings import late_reply_findings
from pacenote.verdict.schedule_rules import Delays, missed_targets
from support.records import record, task, times


def second(at_s: int, count: int, longest_ms: float = 2.0, **evidence: float) -> dict[str, object]:
    """A second in which so many readings were late: one by the longest time, and the others by 1 ms."""
    short_s = ((count - 1) * 1.0 + longest_ms) / 1000
    noticed = {"paused_s": short_s, "pauses": count, "short": count, "short_s": short_s}
    known = {"longest_short_s": longest_ms / 1000, "stopped": 0, "stopped_s": 0.0, "stolen_s": 0.0}
    return {"from_s": float(at_s), "to_s": at_s + 0.98, **noticed, **known, **evidence}


def driver(seconds: list[dict[str, object]]) -> dict[str, object]:
    paused = sum(float(str(each["paused_s"])) for each in seconds)
    clock = {"pauses": len(seconds), "paused_s": paused, "paused": seconds}
    return {"wall_s": 60.0, "clock": clock, "cpus": {"numbers": None, "count": 1}}


IDLE = driver([second(at_s, 3) for at_s in range(60)])
"""A machine whose idle CPUs wake up late in 6 % of the readings, by up to 2 ms."""


def lasting_a_minute(service: DurationSummary) -> TaskResult:
    return task("term", started_s=0.0, duration_s=60.0, window_s=60.0, service_time=service)


def of_ms(p50: float, p99: float) -> DurationSummary:
    return replace(times(p50=p50, p99=p99), mean_ms=p50)


@pytest.mark.parametrize(
    ("service", "doubtful_from"),
    [
        # 2 ms are little beside replies of 200 ms, whatever their share is.
        (of_ms(p50=180.0, p99=240.0), None),
        (of_ms(p50=15.0, p99=20.1), None),
        (of_ms(p50=15.0, p99=19.0), 99.0),
        # The mean reply is late by 0.08 ms, which is more than 3 % of its time.
        (of_ms(p50=2.0, p99=19.0), 0.0),
    ],
)
def test_the_lateness_of_readings_is_compared_with_the_times_of_the_task(
    service: DurationSummary, doubtful_from: float | None
) -> None:
    findings = list(late_reply_findings([lasting_a_minute(service)], IDLE))
    assert [each.doubtful_from for each in findings] == ([] if doubtful_from is None else [doubtful_from])
    verdict = determine_verdict(record(tasks=(lasting_a_minute(service),), driver=IDLE))
    assert verdict.state == ("valid" if doubtful_from is None else "suspect"), verdict.reasons


def finding(facts: Mapping[str, object], service: DurationSummary) -> Finding | None:
    return next(iter(late_reply_findings([lasting_a_minute(service)], facts)), None)


def test_the_reason_says_how_late_readings_were_and_not_that_the_driver_did_not_run() -> None:
    (reason,) = determine_verdict(
        record(tasks=(lasting_a_minute(of_ms(p50=15.0, p99=19.0)),), driver=IDLE)
    ).reasons
    assert reason == (
        "term: 6 % of the readings of the driver's clocks were up to 2 ms late, although no other program "
        "had its core, and as many replies may have been read late (limit 1 %): p99 is doubtful: repeat the "
        "race on a machine whose idle CPUs wake up in time, or keep those of this one from halting, for "
        "example with idle=poll"
    )


def test_few_late_readings_or_a_single_bad_second_change_no_percentile() -> None:
    fast = of_ms(p50=15.0, p99=19.0)
    assert finding(driver([second(at_s, 1) for at_s in range(0, 60, 2)]), fast) is None
    assert finding(driver([second(at_s, 1) for at_s in range(32)]), fast) is not None
    # Readings that are very late in one second are 0.1 % of all.
    seconds = [second(at_s, 3, longest_ms=19.0 if at_s == 7 else 1.5) for at_s in range(60)]
    assert finding(driver(seconds), of_ms(p50=14.0, p99=16.0)) is None


def test_late_readings_are_not_the_cause_of_a_missed_target() -> None:
    slow = replace(
        lasting_a_minute(of_ms(p50=15.0, p99=30.0)), paced=True, window_operations=950, window_succeeded=950
    )
    target = {"term": TargetRate(1000 / 60, operations=1000 / 60)}
    (missed,) = missed_targets([slow], target, Delays(IDLE))
    assert missed.cause == "engine", missed.text
    assert stopped_s(IDLE, slow) == 0
    # In as many readings, the process was stopped.
    stopped = driver([second(at_s, 3, stopped=3, stopped_s=0.004) for at_s in range(60)])
    assert stopped_s(stopped, slow) == pytest.approx(3.6)
    (missed,) = missed_targets([slow], target, Delays(stopped))
    assert (missed.cause, "did not run" in missed.text) == ("machine", True)


def test_time_that_the_hypervisor_took_is_reported_as_such_and_only_the_rest_as_late() -> None:
    slow = lasting_a_minute(of_ms(p50=15.0, p99=19.0))
    for stolen_s, reported in ((0.06, ["did not run"]), (0.04, ["did not run", "clocks were up to"])):
        facts = driver([second(at_s, 3, stolen_s=stolen_s) for at_s in range(60)])
        reasons = determine_verdict(record(tasks=(slow,), driver=facts)).reasons
        assert len(reasons) == len(reported), reasons
        assert all(part in reason for part, reason in zip(reported, reasons, strict=True)), reasons


def test_races_of_earlier_versions_recorded_how_late_readings_were_in_sum() -> None:
    def earlier(short_s: float) -> dict[str, object]:
        noticed = {"paused_s": short_s, "short": 2, "short_s": short_s}
        seconds: list[dict[str, object]] = [
            {"from_s": float(at_s), "to_s": at_s + 0.98, **noticed} for at_s in range(60)
        ]
        return driver(seconds)

    # The later one was late by 2 ms at most, if the earlier one was by 1 ms.
    assert finding(earlier(0.003), of_ms(p50=15.0, p99=20.1)) is None
    assert finding(earlier(0.003), of_ms(p50=15.0, p99=19.9)) is not None

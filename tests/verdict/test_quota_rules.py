"""CPU quotas of the driver's control group, which stop only threads without real-time priority."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.model.result import PythonDelay
from pacenote.report.notes import notes
from pacenote.verdict.determine import determine_verdict
from pacenote.verdict.driver_health import suspect_findings
from support.records import record, task

STOPPED = {"group": "/docker/x", "throttled_s": 30.0, "periods": 400, "share": 0.3, "cores": 2}
TEXT = (
    "a CPU quota stopped control group /docker/x of the driver for 30 s, added over its cores: at least "
    "15.0 % and at most 30 % of the race (limit 5 %)"
)
LOST = {"index": 1, "workers": 1, "unreadable": 0, "demoted_s": 3.0, "share": 0.2}
RUNNER = {"python_delay": PythonDelay(1000, 0.0, 2.0, 0.0)}


def driver(throttling: dict[str, Any] = STOPPED, **scheduling: Any) -> dict[str, Any]:
    realtime = {"asked": "auto", "workers": "realtime", "health": "realtime", "demotions": 0, "tasks": []}
    return {"wall_s": 100.0, "throttling": throttling, "scheduling": realtime | scheduling}


def notes_of(driver: dict[str, Any]) -> list[str]:
    return [note.text for note in notes(record(driver=driver)) if "quota" in note.text]


@pytest.mark.parametrize(
    "scheduling",
    [
        {"workers": "normal", "health": "normal"},
        {"workers": "short_slice", "health": "short_slice"},
        {"workers": "realtime", "health": "short_slice"},
        {"workers": None, "health": None},
    ],
)
def test_a_quota_makes_all_figures_of_threads_without_real_time_priority_doubtful(
    scheduling: dict[str, Any],
) -> None:
    stopped = driver(**scheduling)
    (finding,) = suspect_findings(stopped, (task(),))
    assert (finding.text, finding.tasks, finding.doubtful_from) == (TEXT, (), 0.0)
    assert determine_verdict(record(driver=stopped)).state == "suspect"
    assert not notes_of(stopped)


def test_a_quota_does_not_stop_threads_with_real_time_priority() -> None:
    """An engine in the same group uses up the quota, and is stopped."""
    stopped = driver()
    assert [*suspect_findings(stopped, (task(),))] == []
    assert determine_verdict(record(driver=stopped)).state == "valid"
    (note,) = notes_of(stopped)
    assert note.startswith(f"{TEXT}: it stopped no thread with real-time priority")
    assert not notes_of(driver(STOPPED | {"share": 0.05}))


def test_a_quota_may_have_stopped_workers_while_they_were_without_real_time_priority() -> None:
    tasks = (task("index"), task("search", index=1))
    stopped = driver(demotions=1, tasks=[LOST])
    (finding,) = suspect_findings(stopped, tasks)
    assert (finding.text, finding.tasks, finding.doubtful_from) == (TEXT, ("search",), 0.0)
    # Only while they were without it.
    briefly = driver(demotions=1, tasks=[LOST | {"share": 0.004}])
    (finding,) = suspect_findings(briefly, tasks)
    assert (finding.tasks, finding.doubtful_from) == (("search",), 99.6)
    # A race of an earlier version did not record the tasks.
    earlier = driver(demotions=1)
    del earlier["scheduling"]["tasks"]
    (finding,) = suspect_findings(earlier, tasks)
    assert (finding.tasks, finding.doubtful_from) == ((), 0.0)


@pytest.mark.parametrize(
    "in_python", [RUNNER, {"underruns": 3}, {"underrun_s": 0.5}, {"scheduler_delay_s": 0.5}]
)
def test_a_quota_stops_threads_that_run_python_code_whatever_the_priority_of_others(
    in_python: dict[str, Any],
) -> None:
    tasks = (task("index"), task("search", index=1, **in_python))
    (finding,) = suspect_findings(driver(), tasks)
    assert (finding.text, finding.tasks, finding.doubtful_from) == (TEXT, ("search",), 0.0)
    assert [*suspect_findings(driver(STOPPED | {"share": 0.05}), tasks)] == []


def test_a_quota_that_stopped_no_thread_of_the_driver_is_not_held_against_a_race_with_other_findings() -> (
    None
):
    late = driver() | {"clock": {"sources": ["hpet"]}}
    (finding,) = suspect_findings(late, (task(),))
    assert "clock" in finding.text

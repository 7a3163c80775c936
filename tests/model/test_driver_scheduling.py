"""How the kernel scheduled the driver's threads, from records of any version."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pacenote.model.driver_scheduling import (
    ALLOW_CONTROL_GROUP,
    ALLOW_LONG_RUNS,
    ALLOW_REALTIME,
    FREE_CORE,
    core_advice,
    demotion_texts,
    obtained_scheduling,
)
from support.records import task

THREADS = [{"name": "drive-0", "wall_s": 30.0}, {"name": "drive-1", "wall_s": 30.0}, {"name": "health"}]


@pytest.mark.parametrize(
    ("scheduling", "obtained"),
    [
        ({"asked": "auto", "workers": "realtime", "demoted_s": 3.0}, "real-time priority"),
        (
            {"asked": "auto", "workers": "realtime", "demoted_s": 3.1},
            "real-time priority for part of the race",
        ),
        ({"asked": "auto", "workers": "short_slice", "refused": "it may not"}, "a short slice"),
        ({"asked": "normal", "workers": "normal"}, "normal scheduling"),
        ({"workers": "something else"}, "unknown"),
        ({"workers": None}, "normal scheduling"),
        ([1], "normal scheduling"),
    ],
)
def test_the_scheduling_that_the_workers_had(scheduling: object, obtained: str) -> None:
    assert obtained_scheduling({"threads": THREADS, "scheduling": scheduling}) == obtained


def test_earlier_versions_left_scheduling_to_the_system() -> None:
    assert obtained_scheduling({"threads": THREADS}) == "normal scheduling"
    assert obtained_scheduling({}) == "unknown"


@pytest.mark.parametrize(
    ("driver", "advice"),
    [
        ({"scheduling": {"asked": "auto", "workers": "realtime", "refused": None}}, FREE_CORE),
        (
            {"scheduling": {"asked": "auto", "refused": "it needs CAP_SYS_NICE"}},
            f"{ALLOW_REALTIME}, {FREE_CORE}",
        ),
        (
            {
                "scheduling": {
                    "refused": "RLIMIT_RTTIME is 5 µs, and the kernel would end a process with a thread that "
                    "runs for longer"
                }
            },
            f"{ALLOW_LONG_RUNS}, {FREE_CORE}",
        ),
        (
            {"scheduling": {"refused": "its control group has no real-time budget (cpu.rt_runtime_us), or"}},
            f"{ALLOW_CONTROL_GROUP}, {FREE_CORE}",
        ),
        ({"scheduling": {"refused": "Function not implemented (os error 38)"}}, FREE_CORE),
        ({"scheduling": {"asked": "normal"}}, f"omit --driver-scheduling=normal, {FREE_CORE}"),
        ({}, FREE_CORE),
    ],
)
def test_advice_names_what_kept_the_driver_from_real_time_priority(
    driver: Mapping[str, object], advice: str
) -> None:
    assert core_advice(driver) == advice


BUDGET = "because they had used up their budget of processor time"
UNREADABLE = "because their processor time could not be read"


@pytest.mark.parametrize(
    ("scheduling", "texts"),
    [
        (
            {"demotions": 1, "demoted_s": 0.5, "unreadable": 0},
            [f"workers lost real-time priority once, for 500 ms in total, {BUDGET}"],
        ),
        (
            {"demotions": 12, "demoted_s": 70, "unreadable": 0},
            [f"workers lost real-time priority 12 times, for 1 min 10 s in total, {BUDGET}"],
        ),
        (
            {"demotions": 3, "demoted_s": 70, "unreadable": 1, "unreadable_s": 10.0},
            [
                f"workers lost real-time priority 2 times, for 1 min in total, {BUDGET}",
                f"workers lost real-time priority once, for 10 s in total, {UNREADABLE}",
            ],
        ),
        (
            {"demotions": 1, "demoted_s": 10, "unreadable": 1, "unreadable_s": 10.0},
            [f"workers lost real-time priority once, for 10 s in total, {UNREADABLE}"],
        ),
        # An earlier version did not record the cause.
        (
            {"demotions": 1, "demoted_s": 10},
            [f"workers lost real-time priority once, for 10 s in total, {BUDGET}, or it could not be read"],
        ),
        ({"demotions": 0}, []),
        ({"demotions": "many"}, []),
        (None, []),
    ],
)
def test_how_often_workers_lost_their_priority_and_why(scheduling: object, texts: list[str]) -> None:
    assert [*demotion_texts({"scheduling": scheduling})] == texts


TASKS = (task("index", index=0), task("search", index=3), task("force-merge", index=4))


def changed(*shares: tuple[int, float]) -> dict[str, object]:
    """A report of the driver in which workers lost their priority for these shares of the tasks."""
    tasks = [{"index": index, "workers": 1, "demoted_s": 1.0, "share": share} for index, share in shares]
    scheduling = {"workers": "realtime", "demotions": 1, "demoted_s": 1.0, "unreadable": 0, "tasks": tasks}
    return {"threads": [{"name": "drive-0", "wall_s": 3600.0}], "scheduling": scheduling}


def test_races_whose_workers_lost_their_priority_differently_are_scheduled_differently() -> None:
    """In one of many tasks, or in one task for much longer."""
    tasks = [task(name, index=index) for index, name in enumerate("abcdef")]
    reports = [
        changed((0, 0.06)),
        changed((0, 0.98)),
        changed((0, 0.9), (1, 0.9), (2, 0.9), (3, 0.9)),
        changed((0, 0.9), (1, 0.9), (2, 0.9), (5, 0.9)),
    ]
    assert len({obtained_scheduling(report, tasks) for report in reports}) == len(reports)
    # Shares that differ by chance are alike.
    alike = {obtained_scheduling(changed((0, share)), tasks) for share in (0.06, 0.2, 0.4)}
    assert alike == {"real-time priority for most of a"}


def test_the_tasks_during_which_workers_lost_their_priority_are_named() -> None:
    """One second is little of an hour, but much of a task."""
    report = changed((3, 0.9), (0, 0.06), (4, 0.01))
    assert demotion_texts(report, TASKS)[1:] == (
        "without it, they ran search for 90.0 % of its time, index for 6.0 % of its time and force-merge "
        "for 1.0 % of its time",
    )
    assert obtained_scheduling(report, TASKS) == (
        "real-time priority for most of index, for half or less of search"
    )
    assert obtained_scheduling(report) == "real-time priority for part of the race"
    # Outside tasks, or for a negligible part of them, it matters to no figure.
    for negligible in (changed(), changed((4, 0.01))):
        negligible["threads"] = [{"name": "drive-0", "wall_s": 1.0}]
        assert obtained_scheduling(negligible, TASKS) == "real-time priority"

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
    demotion_text,
    obtained_scheduling,
)

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


@pytest.mark.parametrize(
    ("scheduling", "text"),
    [
        ({"demotions": 1, "demoted_s": 0.5}, "workers lost real-time priority once, for 500 ms in total, "),
        (
            {"demotions": 12, "demoted_s": 70},
            "workers lost real-time priority 12 times, for 1 min 10 s in total, ",
        ),
        ({"demotions": 0}, ""),
        ({"demotions": "many"}, ""),
        (None, ""),
    ],
)
def test_how_often_workers_lost_their_priority(scheduling: object, text: str) -> None:
    why = "because they had used up their budget of processor time" if text else ""
    assert demotion_text({"scheduling": scheduling}) == f"{text}{why}"

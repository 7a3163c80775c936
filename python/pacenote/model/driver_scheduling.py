"""How the kernel scheduled the driver's threads (`driver.scheduling` in `race.json`), in any version."""

from __future__ import annotations

from collections.abc import Mapping

from pacenote.model.driver_facts import number, part, threads_of
from pacenote.units import format_seconds

ALLOW_REALTIME = (
    "allow real-time priority (`sudo prlimit --rtprio=2 --pid=$$`, LimitRTPRIO=2 of a systemd unit, or "
    "--cap-add=SYS_NICE of a container)"
)
"""What to do if the process has no permission for real-time priority."""

ALLOW_LONG_RUNS = (
    "remove the limit of uninterrupted real-time work (`sudo prlimit --rttime=unlimited --pid=$$`, or "
    "LimitRTTIME=infinity of a systemd unit)"
)
"""What to do if `RLIMIT_RTTIME` would end a process with real-time priority."""

ALLOW_CONTROL_GROUP = (
    "allow the control group real-time priority (cpu.rt_runtime_us above 0 in it and in those above it, and "
    "no filter of sched_setattr)"
)
"""What to do if a process with the permission may not have real-time priority."""

_ALLOWANCES = {
    "RLIMIT_RTTIME is": ALLOW_LONG_RUNS,
    "its control group": ALLOW_CONTROL_GROUP,
    "it needs CAP_SYS_NICE": ALLOW_REALTIME,
}
"""What to do, by the beginning of the reason for which the process could not have real-time priority."""

FREE_CORE = (
    "stop other programs, give engine and driver cores of their own (--node-cpus, --driver-cpus), or run the "
    "engine on another host"
)
"""What to do if the driver waited for a core, unless its priority can be raised."""

_DEMOTED_SHARE = 0.05
"""Smallest share of the workers' time without real-time priority that is a scheduling of its own."""

REALTIME = "real-time priority"
"""The scheduling of threads that never wait for those of other programs."""

_NAMES = {"realtime": REALTIME, "short_slice": "a short slice", "normal": "normal scheduling"}
"""What each kind of scheduling is called."""


def obtained_scheduling(driver: Mapping[str, object]) -> str:
    """Returns how the threads that sent requests were scheduled.

    Earlier versions left it to the system, and did not record it.
    """
    if not driver:
        return "unknown"
    scheduling = part(driver, "scheduling")
    name = _NAMES.get(str(scheduling.get("workers") or "normal"), "unknown")
    lifetimes_s = (
        number(thread, "wall_s")
        for thread_name, thread in threads_of(driver)
        if thread_name.startswith("drive-")
    )
    if number(scheduling, "demoted_s") > _DEMOTED_SHARE * sum(lifetimes_s):
        return f"{name} for part of the race"
    return name


def demotion_text(driver: Mapping[str, object]) -> str:
    """Returns how often and for how long workers were without real-time priority; empty if they never were.

    This is no fault: workers that use more than their budget of processor time step back, so that the engine
    is not kept from running.
    """
    scheduling = part(driver, "scheduling")
    demotions = int(number(scheduling, "demotions"))
    if not demotions:
        return ""
    times = "once" if demotions == 1 else f"{demotions:,} times"
    return (
        f"workers lost real-time priority {times}, for {format_seconds(number(scheduling, 'demoted_s'))} in "
        "total, because they had used up their budget of processor time"
    )


def allowance_for(reason: str) -> str | None:
    """Returns what allows real-time priority that was refused for a reason; None if it is not known."""
    return next((advice for start, advice in _ALLOWANCES.items() if reason.startswith(start)), None)


def core_advice(driver: Mapping[str, object]) -> str:
    """Returns what to do if the driver waited for a core."""
    scheduling = part(driver, "scheduling")
    if allowance := allowance_for(str(scheduling.get("refused"))):
        return f"{allowance}, {FREE_CORE}"
    if scheduling.get("asked") == "normal":
        return f"omit --driver-scheduling=normal, {FREE_CORE}"
    return FREE_CORE

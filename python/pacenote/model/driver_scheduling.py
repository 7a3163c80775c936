"""How the kernel scheduled the driver's threads (`driver.scheduling` in `race.json`), in any version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from pacenote.model.driver_facts import listed, number, part, threads_of
from pacenote.model.result import TaskResult
from pacenote.units import format_seconds, format_share

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
"""Smallest share of the workers' time in a task without real-time priority that is a scheduling of its own.
"""

_LARGE_SHARE = 0.5
"""Share of the workers' time in a task from which on it is mostly without real-time priority."""

_SHOWN_TASKS = 3
"""Maximum number of tasks that are named in a sentence about one race."""

REALTIME = "real-time priority"
"""The scheduling of threads that never wait for those of other programs."""

_NAMES = {"realtime": REALTIME, "short_slice": "a short slice", "normal": "normal scheduling"}
"""What each kind of scheduling is called."""


class DemotedTask(Struct, frozen=True):
    """A task during which workers had lost real-time priority."""

    index: int
    """Its position in the plan."""

    share: float
    """Share of the workers' time in the task for which they did not have it."""


def demoted_tasks(driver: Mapping[str, object]) -> tuple[DemotedTask, ...]:
    """Returns the tasks during which workers had lost real-time priority."""
    return tuple(
        DemotedTask(int(number(task, "index")), number(task, "share"))
        for task in listed(part(driver, "scheduling"), "tasks")
        if isinstance(task, Mapping)
    )


def granted_scheduling(driver: Mapping[str, object]) -> str:
    """Returns how the threads that send requests were scheduled when they began."""
    return str(part(driver, "scheduling").get("workers") or "normal") if driver else "unknown"


def keeps_running(driver: Mapping[str, object]) -> bool:
    """Returns whether all threads that measure began with real-time priority, and it is known in which tasks
    workers lost it: in the others, neither other programs nor a CPU quota stopped these threads.
    """
    scheduling = part(driver, "scheduling")
    is_known = "tasks" in scheduling or not number(scheduling, "demotions")
    return is_known and scheduling.get("workers") == scheduling.get("health") == "realtime"


def could_not_read_budget(driver: Mapping[str, object]) -> bool:
    """Returns whether workers lost real-time priority because their processor time could not be read."""
    return number(part(driver, "scheduling"), "unreadable") > 0


def obtained_scheduling(driver: Mapping[str, object], tasks: Sequence[TaskResult] = ()) -> str:
    """Returns how the threads that sent requests were scheduled; those of `tasks` are named during which it
    changed, all of them, so that races can be compared: those in which workers had lost it for half of the
    time or more apart.

    Earlier versions left it to the system, and did not record it.
    """
    if not driver:
        return "unknown"
    scheduling = part(driver, "scheduling")
    name = _NAMES.get(granted_scheduling(driver), "unknown")
    changed = [task for task in demoted_tasks(driver) if task.share > _DEMOTED_SHARE]
    if changed:
        return _partial(name, changed, {task.index: task.task for task in tasks})
    if "tasks" in scheduling:
        return name
    # An earlier version did not record the tasks.
    lifetimes_s = (
        number(thread, "wall_s")
        for thread_name, thread in threads_of(driver)
        if thread_name.startswith("drive-")
    )
    if number(scheduling, "demoted_s") > _DEMOTED_SHARE * sum(lifetimes_s):
        return f"{name} for part of the race"
    return name


def demotion_texts(driver: Mapping[str, object], tasks: Sequence[TaskResult] = ()) -> tuple[str, ...]:
    """Returns how often and for how long workers were without real-time priority, one sentence for each
    cause; empty if they never were. Those of `tasks` that this concerns are named.

    This is no fault: workers that use more than their budget of processor time step back, so that the engine
    is not kept from running.
    """
    scheduling = part(driver, "scheduling")
    demotions, unreadable = int(number(scheduling, "demotions")), int(number(scheduling, "unreadable"))
    total_s, unreadable_s = number(scheduling, "demoted_s"), number(scheduling, "unreadable_s")
    reason = "they had used up their budget of processor time"
    if "unreadable" not in scheduling:
        # An earlier version did not record the cause.
        reason += ", or it could not be read"
    texts = [
        *_lost(demotions - unreadable, total_s - unreadable_s, reason),
        *_lost(unreadable, unreadable_s, "their processor time could not be read"),
    ]
    if texts and (shares := _shares(demoted_tasks(driver), tasks)):
        texts.append(f"without it, they ran {shares}")
    return tuple(texts)


def _lost(count: int, seconds: float, reason: str) -> Iterator[str]:
    if count > 0:
        times = "once" if count == 1 else f"{count:,} times"
        lasted = format_seconds(max(seconds, 0.0))
        yield f"workers lost real-time priority {times}, for {lasted} in total, because {reason}"


def _partial(name: str, demoted: Sequence[DemotedTask], names: Mapping[int, str]) -> str:
    """Returns for which part of which tasks workers had a scheduling; `names` are those of tasks by index."""
    known = [task for task in demoted if task.index in names]
    groups = (
        ("most of", [names[task.index] for task in known if task.share < _LARGE_SHARE]),
        ("half or less of", [names[task.index] for task in known if task.share >= _LARGE_SHARE]),
    )
    parts = [f"for {part} {_list(tasks, len(tasks))}" for part, tasks in groups if tasks]
    return f"{name} {', '.join(parts) or 'for part of the race'}"


def _shares(demoted: Sequence[DemotedTask], tasks: Sequence[TaskResult]) -> str:
    names = {task.index: task.task for task in tasks}
    worst = sorted(demoted, key=lambda task: -task.share)
    return _list([
        f"{names[task.index]} for {format_share(task.share)} of its time"
        for task in worst
        if task.index in names
    ])


def _list(texts: Sequence[str], most: int = _SHOWN_TASKS) -> str:
    more = len(texts) - most
    shown = [*texts[:most], f"{more} more"] if more > 0 else list(texts)
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


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

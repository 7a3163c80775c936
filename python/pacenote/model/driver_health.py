"""Rules for what the driver reports about itself, its clocks and its host (`driver` in `race.json`).

Missing facts do not affect the verdict: not every system reports them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pacenote.units import format_count

THREAD_CPU_SHARE = 0.80
"""Above this share of ten seconds, a busy driver thread may have queued requests behind its own work."""

RUN_QUEUE_SHARE = 0.10
"""If a driver thread waits for a core longer than this share of a task's mean service time, the measured
times include its own waiting.
"""

STARVED_SHARE = 0.10
"""Highest acceptable share of a race for which threads that measure nothing themselves wait for a core."""

MIN_STARVED_S = 10.0
"""Length of a race in seconds from which such waits are judged: short ones mostly consist of their start."""

_UNTIMED_THREADS = ("collect", "control")

DATA_WAIT_SHARE = 0.01
"""If driver threads wait for the disk for more than this share of a step while they read documents, they send
less load, and read the replies of their other clients late.
"""

STOLEN_SHARE = 0.05
"""Above this share of time used for other machines, the speed of this machine was not constant."""

CLOCK_READ_NS = 1_000
"""Longest acceptable duration of a clock reading, in nanoseconds: every request needs several readings."""

CLOCK_RESOLUTION_NS = 1_000
"""Coarsest acceptable resolution of the clock, in nanoseconds."""

SLOW_CLOCKS = frozenset({"acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies"})
"""Clock sources that are slow to read or coarse."""


@dataclass(frozen=True, slots=True)
class ClockStep:
    """A jump of the wall clock."""

    at_s: float
    """When the jump was detected, in seconds since the driver started."""

    by_s: float
    """Size of the jump in seconds."""


@dataclass(frozen=True, slots=True)
class HostUse:
    """One of several hosts of a cluster, as the driver used it."""

    cluster: str
    """Name of the cluster in tracks; `default` for the cluster under test."""

    host: str
    """Host and port."""

    requests: int
    """Number of requests that were sent to the host and ended."""

    connection_failures: int
    """How often no connection to the host could be opened."""

    set_aside: int
    """How often a client stopped using the host because it had failed, until it could be reached again."""


def void_reasons(driver: Mapping[str, object]) -> Iterator[str]:
    """Yields the reasons why no measurement may be used."""
    wrong = driver.get("contradictions")
    for text in wrong if isinstance(wrong, list | tuple) else ():
        yield f"the driver's counts do not add up, which is a bug in Pacenote: {text}"
    clock = _part(driver, "clock")
    if slept := _number(clock, "suspended_s"):
        yield f"the machine was suspended for {slept:.3g} s: measured times do not include this time"
    if backward := _number(clock, "backward"):
        yield f"the monotonic clock went back {backward:.0f} times in a thousand readings"


def suspect_reasons(driver: Mapping[str, object]) -> Iterator[str]:
    """Yields the reasons why the driver or its host may have distorted measurements."""
    threads = driver.get("threads")
    for number, thread in enumerate(threads if isinstance(threads, list | tuple) else ()):
        if isinstance(thread, Mapping):
            yield from _busy(thread, number)
            yield from _delayed(thread, number)
            yield from _starved(thread)
    yield from _data_waits(driver)
    yield from _gaps(_part(driver, "clock"))
    yield from clock_reasons(driver)
    stolen = _number(_part(driver, "machine"), "stolen_share")
    if stolen > STOLEN_SHARE:
        yield (
            f"{stolen * 100:.0f} % of this machine's time was used for other machines "
            f"(limit {STOLEN_SHARE * 100:.0f} %)"
        )


def host_reasons(driver: Mapping[str, object]) -> Iterator[str]:
    """Yields the hosts of a cluster that were not used all the time, which the engine may have caused."""
    yield from map(_set_aside, (use for use in host_uses(driver) if use.set_aside))


def clock_reasons(driver: Mapping[str, object]) -> Iterator[str]:
    """Yields the reasons why measured times may be wrong in either direction; `suspect_reasons` includes
    them.
    """
    clock = _part(driver, "clock")
    sources = clock.get("sources")
    names = [str(name) for name in (sources if isinstance(sources, list | tuple) else ())]
    if len(names) > 1:
        yield f"the system switched its clock from {' to '.join(names)} during the race"
    read_ns, resolution_ns = _number(clock, "read_ns"), _number(clock, "resolution_ns")
    slow = [name for name in names if name in SLOW_CLOCKS]
    if slow or read_ns > CLOCK_READ_NS or resolution_ns > CLOCK_RESOLUTION_NS:
        yield (
            f"the system clock {'/'.join(slow or names) or 'of unknown kind'} is slow or coarse: a reading "
            f"takes {read_ns:.0f} ns, its smallest step is {resolution_ns:.0f} ns"
        )


def _gaps(clock: Mapping[str, object]) -> Iterator[str]:
    """Reports times for which the driver did not run: all measured times that include one are too long."""
    recorded = clock.get("gaps")
    gaps = [
        gap for gap in (recorded if isinstance(recorded, list | tuple) else ()) if isinstance(gap, Mapping)
    ]
    if not gaps:
        return
    first = f"{_number(gaps[0], 'length_s'):.3g} s, {_number(gaps[0], 'at_s'):.1f} s after its start"
    if len(gaps) == 1:
        times = f"for {first}"
    else:
        times = f"several times, {_number(clock, 'gaps_s'):.3g} s in total, first for {first}"
    yield (
        f"the driver did not run {times}: its process was stopped, its virtual machine was paused, or it had "
        "no core; measured times include this delay"
    )


def clock_steps(driver: Mapping[str, object]) -> tuple[ClockStep, ...]:
    """Returns the jumps of the wall clock. They do not affect measured times, which use the
    monotonic clock.
    """
    steps = _part(driver, "clock").get("steps")
    return tuple(
        ClockStep(_number(step, "at_s"), _number(step, "by_s"))
        for step in (steps if isinstance(steps, list | tuple) else ())
        if isinstance(step, Mapping)
    )


def unmeasured(driver: Mapping[str, object]) -> tuple[str, ...]:
    """Returns what the kernel did not report about the driver and its machine, as it does without /proc.

    Values that an earlier version did not record are not listed.
    """
    threads = driver.get("threads")
    workers = [
        thread
        for thread in (threads if isinstance(threads, list | tuple) else ())
        if isinstance(thread, Mapping) and str(thread.get("name", "")).startswith("drive-")
    ]
    missing = {
        "the time that its threads waited for a core": _all_null(workers, "run_queue_s"),
        "its major page faults": _all_null(workers, "major_faults"),
        "how busy the machine was, and the time stolen from it": _all_null([driver], "machine"),
    }
    return tuple(what for what, is_missing in missing.items() if is_missing)


def _all_null(values: Sequence[Mapping[str, object]], key: str) -> bool:
    return bool(values) and all(key in value and value[key] is None for value in values)


def host_uses(driver: Mapping[str, object]) -> tuple[HostUse, ...]:
    """Returns how the driver used the hosts of every cluster that has more than one."""
    hosts = driver.get("hosts")
    uses = [
        HostUse(
            cluster=str(host.get("cluster", "")),
            host=str(host.get("host", "")),
            requests=int(_number(host, "requests")),
            connection_failures=int(_number(host, "connection_failures")),
            set_aside=int(_number(host, "set_aside")),
        )
        for host in (hosts if isinstance(hosts, list | tuple) else ())
        if isinstance(host, Mapping)
    ]
    hosts_of = Counter(use.cluster for use in uses)
    return tuple(use for use in uses if hosts_of[use.cluster] > 1)


def _set_aside(use: HostUse) -> str:
    """Reports a host that had failed: the others had to do its work."""
    times, failures = format_count(use.set_aside, "time"), format_count(use.connection_failures, "connection")
    return (
        f"host {use.host} failed: it was set aside {times}, {failures} to it could not be opened, and the "
        "other hosts received its requests"
    )


def _busy(thread: Mapping[str, object], number: int) -> Iterator[str]:
    """Checks the busiest ten seconds of a thread, because an average would hide them."""
    busiest = _part(thread, "busiest")
    share = _number(busiest, "share")
    if share > THREAD_CPU_SHARE:
        yield (
            f"driver thread {thread.get('name', number)} was busy {share * 100:.0f} % of its busiest ten "
            f"seconds, in step '{busiest.get('step')}' (limit {THREAD_CPU_SHARE * 100:.0f} %): "
            "the driver may have been the bottleneck"
        )


def _delayed(thread: Mapping[str, object], number: int) -> Iterator[str]:
    delayed = _part(thread, "delayed")
    wait_ms, service_ms = _number(delayed, "wait_ms"), _number(delayed, "service_ms")
    if wait_ms > RUN_QUEUE_SHARE * service_ms:
        yield (
            f"task '{delayed.get('task')}': driver thread {thread.get('name', number)} waited "
            f"{wait_ms:.3g} ms for a core per reply, more than {RUN_QUEUE_SHARE * 100:.0f} % "
            f"of the mean service time {service_ms:.3g} ms: replies were read late"
        )


def _starved(thread: Mapping[str, object]) -> Iterator[str]:
    """Checks threads that measure nothing themselves: if they hardly get a core, others do not either."""
    waited_s, wall_s = _number(thread, "run_queue_s"), _number(thread, "wall_s")
    if thread.get("name") not in _UNTIMED_THREADS or wall_s < MIN_STARVED_S:
        return
    if waited_s > STARVED_SHARE * wall_s:
        yield (
            f"driver thread {thread.get('name')} waited for a core for {waited_s / wall_s * 100:.0f} % of "
            f"the race (limit {STARVED_SHARE * 100:.0f} %): this machine has too little CPU time for the "
            "driver"
        )


def _data_waits(driver: Mapping[str, object]) -> Iterator[str]:
    waits = driver.get("data_waits")
    for file in waits if isinstance(waits, list | tuple) else ():
        if isinstance(file, Mapping) and _number(file, "share") > DATA_WAIT_SHARE:
            yield (
                f"step '{file.get('step')}': driver threads waited {_number(file, 'waited_s'):.3g} s for "
                f"the disk while they read {file.get('file')}, {_number(file, 'share') * 100:.2g} % of their "
                f"time (limit {DATA_WAIT_SHARE * 100:.0f} %) and up to "
                f"{_number(file, 'longest_ms'):.3g} ms at once: the disk of the data is too slow"
            )


def _part(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    part = values.get(key)
    return part if isinstance(part, Mapping) else {}


def _number(values: Mapping[str, object], key: str) -> float:
    value = values.get(key)
    return float(value) if isinstance(value, int | float) else 0.0

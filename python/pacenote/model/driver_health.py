"""What the driver says about itself, the clocks and the machine (`driver` in `race.json`): rules over what it
read, no clock and no system here.

Facts that are missing decide nothing: not every system tells them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

THREAD_CPU_SHARE = 0.80
"""A driver thread busier than this may have queued requests behind its own work."""

RUN_QUEUE_SHARE = 0.10
"""A driver thread that waits for a core longer than this share of a task's service time, mean against mean,
measured its own waiting as well.
"""

STOLEN_SHARE = 0.05
"""A machine of which the hypervisor takes more than this was another machine every moment."""

CLOCK_READ_NS = 1_000
"""Every request needs some readings of the clock; slower ones take a share of its time."""

CLOCK_RESOLUTION_NS = 1_000
"""A coarser clock cannot tell fast requests apart."""

SLOW_CLOCKS = frozenset({"acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies"})
"""Clock sources that are slow to read or coarse."""


@dataclass(frozen=True, slots=True)
class ClockStep:
    """A jump of the wall clock `by_s` seconds, seen `at_s` seconds after the driver started."""

    at_s: float
    by_s: float


def void_reasons(driver: Mapping[str, object]) -> Iterator[str]:
    """Why nothing that was measured may be used."""
    wrong = driver.get("contradictions")
    for text in wrong if isinstance(wrong, list | tuple) else ():
        yield f"the driver's own counts do not add up, which is a defect of it: {text}"
    clock = _part(driver, "clock")
    if slept := _number(clock, "suspended_s"):
        yield f"the machine was suspended for {slept:.3g} s: no time that was measured contains them"
    if backward := _number(clock, "backward"):
        yield f"the monotonic clock went back {backward:.0f} times in a thousand readings"


def busiest_share(driver: Mapping[str, object]) -> float:
    """The largest share of a step that a thread of the driver was busy, 0 if none says so."""
    threads = driver.get("threads")
    shares = (
        _number(_part(thread, "busiest"), "share")
        for thread in (threads if isinstance(threads, list | tuple) else ())
        if isinstance(thread, Mapping)
    )
    return max(shares, default=0.0)


def suspect_reasons(driver: Mapping[str, object]) -> Iterator[str]:
    """Why what was measured may be the driver's or the machine's doing."""
    threads = driver.get("threads")
    for number, thread in enumerate(threads if isinstance(threads, list | tuple) else ()):
        if isinstance(thread, Mapping):
            yield from _busy(thread, number)
            yield from _delayed(thread, number)
    yield from _slow_clock(_part(driver, "clock"))
    stolen = _number(_part(driver, "machine"), "stolen_share")
    if stolen > STOLEN_SHARE:
        yield (
            f"{stolen * 100:.0f} % of this machine's time was taken for other machines "
            f"(limit {STOLEN_SHARE * 100:.0f} %)"
        )


def clock_steps(driver: Mapping[str, object]) -> tuple[ClockStep, ...]:
    """Jumps of the wall clock. Times that were measured do not contain them: they are taken with another
    clock.
    """
    steps = _part(driver, "clock").get("steps")
    return tuple(
        ClockStep(_number(step, "at_s"), _number(step, "by_s"))
        for step in (steps if isinstance(steps, list | tuple) else ())
        if isinstance(step, Mapping)
    )


def _busy(thread: Mapping[str, object], number: int) -> Iterator[str]:
    """Judged by its busiest step: idle ones would average a saturated one away."""
    busiest = _part(thread, "busiest")
    share = _number(busiest, "share")
    if share > THREAD_CPU_SHARE:
        yield (
            f"driver thread {thread.get('name', number)} was busy {share * 100:.0f} % of step "
            f"'{busiest.get('step')}' (limit {THREAD_CPU_SHARE * 100:.0f} %): "
            "the driver may have been the bottleneck"
        )


def _delayed(thread: Mapping[str, object], number: int) -> Iterator[str]:
    delayed = _part(thread, "delayed")
    wait_ms, service_ms = _number(delayed, "wait_ms"), _number(delayed, "service_ms")
    if wait_ms > RUN_QUEUE_SHARE * service_ms:
        yield (
            f"task '{delayed.get('task')}': driver thread {thread.get('name', number)} waited "
            f"{wait_ms:.3g} ms for a core whenever it had work, more than {RUN_QUEUE_SHARE * 100:.0f} % "
            f"of the mean service time {service_ms:.3g} ms: replies were read late"
        )


def _slow_clock(clock: Mapping[str, object]) -> Iterator[str]:
    sources = clock.get("sources")
    names = [str(name) for name in (sources if isinstance(sources, list | tuple) else ())]
    if len(names) > 1:
        yield f"the system changed its clock from {' to '.join(names)} during the race"
    read_ns, resolution_ns = _number(clock, "read_ns"), _number(clock, "resolution_ns")
    slow = [name for name in names if name in SLOW_CLOCKS]
    if slow or read_ns > CLOCK_READ_NS or resolution_ns > CLOCK_RESOLUTION_NS:
        yield (
            f"the system's clock {'/'.join(slow or names) or 'of unknown kind'} is slow or coarse: a reading "
            f"takes {read_ns:.0f} ns, its smallest step is {resolution_ns:.0f} ns"
        )


def _part(values: Mapping[str, object], key: str) -> Mapping[str, object]:
    part = values.get(key)
    return part if isinstance(part, Mapping) else {}


def _number(values: Mapping[str, object], key: str) -> float:
    value = values.get(key)
    return float(value) if isinstance(value, int | float) else 0.0

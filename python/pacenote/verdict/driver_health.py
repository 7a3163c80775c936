"""Rules for what the driver reports about itself, its clocks and its host (`driver` in `race.json`).

Missing facts do not affect the verdict: not every system reports them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from pacenote.model.cpu_list import format_cpus
from pacenote.model.driver_facts import listed, number, own_cores, part, threads_of
from pacenote.model.driver_scheduling import core_advice, granted_scheduling
from pacenote.model.finding import EVERYTHING, Finding, by_doubt
from pacenote.model.measured_window import MeasuredWindow, measured_window
from pacenote.model.result import TaskResult
from pacenote.units import format_count, format_excess, format_rate
from pacenote.verdict.driver_pauses import gap_findings, pause_findings
from pacenote.verdict.quota_rules import quota_findings

THREAD_CPU_SHARE = 0.80
"""Above this share of ten seconds, a busy driver thread may have queued requests behind its own work."""

RUN_QUEUE_SHARE = 0.10
"""If a driver thread waits for a core longer than this share of a task's mean service time, the measured
times include its own waiting.
"""

CORE_WAIT_SHARE = 0.01
"""Highest acceptable share of a step for which a driver thread waits for a core in intervals of about 20 ms
in which it waits for 5 ms or more: about as many of its replies are read late, which changes their 99th
percentile.
"""

STARVED_SHARE = 0.10
"""Highest acceptable share of a race for which threads that measure nothing themselves wait for a core."""

MIN_STARVED_S = 10.0
"""Length of a race in seconds from which such waits are judged: short ones mostly consist of their start."""

_UNTIMED_THREADS = ("collect", "control", "health")
_REALTIME_THREADS = ("health",)
"""Those of them that have real-time priority if the threads that measure have it: the waits of the others say
nothing about these.
"""

DATA_WAIT_SHARE = 0.01
"""If a driver thread waits for the disk for more than this share of a step while it reads documents, it sends
less load, and reads the replies of its other clients late.
"""

FAULT_SHARE = 0.10
"""Highest acceptable number of major page faults of a driver thread per operation of a step."""

MIN_FAULTS = 100
"""Number of major page faults, and of operations, from which they are judged: a driver whose program is not
in the page cache has some tens of them when it starts.
"""

STOLEN_SHARE = 0.05
"""Above this share of time used for other machines, the speed of this machine was not constant."""

STOLEN_SHARE_OF_FIGURES = 0.10
"""Share of stolen time from which no figure of a race can be compared with those of others: it changes them
by more than what matters.
"""

STOLEN_SHARE_OF_WINDOW = 0.20
"""The same limit for the ten seconds of a race with the most stolen time."""

CLOCK_READ_NS = 1_000
"""Longest acceptable duration of a clock reading, in nanoseconds: every request needs several readings."""

CLOCK_RESOLUTION_NS = 1_000
"""Coarsest acceptable resolution of the clock, in nanoseconds."""

SLOW_CLOCKS = frozenset({"acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies"})
"""Clock sources that are slow to read or coarse."""

MACHINE_USE = "how busy the machine was, and the time stolen from it"
"""What the kernel counts in ticks."""

_SHORT_S = 0.1
"""Length of a race in seconds that always includes a tick of the kernel, which lasts 10 ms or less."""


class ClockStep(Struct, frozen=True):
    """A jump of the wall clock."""

    at_s: float
    """When the jump was detected, in seconds since the driver started."""

    by_s: float
    """Size of the jump in seconds."""


class HostUse(Struct, frozen=True):
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


class CoreTimes(Struct, frozen=True):
    """Times of the threads that send requests, as the kernel reports them; 0 for what it does not report."""

    waited_s: float
    """Seconds for which they waited for a core."""

    worked_s: float
    """Seconds for which they had one."""

    when: str = "in the race"
    """When."""

    @property
    def mostly_waited(self) -> bool:
        """Whether they waited for a core for longer than they had one."""
        return self.waited_s > self.worked_s


_NO_CHANGE = (
    "make sure that no other program changes, renames or links the file, or changes its mode or owner"
)


def void_findings(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields the reasons why no measurement may be used."""
    for text in listed(driver, "contradictions"):
        yield Finding(
            f"the driver's counts do not add up: {text}",
            "pacenote",
            "report this bug, with the folder of the race",
        )
    for text in listed(driver, "changed_files"):
        yield Finding(
            f"data file {text} while the race used it: which documents were sent is not known",
            "machine",
            _NO_CHANGE,
        )
    yield from _suspended(driver)
    clock = part(driver, "clock")
    if backward := number(clock, "backward"):
        yield Finding(
            f"the monotonic clock went back {backward:.0f} times in a thousand readings",
            "machine",
            "select another clock source",
        )


def outside_findings(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields what came from outside of a race: nothing that it ran can have caused it. `void_findings` and
    `suspect_findings` include them.
    """
    yield from _suspended(driver)
    yield from _stolen(driver)


def _suspended(driver: Mapping[str, object]) -> Iterator[Finding]:
    if slept := number(part(driver, "clock"), "suspended_s"):
        yield Finding(
            f"the machine was suspended for {format_rate(slept)} s, which measured times do not include",
            "machine",
            "disable its suspension, and repeat the race",
        )


def suspect_findings(driver: Mapping[str, object], tasks: Sequence[TaskResult] = ()) -> Iterator[Finding]:
    """Yields the reasons why the driver or its host may have distorted measurements of `tasks`."""
    yield from _busy(driver)
    # If the threads that measure waited for a core, it says nothing new that others did, too.
    waits = (*_delayed(driver), *_core_waits(driver, tasks))
    yield from waits or _starved(driver)
    yield from _faulting(driver)
    yield from _data_waits(driver)
    yield from _possibly_changed(driver)
    yield from _outside_requests(driver)
    yield from gap_findings(part(driver, "clock"), tasks)
    yield from pause_findings(driver)
    yield from clock_findings(driver)
    yield from _stolen(driver)
    yield from quota_findings(driver, tasks)


def host_findings(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields the hosts of a cluster that were not used all the time, which the engine may have caused."""
    for use in host_uses(driver):
        if use.set_aside:
            times, refused = (
                format_count(use.set_aside, "time"),
                format_count(use.connection_failures, "connection"),
            )
            yield Finding(
                f"host {use.host} failed and was set aside {times} ({refused} could not be opened): the "
                "other hosts received its requests",
                "engine",
                "check this host",
            )


def clock_findings(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Yields the reasons why measured times may be wrong in either direction; `suspect_findings` includes
    them.
    """
    clock = part(driver, "clock")
    sources = [str(name) for name in listed(clock, "sources")]
    if len(sources) > 1:
        yield Finding(
            f"the system switched its clock from {' to '.join(sources)} during the race",
            "machine",
            "see the kernel's log for the reason, and repeat the race",
            doubtful_from=EVERYTHING,
        )
    read_ns, resolution_ns = number(clock, "read_ns"), number(clock, "resolution_ns")
    slow = [name for name in sources if name in SLOW_CLOCKS]
    if slow or read_ns > CLOCK_READ_NS or resolution_ns > CLOCK_RESOLUTION_NS:
        yield Finding(
            f"the system clock {'/'.join(slow or sources) or 'of unknown kind'} is slow or coarse (a reading "
            f"takes {read_ns:.0f} ns, its smallest step is {resolution_ns:.0f} ns)",
            "machine",
            "select a faster clock source, such as tsc",
        )


def wall_s(driver: Mapping[str, object]) -> float:
    """Returns the time from the first step to the end of the race in seconds, or 0 if it is not known."""
    return number(driver, "wall_s")


def core_times(driver: Mapping[str, object], task: TaskResult) -> CoreTimes:
    """Returns for how long the threads that send requests waited for a core, and had one, in the step of a
    task; in the whole race for races of earlier versions, which did not record it by step.
    """
    if "core_times" in driver:
        steps = (step for step in listed(driver, "core_times") if isinstance(step, Mapping))
        own = next((step for step in steps if task.index in listed(step, "tasks")), {})
        return CoreTimes(number(own, "waited_s"), number(own, "worked_s"), "while it ran")
    senders = [thread for name, thread in threads_of(driver) if name.startswith("drive-") or name == "lane"]
    return CoreTimes(
        waited_s=sum(number(thread, "run_queue_s") for thread in senders),
        worked_s=sum(number(thread, "cpu_s") for thread in senders),
    )


def clock_steps(driver: Mapping[str, object]) -> tuple[ClockStep, ...]:
    """Returns the jumps of the wall clock. They do not affect measured times, which use the
    monotonic clock.
    """
    return tuple(
        ClockStep(number(step, "at_s"), number(step, "by_s"))
        for step in listed(part(driver, "clock"), "steps")
        if isinstance(step, Mapping)
    )


def unmeasured(driver: Mapping[str, object]) -> tuple[str, ...]:
    """Returns what the kernel did not report about the driver and its machine, or not about each worker and
    step. Without /proc, it reports none of this.

    Values that an earlier version did not record are not listed.
    """
    workers = [thread for name, thread in threads_of(driver) if name.startswith("drive-")]
    missing = {
        "the time that its threads waited for a core": _has_null(workers, "run_queue_s"),
        "its major page faults": _has_null(workers, "major_faults"),
        MACHINE_USE: _lacks_machine_use(driver) and not is_shorter_than_ticks(driver),
        "the time for which a CPU quota stopped it": _has_null([driver], "throttling"),
    }
    return tuple(what for what, is_missing in missing.items() if is_missing)


def is_shorter_than_ticks(driver: Mapping[str, object]) -> bool:
    """Returns whether a race was too short for the counters of the machine, in which the kernel counts whole
    ticks: it reports what concerns the driver's own threads.
    """
    workers = [thread for name, thread in threads_of(driver) if name.startswith("drive-")]
    if not workers or _has_null(workers, "run_queue_s") or not _lacks_machine_use(driver):
        return False
    return 0 < number(driver, "wall_s") < _SHORT_S


def _lacks_machine_use(driver: Mapping[str, object]) -> bool:
    return _has_null([driver], "machine") or _has_null([driver], "cpus")


def _has_null(values: Sequence[Mapping[str, object]], key: str) -> bool:
    return any(key in value and value[key] is None for value in values)


def host_uses(driver: Mapping[str, object]) -> tuple[HostUse, ...]:
    """Returns how the driver used the hosts of every cluster that has more than one."""
    uses = [
        HostUse(
            cluster=str(host.get("cluster", "")),
            host=str(host.get("host", "")),
            requests=int(number(host, "requests")),
            connection_failures=int(number(host, "connection_failures")),
            set_aside=int(number(host, "set_aside")),
        )
        for host in listed(driver, "hosts")
        if isinstance(host, Mapping)
    ]
    hosts_of = Counter(use.cluster for use in uses)
    return tuple(use for use in uses if hosts_of[use.cluster] > 1)


def _busy(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Checks the busiest ten seconds of each thread, because an average would hide them; a shorter step is
    checked as a whole.
    """
    shares: list[tuple[float, str]] = []
    lengths: dict[float, float] = {}
    for busiest in _of_threads(driver, "busiest_steps", "busiest"):
        share = number(busiest, "share")
        if share > THREAD_CPU_SHARE:
            shares.append((share, str(busiest.get("step"))))
            # An older version did not record the length.
            lengths[share] = number(busiest, "length_s") or 10.0
    if shares:
        yield Finding(
            f"the driver was busy {_worst(shares, THREAD_CPU_SHARE)} of {lengths[max(shares)[0]]:.3g} s "
            f"(limit {THREAD_CPU_SHARE * 100:.0f} %): it may have been the bottleneck",
            "driver",
            "give it more threads and cores",
            _steps(shares),
            EVERYTHING,
        )


def _of_threads(driver: Mapping[str, object], key: str, worst: str) -> Iterator[Mapping[str, object]]:
    """Yields what the threads recorded of each step or task; only the worst of each thread, under another
    key, in races of earlier versions.
    """
    for _, thread in threads_of(driver):
        if key in thread:
            yield from (each for each in listed(thread, key) if isinstance(each, Mapping))
        else:
            yield part(thread, worst)


def _delayed(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Checks the waits for a core of each thread, which delay replies."""
    shares: list[tuple[float, str]] = []
    for delayed in _of_threads(driver, "delayed_tasks", "delayed"):
        wait_ms, service_ms = number(delayed, "wait_ms"), number(delayed, "service_ms")
        if _is_delayed(delayed):
            shares.append((wait_ms / max(service_ms, 1e-9), str(delayed.get("task"))))
    if shares:
        yield Finding(
            f"the driver waited for a core and read replies late, by {_worst(shares, RUN_QUEUE_SHARE)} of "
            f"service time (limit {RUN_QUEUE_SHARE * 100:.0f} %)",
            "machine",
            core_advice(driver),
            _steps(shares),
            EVERYTHING,
        )


def _is_delayed(delayed: Mapping[str, object]) -> bool:
    """Returns whether the wait of a mean reply is too long for its service time."""
    return number(delayed, "wait_ms") > RUN_QUEUE_SHARE * number(delayed, "service_ms")


def _core_waits(driver: Mapping[str, object], tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Reports the steps in which a thread seldom waits for a core, but then for a large part of an interval.
    A step is left out if the mean reply of all its tasks waits too long, because that is reported.
    """
    results = tuple(tasks)
    reported, windows = _delayed_steps(driver, results), _windows_of_steps(driver, results)
    waits = [wait for _, thread in threads_of(driver) for wait in listed(thread, "core_waits")]
    shares = [
        (share, step)
        for wait in waits
        if isinstance(wait, Mapping)
        and (step := str(wait.get("step"))) not in reported
        and (share := _wait_share(wait, windows.get(step, ()))) > CORE_WAIT_SHARE
    ]
    for alike, doubtful_from in _by_doubt(shares):
        replies = "replies" if doubtful_from == EVERYTHING else "the slowest replies"
        yield Finding(
            "the driver waited for a core for 5 ms or more of 20 ms at a time, "
            f"{_worst(alike, CORE_WAIT_SHARE)} of its time in all (limit {CORE_WAIT_SHARE * 100:.0f} %), so "
            f"{replies} were read late",
            "machine",
            core_advice(driver),
            _steps(alike),
            doubtful_from,
        )


def _windows_of_steps(
    driver: Mapping[str, object], tasks: Iterable[TaskResult]
) -> dict[str, list[MeasuredWindow]]:
    """Returns the measured windows of the tasks of each step."""
    by_index = {task.index: task for task in tasks}
    return {
        str(step.get("step")): [
            measured_window(by_index[index]) for index in listed(step, "tasks") if index in by_index
        ]
        for step in listed(driver, "core_times")
        if isinstance(step, Mapping)
    }


def _wait_share(wait: Mapping[str, object], windows: Iterable[MeasuredWindow]) -> float:
    """Returns for which share of the measured windows of a step a thread had long waits: of the one in which
    it is largest. Races of earlier versions recorded that of the whole step.
    """
    spans = [span for span in listed(wait, "spans") if isinstance(span, Mapping)]
    if not spans:
        return number(wait, "share")
    shares = (sum(_waited_s(span, window) for span in spans) / window.length_s for window in windows)
    return max(shares, default=number(wait, "share"))


def _waited_s(span: Mapping[str, object], window: MeasuredWindow) -> float:
    """Returns how long a thread waited in the part of a span that is within a window, in seconds."""
    from_s, to_s = number(span, "from_s"), number(span, "to_s")
    within_s = max(0.0, min(to_s, window.ended_s) - max(from_s, window.began_s))
    return number(span, "waited_s") * within_s / (to_s - from_s) if to_s > from_s else 0.0


def _delayed_steps(driver: Mapping[str, object], tasks: Iterable[TaskResult]) -> set[str]:
    """Returns the steps of which the mean reply of each task waits too long: other tasks of the step, which
    take longer or have few operations, are not reported for that.
    """
    judged = list(_of_threads(driver, "delayed_tasks", "delayed"))
    step_of = {str(each.get("task")): str(each.get("step")) for each in judged if _is_delayed(each)}
    partly = {str(each.get("step")) for each in judged if str(each.get("task")) not in step_of}
    names = {task.index: task.task for task in tasks}
    for step in listed(driver, "core_times"):
        if isinstance(step, Mapping):
            indices = (index for index in listed(step, "tasks") if isinstance(index, int))
            together = {names[index] for index in indices if index in names}
            if not together <= step_of.keys():
                partly |= {step_of[name] for name in together if name in step_of}
    return set(step_of.values()) - partly


def _starved(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Checks threads that measure nothing themselves: if they hardly get a core, others do not either, unless
    these have real-time priority; workers that lost it for a while are checked by themselves.
    """
    names = _REALTIME_THREADS if granted_scheduling(driver) == "realtime" else _UNTIMED_THREADS
    shares = [
        number(thread, "run_queue_s") / lasted_s
        for _, thread in threads_of(driver)
        if thread.get("name") in names and (lasted_s := number(thread, "wall_s")) >= MIN_STARVED_S
    ]
    if shares and max(shares) > STARVED_SHARE:
        yield Finding(
            f"the driver waited for a core for {format_excess(max(shares), STARVED_SHARE)} of the race "
            f"(limit {STARVED_SHARE * 100:.0f} %)",
            "machine",
            core_advice(driver),
        )


def _faulting(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Checks threads whose memory or program was read from the disk while they served their clients."""
    shares: list[tuple[float, str]] = []
    for faulting in _of_threads(driver, "faulting_steps", "faulting"):
        faults, operations = number(faulting, "major_faults"), number(faulting, "operations")
        if min(faults, operations) >= MIN_FAULTS and faults > FAULT_SHARE * operations:
            shares.append((faults / operations, str(faulting.get("step"))))
    for alike, doubtful_from in _by_doubt(shares):
        yield Finding(
            f"the driver read its memory or its program from the disk during {_worst(alike, FAULT_SHARE)} of "
            f"operations (limit {FAULT_SHARE * 100:.0f} %)",
            "machine",
            "free memory of this machine",
            _steps(alike),
            doubtful_from,
        )


def _data_waits(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Reports the steps in which a thread waited for data files."""
    shares: list[tuple[float, str]] = []
    files: dict[str, list[str]] = {}
    for _, thread in threads_of(driver):
        for wait in listed(thread, "data_waits"):
            if isinstance(wait, Mapping) and number(wait, "share") > DATA_WAIT_SHARE:
                step = str(wait.get("step"))
                shares.append((number(wait, "share"), step))
                files.setdefault(step, []).append(str(wait.get("file")))
    for alike, doubtful_from in _by_doubt(shares):
        read = dict.fromkeys(file for step in _steps(alike) for file in files[step])
        yield Finding(
            f"the driver waited for the disk for {_worst(alike, DATA_WAIT_SHARE)} of its time while it read "
            f"{', '.join(read)} (limit {DATA_WAIT_SHARE * 100:.0f} %)",
            "machine",
            "put the data on a faster disk",
            _steps(alike),
            doubtful_from,
        )


def _by_doubt(shares: Sequence[tuple[float, str]]) -> Iterator[tuple[list[tuple[float, str]], float]]:
    """Yields the shares of steps of which the same figures are doubtful, with `Finding.doubtful_from`."""
    worst = {step: max(share for share, other in shares if other == step) for _, step in shares}
    for steps, doubtful_from in by_doubt(worst):
        yield [(share, step) for share, step in shares if step in steps], doubtful_from


def _possibly_changed(driver: Mapping[str, object]) -> Iterator[Finding]:
    for text in listed(driver, "possibly_changed_files"):
        yield Finding(f"data file {text} while the race used it", "machine", _NO_CHANGE)


def _outside_requests(driver: Mapping[str, object]) -> Iterator[Finding]:
    """Reports requests that the engine executed, but that no operation contains."""
    steps = [step for step in listed(driver, "outside_requests") if isinstance(step, Mapping)]
    requests = sum(int(number(step, "requests")) for step in steps)
    failed = sum(int(number(step, "failed")) for step in steps)
    if requests:
        failures = f" ({failed:,} failed)" if failed else ""
        yield Finding(
            f"the track's Python code sent {format_count(requests, 'request')} outside its "
            f"operations{failures}, so that no sample contains {'it' if requests == 1 else 'them'}",
            "track",
            "await every request in the operation that sends it",
            tuple(str(step.get("step")) for step in steps if number(step, "requests")),
        )


def _stolen(driver: Mapping[str, object]) -> Iterator[Finding]:
    cores = own_cores(driver)
    stolen, worst = cores.stolen_share, cores.most_stolen_share
    doubtful_from = EVERYTHING if stolen > STOLEN_SHARE_OF_FIGURES else None
    if stolen > STOLEN_SHARE:
        when, limit = "", STOLEN_SHARE
    elif worst > STOLEN_SHARE_OF_WINDOW:
        when = f" during ten seconds, {cores.most_stolen_from_s:.0f} s after the start of the driver"
        stolen, limit = worst, STOLEN_SHARE_OF_WINDOW
    else:
        return
    time = "CPU time"
    if cores.numbers is not None:
        time = f"the CPU time of the driver's cores ({format_cpus(cores.numbers)})"
    yield Finding(
        f"{format_excess(stolen, limit)} of {time} was stolen by other virtual machines{when} (limit "
        f"{limit * 100:.0f} %)",
        "machine",
        "repeat on a quiet host, or on one with cores of its own",
        doubtful_from=doubtful_from,
    )


def _worst(shares: Sequence[tuple[float, str]], limit: float) -> str:
    """Returns the highest of shares above a limit as a percentage; each share is with the step in which it
    was seen.
    """
    text = format_excess(max(shares)[0], limit, ".3g")
    return text if len(shares) == 1 else f"up to {text}"


def _steps(shares: Sequence[tuple[float, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(step for _, step in shares))

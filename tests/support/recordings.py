"""Recordings made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pacenote.model.recording import (
    AllocationGroup,
    EventState,
    EventType,
    GaugeKind,
    GaugeValues,
    IoGroup,
    IoKind,
    LockGroup,
    LockKind,
    RecordedGauge,
    RecordedPause,
    RecordedStack,
    RecordedThread,
    RecordedValues,
    Recording,
    RecordingFile,
    SampleGroup,
    SampleKind,
    StackFrame,
    ThreadAllocation,
    VmOperationGroup,
)

SECOND = 1_000_000_000
START_NS = 1_700_000_000 * SECOND

TYPES = (
    "jdk.ObjectAllocationInNewTLAB",
    "jdk.ObjectAllocationOutsideTLAB",
    "jdk.ObjectAllocationSample",
    "jdk.ExecutionSample",
    "jdk.CPUTimeSample",
    "jdk.NativeMethodSample",
    "jdk.JavaMonitorEnter",
    "jdk.ThreadPark",
    "jdk.JavaMonitorWait",
    "jdk.FileRead",
    "jdk.FileWrite",
    "jdk.FileForce",
    "jdk.SocketRead",
    "jdk.SocketWrite",
    "jdk.GCPhasePause",
    "jdk.GarbageCollection",
    "jdk.ExecuteVMOperation",
    "jdk.CPULoad",
    "jdk.ThreadCPULoad",
    "jdk.GCHeapSummary",
    "jdk.ThreadAllocationStatistics",
)


class RecordingBuilder:
    """Collects groups by names; classes, threads and stacks are numbered as they are named first."""

    def __init__(self) -> None:
        self.classes: dict[str, int] = {}
        self.threads: dict[str, int] = {}
        self.frames: dict[str, int] = {}
        self.stacks: dict[tuple[int, ...], int] = {}
        self.truncated: set[int] = set()
        self.groups: dict[str, list[object]] = {}

    def stack(self, *methods: str, truncated: bool = False) -> int:
        """Returns the number of a stack; the first method is the one that was running."""
        frames = tuple(self.frames.setdefault(method, len(self.frames)) for method in methods)
        number = self.stacks.setdefault(frames, len(self.stacks))
        if truncated:
            self.truncated.add(number)
        return number

    def allocate(self, field: str, what: tuple[str, str], stack: int | None, count: int, size: int) -> None:
        """Adds allocations of one class by one thread."""
        name, thread = what
        numbers = (self._class(name), self._thread(thread), stack)
        least = size // count if count else 0
        self._add(field, AllocationGroup(*numbers, RecordedValues(count, size, least, least)))

    def sample(self, thread: str, stack: int | None, count: int, kind: SampleKind = SampleKind.JAVA) -> None:
        """Adds samples of a running method."""
        self._add("samples", SampleGroup(kind, self._thread(thread), stack, count))

    def wait(self, kind: LockKind, name: str | None, stack: int | None, durations: Sequence[int]) -> None:
        """Adds waits of thread `waiter`."""
        lock = None if name is None else self._class(name)
        self._add("locks", LockGroup(kind, lock, self._thread("waiter"), stack, summary(durations)))

    def io(self, kind: IoKind, target: str, durations: Sequence[int], size: int | None) -> None:
        """Adds operations of thread `io`."""
        self._add("io", IoGroup(kind, target, self._thread("io"), None, summary(durations), size))

    def pause(self, name: str, duration_ns: int) -> None:
        """Adds a pause of the garbage collector."""
        self._add("pauses", RecordedPause(1, name, START_NS, duration_ns))

    def operation(self, name: str, durations: Sequence[int]) -> None:
        """Adds executions of an operation of the JVM that stops all threads."""
        self._add("vm_operations", VmOperationGroup(name, True, summary(durations)))

    def gauge(self, kind: GaugeKind, readings: Sequence[float], thread: str | None = None) -> None:
        """Adds the readings of a gauge."""
        number = None if thread is None else self._thread(thread)
        values = GaugeValues(len(readings), sum(readings), min(readings), max(readings))
        self._add("gauges", RecordedGauge(kind, number, values))

    def allocated(self, thread: str, size: int | None, readings: int = 2) -> None:
        """Adds what a thread allocated, as the JVM counts it."""
        self._add("thread_allocations", ThreadAllocation(self._thread(thread), readings, size))

    def build(
        self,
        states: Mapping[str, EventState] | None = None,
        problems: tuple[str, ...] = (),
        merged_events: int = 0,
    ) -> Recording:
        """Returns the recording. Types of events are recorded unless `states` has another state."""
        given = states or {}
        lists = {name: tuple(found) for name, found in self.groups.items()}
        fields = ("in_new_tlab", "outside_tlab", "sampled", "samples", "locks", "io", "pauses", "collections")
        empty = dict.fromkeys((*fields, "vm_operations", "gauges", "thread_allocations"), ())
        return Recording(
            files=(RecordingFile("race.jfr", 1, 100, problems),),
            start_ns=START_NS,
            end_ns=START_NS + 60 * SECOND,
            window_ns=None,
            event_types=tuple(EventType(name, given.get(name, EventState.RECORDED), 1) for name in TYPES),
            classes=tuple(self.classes),
            threads=tuple(RecordedThread(name, 1, 1) for name in self.threads),
            frames=tuple(
                StackFrame(method.removeprefix("native:"), 1, "Native" if "native:" in method else "Inlined")
                for method in self.frames
            ),
            stacks=tuple(
                RecordedStack(frames, number in self.truncated) for frames, number in self.stacks.items()
            ),
            merged_events=merged_events,
            **{**empty, **lists},  # type: ignore[arg-type]
        )

    def _class(self, name: str) -> int:
        return self.classes.setdefault(name, len(self.classes))

    def _thread(self, name: str) -> int:
        return self.threads.setdefault(name, len(self.threads))

    def _add(self, field: str, group: object) -> None:
        self.groups.setdefault(field, []).append(group)


def summary(values: Sequence[int]) -> RecordedValues:
    """Returns the summary of values."""
    return RecordedValues(len(values), sum(values), min(values), max(values))


def without(*types: str, state: EventState = EventState.DISABLED) -> dict[str, EventState]:
    """Returns the states of a recording without these types of events."""
    return dict.fromkeys(types, state)

"""What a Flight Recorder recording says: allocations, samples of methods, locks, pauses, I/O and gauges.

Events that agree in class, thread and stack are one group. Groups refer to classes, threads and stacks by
their index in the tables of the recording; None means that the event has no such value, or that the recording
was cut before it was written. Times are in ns since 1970, durations in ns, and sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Protocol, TypeVar

from msgspec import Struct

K = TypeVar("K")


class EventState(StrEnum):
    """Whether a recording can have events of a type."""

    RECORDED = "recorded"
    """The recording has events of the type."""

    NONE_OCCURRED = "none-occurred"
    """The type was enabled, but no event occurred, or none was longer than its threshold."""

    DISABLED = "disabled"
    """The type was disabled: the recording does not say whether anything happened."""

    UNSUPPORTED = "unsupported"
    """The JVM does not have the type."""

    UNKNOWN = "unknown"
    """The recording has no such event, and does not say whether the type was enabled."""


class SampleKind(StrEnum):
    """What a sample of a running method is based on."""

    JAVA = "java"
    """A thread that runs Java code, sampled at intervals (`jdk.ExecutionSample`)."""

    NATIVE = "native"
    """A thread in native code, which may be waiting (`jdk.NativeMethodSample`)."""

    CPU_TIME = "cpu-time"
    """A thread that has used a certain CPU time (`jdk.CPUTimeSample`, JDK 25)."""

    WALL = "wall"
    """Any thread, running or waiting, at intervals of wall-clock time (`profiler.WallClockSample`)."""


class ThreadState(StrEnum):
    """Whether a sampled thread was running."""

    RUNNING = "running"
    """It was running, or the recording does not say that it was not."""

    WAITING = "waiting"
    """It slept, was parked, or waited for a monitor, a notification or a system call."""


class LockKind(StrEnum):
    """How a thread waits."""

    MONITOR_ENTER = "monitor-enter"
    """To enter a `synchronized` block that another thread is in (`jdk.JavaMonitorEnter`)."""

    MONITOR_WAIT = "monitor-wait"
    """In `Object.wait` (`jdk.JavaMonitorWait`); usually idle rather than blocked."""

    PARK = "park"
    """In `LockSupport.park`, for a lock or for work (`jdk.ThreadPark`)."""


class IoKind(StrEnum):
    """An operation on a file or socket."""

    FILE_READ = "file-read"
    """A read from a file; page faults of mapped files are not among them (`jdk.FileRead`)."""

    FILE_WRITE = "file-write"
    """A write to a file (`jdk.FileWrite`)."""

    FILE_FORCE = "file-force"
    """A flush of a file to disk (`jdk.FileForce`)."""

    SOCKET_READ = "socket-read"
    """A read from a socket (`jdk.SocketRead`)."""

    SOCKET_WRITE = "socket-write"
    """A write to a socket (`jdk.SocketWrite`)."""


class RecordedValues(Struct, frozen=True):
    """Count, sum and extremes of sizes or durations."""

    count: int
    """Number of values."""

    total: int
    """Their sum."""

    min: int
    """The smallest value."""

    max: int
    """The largest value."""

    @property
    def average(self) -> float:
        """The mean value."""
        return self.total / self.count

    def __add__(self, other: RecordedValues) -> RecordedValues:
        """Returns the summary of the values of both."""
        return RecordedValues(
            self.count + other.count,
            self.total + other.total,
            min(self.min, other.min),
            max(self.max, other.max),
        )


class EventSetting(Struct, frozen=True):
    """A setting of a type of events that decides which of them are recorded."""

    name: str
    """Its name: `period`, `threshold`, `throttle`, or `interval` of async-profiler."""

    values: tuple[str, ...]
    """Its values; more than one if it was changed."""


class EventType(Struct, frozen=True):
    """A type of event that Pacenote reads."""

    name: str
    """Its name in current JVMs, such as `jdk.ExecutionSample`."""

    state: EventState
    """Whether the recording has such events, and if not, why."""

    count: int
    """Number of events within the window."""

    settings: tuple[EventSetting, ...] = ()
    """How often its events are taken, as far as the recording states it."""


class RecordedThread(Struct, frozen=True):
    """A thread of the recorded JVM. All virtual threads of one name are one thread."""

    name: str
    """Its Java name, or that of the operating system if it is not a Java thread; may be empty."""

    java_id: int | None
    """Its id in Java, or None if it is a virtual thread or not a Java thread."""

    os_id: int | None
    """Its id in the operating system, or None for a virtual thread."""


class StackFrame(Struct, frozen=True):
    """A method in a stack."""

    method: str
    """Class and method, such as `java.util.HashMap.resize`."""

    line: int | None
    """Line in the source file, or None if it is not known."""

    type: str
    """How the method ran: `Interpreted`, `JIT compiled`, `Inlined`, `Native`, or empty if not known."""


class RecordedStack(Struct, frozen=True):
    """A stack of a thread."""

    frames: tuple[int, ...]
    """Indexes of its frames in `Recording.frames`; the first one is the method that was running."""

    truncated: bool
    """Whether the stack was deeper than the JVM records (64 frames by default)."""


class SummarizedGroup(Protocol):
    """A group of events whose sizes or durations are summarized."""

    @property
    def values(self) -> RecordedValues:
        """Sizes or durations of the events."""


G = TypeVar("G", bound=SummarizedGroup)


class AllocationGroup(Struct, frozen=True):
    """Allocations of one class by one thread with one stack."""

    object_class: int | None
    """Index of the class in `Recording.classes`."""

    thread: int | None
    """Index of the thread in `Recording.threads`."""

    stack: int | None
    """Index of the stack in `Recording.stacks`."""

    values: RecordedValues
    """Sizes in bytes: of the new TLABs, of the objects outside TLABs, or the weights of the samples."""


class SampleGroup(Struct, frozen=True):
    """Samples of one thread with one stack."""

    kind: SampleKind
    """What the samples are based on."""

    thread: int | None
    """Index of the thread in `Recording.threads`."""

    stack: int | None
    """Index of the stack in `Recording.stacks`."""

    count: int
    """Number of samples."""

    state: ThreadState = ThreadState.RUNNING
    """Whether the thread was running."""


class LockGroup(Struct, frozen=True):
    """Waits of one thread for objects of one class with one stack."""

    kind: LockKind
    """How the thread waited."""

    lock_class: int | None
    """Class of the object that it waited for, an index of `Recording.classes`; None if it has none."""

    thread: int | None
    """Index of the thread in `Recording.threads`."""

    stack: int | None
    """Index of the stack in `Recording.stacks`."""

    values: RecordedValues
    """Durations of the waits, in ns."""


class IoGroup(Struct, frozen=True):
    """Operations of one thread on one file or peer with one stack."""

    kind: IoKind
    """The operation."""

    target: str
    """Path of the file, or host and port of the peer; may be empty."""

    thread: int | None
    """Index of the thread in `Recording.threads`."""

    stack: int | None
    """Index of the stack in `Recording.stacks`."""

    values: RecordedValues
    """Durations of the operations, in ns. Operations below the event's threshold are not recorded."""

    bytes: int | None
    """Bytes read or written, or None for flushes."""


class RecordedPause(Struct, frozen=True):
    """A pause of the garbage collector."""

    gc_id: int
    """Id of the collection, as in the GC log."""

    name: str
    """Phase of the collection, such as `GC Pause` or `Pause Mark Start (Minor)`."""

    start_ns: int
    """When it began, in ns since 1970."""

    duration_ns: int
    """How long it took, in ns."""


class RecordedCollection(Struct, frozen=True):
    """A garbage collection."""

    gc_id: int
    """Its id, as in the GC log."""

    name: str
    """Collector, such as `G1New`."""

    cause: str
    """Cause, such as `G1 Evacuation Pause`."""

    start_ns: int
    """When it began, in ns since 1970."""

    duration_ns: int
    """How long it took including concurrent phases, in ns."""

    pauses_ns: int
    """Sum of its pauses, in ns."""

    longest_pause_ns: int
    """Its longest pause, in ns."""


class VmOperationGroup(Struct, frozen=True):
    """Executions of one operation of the JVM."""

    name: str
    """Name of the operation, such as `G1CollectForAllocation`."""

    safepoint: bool
    """Whether it stops all threads."""

    values: RecordedValues
    """Durations in ns, without the time to reach the safepoint."""


class GaugeKind(StrEnum):
    """What the JVM reads at intervals."""

    CPU_JVM_USER = "cpu-jvm-user"
    """CPU time of the JVM in its own code, as a fraction of all processors (`jdk.CPULoad`)."""

    CPU_JVM_SYSTEM = "cpu-jvm-system"
    """CPU time of the JVM in the kernel, as a fraction of all processors (`jdk.CPULoad`)."""

    CPU_MACHINE = "cpu-machine"
    """CPU time of all processes of the machine, as a fraction of all processors (`jdk.CPULoad`)."""

    CPU_THREAD = "cpu-thread"
    """CPU time of a thread since its last reading, as a fraction of all processors (`jdk.ThreadCPULoad`);
    there is no reading if it was less than 1 ms, and one when the thread ends.
    """

    HEAP_USED_BEFORE = "heap-used-before"
    """Used part of the heap before a collection, in bytes (`jdk.GCHeapSummary`)."""

    HEAP_USED_AFTER = "heap-used-after"
    """Used part of the heap after a collection, in bytes (`jdk.GCHeapSummary`)."""

    HEAP_COMMITTED = "heap-committed"
    """Committed size of the heap after a collection, in bytes (`jdk.GCHeapSummary`)."""


class GaugeValues(Struct, frozen=True):
    """Count, sum and extremes of the readings of a gauge."""

    count: int
    """Number of readings."""

    sum: float
    """Their sum."""

    min: float
    """The smallest reading."""

    max: float
    """The largest reading."""


class RecordedGauge(Struct, frozen=True):
    """The readings of a gauge."""

    kind: GaugeKind
    """What it measures."""

    thread: int | None
    """Index of the thread in `Recording.threads`; None unless it is the load of a thread."""

    values: GaugeValues
    """Fractions or bytes."""


class ThreadAllocation(Struct, frozen=True):
    """What a thread allocated, as the JVM counts it (`jdk.ThreadAllocationStatistics`)."""

    thread: int
    """Index of the thread in `Recording.threads`."""

    readings: int
    """Number of readings, which JVMs take at the beginning and the end of each chunk."""

    bytes: int | None
    """Bytes from the first reading, or from the start of the thread if that was later, to the last reading;
    None if the thread has only one reading and may have existed before.
    """


class RecordedJvm(Struct, frozen=True):
    """A JVM that wrote chunks."""

    pid: int | None
    """Its process id, or None if the recording does not state it."""

    start_ns: int | None
    """When it started in ns since 1970, or None if the recording does not state it."""


class RepeatedChunks(Struct, frozen=True):
    """Consecutive chunks of a file that were left out, because they were read elsewhere."""

    first: int
    """Number of the first one in its file, from 1."""

    count: int
    """How many there are."""

    file: int
    """Index of the file with the chunks that were read, in `Recording.files`."""

    original: int
    """Number of the first of these in their file, from 1."""


class RecordingFile(Struct, frozen=True):
    """A recording file, and what of it was read."""

    path: str
    """The file."""

    chunks: int
    """Number of chunks that were read."""

    events: int
    """Number of events in these chunks, of all types and times."""

    problems: tuple[str, ...]
    """What could not be read, and why; one sentence each."""

    repeated: tuple[RepeatedChunks, ...] = ()
    """Chunks that were left out, as those of an earlier dump of the same recording."""

    jvms: tuple[int, ...] = ()
    """Indexes of the JVMs that wrote the chunks that were read, in `Recording.jvms`."""


class Recording(Struct, frozen=True):
    """The events of one or several recordings, within a window of time."""

    files: tuple[RecordingFile, ...]
    """The files that were read, in the order in which they were given."""

    start_ns: int | None
    """Start of the first chunk in ns since 1970, or None if no chunk could be read."""

    end_ns: int | None
    """End of the last chunk or event in ns since 1970, or None if no chunk could be read."""

    window_ns: tuple[int, int] | None
    """Start and end in ns since 1970: only events that begin between them are counted. None means all."""

    event_types: tuple[EventType, ...]
    """All types of events that Pacenote reads."""

    classes: tuple[str, ...]
    """Names of classes, as in Java source: `java.lang.String`, `byte[]`."""

    threads: tuple[RecordedThread, ...]
    """The threads that groups refer to."""

    frames: tuple[StackFrame, ...]
    """The frames that stacks refer to."""

    stacks: tuple[RecordedStack, ...]
    """The stacks that groups refer to."""

    in_new_tlab: tuple[AllocationGroup, ...]
    """Allocations that needed a new TLAB, with the sizes of the TLABs: an estimate of what was allocated."""

    outside_tlab: tuple[AllocationGroup, ...]
    """Allocations outside TLABs. Their sizes are those of the objects."""

    sampled: tuple[AllocationGroup, ...]
    """Samples of allocations. Their weights estimate what was allocated, in and outside TLABs."""

    samples: tuple[SampleGroup, ...]
    """Samples of running methods."""

    locks: tuple[LockGroup, ...]
    """Waits for monitors and locks that exceeded the event's threshold."""

    io: tuple[IoGroup, ...]
    """Operations on files and sockets that exceeded the event's threshold."""

    pauses: tuple[RecordedPause, ...]
    """The pauses of the garbage collector, by start; `event_types` also counts those that were left out."""

    collections: tuple[RecordedCollection, ...]
    """The garbage collections, by start; `event_types` also counts those that were left out."""

    vm_operations: tuple[VmOperationGroup, ...]
    """Operations of the JVM."""

    gauges: tuple[RecordedGauge, ...]
    """What the JVM read at intervals."""

    thread_allocations: tuple[ThreadAllocation, ...]
    """What threads allocated, as the JVM counts it."""

    merged_events: int
    """Number of events without thread and stack, because more groups occurred than are kept apart."""

    jvms: tuple[RecordedJvm, ...] = ()
    """The JVMs that wrote the chunks, as far as they say so; their events are added up."""

    def state_of(self, event: str) -> EventState:
        """Returns whether the recording has events of a type, such as `jdk.ExecutionSample`."""
        states = (event_type.state for event_type in self.event_types if event_type.name == event)
        return next(states, EventState.UNSUPPORTED)

    def settings_of(self, event: str) -> tuple[EventSetting, ...]:
        """Returns how often events of a type are taken; empty if the recording does not state it."""
        return next((event_type.settings for event_type in self.event_types if event_type.name == event), ())

    def count_of(self, event: str) -> int:
        """Returns the number of events of a type within the window."""
        return next((event_type.count for event_type in self.event_types if event_type.name == event), 0)

    def class_name(self, index: int | None) -> str:
        """Returns the name of a class, or `(unknown)`."""
        return "(unknown)" if index is None else self.classes[index]

    def thread_name(self, index: int | None) -> str:
        """Returns the name of a thread, or `(unknown)`."""
        return "(unknown)" if index is None else self.threads[index].name

    def stack_frames(self, index: int | None) -> tuple[StackFrame, ...]:
        """Returns the frames of a stack, the running method first; empty if there is no stack."""
        return () if index is None else tuple(self.frames[frame] for frame in self.stacks[index].frames)


def totals_by(groups: Iterable[G], key: Callable[[G], K]) -> list[tuple[K, RecordedValues]]:
    """Sums up groups that have the same key, and returns the sums in descending order of their totals."""
    totals: dict[K, RecordedValues] = {}
    for group in groups:
        at = key(group)
        totals[at] = totals[at] + group.values if at in totals else group.values
    return sorted(totals.items(), key=lambda item: item[1].total, reverse=True)

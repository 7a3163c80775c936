"""The kinds of events that tables and flame graphs are made of, and their groups in a recording."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from pacenote.model.recording import (
    AllocationGroup,
    EventState,
    IoGroup,
    IoKind,
    LockKind,
    RecordedValues,
    Recording,
    SampleKind,
    ThreadState,
)

Unit = Literal["bytes", "ns", "samples"]
"""What events weigh: bytes, nanoseconds, or 1 for each."""

LeafKind = Literal["class", "lock", "target", "state", ""]
"""What an event adds to its stack: the allocated class, the class of the lock, a file or peer, the state of
the thread, or nothing.
"""


KNOWN = frozenset({EventState.RECORDED, EventState.NONE_OCCURRED})
"""The states of events of which a recording says how many occurred."""


class EventGroup(Struct, frozen=True):
    """Events with the same stack and thread, whatever their kind."""

    leaf: str
    """What the method worked on: a class, a file or a peer; empty for a sample."""

    thread: int | None
    """Index of the thread in `Recording.threads`."""

    stack: int | None
    """Index of the stack in `Recording.stacks`."""

    values: RecordedValues
    """What the events weigh."""

    bytes: int | None = None
    """Bytes read or written, or None if the kind of event has none."""


class EventKind(Struct, frozen=True):
    """A kind of event, as `--event` names it."""

    name: str
    """Its name."""

    title: str
    """What it is, in a heading."""

    counted: str
    """What there is one of for each event, as the head of a column."""

    unit: Unit
    """What its events weigh."""

    leaf: LeafKind
    """What an event adds to its stack."""

    types: tuple[str, ...]
    """The types of events that it is made of."""

    groups: Callable[[Recording], Iterator[EventGroup]]
    """Returns its groups in a recording."""

    def state(self, recording: Recording) -> EventState:
        """Returns whether the recording can have these events: the best state of their types."""
        if self.name == "wall" and next(_wall_clock(recording), None) is not None:
            return EventState.RECORDED
        order = list(EventState)
        return min((recording.state_of(name) for name in self.types), key=order.index)

    def is_known(self, recording: Recording) -> bool:
        """Returns whether the recording says how many of these events occurred, be it none."""
        return self.state(recording) in KNOWN


NO_STACK = "(no stack)"
"""The frame of events without a stack."""

_HIDDEN = re.compile(
    r"(?:\$\d+)?(?:[./+]0x[0-9a-f]+|[/+]\d+)+(?=[.\[]|$)"
    r"|(?<=\$\$Lambda)\$\d+\.\d+|(?<=LambdaForm\$MH)\.\d+|(?<=LambdaForm\$[BD]MH)\.\d+"
)
"""The part of the name of a hidden class, such as a lambda, that differs in every run of a JVM: an address,
or a number behind a slash. Other digits behind a dot are kept: native libraries have versions in their names,
as `libpthread-2.17.so`.
"""


@lru_cache(65_536)
def stable_name(name: str) -> str:
    """Returns the name of a class or method as other recordings of the same program have it."""
    return _HIDDEN.sub("", name)


def _allocations(*fields: str) -> Callable[[Recording], Iterator[EventGroup]]:
    def groups(recording: Recording) -> Iterator[EventGroup]:
        for field in fields:
            allocations: Sequence[AllocationGroup] = getattr(recording, field)
            for allocation in allocations:
                name = stable_name(recording.class_name(allocation.object_class))
                yield EventGroup(name, allocation.thread, allocation.stack, allocation.values)

    return groups


def _samples(kind: SampleKind) -> Callable[[Recording], Iterator[EventGroup]]:
    def groups(recording: Recording) -> Iterator[EventGroup]:
        for sample in recording.samples:
            if sample.kind is kind and sample.state is ThreadState.RUNNING:
                yield EventGroup(
                    "", sample.thread, sample.stack, RecordedValues(sample.count, sample.count, 1, 1)
                )

    return groups


def _wall_clock(recording: Recording) -> Iterator[EventGroup]:
    """Yields the samples of running and waiting threads; some profilers write ExecutionSample."""
    java = [one for one in recording.samples if one.kind is SampleKind.JAVA]
    mixed = any(one.state is ThreadState.WAITING for one in java)
    for sample in recording.samples:
        if sample.kind is SampleKind.WALL or (mixed and sample.kind is SampleKind.JAVA):
            values = RecordedValues(sample.count, sample.count, 1, 1)
            yield EventGroup(sample.state.value, sample.thread, sample.stack, values)


def _waits(kind: LockKind) -> Callable[[Recording], Iterator[EventGroup]]:
    def groups(recording: Recording) -> Iterator[EventGroup]:
        for lock in recording.locks:
            if lock.kind is kind:
                name = "(no object)" if lock.lock_class is None else recording.class_name(lock.lock_class)
                yield EventGroup(stable_name(name), lock.thread, lock.stack, lock.values)

    return groups


def _io(*kinds: IoKind) -> Callable[[Recording], Iterator[EventGroup]]:
    def groups(recording: Recording) -> Iterator[EventGroup]:
        for group in recording.io:
            if group.kind in kinds:
                yield _io_group(group)

    return groups


def _io_group(group: IoGroup) -> EventGroup:
    operation = group.kind.value.rpartition("-")[2]
    leaf = f"{operation} {group.target or '(unknown)'}"
    return EventGroup(leaf, group.thread, group.stack, group.values, group.bytes)


IN_NEW_TLAB = EventKind(
    "allocation-in-new-tlab",
    "Allocation in new TLABs",
    *("TLABs", "bytes", "class", ("jdk.ObjectAllocationInNewTLAB",), _allocations("in_new_tlab")),
)
"""Allocations for which a thread needed a new TLAB, with the sizes of the TLABs."""

OUTSIDE_TLAB = EventKind(
    "allocation-outside-tlab",
    "Allocation outside TLABs",
    *("Objects", "bytes", "class", ("jdk.ObjectAllocationOutsideTLAB",), _allocations("outside_tlab")),
)
"""Allocations outside TLABs, with the sizes of the objects."""

SAMPLED_ALLOCATION = EventKind(
    "allocation-sample",
    "Allocation, sampled",
    *("Samples", "bytes", "class", ("jdk.ObjectAllocationSample",), _allocations("sampled")),
)
"""Samples of allocations, with their weights."""

TLAB_ALLOCATION = EventKind(
    "allocation",
    "Allocation in new TLABs and outside TLABs",
    *("Events", "bytes", "class", (*IN_NEW_TLAB.types, *OUTSIDE_TLAB.types)),
    _allocations("in_new_tlab", "outside_tlab"),
)
"""New TLABs and allocations outside TLABs together: an estimate of all that was allocated."""

CPU = EventKind(
    "cpu",
    "Running Java methods",
    *("Samples", "samples", "", ("jdk.ExecutionSample",), _samples(SampleKind.JAVA)),
)
"""Samples of threads that run Java code."""

CPU_TIME = EventKind(
    "cpu-time",
    "Methods by CPU time",
    *("Samples", "samples", "", ("jdk.CPUTimeSample",), _samples(SampleKind.CPU_TIME)),
)
"""Samples of threads by the CPU time that they use."""

WALL = EventKind(
    "wall",
    "Threads by wall-clock time",
    *("Samples", "samples", "state", ("profiler.WallClockSample",), _wall_clock),
)
"""Samples of all threads of a profiler, with their states: running or waiting."""

NATIVE = EventKind(
    "native",
    "Threads in native methods, running or waiting",
    *("Samples", "samples", "", ("jdk.NativeMethodSample",), _samples(SampleKind.NATIVE)),
)
"""Samples of threads in native code."""

LOCK = EventKind(
    "lock",
    "Waits to enter monitors",
    *("Waits", "ns", "lock", ("jdk.JavaMonitorEnter",), _waits(LockKind.MONITOR_ENTER)),
)
"""Threads that wait for a `synchronized` block."""

PARK = EventKind(
    "park",
    "Parked threads",
    *("Waits", "ns", "lock", ("jdk.ThreadPark",), _waits(LockKind.PARK)),
)
"""Threads that wait for locks of `java.util.concurrent`, or for work."""

WAIT = EventKind(
    "wait",
    "Waits for notifications",
    *("Waits", "ns", "lock", ("jdk.JavaMonitorWait",), _waits(LockKind.MONITOR_WAIT)),
)
"""Threads in `Object.wait`."""

FILE_IO = EventKind(
    "file-io",
    "File I/O",
    *("Operations", "ns", "target", ("jdk.FileRead", "jdk.FileWrite", "jdk.FileForce")),
    _io(IoKind.FILE_READ, IoKind.FILE_WRITE, IoKind.FILE_FORCE),
)
"""Reads, writes and flushes of files."""

SOCKET_IO = EventKind(
    "socket-io",
    "Socket I/O",
    *("Operations", "ns", "target", ("jdk.SocketRead", "jdk.SocketWrite")),
    _io(IoKind.SOCKET_READ, IoKind.SOCKET_WRITE),
)
"""Reads and writes of blocking sockets."""

EVENT_KINDS: Mapping[str, EventKind] = {
    kind.name: kind
    for kind in (
        *(TLAB_ALLOCATION, IN_NEW_TLAB, OUTSIDE_TLAB, SAMPLED_ALLOCATION, CPU, CPU_TIME, WALL, NATIVE),
        *(LOCK, PARK, WAIT, FILE_IO, SOCKET_IO),
    )
}
"""All kinds by name."""


def event_kind(name: str, recordings: Sequence[Recording]) -> EventKind:
    """Returns the kind of events that a value of `--event` selects in these recordings.

    `allocation` is that of TLABs, and `cpu` that of Java samples, unless only the samples of allocations, or
    those by CPU time, were recorded in all recordings.
    """
    instead = {"allocation": SAMPLED_ALLOCATION, "cpu": CPU_TIME}.get(name)
    kind = EVENT_KINDS[name]
    if instead is None or all(map(kind.is_known, recordings)):
        return kind
    return instead if all(map(instead.is_known, recordings)) else kind


def thread_groups(recording: Recording, kind: EventKind, threads: Sequence[str]) -> Iterator[EventGroup]:
    """Yields the groups of a kind; with `threads`, only those of threads whose names contain one of them."""
    if not threads:
        yield from kind.groups(recording)
        return
    names = [thread.name for thread in recording.threads]
    kept = {index for index, name in enumerate(names) if any(part in name for part in threads)}
    yield from (group for group in kind.groups(recording) if group.thread in kept)

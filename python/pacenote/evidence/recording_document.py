"""The recording as the Rust core returns it: every name once, and referred to by its index."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pacenote.model.codec import decode_text
from pacenote.model.recording import (
    AllocationGroup,
    EventType,
    IoGroup,
    IoKind,
    LockGroup,
    RecordedCollection,
    RecordedGauge,
    RecordedJvm,
    RecordedPause,
    RecordedStack,
    RecordedThread,
    RecordedValues,
    Recording,
    RecordingFile,
    SampleGroup,
    StackFrame,
    ThreadAllocation,
    VmOperationGroup,
)


class _Thread(msgspec.Struct):
    name: int | None
    java_id: int | None
    os_id: int | None


class _Frame(msgspec.Struct):
    method: int | None
    line: int | None
    type: int | None


class _IoGroup(msgspec.Struct):
    kind: IoKind
    target: int | None
    thread: int | None
    stack: int | None
    values: RecordedValues
    bytes: int | None


class _Pause(msgspec.Struct):
    gc_id: int
    name: int | None
    start_ns: int
    duration_ns: int


class _Collection(msgspec.Struct):
    gc_id: int
    name: int | None
    cause: int | None
    start_ns: int
    duration_ns: int
    pauses_ns: int
    longest_pause_ns: int


class _VmOperation(msgspec.Struct):
    name: int | None
    safepoint: bool
    values: RecordedValues


class _Document(msgspec.Struct):
    files: tuple[RecordingFile, ...]
    start_ns: int | None
    end_ns: int | None
    window_ns: tuple[int, int] | None
    event_types: tuple[EventType, ...]
    names: tuple[str, ...]
    classes: tuple[int | None, ...]
    threads: list[_Thread]
    frames: list[_Frame]
    stacks: tuple[RecordedStack, ...]
    in_new_tlab: tuple[AllocationGroup, ...]
    outside_tlab: tuple[AllocationGroup, ...]
    sampled: tuple[AllocationGroup, ...]
    samples: tuple[SampleGroup, ...]
    locks: tuple[LockGroup, ...]
    io: list[_IoGroup]
    pauses: list[_Pause]
    collections: list[_Collection]
    vm_operations: list[_VmOperation]
    gauges: tuple[RecordedGauge, ...]
    thread_allocations: tuple[ThreadAllocation, ...]
    merged_events: int
    jvms: tuple[RecordedJvm, ...]


def decode_recording(text: str) -> Recording:
    """Returns the recording of a document of the core, in which equal names are one object."""
    document = decode_text(_Document, text)
    name = _Names(document.names).name
    return Recording(
        files=document.files,
        start_ns=document.start_ns,
        end_ns=document.end_ns,
        window_ns=document.window_ns,
        event_types=document.event_types,
        classes=tuple(map(name, document.classes)),
        threads=tuple(
            RecordedThread(name(entry.name), entry.java_id, entry.os_id) for entry in document.threads
        ),
        frames=tuple(
            StackFrame(name(entry.method), entry.line, name(entry.type)) for entry in document.frames
        ),
        stacks=document.stacks,
        in_new_tlab=document.in_new_tlab,
        outside_tlab=document.outside_tlab,
        sampled=document.sampled,
        samples=document.samples,
        locks=document.locks,
        io=tuple(
            IoGroup(entry.kind, name(entry.target), entry.thread, entry.stack, entry.values, entry.bytes)
            for entry in document.io
        ),
        pauses=tuple(
            RecordedPause(entry.gc_id, name(entry.name), entry.start_ns, entry.duration_ns)
            for entry in document.pauses
        ),
        collections=tuple(
            _collection(entry, name(entry.name), name(entry.cause)) for entry in document.collections
        ),
        vm_operations=tuple(
            VmOperationGroup(name(entry.name), entry.safepoint, entry.values)
            for entry in document.vm_operations
        ),
        gauges=document.gauges,
        thread_allocations=document.thread_allocations,
        merged_events=document.merged_events,
        jvms=document.jvms,
    )


class _Names:
    """The names of a recording."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def name(self, index: int | None) -> str:
        """Returns a name, or an empty text."""
        return "" if index is None else self._names[index]


def _collection(entry: _Collection, name: str, cause: str) -> RecordedCollection:
    times = (entry.start_ns, entry.duration_ns, entry.pauses_ns, entry.longest_pause_ns)
    return RecordedCollection(entry.gc_id, name, cause, *times)

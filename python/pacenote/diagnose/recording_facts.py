"""The figures that a Flight Recorder recording has, by task and node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.model.recording import (
    AllocationGroup,
    EventState,
    IoKind,
    Recording,
    SampleKind,
    ThreadState,
    totals_by,
)

_JDK = ("java.", "javax.", "jdk.", "sun.")
"""Beginnings of methods of the class library, which allocate for others."""

_COMPRESSION = (
    "org.apache.lucene.codecs.compressing.",
    "org.apache.lucene.util.compress.",
    "org.apache.lucene.codecs.lucene90.compressing.",
    "java.util.zip.",
    "com.github.luben.zstd.",
)
"""Beginnings of methods that compress stored fields."""

_TLS = ("sun.security.ssl.", "com.sun.crypto.provider.", "io.netty.handler.ssl.")
"""Beginnings of methods of TLS."""

_SCRIPTS = (
    "org.elasticsearch.painless.",
    "org.elasticsearch.script.",
    "org.opensearch.painless.",
    "org.opensearch.script.",
    "org.apache.lucene.expressions.",
)
"""Beginnings of methods that run or compile scripts."""

_Figures = Iterator[tuple[str, float | str | None]]


def add_recording_figures(
    builder: EvidenceBuilder, window: Window, recording: Recording, documents: float | None
) -> None:
    """Adds the figures of a recording that was read for this window; `documents` were indexed in it."""
    figures = (
        *_coverage(recording),
        *_allocations(recording),
        *_outside(recording, documents),
        *_profile(recording),
        *_files(recording),
    )
    for name, value in figures:
        builder.set(window, name, value)


def _coverage(recording: Recording) -> _Figures:
    if recording.window_ns is None or recording.start_ns is None or recording.end_ns is None:
        return
    begin, end = recording.window_ns
    covered = min(end, recording.end_ns) - max(begin, recording.start_ns)
    if end > begin:
        yield "recording.coverage_share", max(0, covered) / (end - begin)


def _allocated(recording: Recording) -> tuple[AllocationGroup, ...]:
    """Returns the allocations from which shares are computed: those of all TLABs, or samples of them."""
    return (*recording.in_new_tlab, *recording.outside_tlab) or recording.sampled


def _allocations(recording: Recording) -> _Figures:
    groups = _allocated(recording)
    whole = sum(group.values.total for group in groups)
    if not whole:
        return
    classes = totals_by(groups, lambda group: group.object_class)
    yield "allocation.top_class", recording.class_name(classes[0][0])
    yield "allocation.top_class_share", classes[0][1].total / whole
    site = cache(lambda stack: _site(recording, stack))  # Many groups have the same stack.
    sites = totals_by(groups, lambda group: site(group.stack))
    named = [(name, values) for name, values in sites if name]
    if named:
        yield "allocation.top_site", named[0][0]
        yield "allocation.top_site_share", named[0][1].total / whole


def _site(recording: Recording, stack: int | None) -> str:
    """Returns the first method that is not one of the class library."""
    frames = recording.stack_frames(stack)
    return next((frame.method for frame in frames if not frame.method.startswith(_JDK)), "")


def _outside(recording: Recording, documents: float | None) -> _Figures:
    outside = sum(group.values.total for group in recording.outside_tlab)
    whole = outside + sum(group.values.total for group in recording.in_new_tlab)
    if not whole:
        return
    yield "allocation.outside_share", outside / whole
    if documents:
        count = sum(group.values.count for group in recording.outside_tlab)
        yield "allocation.outside_per_document", count / documents
        yield "allocation.bytes_per_document", whole / documents


def _profile(recording: Recording) -> _Figures:
    samples = [group for group in recording.samples if group.kind is SampleKind.CPU_TIME]
    samples = samples or [group for group in recording.samples if group.kind is SampleKind.JAVA]
    samples = [group for group in samples if group.state is ThreadState.RUNNING]
    whole = sum(group.count for group in samples)
    yield "profile.samples", whole
    if not whole:
        return
    for name, beginnings in (("compression", _COMPRESSION), ("tls", _TLS), ("script", _SCRIPTS)):
        stacks = {group.stack for group in samples}
        matching = {stack for stack in stacks if _has(recording, stack, beginnings)}
        count = sum(group.count for group in samples if group.stack in matching)
        yield f"profile.{name}_share", count / whole


def _has(recording: Recording, stack: int | None, beginnings: tuple[str, ...]) -> bool:
    return any(frame.method.startswith(beginnings) for frame in recording.stack_frames(stack))


def _files(recording: Recording) -> _Figures:
    """Yields the slowest flush of a file: groups have no percentiles, only their largest value."""
    forces = [group.values for group in recording.io if group.kind is IoKind.FILE_FORCE]
    if forces:
        yield "disk.force_max_ms", max(values.max for values in forces) / 1e6
    elif recording.state_of("jdk.FileForce") is EventState.NONE_OCCURRED:
        yield "disk.force_max_ms", 0.0
    yield "recording.lost_chunks", _problems(file.problems for file in recording.files)


def _problems(problems: Iterable[tuple[str, ...]]) -> int:
    return sum(len(texts) for texts in problems)

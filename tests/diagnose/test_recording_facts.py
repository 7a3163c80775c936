from __future__ import annotations

import pytest
from msgspec.structs import replace

from pacenote.diagnose.facts import Evidence, EvidenceBuilder, Window
from pacenote.diagnose.recording_facts import add_recording_figures
from pacenote.model.recording import (
    AllocationGroup,
    EventState,
    EventType,
    IoGroup,
    IoKind,
    RecordedStack,
    RecordedValues,
    Recording,
    RecordingFile,
    SampleGroup,
    SampleKind,
    StackFrame,
)

WINDOW = Window("index-append", "a")
FRAMES = (
    "java.util.Arrays.copyOf",
    "io.netty.buffer.PoolArena.newChunk",
    "org.apache.lucene.codecs.compressing.LZ4.compress",
    "org.opensearch.painless.PainlessScript$Script.execute",
)


def values(total: int, count: int = 1) -> RecordedValues:
    return RecordedValues(count, total, 1, total)


def recording(
    *,
    in_tlab: tuple[AllocationGroup, ...] = (),
    outside: tuple[AllocationGroup, ...] = (),
    sampled: tuple[AllocationGroup, ...] = (),
    samples: tuple[SampleGroup, ...] = (),
    io: tuple[IoGroup, ...] = (),
) -> Recording:
    """Returns a recording with two classes and three stacks: of copies, of chunks, and of compression."""
    state = EventState.RECORDED if io else EventState.DISABLED
    return Recording(
        files=(RecordingFile("a.jfr", 1, 9, ("it was cut",)),),
        start_ns=0,
        end_ns=9,
        window_ns=None,
        event_types=(EventType("jdk.FileForce", state, len(io)),),
        classes=("byte[]", "int[]"),
        threads=(),
        frames=tuple(StackFrame(name, None, "") for name in FRAMES),
        stacks=tuple(
            RecordedStack(frames, truncated=False) for frames in ((0, 1), (1,), (2, 1), (0,), (0, 3))
        ),
        in_new_tlab=in_tlab,
        outside_tlab=outside,
        sampled=sampled,
        samples=samples,
        locks=(),
        io=io,
        pauses=(),
        collections=(),
        vm_operations=(),
        gauges=(),
        thread_allocations=(),
        merged_events=0,
    )


def figures(given: Recording, documents: float | None = None) -> Evidence:
    builder = EvidenceBuilder("race")
    add_recording_figures(builder, WINDOW, given, documents)
    return builder.build()


def test_allocations_are_named_by_class_and_by_the_first_method_outside_of_the_class_library() -> None:
    known = figures(
        recording(
            in_tlab=(
                AllocationGroup(0, None, 0, values(600, 6)),
                AllocationGroup(1, None, 3, values(200, 2)),
            ),
            outside=(AllocationGroup(0, None, 1, values(200, 5)),),
            sampled=(AllocationGroup(1, None, 3, values(10**9)),),
        ),
        documents=100,
    )
    expected = {
        "allocation.top_class": "byte[]",
        "allocation.top_class_share": 0.8,
        "allocation.top_site": "io.netty.buffer.PoolArena.newChunk",
        "allocation.top_site_share": 0.8,
        "allocation.outside_share": 0.2,
        "allocation.outside_per_document": 0.05,
        "allocation.bytes_per_document": 10,
        "recording.lost_chunks": 1,
    }
    for name, value in expected.items():
        assert known.value(WINDOW, name) == (value if isinstance(value, str) else pytest.approx(value)), name


def test_a_recording_that_ended_early_covers_a_part_of_the_window() -> None:
    evidence = figures(replace(recording(), window_ns=(-1, 19)))
    assert evidence.value(WINDOW, "recording.coverage_share") == 0.45
    assert evidence.value(WINDOW, "recording.lost_chunks") == 1


def test_samples_stand_for_allocations_that_were_not_recorded() -> None:
    evidence = figures(recording(sampled=(AllocationGroup(1, None, None, values(10)),)), documents=100)
    assert evidence.value(WINDOW, "allocation.top_class") == "int[]"
    for name in ("allocation.outside_share", "allocation.top_site", "allocation.bytes_per_document"):
        assert not isinstance(evidence.value(WINDOW, name), float | str), name


def test_a_method_anywhere_in_a_stack_counts_for_what_it_does() -> None:
    evidence = figures(
        recording(
            samples=(
                SampleGroup(SampleKind.JAVA, None, 2, 3),
                SampleGroup(SampleKind.JAVA, None, 1, 6),
                SampleGroup(SampleKind.JAVA, None, 4, 3),
                SampleGroup(SampleKind.NATIVE, None, 2, 100),
            ),
            io=(IoGroup(IoKind.FILE_FORCE, "x", None, None, values(80_000_000), None),),
        )
    )
    assert evidence.value(WINDOW, "profile.samples") == 12
    assert evidence.value(WINDOW, "profile.compression_share") == 0.25
    assert evidence.value(WINDOW, "profile.script_share") == 0.25
    assert evidence.value(WINDOW, "profile.tls_share") == 0
    assert evidence.value(WINDOW, "disk.force_max_ms") == 80


def test_events_that_were_not_recorded_are_missing() -> None:
    evidence = figures(recording())
    for name in ("profile.tls_share", "disk.force_max_ms", "allocation.top_class_share"):
        assert not isinstance(evidence.value(WINDOW, name), float), name

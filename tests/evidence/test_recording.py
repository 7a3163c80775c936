"""Recordings through the Rust core; crates/evidence has the tests of formats and of damaged files."""

import gzip
import itertools
from pathlib import Path

import pytest

from pacenote.errors import EvidenceError
from pacenote.evidence.recording import RecordingReader
from pacenote.model.recording import EventState, GaugeKind, RecordedValues, totals_by
from support.jdk import jdk_params, record, recording_totals

SEEDS = Path(__file__).parents[2] / "fuzz" / "seeds" / "recording"

ALLOCATIONS = {
    "in_new_tlab": "ObjectAllocationInNewTLAB",
    "outside_tlab": "ObjectAllocationOutsideTLAB",
    "sampled": "ObjectAllocationSample",
}
SAMPLES = {"java": "ExecutionSample", "native": "NativeMethodSample", "cpu-time": "CPUTimeSample"}
READINGS = ("jdk.CPULoad", "jdk.ThreadCPULoad", "jdk.GCHeapSummary", "jdk.ThreadAllocationStatistics")
LOCKS = {"monitor-enter": "JavaMonitorEnter", "monitor-wait": "JavaMonitorWait", "park": "ThreadPark"}


def totals(recording):
    """Returns the groups of a recording in the form of `RecordingTotals.java`."""

    def stack(index):
        if index is None:
            return "-"
        # The JDK's reader replaces the slash before the number of a hidden class.
        frames = [
            f"{each.method.replace('/', '.')}:{each.line or '-'}:{each.type}"
            for each in recording.stack_frames(index)
        ]
        return ";".join(frames) + (";…" if recording.stacks[index].truncated else "")

    def row(name, subject, group, values, size=0):
        thread = None if group.thread is None else recording.threads[group.thread]
        thread_name = "-" if thread is None else f"{thread.name}/{thread.java_id or '-'}/{thread.os_id}"
        numbers = (values.count, values.total, values.min, values.max, size)
        return [f"jdk.{name}", subject, thread_name, stack(group.stack), *map(str, numbers)]

    def class_name(index):
        return "-" if index is None else recording.classes[index].replace("/", ".")

    for field, name in ALLOCATIONS.items():
        yield from (row(name, class_name(g.object_class), g, g.values) for g in getattr(recording, field))
    for group in recording.samples:
        yield row(SAMPLES[group.kind], "-", group, RecordedValues(group.count, group.count, 1, 1))
    for group in recording.locks:
        yield row(LOCKS[group.kind], class_name(group.lock_class), group, group.values)
    for group in recording.io:
        name = "".join(word.capitalize() for word in group.kind.split("-"))
        yield row(name, group.target, group, group.values, group.bytes or 0)
    for operation in recording.vm_operations:
        values = operation.values
        subject = f"{operation.name}/{str(operation.safepoint).lower()}"
        numbers = (values.count, values.total, values.min, values.max, 0)
        yield ["jdk.ExecuteVMOperation", subject, "-", "-", *map(str, numbers)]


def single_events(recording):
    """Returns the pauses and collections of a recording in the form of `RecordingTotals.java`."""
    for event in recording.pauses:
        yield ["jdk.GCPhasePause", event.name, event.gc_id, event.start_ns, event.duration_ns]
    for event in recording.collections:
        subject = f"{event.name}/{event.cause}"
        times = (event.start_ns, event.duration_ns, event.pauses_ns, event.longest_pause_ns)
        yield ["jdk.GarbageCollection", subject, event.gc_id, *times]


def thread_text(recording, index):
    """Returns a thread in the form of `RecordingTotals.java`."""
    thread = recording.threads[index]
    return f"{thread.name}/{thread.java_id or '-'}/{thread.os_id}"


def gauge_subject(recording, series):
    """Returns the subject of a series in the form of `RecordingTotals.java`: `-` for an unknown thread."""
    if series.thread is not None:
        return thread_text(recording, series.thread)
    return "-" if series.kind is GaugeKind.CPU_THREAD else None


def check_gauges(recording, rows):
    """Compares gauges and the allocations of threads with the readings that `RecordingTotals.java` prints."""
    expected = {}
    for name, subject, _, *values in rows:
        numbers = [float(value) for value in values]
        if name == "jdk.CPULoad":
            for kind, value in zip(("cpu-jvm-user", "cpu-jvm-system", "cpu-machine"), numbers, strict=False):
                expected.setdefault((kind, None), []).append(value)
        elif name == "jdk.ThreadCPULoad":
            expected.setdefault(("cpu-thread", subject), []).append(numbers[0] + numbers[1])
        elif name == "jdk.GCHeapSummary":
            kind = {"Before GC": "heap-used-before", "After GC": "heap-used-after"}[subject]
            expected.setdefault((kind, None), []).append(numbers[0])
            if subject == "After GC":
                expected.setdefault(("heap-committed", None), []).append(numbers[1])
    gauges = {(each.kind, gauge_subject(recording, each)): each.values for each in recording.gauges}
    assert gauges.keys() == expected.keys()
    for key, readings in expected.items():
        values = gauges[key]
        assert values.count == len(readings), key
        numbers = [sum(readings), min(readings), max(readings)]
        assert [values.sum, values.min, values.max] == pytest.approx(numbers, rel=1e-5), key
    assert sorted(allocated(recording)) == sorted(expected_allocations(rows))


def allocated(recording):
    """Yields what each thread allocated, with the number of its readings."""
    for allocation in recording.thread_allocations:
        yield thread_text(recording, allocation.thread), allocation.readings, allocation.bytes


def expected_allocations(rows):
    """Yields what each thread allocated: until its last reading, from its first one if that was the first of
    all, and otherwise from its start.
    """
    readings = {}
    for name, thread, time, size, *_ in rows:
        if name == "jdk.ThreadAllocationStatistics":
            readings.setdefault(thread, []).append((int(time), int(size)))
    earliest = min(time for each in readings.values() for time, _ in each)
    for thread, pairs in readings.items():
        (first, before), (last, after) = min(pairs), max(pairs)
        if first > earliest:
            yield thread, len(pairs), after
        else:
            yield thread, len(pairs), after - before if last > first else None


@pytest.mark.process
@pytest.mark.parametrize("jdk", jdk_params())
def test_every_group_is_that_of_the_jdks_own_reader(jdk, tmp_path):
    path = record(jdk, tmp_path)
    expected = recording_totals(jdk, path)
    recording = RecordingReader([path]).recording()
    assert expected.pop(next(i for i, row in enumerate(expected) if row[0] == "events")) == [
        "events",
        str(recording.files[0].events),
    ]
    singles = ("jdk.GCPhasePause", "jdk.GarbageCollection")
    groups = [row for row in expected if row[0] not in (*singles, *READINGS)]
    assert sorted(totals(recording)) == sorted(groups)
    texts = [[str(each) for each in row] for row in single_events(recording)]
    assert sorted(texts) == sorted(row[:-5] for row in expected if row[0] in singles)
    recorded = {row[0] for row in expected}
    assert len(recorded) >= 18, "the program did not cause the events that are compared"
    check_gauges(recording, [row for row in expected if row[0] in READINGS])
    states = {each.name: each.state for each in recording.event_types}
    assert {name for name, state in states.items() if state == EventState.RECORDED} == recorded
    assert recording.files[0].problems == ()

    compressed = tmp_path / "run.jfr.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes(), 1))
    again = RecordingReader([compressed]).recording()
    assert sorted(totals(again)) == sorted(groups)
    whole = totals_by(recording.outside_tlab, lambda each: each.object_class)
    middle = (recording.start_ns + recording.end_ns) // 2
    windows = ((recording.start_ns, middle), (middle, recording.end_ns + 1))
    halves = [RecordingReader([path]).recording(window) for window in windows]
    # More windows than are read at a time.
    assert [*RecordingReader([path]).between(windows * 9)] == [*halves] * 9
    parts = [sum(each.values.total for each in half.outside_tlab) for half in halves]
    assert sum(parts) == sum(values.total for _, values in whole)
    assert min(parts) > 0
    assert [each.start_ns < middle for half in halves for each in half.pauses] == [
        each.start_ns < middle for each in recording.pauses
    ]


def test_files_that_are_not_recordings_are_errors(tmp_path):
    path = tmp_path / "run.jfr"
    with pytest.raises(EvidenceError, match=f"cannot read {path}") as raised:
        RecordingReader([path]).recording()
    assert "check that the file exists" in raised.value.hint
    for content, message in [
        (b"", "the file is empty"),
        (b"GC log", "not a Flight Recorder recording"),
        (b"FLR\0" + bytes(10), "the header of chunk 1 is cut"),
        (b"FLR\0\0\x00\0\x09" + bytes(60), "has the format 0.9"),
        (gzip.compress(b"FLR\0")[:-4], "the compressed data is cut off"),
    ]:
        path.write_bytes(content)
        with pytest.raises(EvidenceError, match=message):
            RecordingReader([path]).recording()
    with pytest.raises(EvidenceError, match="no recording was given"):
        RecordingReader([]).recording()


def test_files_are_not_read_again_and_again_for_very_many_tasks(tmp_path):
    """They are read for four tasks at a time, and a race of others may have thousands."""
    path = tmp_path / "run.jfr"
    path.write_bytes((SEEDS / "format-2.1.jfr").read_bytes())
    times = itertools.count(0.0, 50.0)
    reader = RecordingReader([path], clock=lambda: next(times))
    read = []
    with pytest.raises(EvidenceError, match="was read for 8 of 40 tasks only"):
        read.extend(reader.between([(0, 1)] * 40))
    assert len(read) == 8

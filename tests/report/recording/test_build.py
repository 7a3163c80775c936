"""The tables of recordings, against those of field report S3."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.recording import (
    EventSetting,
    EventState,
    EventType,
    GaugeKind,
    IoKind,
    LockKind,
    RecordedJvm,
    RecordingFile,
    RepeatedChunks,
    SampleGroup,
    SampleKind,
    ThreadState,
)
from pacenote.report.recording.build import RecordingFilter, build_recording_report
from pacenote.report.recording.events import stable_name
from pacenote.report.render.recording import gauge_texts, table_notes, table_texts
from report.recording.field_report import CLASSES, READ, SITE, report_s3
from support.recordings import SECOND, RecordingBuilder, without

ALL = RecordingFilter()
MS = 1_000_000


def tables(recording, baseline=None, chosen=ALL):
    """Returns the tables of a report by name."""
    return {table.name: table for table in build_recording_report(recording, baseline, chosen).tables}


def gauges(recording, baseline=None, chosen=ALL):
    """Returns the heads and rows of the tables of gauges by name."""
    gauge_tables = build_recording_report(recording, baseline, chosen).gauges
    return {table.name: [heads, *rows] for table in gauge_tables for heads, rows in [gauge_texts(table, 0)]}


def texts(table, limit=0):
    """Returns the head and the rows of a table."""
    heads, rows = table_texts(table, limit)
    return [heads, *rows]


def test_the_classes_of_s3_have_its_objects_and_pressure():
    head, *rows = texts(tables(report_s3())["allocation-outside-tlab-by-class"])
    assert head == ("Class", "Objects", "Total size", "Pressure")
    assert [(name, objects, pressure) for name, objects, _, pressure in rows] == [
        (name, f"{objects:,}", pressure) for name, objects, _, pressure in CLASSES
    ]


def test_the_stack_of_s3_has_its_objects_and_pressure():
    table = tables(report_s3())["allocation-outside-tlab-stack-1"]
    head, *rows = texts(table)
    assert head == ("Stack", "Objects", "Total size", "Pressure")
    assert table.title.startswith("Allocation outside TLABs: byte[] by method")
    assert [(frame, objects, share) for frame, objects, _, share in rows] == [
        *((frame, "136,320", "96.09 %") for frame in SITE),
        *((frame, "136,317", "96.09 %") for frame in READ),
    ]


def test_allocations_in_new_tlabs_and_outside_are_separate():
    made = RecordingBuilder()
    stack = made.stack("a.B.c", "a.B.run")
    made.allocate("in_new_tlab", ("byte[]", "t-1"), stack, 4, 4000)
    made.allocate("in_new_tlab", ("int[]", "t-2"), stack, 1, 1000)
    made.allocate("outside_tlab", ("byte[]", "t-1"), stack, 2, 15_000)
    made.allocate("sampled", ("byte[]", "t-1"), stack, 9, 9)
    by_name = tables(made.build())
    assert texts(by_name["allocation"]) == [
        ("Where", "Events", "Total size", "Smallest", "Average", "Largest", "Pressure"),
        ("Allocation outside TLABs", "2", "14.6 KiB", "7.3 KiB", "7.3 KiB", "7.3 KiB", "75.00 %"),
        ("Allocation in new TLABs", "5", "4.9 KiB", "1000 B", "1000 B", "1000 B", "25.00 %"),
    ]
    assert texts(by_name["allocation-in-new-tlab-by-class"])[1:] == [
        ("byte[]", "4", "3.9 KiB", "80.00 %"),
        ("int[]", "1", "1000 B", "20.00 %"),
    ]
    assert texts(by_name["allocation-in-new-tlab-by-thread"])[1:] == [
        ("t-1", "4", "3.9 KiB", "80.00 %"),
        ("t-2", "1", "1000 B", "20.00 %"),
    ]
    assert "allocation-sample-by-class" not in by_name


def test_samples_of_allocations_are_used_if_tlabs_were_not_recorded():
    made = RecordingBuilder()
    made.allocate("sampled", ("byte[]", "t-1"), None, 3, 3000)
    states = without("jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB")
    report = build_recording_report(made.build(states), None, ALL)
    names = [table.name for table in report.tables]
    assert "allocation-sample-by-class" in names
    assert not any("tlab" in name for name in names)
    assert "samples" in report.tables[0].note
    assert not any("ObjectAllocationInNewTLAB" in note for note in report.notes)


def test_methods_locks_and_files_are_summed_up():
    made = RecordingBuilder()
    hot, cold = made.stack("a.B.hot", "a.B.run"), made.stack("a.B.cold")
    made.sample("t-1", hot, 2)
    made.sample("t-2", hot, 1)
    made.sample("t-1", cold, 1)
    made.sample("t-1", cold, 7, SampleKind.NATIVE)
    made.wait(LockKind.MONITOR_ENTER, "a.Lock", hot, [20 * MS, 30 * MS])
    made.wait(LockKind.PARK, None, hot, [SECOND])
    made.wait(LockKind.MONITOR_WAIT, "a.Lock", hot, [SECOND])
    made.io(IoKind.FILE_WRITE, "/data/translog", [2 * MS], 4096)
    made.io(IoKind.FILE_FORCE, "/data/translog", [8 * MS], None)
    made.pause("GC Pause", 5 * MS)
    made.pause("GC Pause", 7 * MS)
    made.operation("G1CollectForAllocation", [6 * MS])
    by_name = tables(made.build())
    assert texts(by_name["cpu-by-method"]) == [
        ("Method", "Samples", "Share"),
        ("a.B.hot", "3", "75.00 %"),
        ("a.B.cold", "1", "25.00 %"),
    ]
    assert texts(by_name["lock-by-class"])[1:] == [("a.Lock", "2", "50 ms", "100.00 %")]
    assert texts(by_name["park-by-class"])[1:] == [("(no object)", "1", "1 s", "100.00 %")]
    assert texts(by_name["file-io-by-operation"]) == [
        ("Operation", "Operations", "Total time", "Bytes", "Share"),
        ("force /data/translog", "1", "8 ms", "", "80.00 %"),
        ("write /data/translog", "1", "2 ms", "4.0 KiB", "20.00 %"),
    ]
    assert texts(by_name["gc-pauses"])[1:] == [
        ("GC Pause", "2", "12 ms", "5 ms", "6 ms", "7 ms", "100.00 %"),
    ]
    assert texts(by_name["vm-operations"])[1][:3] == ("G1CollectForAllocation", "yes", "1")
    assert not {"wait-by-class", "native-by-method"} & by_name.keys()
    waits = tables(made.build(), chosen=RecordingFilter(("wait",)))
    assert list(waits) == ["wait-by-class", "wait-by-thread"]


def test_gauges_and_the_allocations_of_threads_have_tables():
    made = RecordingBuilder()
    made.gauge(GaugeKind.CPU_JVM_USER, [0.25, 0.75])
    made.gauge(GaugeKind.CPU_MACHINE, [1.0])
    made.gauge(GaugeKind.HEAP_USED_AFTER, [1024, 3072])
    made.gauge(GaugeKind.CPU_THREAD, [0.5, 0.25, 0.0], "bulk-1")
    made.gauge(GaugeKind.CPU_THREAD, [0.55], "search-1")
    for readings in ([0.1, 0.2], [0.3]):
        made.gauge(GaugeKind.CPU_THREAD, readings, "same")
    made.allocated("bulk-1", 3000)
    made.allocated("bulk-2", 1000)
    made.allocated("main", None, 1)
    recording = made.build()
    assert gauges(recording) == {
        "cpu-load": [
            ("Reading", "Readings", "Smallest", "Average", "Largest"),
            ("JVM user", "2", "25.00 %", "50.00 %", "75.00 %"),
            ("Machine total", "1", "100.00 %", "100.00 %", "100.00 %"),
        ],
        "heap": [
            ("Reading", "Readings", "Smallest", "Average", "Largest"),
            ("Used after collections", "2", "1.0 KiB", "2.0 KiB", "3.0 KiB"),
        ],
        "thread-cpu-load": [
            ("Thread", "Readings", "Smallest", "Average", "Largest"),
            ("bulk-1", "3", "0.00 %", "25.00 %", "50.00 %"),
            ("same", "3", "10.00 %", "20.00 %", "30.00 %"),
            ("search-1", "1", "55.00 %", "55.00 %", "55.00 %"),
        ],
    }
    table = tables(recording)["thread-allocation"]
    assert texts(table) == [
        ("Thread", "Threads", "Total size", "Pressure"),
        ("bulk-1", "1", "2.9 KiB", "75.00 %"),
        ("bulk-2", "1", "1000 B", "25.00 %"),
    ]
    assert "1 thread with one reading" in table.note
    chosen = RecordingFilter(threads=("search",))
    assert gauges(recording, chosen=chosen).keys() == {"thread-cpu-load"}
    assert "thread-allocation" not in tables(recording, chosen=chosen)
    notes = build_recording_report(recording, None, chosen).notes
    assert "No reading at the times or of the threads shown: jdk.ThreadAllocationStatistics" in notes
    assert gauges(recording, chosen=RecordingFilter(("cpu",))) == {}


def test_gauges_are_compared_only_where_both_were_read():
    old, new = RecordingBuilder(), RecordingBuilder()
    old.gauge(GaugeKind.CPU_JVM_USER, [0.5])
    new.gauge(GaugeKind.CPU_JVM_USER, [0.75])
    new.gauge(GaugeKind.CPU_MACHINE, [0.75])
    new.allocated("t", 10)
    new.pause("GC Pause", MS)
    old_recording = old.build(without("jdk.GCPhasePause"))
    assert gauges(new.build(), old_recording)["cpu-load"] == [
        ("Reading", "Baseline", "Contender", "Change", "Baseline largest", "Contender largest"),
        ("JVM user", "50.00 %", "75.00 %", "+50.0 %", "50.00 %", "75.00 %"),
        ("Machine total", "", "75.00 %", "", "", "75.00 %"),
    ]
    # What one side did not record is not compared with nothing.
    assert not {"thread-allocation", "gc-pauses"} & tables(new.build(), old_recording).keys()
    notes = build_recording_report(new.build(), old_recording, ALL).notes
    assert any(note.startswith("baseline: Not recorded") and "jdk.GCPhasePause" in note for note in notes)


def test_what_is_missing_is_named_and_never_zero():
    states = {
        **without("jdk.ExecutionSample", "jdk.CPUTimeSample"),
        **without("jdk.JavaMonitorEnter", state=EventState.NONE_OCCURRED),
        **without("jdk.ThreadPark", state=EventState.UNSUPPORTED),
        **without("jdk.SocketRead", "jdk.SocketWrite", state=EventState.UNKNOWN),
    }
    recording = RecordingBuilder().build(states, problems=("it was cut after 3 chunks",), merged_events=2)
    report = build_recording_report(recording, None, ALL)
    assert [table.name for table in report.tables] == ["allocation"]
    assert [row.figures.count for row in report.tables[0].rows] == [0, 0]
    notes = "\n".join(report.notes)
    assert "race.jfr: it was cut after 3 chunks" in notes
    assert "Not recorded, because the settings of the recording disable it: jdk.ExecutionSample" in notes
    assert "None occurred, or none above the threshold of the recording: jdk.JavaMonitorEnter" in notes
    assert "Not recorded, because the JVM does not have it: jdk.ThreadPark" in notes
    assert "does not say whether it was enabled: jdk.SocketRead, jdk.SocketWrite" in notes
    assert "2 events are counted without thread and stack" in notes


def test_filters_leave_out_threads_and_classes():
    made = RecordingBuilder()
    for thread, name, size in (("bulk-1", "byte[]", 10), ("bulk-2", "int[]", 20), ("search", "byte[]", 40)):
        made.allocate("outside_tlab", (name, thread), None, 1, size)
    made.pause("GC Pause", MS)
    recording = made.build()
    chosen = RecordingFilter(threads=("bulk",))
    by_class = tables(recording, None, chosen)["allocation-outside-tlab-by-class"]
    assert [row[:2] for row in texts(by_class)[1:]] == [("int[]", "1"), ("byte[]", "1")]
    # Pauses belong to no thread and to no class.
    assert "gc-pauses" in tables(recording)
    assert "gc-pauses" not in tables(recording, None, chosen)
    by_class = tables(recording, None, RecordingFilter(class_name="byte[]"))
    assert by_class["allocation-outside-tlab-by-thread"].whole.total == 50
    facts = build_recording_report(recording, None, chosen).facts
    assert "Threads: only those whose names contain 'bulk'" in facts


def test_a_baseline_has_its_own_figures_and_shares():
    old, new = RecordingBuilder(), RecordingBuilder()
    for made, sizes in ((old, {"byte[]": 750, "int[]": 250}), (new, {"byte[]": 150, "long[]": 50})):
        for name, size in sizes.items():
            made.allocate("outside_tlab", (name, "t"), made.stack("a.B.c"), 1, size)
    table = tables(new.build(), old.build())["allocation-outside-tlab-by-class"]
    assert texts(table) == [
        ("Class", "Baseline", "Contender", "Change", "Baseline share", "Contender share"),
        ("byte[]", "750 B", "150 B", "-80.0 %", "75.00 %", "75.00 %"),
        ("int[]", "250 B", "0 B", "-100 %", "25.00 %", "0.00 %"),
        ("long[]", "0 B", "50 B", "", "0.00 %", "25.00 %"),
    ]


def test_two_recordings_are_compared_by_what_both_have():
    made = RecordingBuilder()
    made.allocate("in_new_tlab", ("byte[]", "t"), None, 1, 10)
    made.allocate("sampled", ("byte[]", "t"), None, 1, 20)
    tlabs = ("jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB")
    samples, both = made.build(without(*tlabs)), made.build()
    assert "allocation-sample-by-class" in tables(both, samples)
    only_tlabs = made.build(without("jdk.ObjectAllocationSample"))
    report = build_recording_report(only_tlabs, samples, ALL)
    assert not any("allocation" in table.name for table in report.tables)
    assert any(note.startswith("baseline: Not recorded") and tlabs[0] in note for note in report.notes)


def test_a_limit_says_what_it_leaves_out():
    made = RecordingBuilder()
    for number in range(10):
        made.allocate("outside_tlab", (f"a.C{number}", "t"), None, 1, 100 - number)
    table = tables(made.build())["allocation-outside-tlab-by-class"]
    assert len(texts(table, 3)) == 4
    assert list(table_notes(table, 3)) == ["7 more rows with 68.90 % (`--limit=0` shows all)"]
    assert list(table_notes(table, 0)) == []


def test_callers_end_where_no_caller_has_half_of_the_method():
    made = RecordingBuilder()
    for number in range(3):
        stack = made.stack("a.B.c", "a.B.d", f"a.E.e{number}")
        made.allocate("outside_tlab", ("byte[]", "t"), stack, 1, 330)
    made.allocate("outside_tlab", ("byte[]", "t"), made.stack("a.B.rare"), 1, 9)
    by_name = tables(made.build())
    assert [row[0] for row in texts(by_name["allocation-outside-tlab-stack-1"])[1:]] == ["a.B.c", "a.B.d"]
    # A method with less than 1 % is left out.
    assert "allocation-outside-tlab-stack-2" not in by_name


def test_repeated_chunks_and_several_jvms_are_named():
    first = RecordingFile("a.jfr", 3, 9, (), jvms=(0,))
    repeated = (RepeatedChunks(1, 3, 0, 1), RepeatedChunks(5, 1, 0, 2))
    second = RecordingFile("b.jfr", 1, 4, (), repeated, (1,))
    jvms = (RecordedJvm(7, 1_700_000_000 * SECOND), RecordedJvm(8, None))
    recording = replace(RecordingBuilder().build(), files=(first, second), jvms=jvms)
    report = build_recording_report(recording, None, ALL)
    assert report.facts[:2] == (
        "Recording: a.jfr (3 chunks, 9 events, JVM with pid 7, started 2023-11-14 22:13:20 UTC)",
        "Recording: b.jfr (1 chunk, 4 events, JVM with pid 8)",
    )
    assert report.notes[:2] == (
        "b.jfr: chunks 1 to 3 left out: the same as chunks 1 to 3 of a.jfr, counted once",
        "b.jfr: chunk 5 left out: the same as chunk 2 of a.jfr, counted once",
    )


def test_threads_that_wait_are_not_running():
    made = RecordingBuilder()
    stack = made.stack("libc.so.6.__futex_wait")
    made.sample("t", made.stack("a.B.hot"), 6)
    recording = made.build()
    for kind in (SampleKind.JAVA, SampleKind.WALL):
        waiting = SampleGroup(kind, 0, stack, 94, ThreadState.WAITING)
        shown = tables(replace(recording, stacks=made.build().stacks, samples=(*recording.samples, waiting)))
        assert texts(shown["cpu-by-method"])[1:] == [("a.B.hot", "6", "100.00 %")]
        running = [("running", "6", "6.00 %")] if kind is SampleKind.JAVA else []
        assert [row[:2] for row in texts(shown["wall-by-state"])[1:]] == [
            ("waiting", "94"),
            *(row[:2] for row in running),
        ]
        assert texts(shown["wall-by-method"])[1][0] == "libc.so.6.__futex_wait"


def test_recordings_with_other_periods_are_not_compared_by_counts():
    def sampled(period, count):
        made = RecordingBuilder()
        made.sample("t", made.stack("a.B.burn"), count)
        built = made.build()
        types = [
            EventType(each.name, each.state, each.count, (EventSetting("period", (period,)),))
            if each.name == "jdk.ExecutionSample"
            else each
            for each in built.event_types
        ]
        return replace(built, event_types=tuple(types))

    report = build_recording_report(sampled("10 ms", 314), sampled("100 ms", 34), ALL)
    assert not any(table.name.startswith("cpu") for table in report.tables)
    assert any(
        note.startswith("Not compared: jdk.ExecutionSample has period 100 ms in the baseline, 10 ms in the")
        for note in report.notes
    )
    assert "cpu-by-method" in tables(sampled("10 ms", 314), sampled("10 ms", 34))


def test_waits_for_notifications_have_a_note():
    made = RecordingBuilder()
    made.wait(LockKind.MONITOR_WAIT, "a.Lock", None, [SECOND])
    note = "Recorded, without a table: 1 event of jdk.JavaMonitorWait (`--event=wait` shows them)"
    assert note in build_recording_report(made.build(), None, ALL).notes
    assert note not in build_recording_report(made.build(), None, RecordingFilter(("wait",))).notes


def test_versions_of_native_libraries_are_kept():
    for name, expected in (
        ("libpthread-2.17.so.pthread_cond_wait", "libpthread-2.17.so.pthread_cond_wait"),
        ("libc.so.6.__futex_wait", "libc.so.6.__futex_wait"),
        ("a.B$$Lambda$14/1234567.run", "a.B$$Lambda.run"),
        ("a.B$$Lambda$14+0x00ff/12.run", "a.B$$Lambda.run"),
        ("a.B$$Lambda/0x00ff[]", "a.B$$Lambda[]"),
    ):
        assert stable_name(name) == expected

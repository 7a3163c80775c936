//! Tests of whole recordings; the Python tests compare recordings of JVMs with the JDK's own reader.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::test_chunk::{
    ALLOCATION, FILE_READ, PARK, PAUSE, SETTING, STACK_TYPE, TestChunk, begun_later, event, text, varint,
    varints,
};
use super::*;

fn read_window(files: &[&[u8]], window_ns: Option<(i64, i64)>) -> Recording {
    read_windows(files, &[window_ns]).remove(0)
}

fn read_windows(files: &[&[u8]], windows_ns: &[Option<(i64, i64)>]) -> Vec<Recording> {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (index, bytes) in files.iter().enumerate() {
        let path = folder.path().join(index.to_string());
        std::fs::write(&path, bytes).unwrap();
        paths.push(path);
    }
    let mut found = read_recording_windows(&paths, windows_ns, &mut || ControlFlow::Continue(())).unwrap();
    for file in found.iter_mut().flat_map(|recording| &mut recording.files) {
        file.path = file.path.replace(&folder.path().display().to_string(), "");
    }
    found
}

fn read(bytes: &[u8]) -> Recording {
    read_window(&[bytes], None)
}

fn problems(recording: &Recording) -> String {
    recording.files.iter().flat_map(|file| file.problems.clone()).collect::<Vec<_>>().join("\n")
}

fn values(count: u64, total: u64, min: u64, max: u64) -> RecordedValues {
    RecordedValues { count, total, min, max }
}

/// Returns class, thread and size of the allocations, and the methods of their stacks.
fn allocations(recording: &Recording) -> Vec<(String, String, Vec<String>, RecordedValues)> {
    let class = |index: Option<u32>| {
        index.map_or("-", |at| recording.name(recording.classes[at as usize])).to_owned()
    };
    let thread = |index: Option<u32>| {
        index.map_or("-", |at| recording.name(recording.threads[at as usize].name)).to_owned()
    };
    let methods = |index: Option<u32>| {
        let frames = index.map_or(&[][..], |at| &recording.stacks[at as usize].frames);
        let method = |&at: &u32| recording.name(recording.frames[at as usize].method).to_owned();
        frames.iter().map(method).collect()
    };
    recording
        .in_new_tlab
        .iter()
        .map(|each| (class(each.object_class), thread(each.thread), methods(each.stack), each.values))
        .collect()
}

fn state(recording: &Recording, name: &str) -> EventState {
    recording.event_types.iter().find(|each| each.name == name).unwrap().state
}

/// Returns a chunk with three allocations and one event of other types.
fn sample(prefix: &str, first_id: u64) -> TestChunk {
    let mut chunk = TestChunk::with_constants(prefix, first_id);
    chunk.add_allocation(500, 0, 100);
    chunk.add_allocation(600, 0, 300);
    chunk.add_allocation(700, 1, 50);
    chunk.add_event(PARK, (800, 41), &varint(first_id + 1));
    chunk.add_event(FILE_READ, (900, 20), &[text("/data/file"), varint(4096)].concat());
    chunk.events.push((PAUSE, [varints(&[1000, 7, 3]), text("GC Pause")].concat()));
    chunk
}

#[test]
fn all_versions_of_the_format_are_read() {
    for (prefix, version) in [("jdk.", (2, 1)), ("jdk.", (2, 0)), ("com.oracle.jdk.", (1, 0))] {
        let recording = read(&TestChunk { version, ..sample(prefix, 1) }.bytes());
        assert_eq!(problems(&recording), "");
        let stack = vec!["a.B.run".to_owned(), "a.B.main".to_owned()];
        assert_eq!(
            allocations(&recording),
            [
                ("byte[]".to_owned(), "worker".to_owned(), stack.clone(), values(2, 400, 100, 300)),
                ("a.B".to_owned(), "worker".to_owned(), stack, values(1, 50, 50, 50)),
            ]
        );
        let name =
            |text: &str| (0_u32..).zip(&recording.names).find(|(_, name)| ***name == *text).map(|(at, _)| at);
        assert_eq!(
            recording.threads[0],
            RecordedThread { name: name("worker"), java_id: Some(5), os_id: Some(77) }
        );
        let frame = |method, line| StackFrame { method: name(method), line, r#type: name("Inlined") };
        assert_eq!(recording.frames, [frame("a.B.run", Some(12)), frame("a.B.main", None)]);
        assert_eq!(recording.locks[0].values, values(1, 20, 20, 20));
        assert_eq!((recording.io[0].target, recording.io[0].bytes), (name("/data/file"), Some(4096)));
        let pause = RecordedPause { gc_id: 3, name: name("GC Pause"), start_ns: 1_000_250, duration_ns: 3 };
        assert_eq!(recording.pauses, [pause]);
        assert_eq!(recording.names.len(), 8, "{:?}", recording.names);
        assert_eq!((recording.start_ns, recording.end_ns), (Some(1_000_000), Some(1_000_250)));
        assert_eq!((recording.files[0].chunks, recording.files[0].events), (1, 6));
    }
}

#[test]
fn chunks_and_files_are_one_recording() {
    let (first, second) = (sample("jdk.", 1).bytes(), sample("jdk.", 1000).bytes());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&[first, begun_later(second.clone(), 1)].concat()).unwrap();
    let recording = read_window(&[&encoder.finish().unwrap(), &begun_later(second, 2)], None);
    assert_eq!(problems(&recording), "");
    assert_eq!(recording.files.iter().map(|file| file.chunks).collect::<Vec<_>>(), [2, 1]);
    let found: Vec<_> =
        allocations(&recording).into_iter().map(|(class, .., values)| (class, values)).collect();
    assert_eq!(
        found,
        [("byte[]".to_owned(), values(6, 1200, 100, 300)), ("a.B".to_owned(), values(3, 150, 50, 50))]
    );
    assert_eq!((recording.classes.len(), recording.stacks.len(), recording.frames.len()), (2, 1, 2));
}

#[test]
fn only_events_that_begin_in_the_window_are_counted() {
    let bytes = sample("jdk.", 1).bytes();
    for (window, expected) in [
        ((1_000_000, 1_000_050), vec![100]),
        ((1_000_050, 1_000_100), vec![300]),
        ((1_000_000, 1_000_101), vec![400, 50]),
        ((1_000_101, i64::MAX), vec![]),
    ] {
        let recording = read_window(&[&bytes], Some(window));
        let totals: Vec<_> = recording.in_new_tlab.iter().map(|each| each.values.total).collect();
        assert_eq!(totals, expected, "{window:?}");
        assert_eq!(state(&recording, "jdk.ObjectAllocationInNewTLAB"), EventState::Recorded);
        assert_eq!(recording.pauses.len(), usize::from(window.1 == i64::MAX));
    }
}

#[test]
fn windows_that_are_read_together_have_what_each_has_alone() {
    let mut other = sample("com.oracle.jdk.", 1000);
    other.version = (1, 0);
    let other = begun_later(other.bytes(), 1);
    let files = [&*sample("jdk.", 1).bytes(), &*other, b"FLR\0 but no recording"];
    let windows = [
        Some((1_000_101, i64::MAX)),
        Some((1_000_000, 1_000_050)),
        None,
        Some((1_000_000, 1_000_101)),
        Some((0, 1)),
    ];
    let together = read_windows(&files, &windows);
    assert_eq!(together.len(), windows.len());
    for (recording, window) in together.iter().zip(windows) {
        assert_eq!(*recording, read_window(&files, window), "{window:?}");
    }
    let totals =
        |recording: &Recording| recording.in_new_tlab.iter().map(|each| each.values.total).sum::<u64>();
    assert_eq!(together.iter().map(totals).collect::<Vec<_>>(), [0, 200, 900, 900, 0]);
    assert!(read_windows(&files, &[]).is_empty());
}

#[test]
fn a_type_without_events_says_why() {
    let mut chunk = sample("jdk.", 1);
    for (type_id, value) in [(PARK, "false"), (PARK, "true"), (PAUSE, "false"), (FILE_READ, "true")] {
        let content = [varints(&[500, type_id]), text("enabled"), text(value)].concat();
        chunk.events.push((SETTING, content));
    }
    chunk.events.push((SETTING, [varints(&[500, ALLOCATION]), text("stackTrace"), text("true")].concat()));
    chunk.events.retain(|(type_id, _)| *type_id == SETTING);
    let recording = read(&chunk.bytes());
    for (name, expected) in [
        ("jdk.ThreadPark", EventState::NoneOccurred),
        ("jdk.FileRead", EventState::NoneOccurred),
        ("jdk.GCPhasePause", EventState::Disabled),
        ("jdk.ObjectAllocationInNewTLAB", EventState::Unknown),
        ("jdk.CPUTimeSample", EventState::Unsupported),
    ] {
        assert_eq!(state(&recording, name), expected, "{name}");
    }
    assert!(recording.event_types.iter().all(|each| each.name != "jdk.ActiveSetting"));
    assert_eq!(state(&read(b"no recording"), "jdk.ThreadPark"), EventState::Unknown);
}

#[test]
fn chunks_may_have_different_types() {
    let same = sample("jdk.", 1);
    let mut other = sample("jdk.", 1);
    for (_, name, fields) in &mut other.types {
        if name.ends_with("InNewTLAB") {
            fields.push(("more", 2, ""));
        }
    }
    for (type_id, content) in &mut other.events {
        if *type_id == ALLOCATION {
            content.push(9);
        }
    }
    let chunks = [&same, &same, &other, &same].into_iter().zip(0..);
    let chunks: Vec<u8> = chunks.flat_map(|(chunk, by_ns)| begun_later(chunk.bytes(), by_ns)).collect();
    let recording = read(&chunks);
    assert_eq!((recording.files[0].chunks, problems(&recording)), (4, String::new()));
    assert_eq!(allocations(&recording)[0].3, values(8, 1600, 100, 300));
    assert_eq!(recording.stacks.len(), 1);
}

/// Returns a chunk with readings of one thread.
fn readings() -> TestChunk {
    let mut chunk = TestChunk::with_constants("jdk.", 1);
    let new_type = |id, name: &str, fields: &[test_chunk::TestField]| (id, name.to_owned(), fields.to_vec());
    let start = ("startTime", 2, "");
    chunk.types.extend([
        new_type(32, "float", &[]),
        new_type(33, "jdk.types.GCWhen", &[("when", 4, "")]),
        new_type(34, "jdk.types.VirtualSpace", &[("start", 2, ""), ("committedSize", 2, "")]),
        new_type(
            40,
            "jdk.CPULoad",
            &[start, ("jvmUser", 32, ""), ("jvmSystem", 32, ""), ("machineTotal", 32, "")],
        ),
        new_type(
            41,
            "jdk.ThreadCPULoad",
            &[start, ("eventThread", 7, "pooled"), ("user", 32, ""), ("system", 32, "")],
        ),
        new_type(
            42,
            "jdk.GCHeapSummary",
            &[start, ("when", 33, "pooled"), ("heapSpace", 34, ""), ("heapUsed", 2, "")],
        ),
        new_type(
            43,
            "jdk.ThreadAllocationStatistics",
            &[start, ("allocated", 2, ""), ("thread", 7, "pooled")],
        ),
    ]);
    chunk.add_pool(33, &[text("Before GC"), text("After GC"), text("In between")]);
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<_>>();
    for (time, loads) in [(500, [0.25, 0.5, 1.0]), (700, [0.75, f32::NAN, -1.0])] {
        chunk.events.push((40, [varints(&[time]), floats(&loads)].concat()));
        chunk.events.push((41, [varints(&[time, 1]), floats(&[0.5, 0.25])].concat()));
        chunk.events.push((43, varints(&[time, time * 10, 1])));
    }
    chunk.events.push((41, [varints(&[900, 99]), floats(&[0.125, 0.0])].concat()));
    for (when, used) in [(1, 300), (2, 100), (3, 7)] {
        chunk.events.push((42, varints(&[500, when, 1, 4096, used])));
    }
    chunk
}

#[test]
fn gauges_and_allocations_of_threads_are_read() {
    let recording = read(&readings().bytes());
    assert_eq!(problems(&recording), "");
    let gauge = |kind, thread, count, (sum, min, max)| RecordedGauge {
        kind,
        thread,
        values: GaugeValues { count, sum, min, max },
    };
    assert_eq!(
        recording.gauges,
        [
            gauge(GaugeKind::CpuJvmUser, None, 2, (1.0, 0.25, 0.75)),
            gauge(GaugeKind::CpuJvmSystem, None, 1, (0.5, 0.5, 0.5)),
            gauge(GaugeKind::CpuMachine, None, 1, (1.0, 1.0, 1.0)),
            gauge(GaugeKind::CpuThread, Some(0), 2, (1.5, 0.75, 0.75)),
            gauge(GaugeKind::CpuThread, None, 1, (0.125, 0.125, 0.125)),
            gauge(GaugeKind::HeapUsedBefore, None, 1, (300.0, 300.0, 300.0)),
            gauge(GaugeKind::HeapUsedAfter, None, 1, (100.0, 100.0, 100.0)),
            gauge(GaugeKind::HeapCommitted, None, 1, (4096.0, 4096.0, 4096.0)),
        ]
    );
    assert_eq!(
        recording.thread_allocations,
        [ThreadAllocation { thread: 0, readings: 2, bytes: Some(2000) }]
    );
    assert_eq!(state(&recording, "jdk.CPULoad"), EventState::Recorded);
}

#[test]
fn virtual_threads_of_one_name_are_one() {
    let mut chunk = TestChunk::with_constants("jdk.", 1);
    let thread = |id: u64| [text("carrier"), varint(77), vec![1], varint(id), vec![1]].concat();
    chunk.pools.retain(|pool| pool[1] != 7);
    chunk.add_pool(7, &[thread(31), thread(32)]);
    chunk.add_event(ALLOCATION, (500, 0), &varints(&[1, 10]));
    chunk.first_id = 2;
    chunk.events.push((ALLOCATION, varints(&[500, 0, 2, 1, 1, 10])));
    let recording = read(&chunk.bytes());
    assert_eq!(recording.threads, [RecordedThread { name: None, java_id: None, os_id: None }]);
    assert_eq!(recording.in_new_tlab[0].values, values(2, 20, 10, 10));
}

#[test]
fn a_recording_that_is_cut_anywhere_is_read_up_to_there() {
    let whole = [sample("jdk.", 1).bytes(), begun_later(sample("jdk.", 9).bytes(), 1)].concat();
    let first = whole.len() / 2;
    // Every position would take a while in a debug build.
    for end in (0..whole.len()).step_by(5).chain([first - 1, first, first + 1]) {
        let recording = read(&whole[..end]);
        let complete = end == first;
        assert_eq!(problems(&recording).is_empty(), complete, "{end}: {}", problems(&recording));
        assert_eq!(recording.files[0].chunks, u64::from(end >= first), "{end}");
    }
    let gzip = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let compressed = gzip(&whole);
    let recording = read(&compressed[..compressed.len() - 40]);
    assert_eq!(recording.files[0].chunks, 1);
    assert!(problems(&recording).contains("cut off or damaged"), "{}", problems(&recording));
}

#[test]
fn a_chunk_in_progress_is_read_as_far_as_it_was_written() {
    let bytes = sample("jdk.", 1).bytes();
    let expected = allocations(&read(&bytes));
    let later = event(ALLOCATION, &varints(&[2000, 0, 1, 1, 1, 1000]));
    let sized = |size: u64, state: u8| {
        let mut begun = bytes.clone();
        begun[8..16].copy_from_slice(&size.to_be_bytes());
        begun[64] = state;
        begun
    };
    for begun in [sized(0, 0), sized(0, 255), sized(bytes.len() as u64, 255)] {
        let recording = read(&begun);
        assert_eq!(allocations(&recording), expected);
        assert!(problems(&recording).contains("chunk 1 was still being written"), "{}", problems(&recording));
        let recording = read(&[begun.as_slice(), &later, &[0x85]].concat());
        assert_eq!(allocations(&recording)[0].3, values(3, 1400, 100, 1000));
    }
    let finished = read(&[sized(bytes.len() as u64, 255), begun_later(bytes.clone(), 1)].concat());
    assert_eq!((finished.files[0].chunks, problems(&finished)), (2, String::new()));
    let followed = read(&[bytes.as_slice(), &later].concat());
    assert_eq!(allocations(&followed), expected);
    assert!(problems(&followed).contains("what follows chunk 1 is not a chunk"));
}

#[test]
fn sizes_are_not_trusted() {
    let huge = [0xff_u8; 9];
    let chunk = TestChunk::with_constants("jdk.", 1);
    let of_events = |bytes: &[u8]| {
        let mut chunk = chunk.clone();
        chunk.events.push((ALLOCATION, bytes.to_vec()));
        chunk.bytes()
    };
    let of_pools = |pool: &[u8]| {
        let mut chunk = sample("jdk.", 1);
        chunk.pools.push(pool.to_vec());
        chunk.bytes()
    };
    let of_types = |fields: Vec<test_chunk::TestField>| {
        let mut chunk = sample("jdk.", 1);
        chunk.types.push((30, "jdk.types.Odd".to_owned(), fields));
        chunk.types.push((31, "jdk.types.Empty".to_owned(), Vec::new()));
        chunk.add_pool(30, &[[&huge[..], &[0; 20]].concat()]);
        chunk.bytes()
    };
    let mut long_chunk = sample("jdk.", 1).bytes();
    long_chunk[8..16].copy_from_slice(&u64::MAX.to_be_bytes());
    for (bytes, problem) in [
        (long_chunk, "is cut after"),
        ([&sample("jdk.", 1).bytes()[..68], &huge, &[20]].concat(), "is damaged or cut at byte 68"),
        (of_events(&[5]), "1 events that cannot be decoded"),
        (of_pools(&huge), "constants at byte"),
        (of_pools(&[&[1, 5][..], &huge].concat()), "constants at byte"),
        (of_pools(&[&[1, 5, 1, 99, 3][..], &huge].concat()), "constants at byte"),
        (of_pools(&[1, 99, 1, 1]), "constants at byte"),
        (of_types(vec![("self", 30, "")]), "constants at byte"),
        (of_types(vec![("all", 10, "array")]), "constants at byte"),
        (of_types(vec![("unknown", 77, "")]), "constants at byte"),
        // An array of any number of elements without bytes is valid.
        (of_types(vec![("none", 31, "array")]), ""),
    ] {
        let recording = read(&bytes);
        let found = problems(&recording);
        assert!(found.contains(problem) && found.is_empty() == problem.is_empty(), "{problem}: {found}");
    }
}

#[test]
fn what_is_missing_or_too_deep_is_marked() {
    let mut chunk = sample("jdk.", 1);
    chunk.pools.retain(|pool| pool[1] != 5 && u64::from(pool[1]) != STACK_TYPE);
    let frames: Vec<u8> = (0..3000).flat_map(|_| varints(&[1, 12, 1])).collect();
    chunk.add_pool(STACK_TYPE, &[[vec![0], varint(3000), frames].concat()]);
    let recording = read(&chunk.bytes());
    let (class, _, methods, _) = &allocations(&recording)[0];
    assert_eq!((class.as_str(), methods.len(), methods[0].as_str()), ("-", 2048, "(unknown)"));
    assert!(recording.stacks[0].truncated);
    let mut chunk = sample("jdk.", 1);
    for (_, name, fields) in &mut chunk.types {
        if name.ends_with("InNewTLAB") {
            fields.retain(|(name, ..)| *name != "tlabSize");
        }
    }
    let recording = read(&chunk.bytes());
    assert!(problems(&recording).contains("jdk.ObjectAllocationInNewTLAB without the field tlabSize"));
    assert_eq!((recording.in_new_tlab.len(), recording.locks.len()), (0, 1));
}

#[test]
fn reading_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jfr");
    std::fs::write(&path, sample("jdk.", 1).bytes()).unwrap();
    let read = read_recordings(std::slice::from_ref(&path), None, &mut || ControlFlow::Break(()));
    assert!(matches!(read, Err(EvidenceError::Interrupted { .. })));
}

#[test]
fn a_chunk_that_occurs_several_times_is_counted_once() {
    let chunk = |number: u64| begun_later(sample("jdk.", 1).bytes(), number);
    let [early, later] = [[chunk(0), chunk(1)].concat(), [chunk(0), chunk(1), chunk(2)].concat()];
    let repeated = |recording: &Recording| {
        let files = recording.files.iter().map(|file| (file.chunks, file.repeated.clone()));
        files.collect::<Vec<_>>()
    };
    let once = read(&later);
    let range = |count| RepeatedChunks { first: 1, count, file: 0, original: 1 };
    for (files, expected) in [
        (vec![&early, &later], vec![(2, vec![]), (1, vec![range(2)])]),
        (vec![&later, &early, &later], vec![(3, vec![]), (0, vec![range(2)]), (0, vec![range(3)])]),
        (vec![&early, &early], vec![(2, vec![]), (0, vec![range(2)])]),
    ] {
        let files: Vec<&[u8]> = files.into_iter().map(Vec::as_slice).collect();
        let recording = read_window(&files, None);
        assert_eq!((repeated(&recording), problems(&recording)), (expected, String::new()));
        let is_whole = files.contains(&&*later);
        let all = if is_whole { &once } else { &read(&early) };
        assert_eq!(allocations(&recording), allocations(all));
        assert_eq!(recording.pauses, all.pauses);
    }
    let joined = read(&[early.clone(), later].concat());
    assert_eq!(allocations(&joined), allocations(&once));
    let again = RepeatedChunks { first: 3, count: 2, file: 0, original: 1 };
    assert_eq!(repeated(&joined), [(3, vec![again])]);
}

#[test]
fn of_the_copies_of_a_chunk_the_one_that_the_jvm_has_finished_is_read() {
    let whole = sample("jdk.", 1).bytes();
    let mut begun = whole[..whole.len() - 7].to_vec();
    begun[8..16].copy_from_slice(&[0; 8]);
    for files in [[&*begun, &*whole], [&*whole, &*begun]] {
        let recording = read_window(&files, None);
        assert_eq!(
            (allocations(&recording), problems(&recording)),
            (allocations(&read(&whole)), String::new())
        );
        assert_eq!(recording.files.iter().map(|file| file.repeated.len()).sum::<usize>(), 1);
    }
}

#[test]
fn of_the_copies_of_a_chunk_the_one_that_can_be_read_to_its_end_is_read() {
    let whole = sample("jdk.", 1).bytes();
    // Longer than the whole one, and as long.
    let mut longer = [whole.as_slice(), &[0xff; 40]].concat();
    let size = (longer.len() as u64).to_be_bytes();
    longer[8..16].copy_from_slice(&size);
    let mut changed = whole.clone();
    let end = changed.len();
    changed[end / 2..end / 2 + 30].fill(0xff);
    for damaged in [longer, changed] {
        assert_ne!(problems(&read(&damaged)), "");
        for files in [vec![&*damaged, &*whole], vec![&*whole, &*damaged], vec![&*damaged, &*whole, &*damaged]]
        {
            let recording = read_window(&files, None);
            let expected = (allocations(&read(&whole)), String::new());
            assert_eq!((allocations(&recording), problems(&recording)), expected);
            let left_out = recording.files.iter().map(|file| file.repeated.len()).sum::<usize>();
            assert_eq!(left_out, files.len() - 1);
        }
    }
}

/// Returns a chunk with the samples of a profiler, and what it says about its JVM and its settings.
fn profiled(pid: u64, period: &str) -> TestChunk {
    let mut chunk = TestChunk::with_constants("jdk.", 1);
    let new_type = |id, name: &str, fields: &[test_chunk::TestField]| (id, name.to_owned(), fields.to_vec());
    let sampled = [
        ("startTime", 2, ""),
        ("sampledThread", 7, "pooled"),
        ("stackTrace", STACK_TYPE, "pooled"),
        ("state", 50, "pooled"),
    ];
    let start = ("startTime", 2, "");
    chunk.types.extend([
        new_type(50, "jdk.types.ThreadState", &[("name", 4, "")]),
        new_type(51, "jdk.ExecutionSample", &sampled),
        new_type(52, "profiler.WallClockSample", &[&sampled[..], &[("samples", 1, "")]].concat()),
        new_type(53, "jdk.JVMInformation", &[start, ("jvmStartTime", 2, ""), ("pid", 2, "")]),
    ]);
    let states = ["STATE_RUNNABLE", "STATE_SLEEPING", "STATE_DEFAULT"].map(text);
    chunk.add_pool(50, &states);
    for state in [1, 2, 2, 3] {
        chunk.events.push((51, varints(&[600, 1, 1, state])));
    }
    for (state, samples) in [(1, 2), (2, 40), (2, 2)] {
        chunk.events.push((52, varints(&[700, 1, 1, state, samples])));
    }
    chunk.events.push((53, varints(&[500, 1_700_000_000_000, pid])));
    chunk.events.push((SETTING, [varints(&[500, 51]), text("period"), text(period)].concat()));
    chunk
}

#[test]
fn samples_of_threads_that_wait_are_apart() {
    let recording = read(&profiled(7, "10 ms").bytes());
    let found: Vec<_> = recording.samples.iter().map(|each| (each.kind, each.state, each.count)).collect();
    let (java, wall) = (SampleKind::Java, SampleKind::Wall);
    let (running, waiting) = (ThreadState::Running, ThreadState::Waiting);
    assert_eq!(found, [(wall, waiting, 42), (java, running, 2), (java, waiting, 2), (wall, running, 2)]);
    let types: Vec<_> = recording.event_types.iter().filter(|each| each.count > 0).collect();
    let counts: Vec<_> = types.iter().map(|each| (each.name.as_str(), each.count)).collect();
    assert_eq!(counts, [("jdk.ExecutionSample", 4), ("profiler.WallClockSample", 3)]);
}

#[test]
fn jvms_and_settings_are_those_of_all_files_and_windows() {
    let file = |by_ns, pid, period| begun_later(profiled(pid, period).bytes(), by_ns);
    let files = [file(0, 7, "10 ms"), file(1, 8, "20 ms"), file(2, 7, "10 ms")];
    let files: Vec<_> = files.iter().map(Vec::as_slice).collect();
    for recording in read_windows(&files, &[None, Some((0, 1))]) {
        let start_ns = Some(1_700_000_000_000_000_000);
        assert_eq!(recording.jvms, [7, 8].map(|pid| RecordedJvm { pid: Some(pid), start_ns }));
        assert_eq!(recording.files.iter().map(|file| file.jvms[0]).collect::<Vec<_>>(), [0, 1, 0]);
        let settings = recording.event_types.iter().flat_map(|each| each.settings.clone());
        let values = ["10 ms", "20 ms"].map(str::to_owned).to_vec();
        let period = EventSetting { name: "period".to_owned(), values };
        assert_eq!(settings.collect::<Vec<_>>(), [period]);
    }
}

#[test]
fn a_longer_copy_of_a_chunk_that_was_read_in_the_same_file_is_stated() {
    let whole = sample("jdk.", 1).bytes();
    let mut begun = whole[..whole.len() - 7].to_vec();
    let size = (begun.len() as u64).to_be_bytes();
    begun[8..16].copy_from_slice(&size);
    begun[64] = 255;
    let stated = "chunk 2 is a longer copy of chunk 1, which was read instead";
    let recording = read(&[begun.as_slice(), &whole].concat());
    assert!(problems(&recording).contains(stated), "{}", problems(&recording));
    let recording = read(&[whole.as_slice(), &begun].concat());
    assert_eq!(problems(&recording), "");
}

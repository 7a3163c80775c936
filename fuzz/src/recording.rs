//! What must hold for every recording: reading ends, and the groups have all events that are counted.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;

use pacenote_evidence::jfr::{EventType, Recording, SampleKind, read_recordings};

/// Time at which the window of the first part ends, in ns since 1970; near the times of the seeds.
const MIDDLE_NS: i64 = 1_000_060;

/// Longest name, in bytes: a class of 255 dimensions and a method, of which each character may become three bytes.
const MAX_NAME: usize = 10_000;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = if PathBuf::from("/dev/shm").is_dir() { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
    folder.join(format!("pacenote-fuzz-{}.jfr", std::process::id()))
});

fn read(window_ns: Option<(i64, i64)>) -> Recording {
    read_recordings(std::slice::from_ref(&*FILE), window_ns, &mut || ControlFlow::Continue(())).expect("the file can be read")
}

fn counted(recording: &Recording, names: &[&str]) -> u64 {
    let is_named = |each: &&EventType| names.iter().any(|name| each.name == format!("jdk.{name}"));
    recording.event_types.iter().filter(is_named).map(|each| each.count).sum()
}

fn check_groups(recording: &Recording) {
    let allocations = [
        (&recording.in_new_tlab, "ObjectAllocationInNewTLAB"),
        (&recording.outside_tlab, "ObjectAllocationOutsideTLAB"),
        (&recording.sampled, "ObjectAllocationSample"),
    ];
    for (groups, name) in allocations {
        assert_eq!(groups.iter().map(|each| each.values.count).sum::<u64>(), counted(recording, &[name]));
    }
    let samples = ["ExecutionSample", "NativeMethodSample", "CPUTimeSample"];
    // An event of a wall-clock profiler is any number of samples.
    let own = recording.samples.iter().filter(|each| each.kind != SampleKind::Wall);
    assert_eq!(own.map(|each| each.count).sum::<u64>(), counted(recording, &samples));
    let locks = ["JavaMonitorEnter", "JavaMonitorWait", "ThreadPark"];
    assert_eq!(recording.locks.iter().map(|each| each.values.count).sum::<u64>(), counted(recording, &locks));
    let io = ["FileRead", "FileWrite", "FileForce", "SocketRead", "SocketWrite"];
    assert_eq!(recording.io.iter().map(|each| each.values.count).sum::<u64>(), counted(recording, &io));
    let operations = recording.vm_operations.iter().map(|each| each.values.count).sum::<u64>();
    assert_eq!(operations, counted(recording, &["ExecuteVMOperation"]));
    assert_eq!(recording.pauses.len() as u64, counted(recording, &["GCPhasePause"]));
    assert_eq!(recording.collections.len() as u64, counted(recording, &["GarbageCollection"]));
}

fn check_indexes(recording: &Recording) {
    let is_in = |index: Option<u32>, length: usize| index.is_none_or(|index| (index as usize) < length);
    for each in recording.in_new_tlab.iter().chain(&recording.outside_tlab).chain(&recording.sampled) {
        assert!(is_in(each.object_class, recording.classes.len()));
        assert!(is_in(each.thread, recording.threads.len()) && is_in(each.stack, recording.stacks.len()));
        assert!(each.values.min <= each.values.max && each.values.max <= each.values.total);
    }
    for each in &recording.gauges {
        assert!(is_in(each.thread, recording.threads.len()));
        assert!(each.values.count > 0 && each.values.min <= each.values.max);
    }
    for each in &recording.thread_allocations {
        assert!(is_in(Some(each.thread), recording.threads.len()));
        assert!(each.readings > 0);
    }
    let is_name = |index: Option<u32>| is_in(index, recording.names.len());
    assert!(recording.classes.iter().all(|&class| is_name(class)));
    assert!(recording.threads.iter().all(|thread| is_name(thread.name)));
    assert!(recording.frames.iter().all(|frame| is_name(frame.method) && is_name(frame.r#type)));
    assert!(recording.pauses.iter().all(|pause| is_name(pause.name)));
    assert!(recording.names.iter().all(|name| name.len() < MAX_NAME));
    for stack in &recording.stacks {
        assert!(stack.frames.iter().all(|&frame| (frame as usize) < recording.frames.len()));
    }
}

/// Reads a recording as a whole, and its two parts before and after a time.
///
/// # Panics
///
/// If a group, a pause or a collection is missing, or if an index is not in its table.
pub fn check(data: &[u8]) {
    std::fs::write(&*FILE, data).expect("the file can be written");
    let whole = read(None);
    check_groups(&whole);
    check_indexes(&whole);
    let parts = [read(Some((i64::MIN, MIDDLE_NS))), read(Some((MIDDLE_NS, i64::MAX)))];
    for (at, each) in whole.event_types.iter().enumerate() {
        // An event at the last possible time is outside of any window.
        let split: u64 = parts.iter().map(|part| part.event_types[at].count).sum();
        assert!(split <= each.count);
    }
    parts.iter().for_each(check_groups);
    assert!(whole.files[0].events <= data.len() as u64 * 1100, "gzip expands at most 1032 times");
}

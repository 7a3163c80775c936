//! The lines at the start of a JVM that state its settings.

use crate::gc::hotspot::numbers::{leading_number, size};
use crate::gc::hotspot::run::Run;

/// Returns the name of the collector if the message states it.
pub(super) fn collector(message: &[u8]) -> Option<&'static str> {
    if message == b"Initializing The Z Garbage Collector" {
        return Some("ZGC");
    }
    match message.strip_prefix(b"Using ")? {
        b"G1" => Some("G1"),
        b"Parallel" => Some("Parallel"),
        b"Serial" => Some("Serial"),
        b"Shenandoah" => Some("Shenandoah"),
        b"The Z Garbage Collector" => Some("ZGC"),
        b"Concurrent Mark Sweep" => Some("CMS"),
        b"Epsilon" => Some("Epsilon"),
        _ => None,
    }
}

/// Names of the settings that are read.
const SETTINGS: [&[u8]; 19] = [
    b"Version",
    b"CPUs",
    b"Memory",
    b"Heap Min Capacity",
    b"Min Capacity",
    b"Heap Initial Capacity",
    b"Initial Capacity",
    b"Heap Max Capacity",
    b"Max Capacity",
    b"Heap Region Size",
    b"Heap region size",
    b"Compressed Oops",
    b"Large Page Support",
    b"NUMA Support",
    b"Pre-touch",
    b"Parallel Workers",
    b"Concurrent Workers",
    b"GC Workers",
    b"GC Workers Max",
];

/// Returns whether a message is a setting that is read.
pub(super) fn is_setting(message: &[u8]) -> bool {
    let is_letter = message.first().is_some_and(u8::is_ascii_uppercase);
    is_letter && memchr::memchr(b':', message).is_some_and(|colon| SETTINGS.contains(&&message[..colon]))
}

/// Reads a line of the header; other lines are ignored.
pub(super) fn read(run: &mut Run, message: &[u8]) {
    if let Some(name) = collector(message) {
        run.log.jvm.collector = Some(name.to_owned());
        run.has_header |= message.starts_with(b"Using ");
        return;
    }
    let Some(colon) = memchr::memchr(b':', message) else { return };
    let Some(value) = message[colon + 1..].strip_prefix(b" ") else { return };
    let jvm = &mut run.log.jvm;
    let text = || Some(String::from_utf8_lossy(&value[..value.len().min(100)]).into_owned());
    match &message[..colon] {
        b"Version" => jvm.version = text(),
        b"CPUs" => jvm.cpus = text(),
        b"Memory" => jvm.memory_bytes = size(value),
        b"Heap Min Capacity" | b"Min Capacity" => jvm.heap_min_bytes = size(value),
        b"Heap Initial Capacity" | b"Initial Capacity" => jvm.heap_initial_bytes = size(value),
        b"Heap Max Capacity" | b"Max Capacity" => jvm.heap_max_bytes = size(value),
        // JDK 9 to 14 write it in lower case.
        b"Heap Region Size" | b"Heap region size" => jvm.region_bytes = size(value),
        b"Compressed Oops" => jvm.compressed_references = text(),
        b"Large Page Support" => jvm.large_pages = text(),
        b"NUMA Support" => jvm.numa = text(),
        b"Pre-touch" => jvm.pre_touch = text(),
        b"Parallel Workers" => jvm.parallel_workers = leading_number(value).map(|(workers, _)| workers),
        b"Concurrent Workers" | b"GC Workers" | b"GC Workers Max" => {
            jvm.concurrent_workers = leading_number(value).map(|(workers, _)| workers);
        }
        _ => {}
    }
}

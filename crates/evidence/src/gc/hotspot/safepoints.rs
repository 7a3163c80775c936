//! Safepoints: periods in which all threads of the application stand still.

use crate::gc::hotspot::message::Message;
use crate::gc::hotspot::numbers::{decimal, leading_number};
use crate::gc::hotspot::run::Run;
use crate::gc::log::Safepoint;

/// How the names of operations begin that belong to garbage collection, in JDK 9 to 25.
const COLLECTIONS: [&[u8]; 15] = [
    b"CGC_Operation",
    b"IncCollectionPause",
    b"G1",
    b"GenCollect",
    b"Parallel",
    b"Serial",
    b"Shenandoah",
    b"ZMark",
    b"ZRelocate",
    b"ZOperation",
    b"XMark",
    b"XRelocate",
    b"CMS_",
    b"CollectFor",
    b"GC_",
];

/// How the line of a safepoint begins in JDK 9 to 12.
pub(super) const STOPPED: &[u8] = b"Total time for which application threads were stopped: ";

/// Reads `Safepoint "G1CollectForAllocation", Time since last: 1 ns, Reaching safepoint: 2 ns, …, Total: 9 ns, …`.
pub(super) fn read(run: &mut Run, message: Message<'_>) {
    let Some(rest) = message.text.strip_prefix(b"Safepoint \"") else { return };
    let Some(quote) = memchr::memchr(b'"', rest) else { return };
    let (mut reaching_ns, mut total_ns) = (None, None);
    let mut fields = &rest[quote + 1..];
    while let Some(field) = fields.strip_prefix(b", ") {
        let Some(colon) = memchr::memchr(b':', field) else { break };
        let Some((value, after)) = field[colon + 1..].strip_prefix(b" ").and_then(leading_number) else {
            break;
        };
        let Some(after) = after.strip_prefix(b" ns") else { break };
        match &field[..colon] {
            b"Reaching safepoint" => reaching_ns = Some(value),
            b"Total" => total_ns = Some(value),
            _ => {}
        }
        fields = after;
    }
    if let (Some(reaching_ns), Some(total_ns)) = (reaching_ns, total_ns) {
        push(run, message.at_ns, &rest[..quote], Stop { reaching_ns, total_ns });
    }
}

/// Reads the name of an operation, which JDK 11 writes before the times.
pub(super) fn read_entered(run: &mut Run, text: &[u8]) {
    let name = text.strip_prefix(b"Entering safepoint region: ").unwrap_or_default();
    run.entered.clear();
    run.entered.extend_from_slice(&name[..name.len().min(100)]);
}

/// Reads `Total time for which application threads were stopped: 0.0001 seconds, Stopping threads took: 0.0000 seconds`.
pub(super) fn read_stopped(run: &mut Run, message: Message<'_>) {
    let seconds = |text: &[u8]| {
        let number = text.split(|byte| *byte == b' ').next().unwrap_or_default();
        text.ends_with(b" seconds").then(|| decimal(number, 1_000_000_000)).flatten()
    };
    let Some(rest) = message.text.strip_prefix(STOPPED) else { return };
    let Some(comma) = memchr::memmem::find(rest, b", Stopping threads took: ") else { return };
    let reaching = seconds(&rest[comma + b", Stopping threads took: ".len()..]);
    if let (Some(total_ns), Some(reaching_ns)) = (seconds(&rest[..comma]), reaching) {
        let name = std::mem::take(&mut run.entered);
        push(run, message.at_ns, &name, Stop { reaching_ns, total_ns });
    }
}

/// The times of a safepoint.
#[derive(Debug, Clone, Copy)]
struct Stop {
    reaching_ns: u64,
    total_ns: u64,
}

/// Adds a safepoint. If it has no name, the pauses that the log has since the last one tell what it was for.
fn push(run: &mut Run, end_ns: u64, name: &[u8], stop: Stop) {
    let has_paused = run.has_paused();
    let is_gc =
        if name.is_empty() { has_paused } else { COLLECTIONS.iter().any(|prefix| name.starts_with(prefix)) };
    let is_named = !name.is_empty();
    let name = run.log.names.id(if is_named { name } else { b"unknown" });
    let Stop { reaching_ns, total_ns } = stop;
    let safepoint = Safepoint { end_ns, total_ns, reaching_ns, name, is_named, is_gc };
    run.log.push(|log| &mut log.safepoints, safepoint);
}

//! Selects the reader of a message by its beginning.

use crate::gc::hotspot::message::Message;
use crate::gc::hotspot::numbers::leading_number;
use crate::gc::hotspot::run::Run;
use crate::gc::hotspot::{generations, header, pauses, safepoints, zgc};

/// Returns whether a message is the first one that only the start of a JVM writes.
pub(super) fn starts_run(message: &[u8]) -> bool {
    matches!(message.first(), Some(b'U' | b'I')) && header::collector(message).is_some()
}

/// Reads one message.
pub(super) fn read(run: &mut Run, at_ns: Option<u64>, text: &[u8]) {
    let mut message = Message { at_ns: at_ns.unwrap_or(0), id: 0, generation: b' ', text };
    if let Some(rest) = text.strip_prefix(b"GC(") {
        let Some((id, rest)) = leading_number(rest) else { return };
        let Some(rest) = rest.strip_prefix(b") ") else { return };
        message.id = id;
        message.text = rest;
        if let [generation @ (b'y' | b'Y' | b'O'), b':', b' ', rest @ ..] = rest {
            message.generation = *generation;
            message.text = rest;
        }
        read_of_collection(run, message);
    } else {
        read_other(run, message);
    }
}

fn read_of_collection(run: &mut Run, message: Message<'_>) {
    match message.text.first() {
        Some(b'P') if message.text.starts_with(b"Pause ") => pauses::read_pause(run, message),
        Some(b'C') if message.text.starts_with(b"Concurrent ") => pauses::read_concurrent(run, message),
        Some(b'U') if message.text.starts_with(b"User=") => pauses::read_cpu(run, message),
        Some(b'A') => read_stall_or_row(run, message),
        Some(b'R') if message.text.starts_with(b"Relocation Stall") => zgc::read_stall(run, message),
        Some(b'T') if message.text.starts_with(b"To-space") => pauses::read_exhausted(run, message),
        Some(_) if !generations::read(run, message) => zgc::read(run, message),
        _ => {}
    }
}

fn read_stall_or_row(run: &mut Run, message: Message<'_>) {
    if message.text.starts_with(b"Allocation Stall (") {
        zgc::read_stall(run, message);
    } else {
        zgc::read(run, message);
    }
}

fn read_other(run: &mut Run, message: Message<'_>) {
    let text = message.text;
    match text.first() {
        Some(b'S') if text.starts_with(b"Safepoint \"") => safepoints::read(run, message),
        Some(b'T') if text.starts_with(b"Total time for which") => safepoints::read_stopped(run, message),
        Some(b'E') if text.starts_with(b"Entering safepoint region: ") => safepoints::read_entered(run, text),
        Some(b'T') if text.starts_with(b"Trigger") => pauses::read_trigger(run, text),
        Some(b'A' | b'R') => zgc::read_stall(run, message),
        Some(b'U' | b'I' | b'V' | b'C' | b'M' | b'H' | b'L' | b'N' | b'P' | b'G') => header::read(run, text),
        _ => {}
    }
}

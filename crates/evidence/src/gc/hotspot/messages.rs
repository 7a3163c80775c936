//! Selects the reader of a message by its beginning.

use crate::gc::hotspot::message::Message;
use crate::gc::hotspot::numbers::leading_number;
use crate::gc::hotspot::run::Run;
use crate::gc::hotspot::{generations, header, pauses, safepoints, zgc};

/// What a message is, according to its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// The first message that only the start of a JVM writes.
    Start,
    /// A setting, which the JVM states at its start.
    Setting,
    /// Something that happened.
    Event,
    /// A message that is not read, or one of another program.
    Other,
}

/// Returns what a message is.
pub(super) fn kind(message: &[u8]) -> MessageKind {
    let is_event = match message.first() {
        Some(b'G') => message.starts_with(b"GC(") && message.get(3).is_some_and(u8::is_ascii_digit),
        Some(b'S') => message.starts_with(b"Safepoint \""),
        Some(b'T') => message.starts_with(safepoints::STOPPED) || message.starts_with(b"Trigger"),
        Some(b'E') => message.starts_with(b"Entering safepoint region: "),
        Some(b'L') => message.starts_with(b"Leaving safepoint region"),
        Some(b'A') => {
            message.starts_with(b"Allocation Stall (") || message.starts_with(b"Application time: ")
        }
        Some(b'R') => message.starts_with(b"Relocation Stall ("),
        Some(b' ' | b'0'..=b'9') => dropped_messages(message).is_some(),
        _ => false,
    };
    if is_event {
        MessageKind::Event
    } else if matches!(message.first(), Some(b'U' | b'I')) && header::collector(message).is_some() {
        MessageKind::Start
    } else if header::is_setting(message) {
        MessageKind::Setting
    } else {
        MessageKind::Other
    }
}

/// Returns the number of `   506 messages dropped due to async logging`.
fn dropped_messages(message: &[u8]) -> Option<u64> {
    let (number, rest) = leading_number(message.trim_ascii_start())?;
    rest.starts_with(b" messages dropped due to async logging").then_some(number)
}

/// Reads one message, whose line was written at `at_ns`; 0 if it has no time.
pub(super) fn read(run: &mut Run, at_ns: u64, text: &[u8]) {
    let mut message = Message { at_ns, id: 0, generation: b' ', text };
    if let Some(rest) = text.strip_prefix(b"GC(") {
        let Some((id, rest)) = leading_number(rest) else { return };
        let Some(rest) = rest.strip_prefix(b") ") else { return };
        message.id = id;
        message.text = rest;
        if let [generation @ (b'y' | b'Y' | b'O'), b':', b' ', rest @ ..] = rest {
            message.generation = *generation;
            message.text = rest;
        }
        run.read_number(id);
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
        Some(b' ' | b'0'..=b'9') => run.read_dropped(dropped_messages(text).unwrap_or(0)),
        Some(b'T') if text.starts_with(safepoints::STOPPED) => safepoints::read_stopped(run, message),
        Some(b'E') if text.starts_with(b"Entering safepoint region: ") => safepoints::read_entered(run, text),
        Some(b'T') if text.starts_with(b"Trigger") => pauses::read_trigger(run, text),
        Some(b'A' | b'R') => zgc::read_stall(run, message),
        Some(b'U' | b'I' | b'V' | b'C' | b'M' | b'H' | b'L' | b'N' | b'P' | b'G') => header::read(run, text),
        _ => {}
    }
}

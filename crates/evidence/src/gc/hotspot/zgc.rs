//! Collections of ZGC: their tables, and threads that wait for memory.

use crate::gc::hotspot::message::Message;
use crate::gc::hotspot::numbers::{duration_ns, in_parentheses, leading_number, leading_sizes, size};
use crate::gc::hotspot::pending::HeapTable;
use crate::gc::hotspot::run::Run;
use crate::gc::log::{Collection, HeapChange, Scope, Stall, StallKind, Threshold};

/// How the line of a collection of the young generation begins.
const MINOR: &[u8] = b"Minor Collection ";

/// Columns of the table.
const MARK_START: usize = 0;
const MARK_END: usize = 1;
const RELOCATE_END: usize = 3;

/// Reads a message of a collection of ZGC; other messages are ignored.
pub(super) fn read(run: &mut Run, message: Message<'_>) {
    let text = message.text.trim_ascii_start();
    for name in [b"Garbage Collection ".as_slice(), MINOR, b"Major Collection "] {
        if let Some(rest) = text.strip_prefix(name) {
            read_collection(run, message, name, rest);
            return;
        }
    }
    if let Some(rest) = text.strip_prefix(b"Using tenuring threshold: ") {
        if let Some(age) = leading_number(rest).and_then(|(age, _)| u32::try_from(age).ok()) {
            run.log.push(|log| &mut log.thresholds, Threshold { at_ns: message.at_ns, age });
        }
        return;
    }
    if message.generation != b' '
        && (text.starts_with(b"Young Generation") || text.starts_with(b"Old Generation"))
    {
        read_generation(run, message, text);
        return;
    }
    read_row(run, message, text);
}

/// Reads the beginning or the end of a collection, which has this name: `(cause)` or `(cause) 116M(45%)->206M(80%)`.
fn read_collection(run: &mut Run, message: Message<'_>, name: &[u8], text: &[u8]) {
    let (Some(cause), rest) = in_parentheses(text) else { return };
    let cause = run.log.names.id(cause);
    let Some((sizes, _)) = leading_sizes(rest.trim_ascii_start()) else {
        let pending = run.pending(message.id);
        pending.cause = Some(cause);
        pending.young_table.start_ns = message.at_ns;
        return;
    };
    run.infer_collector("ZGC");
    let pending = run.take_pending(message.id).unwrap_or_default();
    // With two generations and their phases, the records were added when each was complete.
    if pending.record.is_some() {
        return;
    }
    let table = pending.young_table;
    let collection = Collection {
        end_ns: message.at_ns,
        scope: if name == MINOR { Scope::Young } else { Scope::Old },
        cause: Some(cause),
        before_bytes: Some(sizes.before),
        after_bytes: Some(sizes.after),
        capacity_bytes: None,
        promoted_bytes: None,
        survived_bytes: None,
        young_bytes: None,
        live_bytes: table.live,
        old_share: None,
    };
    run.log.push(|log| &mut log.collections, collection);
    push_change(run, message.at_ns, &table);
}

/// Reads the beginning or the end of the collection of a generation, or the title of its table.
fn read_generation(run: &mut Run, message: Message<'_>, text: &[u8]) {
    if text.ends_with(b"Statistics:") {
        return;
    }
    let name = b"Generation";
    let Some(at) = memchr::memmem::find(text, name) else { return };
    let (_, rest) = in_parentheses(text[at + name.len()..].trim_ascii_start());
    let is_young = text.starts_with(b"Young");
    let Some((sizes, _)) = leading_sizes(rest.trim_ascii_start()) else {
        let pending = run.pending(message.id);
        let table = if is_young { &mut pending.young_table } else { &mut pending.old_table };
        *table = HeapTable { start_ns: message.at_ns, ..HeapTable::default() };
        return;
    };
    let position = run.log.collections.len();
    let pending = run.pending(message.id);
    pending.record = Some(position);
    let cause = pending.cause;
    let table = if is_young { pending.young_table } else { pending.old_table };
    let young = |value: Option<u64>| value.filter(|_| is_young);
    let collection = Collection {
        end_ns: message.at_ns,
        scope: if is_young { Scope::Young } else { Scope::Old },
        cause,
        before_bytes: Some(sizes.before),
        after_bytes: Some(sizes.after),
        capacity_bytes: None,
        promoted_bytes: young(table.promoted),
        survived_bytes: young(table.live),
        young_bytes: young(table.used_at_start),
        live_bytes: table.live.filter(|_| !is_young),
        old_share: None,
    };
    run.log.push(|log| &mut log.collections, collection);
    if is_young {
        push_change(run, message.at_ns, &table);
    }
}

/// Adds the change of the heap, or of the young generation, in which all objects are allocated.
fn push_change(run: &mut Run, end_ns: u64, table: &HeapTable) {
    if let (Some(before_bytes), Some(after_bytes), Some(allocated_bytes)) =
        (table.used_at_start, table.used_at_end, table.allocated())
    {
        let change =
            HeapChange { start_ns: table.start_ns, end_ns, before_bytes, after_bytes, allocated_bytes };
        run.log.push(|log| &mut log.heap_changes, change);
    }
}

/// Reads a row of a table: `Used:      116M (45%)        174M (68%) …`.
fn read_row(run: &mut Run, message: Message<'_>, text: &[u8]) {
    let select: fn(&mut HeapTable, [Option<u64>; 4]) = match text {
        text if text.starts_with(b"Used:") => |table, row| {
            (table.used_at_start, table.used_at_end) = (row[MARK_START], row[RELOCATE_END]);
        },
        text if text.starts_with(b"Live:") => |table, row| table.live = row[MARK_END],
        text if text.starts_with(b"Allocated:") => |table, row| table.allocated = row[RELOCATE_END],
        text if text.starts_with(b"Reclaimed:") && message.generation == b' ' => {
            |table, row| table.reclaimed = row[RELOCATE_END]
        }
        text if text.starts_with(b"Promoted:") => |table, row| table.promoted = row[RELOCATE_END],
        _ => return,
    };
    let mut row = [None; 4];
    let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty() && word[0] != b'(');
    for (cell, word) in row.iter_mut().zip(words.skip(1)) {
        *cell = size(word);
    }
    let pending = run.pending(message.id);
    let table = if message.generation == b'O' { &mut pending.old_table } else { &mut pending.young_table };
    select(table, row);
}

/// Reads `Allocation Stall (Thread-0) 174.701ms` or `Relocation Stall (Thread-0) 0.097ms`.
pub(super) fn read_stall(run: &mut Run, message: Message<'_>) {
    let (kind, rest) = match (
        message.text.strip_prefix(b"Allocation Stall "),
        message.text.strip_prefix(b"Relocation Stall "),
    ) {
        (Some(rest), _) => (StallKind::Allocation, rest),
        (_, Some(rest)) => (StallKind::Relocation, rest),
        _ => return,
    };
    // The name of a thread may contain parentheses.
    let Some(at) = memchr::memrchr(b' ', rest) else { return };
    if let Some(duration_ns) = duration_ns(&rest[at + 1..]) {
        let stall = Stall { end_ns: message.at_ns, duration_ns, kind };
        run.log.push(|log| &mut log.stalls, stall);
    }
}

//! Sentences about what a log proves to be missing, mixed, repeated or cut. They begin with what is wrong, and end with what
//! can be done.

use crate::gc::hotspot::HotSpotReader;
use crate::gc::log::GcLog;
use crate::gc::losses::MissingCollections;

/// Groups of missing collections that are named.
const NAMED: usize = 3;

/// Why a log of JDK 8 is not read.
pub(super) const LEGACY: &str = "it is a GC log of JDK 8 or older, whose format is not read; run the engine with JDK 11 or \
     later, whose -Xlog writes a log that can be read, or open this file with GCViewer";

/// What the numbers of an incomplete log are.
const LEAST: &str =
    "numbers and sums are at least those shown, and shares, rates and means are not available";

/// Returns sentences about lines that were not read.
pub(super) fn of_lines(reader: &HotSpotReader) -> Vec<String> {
    let mut problems = Vec::new();
    let others = reader.lines_of_others();
    if others > 0 {
        let lines = counted(others, "line is", "lines are");
        problems.push(format!("{lines} not of the JVM's log, and skipped"));
    }
    if reader.skipped.legacy > 0 {
        let lines = counted(reader.skipped.legacy, "line is", "lines are");
        problems.push(format!("{lines} of JDK 8 or older, and skipped: their format is not read"));
    }
    if reader.skipped.unattributed > 0 {
        problems.push(format!(
            "{} were skipped: several JVMs wrote to the log without their process ids; add the decorator pid to -Xlog",
            counted(reader.skipped.unattributed, "line", "lines")
        ));
    } else if reader.is_mixed() {
        problems.push(
            "the times of the log go back again and again: several JVMs wrote to it without their process ids; add the \
             decorator pid to -Xlog"
                .to_owned(),
        );
    }
    problems
}

/// Returns a sentence about lines that are there twice.
pub(super) fn of_repetition(pauses: u64) -> Option<String> {
    (pauses > 0).then(|| {
        let lines = counted(pauses, "pause is", "pauses are");
        format!("{lines} there twice: the files have the same lines, each of which is counted once")
    })
}

/// Returns sentences about one run of a JVM.
pub(super) fn of_log(log: &GcLog) -> Vec<String> {
    let losses = &log.losses;
    let mut problems = Vec::new();
    if losses.dropped_messages > 0 {
        problems.push(format!(
            "the JVM dropped {} due to async logging: {LEAST}; write the log without -Xlog:async, or with a larger \
             -XX:AsyncLogBufferSize",
            counted(losses.dropped_messages, "message", "messages")
        ));
    }
    problems.extend(of_missing(losses.missing_collections(), &losses.missing));
    if let Some(first) = losses.begins_with {
        problems
            .push(format!("the log begins with collection {first}: what precedes it is not in the files"));
    }
    if losses.unread_pauses > 0 {
        let lines = counted(losses.unread_pauses, "line of a pause has", "lines of pauses have");
        problems.push(format!("{lines} no duration that can be read: {LEAST}"));
    }
    if losses.repeated_collections > 0 {
        let collections = counted(losses.repeated_collections, "collection ends", "collections end");
        problems.push(format!(
            "{collections} twice: lines are repeated, or several JVMs wrote to the log without their process ids; no \
             figure of this log is right"
        ));
    }
    if log.is_limited {
        problems.push("the log has too many events: the last ones are not counted".to_owned());
    }
    problems
}

fn of_missing(count: u64, missing: &[MissingCollections]) -> Option<String> {
    if count == 0 {
        return None;
    }
    let name = |group: &MissingCollections| {
        if group.first == group.last {
            group.first.to_string()
        } else {
            format!("{} to {}", group.first, group.last)
        }
    };
    let named: Vec<String> = missing.iter().take(NAMED).map(name).collect();
    let more = if missing.len() > NAMED { " and others" } else { "" };
    let noun = if count == 1 { "collection" } else { "collections" };
    let verb = if count == 1 { "is" } else { "are" };
    Some(format!(
        "{noun} {}{more} {verb} missing ({count}): {LEAST}; name all files of a rotated log",
        named.join(", ")
    ))
}

fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

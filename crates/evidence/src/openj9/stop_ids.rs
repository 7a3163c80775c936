//! Finds pauses that are missing or repeated by the ids of elements, which a JVM counts up.

use super::log::{OpenJ9Gap, OpenJ9Problems};
use super::tags::Tag;
use super::values::parse_integer;

/// Ids between two pauses from which on pauses are missing: each has about a dozen elements with ids, and fewer are between
/// pauses.
const MOST_BETWEEN: u64 = 100;

/// Most gaps that are kept of a log.
const MOST_GAPS: usize = 64;

/// The last ids and times of a log.
#[derive(Debug, Default)]
pub(super) struct StopIds {
    /// The largest id at the beginning or end of a pause.
    last: Option<u64>,
    /// The latest beginning of a pause.
    last_ms: Option<i64>,
    /// Whether the log has had the current pause before.
    pub(super) is_repeated: bool,
}

impl StopIds {
    /// Reads the beginning of a pause.
    pub(super) fn start(&mut self, tag: &Tag<'_>, start_ms: Option<i64>, problems: &mut OpenJ9Problems) {
        self.is_repeated = false;
        let (Some(id), Some(start_ms)) = (tag.value(b"id").and_then(parse_integer), start_ms) else { return };
        let (last, last_ms) = (self.last.unwrap_or(id), self.last_ms.unwrap_or(start_ms));
        if self.last.is_some() && id <= last && start_ms <= last_ms {
            problems.repeated_stops += 1;
            self.is_repeated = true;
            return;
        }
        let ids = id.saturating_sub(last);
        if ids > MOST_BETWEEN && start_ms >= last_ms && problems.gaps.len() < MOST_GAPS {
            problems.gaps.push(OpenJ9Gap { after_ms: last_ms, before_ms: start_ms, ids });
        }
        (self.last, self.last_ms) = (Some(id), Some(start_ms));
    }

    /// Reads the end of a pause.
    pub(super) fn end(&mut self, tag: &Tag<'_>) {
        let id = tag.value(b"id").and_then(parse_integer);
        self.last = self.last.zip(id).map(|(last, id)| last.max(id)).or(self.last);
    }
}

//! Error classes with count, first and last time and an example reason.

use std::collections::BTreeMap;

use crate::sample::ErrorClass;

/// Different reasons kept per task; further ones of a class are counted together, so that memory stays bounded.
const MOST_REASONS: usize = 32;
/// What those are called.
const OTHER: &str = "other";
/// Longest reason or kind kept, in characters; one in an engine's words may be a whole query.
const LONGEST_REASON: usize = 300;

/// One failure, with what the engine or the system said. Made only after the clock has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorNote {
    /// What kind of failure.
    pub class: ErrorClass,
    /// HTTP status, 0 if there was none; for documents of a bulk the document's own.
    pub status: u16,
    /// The engine's error type, or the system's name for it; failures are grouped by it.
    pub kind: String,
    /// The reason in the engine's words.
    pub reason: String,
    /// How often: 1, or the number of rejected documents.
    pub count: u64,
    /// When, in nanoseconds since the task began.
    pub at_ns: u64,
}

/// Failures of one task, grouped.
#[derive(Debug, Clone, Default)]
pub struct ErrorTally {
    groups: BTreeMap<(ErrorClass, u16, String), ErrorGroup>,
}

/// Failures of one class, status and kind.
#[derive(Debug, Clone)]
pub struct ErrorGroup {
    /// The first reason seen.
    pub example: String,
    /// How often.
    pub count: u64,
    /// First time, nanoseconds since the task began.
    pub first_ns: u64,
    /// Last time, likewise.
    pub last_ns: u64,
}

impl ErrorTally {
    /// Counts a failure.
    pub fn note(&mut self, note: ErrorNote) {
        let mut key = (note.class, note.status, shorten(note.kind));
        if !self.groups.contains_key(&key) && self.groups.len() >= MOST_REASONS {
            key = (note.class, 0, OTHER.into());
        }
        let group = ErrorGroup { example: shorten(note.reason), count: 0, first_ns: note.at_ns, last_ns: 0 };
        let group = self.groups.entry(key).or_insert(group);
        group.count += note.count;
        group.first_ns = group.first_ns.min(note.at_ns);
        group.last_ns = group.last_ns.max(note.at_ns);
    }

    /// Adds the failures of another tally.
    pub fn merge(&mut self, other: Self) {
        for ((class, status, kind), group) in other.groups {
            let ErrorGroup { example: reason, count, first_ns, last_ns } = group;
            self.note(ErrorNote {
                class,
                status,
                kind: kind.clone(),
                reason: reason.clone(),
                count,
                at_ns: first_ns,
            });
            self.note(ErrorNote { class, status, kind, reason, count: 0, at_ns: last_ns });
        }
    }

    /// Whether nothing failed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The groups, most frequent first: (class, status, kind, group).
    #[must_use]
    pub fn groups(&self) -> Vec<(ErrorClass, u16, &str, &ErrorGroup)> {
        let mut groups: Vec<_> = self
            .groups
            .iter()
            .map(|((class, status, kind), group)| (*class, *status, kind.as_str(), group))
            .collect();
        groups.sort_by_key(|(class, .., group)| (std::cmp::Reverse(group.count), *class));
        groups
    }
}

fn shorten(mut reason: String) -> String {
    if let Some((cut, _)) = reason.char_indices().nth(LONGEST_REASON) {
        reason.truncate(cut);
        reason.push('…');
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: &str, at_ns: u64) -> ErrorNote {
        let (kind, reason) = (kind.to_owned(), format!("because of {kind}"));
        ErrorNote { class: ErrorClass::BulkItem, status: 400, kind, reason, count: 2, at_ns }
    }

    #[test]
    fn failures_of_one_kind_make_one_group() {
        let mut tally = ErrorTally::default();
        tally.note(note("a", 50));
        tally.note(note("b", 10));
        tally.note(note("a", 20));
        let groups = tally.groups();
        let (class, status, kind, group) = groups[0];
        assert_eq!((class, status, kind, group.count), (ErrorClass::BulkItem, 400, "a", 4));
        assert_eq!((group.first_ns, group.last_ns), (20, 50));
        assert_eq!(groups.len(), 2);
    }

    #[test]
    fn memory_stays_bounded_and_nothing_is_lost() {
        let mut tally = ErrorTally::default();
        for number in 0..1000 {
            tally.note(note(&format!("kind {number}"), number));
        }
        let groups = tally.groups();
        assert_eq!(groups.len(), MOST_REASONS + 1);
        assert_eq!(groups.iter().map(|(.., group)| group.count).sum::<u64>(), 2000);
        let (class, status, kind, group) = groups[0];
        assert_eq!((class, status, kind, group.count), (ErrorClass::BulkItem, 0, OTHER, 2 * 968));
        assert_eq!((group.first_ns, group.last_ns), (32, 999));
    }

    #[test]
    fn neither_statuses_nor_names_that_never_repeat_fill_the_memory() {
        let mut tally = ErrorTally::default();
        for status in 0..1000 {
            let kind = "k".repeat(1000);
            tally.note(ErrorNote { status, kind, ..note("", 0) });
        }
        let groups = tally.groups();
        assert_eq!(groups.len(), MOST_REASONS + 1);
        assert!(groups.iter().all(|(_, _, kind, _)| kind.chars().count() <= LONGEST_REASON + 1));
    }

    #[test]
    fn what_was_too_much_for_threads_stays_so_when_they_are_merged() {
        let mut whole = ErrorTally::default();
        for thread in 0..4 {
            let mut tally = ErrorTally::default();
            (0..100).for_each(|number| tally.note(note(&format!("{thread} {number}"), number)));
            whole.merge(tally);
        }
        let groups = whole.groups();
        assert!(groups.len() <= MOST_REASONS + 1);
        assert_eq!(groups.iter().map(|(.., group)| group.count).sum::<u64>(), 800);
    }

    #[test]
    fn long_reasons_are_cut_between_characters() {
        assert_eq!(shorten("é".repeat(400)).chars().count(), LONGEST_REASON + 1);
    }
}

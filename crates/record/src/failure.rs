//! Failures: a single one with its reason, and all failures of a task in groups.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::Serialize;

use crate::sample::ErrorClass;
use crate::units::seconds;

/// Maximum number of groups for a task. Further failures of a class are counted in one group, so that memory stays
/// bounded.
const MAX_GROUPS: usize = 32;
/// The error type of the group for further failures.
const OTHER: &str = "other";
/// Maximum length of a reason or an error type, in characters; an engine may quote a whole query.
const MAX_CHARACTERS: usize = 300;

/// The reason why an operation failed, as reported by the engine or the operating system. It is created only after the
/// operation was timed; its time is that of the operation's [`crate::Sample`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The class of the failure. It differs from the operation's class if a bulk failed for several reasons, such as
    /// rejected documents and a timeout when others were sent again.
    pub error_class: ErrorClass,
    /// HTTP status, 0 if there was none; for rejected documents of a bulk, the documents' status.
    pub status: u16,
    /// The engine's error type, or the operating system's name for the error; failures are grouped by it.
    pub error_type: String,
    /// The reason, as the engine states it.
    pub reason: String,
    /// What `count` counts.
    pub unit: FailureUnit,
    /// Number of operations that failed for this reason, which is 1, or of documents.
    pub count: u64,
}

impl Failure {
    /// Statuses of an engine, or of a proxy before it, that cannot keep up.
    const OVERLOAD: [u16; 4] = [429, 502, 503, 504];

    /// Returns whether the engine, or a proxy before it, could not keep up, for whatever reason.
    #[must_use]
    pub fn is_overload(&self) -> bool {
        Self::OVERLOAD.contains(&self.status)
            || matches!(self.error_class, ErrorClass::Timeout | ErrorClass::SearchTimeout)
    }
}

/// What the count of a failure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureUnit {
    /// Operations.
    Operations,
    /// Documents of bulks: those that were rejected, and those of bulks that failed as a whole.
    Documents,
}

/// Failures with the same class, status, error type and unit, as written to `race.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureGroup {
    /// The error class, for example `http-status`.
    pub error_class: String,
    /// The engine's error type, and the reason of one of the failures.
    pub reason: String,
    /// HTTP status, `null` if there was none.
    pub status: Option<u16>,
    /// What `count` counts.
    pub unit: FailureUnit,
    /// Number of operations or documents that failed.
    pub count: u64,
    /// When the first of them failed, in seconds since the task began.
    pub first_s: f64,
    /// When the last of them failed, in seconds since the task began.
    pub last_s: f64,
}

/// All failures of a task, in groups.
#[derive(Debug, Clone, Default)]
pub struct FailureGroups {
    groups: BTreeMap<GroupKey, GroupCounts>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    error_class: ErrorClass,
    status: u16,
    error_type: String,
    unit: FailureUnit,
}

#[derive(Debug, Clone)]
struct GroupCounts {
    /// The reason of the failure that was added first.
    example: String,
    count: u64,
    first_ns: u64,
    last_ns: u64,
}

impl FailureGroups {
    /// Counts a failure, which happened `at_ns` nanoseconds after the task began.
    pub fn add(&mut self, failure: Failure, at_ns: u64) {
        let Failure { error_class, status, error_type, reason, unit, count } = failure;
        let key = GroupKey { error_class, status, error_type: shorten(error_type), unit };
        let counts = GroupCounts { example: shorten(reason), count, first_ns: at_ns, last_ns: at_ns };
        self.merge_group(key, counts);
    }

    /// Adds the failures of another worker or of a later second.
    pub fn merge(&mut self, other: Self) {
        for (key, counts) in other.groups {
            self.merge_group(key, counts);
        }
    }

    /// Adds counts to a group or, if there are too many groups, to the group for further failures.
    fn merge_group(&mut self, mut key: GroupKey, counts: GroupCounts) {
        if !self.groups.contains_key(&key) && self.groups.len() >= MAX_GROUPS {
            key = GroupKey { status: 0, error_type: OTHER.into(), ..key };
        }
        match self.groups.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(counts);
            }
            Entry::Occupied(mut entry) => {
                let group = entry.get_mut();
                group.count += counts.count;
                group.first_ns = group.first_ns.min(counts.first_ns);
                group.last_ns = group.last_ns.max(counts.last_ns);
            }
        }
    }

    /// Returns whether there are no failures.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the groups, the most frequent first.
    #[must_use]
    pub fn groups(&self) -> Vec<FailureGroup> {
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_by_key(|(key, group)| (std::cmp::Reverse(group.count), key.error_class));
        let summary = |(key, group): (&GroupKey, &GroupCounts)| FailureGroup {
            error_class: key.error_class.name().to_owned(),
            reason: if key.error_type.is_empty() {
                group.example.clone()
            } else {
                format!("{}: {}", key.error_type, group.example)
            },
            status: (key.status != 0).then_some(key.status),
            unit: key.unit,
            count: group.count,
            first_s: seconds(group.first_ns),
            last_s: seconds(group.last_ns),
        };
        groups.into_iter().map(summary).collect()
    }
}

fn shorten(mut text: String) -> String {
    if let Some((cut, _)) = text.char_indices().nth(MAX_CHARACTERS) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: ErrorClass = ErrorClass::BulkItem;

    fn failure(error_type: &str) -> Failure {
        Failure {
            error_class: CLASS,
            status: 400,
            error_type: error_type.to_owned(),
            reason: format!("because of {error_type}"),
            unit: FailureUnit::Documents,
            count: 2,
        }
    }

    fn total(groups: &[FailureGroup]) -> u64 {
        groups.iter().map(|group| group.count).sum()
    }

    #[test]
    fn failures_of_one_error_type_form_one_group() {
        let mut failures = FailureGroups::default();
        for (error_type, at_s) in [("a", 50), ("b", 10), ("a", 20)] {
            failures.add(failure(error_type), at_s * 1_000_000_000);
        }
        let groups = failures.groups();
        let expected = FailureGroup {
            error_class: "bulk-item".into(),
            reason: "a: because of a".into(),
            status: Some(400),
            unit: FailureUnit::Documents,
            count: 4,
            first_s: 20.0,
            last_s: 50.0,
        };
        assert_eq!((groups.len(), &groups[0]), (2, &expected));
    }

    #[test]
    fn operations_and_documents_are_never_added_up() {
        let mut failures = FailureGroups::default();
        let operation = Failure { unit: FailureUnit::Operations, count: 1, ..failure("a") };
        for failure in [failure("a"), operation.clone(), failure("a"), operation] {
            failures.add(failure, 0);
        }
        let groups = failures.groups();
        let counts: Vec<_> = groups.iter().map(|group| (group.unit, group.count)).collect();
        assert_eq!(counts, [(FailureUnit::Documents, 4), (FailureUnit::Operations, 2)]);
        let text = serde_json::to_string(&groups[0]).unwrap();
        assert!(text.contains(r#""unit":"documents","count":4"#), "{text}");
    }

    #[test]
    fn failures_beyond_the_limit_are_counted_together() {
        let mut failures = FailureGroups::default();
        for number in 0..1000 {
            failures.add(failure(&format!("type {number}")), number * 1_000_000_000);
        }
        let groups = failures.groups();
        assert_eq!((groups.len(), total(&groups)), (MAX_GROUPS + 1, 2000));
        assert_eq!((groups[0].count, groups[0].status), (2 * 968, None));
        assert_eq!(groups[0].reason, "other: because of type 32");
        assert!((groups[0].first_s, groups[0].last_s) == (32.0, 999.0), "{:?}", groups[0]);
    }

    #[test]
    fn statuses_and_error_types_that_never_repeat_do_not_exhaust_memory() {
        let mut failures = FailureGroups::default();
        for status in 0..1000 {
            failures.add(Failure { status, error_type: "k".repeat(1000), ..failure("") }, 0);
        }
        assert_eq!(failures.groups().len(), MAX_GROUPS + 1);
        assert!(failures.groups.keys().all(|key| key.error_type.chars().count() <= MAX_CHARACTERS + 1));
    }

    #[test]
    fn the_limit_holds_when_workers_are_merged() {
        let mut whole = FailureGroups::default();
        for worker in 0..4 {
            let mut failures = FailureGroups::default();
            (0..100).for_each(|number| failures.add(failure(&format!("{worker} {number}")), number));
            whole.merge(failures);
        }
        let groups = whole.groups();
        assert!(groups.len() <= MAX_GROUPS + 1);
        assert_eq!(total(&groups), 800);
    }

    #[test]
    fn long_reasons_are_truncated_between_characters() {
        assert_eq!(shorten("é".repeat(400)).chars().count(), MAX_CHARACTERS + 1);
    }
}

//! What a verbose GC log contains.

use super::counts::{OpenJ9Counts, OpenJ9Stop};
use super::settings::OpenJ9Settings;

/// Most pauses that are kept of all JVMs that wrote to the files, which bounds memory to about 120 MB. Files with more of
/// them have a GB and more.
pub const MOST_STOPS: usize = 250_000;

/// A verbose GC log: what one JVM wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenJ9Log {
    /// The configuration of the JVM.
    pub settings: OpenJ9Settings,
    /// The pauses.
    pub stops: Vec<OpenJ9Stop>,
    /// The first timestamp in milliseconds since 1970 on the local clock of the JVM.
    pub first_ms: Option<i64>,
    /// The last timestamp, likewise.
    pub last_ms: Option<i64>,
    /// Whether scavenges run concurrently, according to what they did, not to the options.
    pub concurrent_scavenge: bool,
    /// What happened after the last pause.
    pub rest: OpenJ9Counts,
    /// Threads that allocated most before a collection, with the bytes that they allocated then, largest first.
    pub largest_consumers: Vec<(String, u64)>,
    /// Whether the log contains the start of the JVM.
    pub has_start: bool,
    /// What is missing in the log, or was not understood.
    pub problems: OpenJ9Problems,
}

/// What is missing in a log, or was not understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenJ9Problems {
    /// Files without the end of their root element, as those of a running or killed JVM.
    pub cut_files: u64,
    /// Tags that end too early, or are longer than any that a JVM writes.
    pub cut_tags: u64,
    /// Pauses without an end. They are not counted.
    pub cut_stops: u64,
    /// Whether the log has more than [`MOST_STOPS`] pauses, so that the rest is missing.
    pub is_limited: bool,
    /// Types of increments that this reader does not know.
    pub unknown_types: Vec<String>,
    /// Whether the log has collections in the format of J9 5.0 and earlier, which this reader does not support.
    pub has_old_format: bool,
    /// Whether a file has a document type declaration, which no JVM writes.
    pub has_declaration: bool,
    /// Pauses that the files have more than once. They are counted once.
    pub repeated_stops: u64,
    /// Periods whose elements are missing, at most 64.
    pub gaps: Vec<OpenJ9Gap>,
}

/// A period whose elements are missing, according to the ids of those before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenJ9Gap {
    /// When the last pause before it began, in milliseconds since 1970 on the local clock of the JVM.
    pub after_ms: i64,
    /// When the first pause after it began, likewise.
    pub before_ms: i64,
    /// Number of ids that are missing.
    pub ids: u64,
}

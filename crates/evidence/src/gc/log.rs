//! What a log contains about one run of a JVM, as compact records. The readers of all formats fill it.
//!
//! Times are nanoseconds on the clock of the log: since the JVM started if the log has the uptime, otherwise since its
//! first line. Sizes are bytes.

use serde::Serialize;

use crate::gc::losses::Losses;
use crate::gc::names::{NameId, Names};
pub use crate::gc::span::Span;
use crate::openj9::OpenJ9Log;

/// Bytes of the records of all kinds and runs that are kept of a group of files. They suffice for about 400,000
/// collections: ten hours with ten of them in each second. Statistics of a window need up to twice as much for a moment.
pub const MOST_RECORD_BYTES: usize = 128 << 20;

/// The records of one run of a JVM.
#[derive(Debug, Default)]
pub struct GcLog {
    /// What the log states about the JVM and its settings.
    pub jvm: JvmFacts,
    /// The process id of the lines, or the thread id of the first one without it, or empty.
    pub process: Vec<u8>,
    /// The container that wrote the lines, if they state it.
    pub container: Option<String>,
    /// The first and the last time in the log; `None` if its lines have no times.
    pub span: Option<Span>,
    /// Wall-clock time, in nanoseconds since 1970, at which the clock of the log was 0, if the log has wall-clock times.
    pub epoch_ns: Option<i64>,
    /// Whether the clock of the log is the JVM's uptime, so that it does not jump.
    pub has_uptime: bool,
    /// The names to which records refer.
    pub names: Names,
    /// Pauses for garbage collection.
    pub pauses: Vec<Pause>,
    /// All safepoints, whether for garbage collection or not.
    pub safepoints: Vec<Safepoint>,
    /// Completed collections.
    pub collections: Vec<Collection>,
    /// Intervals in which the use of the heap changed by collection, from which allocation is derived.
    pub heap_changes: Vec<HeapChange>,
    /// Concurrent phases.
    pub concurrent: Vec<ConcurrentPhase>,
    /// Waits of application threads for memory.
    pub stalls: Vec<Stall>,
    /// CPU time of collections.
    pub cpu: Vec<CpuTime>,
    /// Events that are only counted.
    pub incidents: Vec<IncidentEvent>,
    /// Tenuring thresholds.
    pub thresholds: Vec<Threshold>,
    /// The log of OpenJ9 from which the records were made; `None` for other JVMs.
    pub openj9: Option<Box<OpenJ9Log>>,
    /// What is missing, or does not belong to the log.
    pub losses: Losses,
    /// Whether a limit on records was reached, so that the rest of the log is missing.
    pub is_limited: bool,
    /// Room for further records.
    pub(crate) room: RecordLimit,
}

/// Bytes of records that may still be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordLimit(pub(crate) usize);

impl Default for RecordLimit {
    fn default() -> Self {
        Self(MOST_RECORD_BYTES)
    }
}

/// What a log states about the JVM; what it does not state is `None`.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct JvmFacts {
    /// Name of the collector, such as `G1`, or the policy of `OpenJ9`.
    pub collector: Option<String>,
    /// Version of the JVM.
    pub version: Option<String>,
    /// Processors that the JVM sees, as it prints them.
    pub cpus: Option<String>,
    /// Memory of the machine or container in bytes.
    pub memory_bytes: Option<u64>,
    /// Least size of the heap in bytes.
    pub heap_min_bytes: Option<u64>,
    /// First size of the heap in bytes.
    pub heap_initial_bytes: Option<u64>,
    /// Largest size of the heap in bytes.
    pub heap_max_bytes: Option<u64>,
    /// Size of a region in bytes.
    pub region_bytes: Option<u64>,
    /// State of compressed references, such as `Enabled (32-bit)`.
    pub compressed_references: Option<String>,
    /// Whether large pages are used, as the JVM prints it.
    pub large_pages: Option<String>,
    /// Whether memory nodes are considered, as the JVM prints it.
    pub numa: Option<String>,
    /// Whether the heap is touched at the start, as the JVM prints it.
    pub pre_touch: Option<String>,
    /// Threads that collect during pauses.
    pub parallel_workers: Option<u64>,
    /// Threads that collect beside the application.
    pub concurrent_workers: Option<u64>,
}

/// A pause for garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// When it ended.
    pub end_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// Its kind, such as `Young (Mixed)` or `Remark`.
    pub kind: NameId,
    /// Why the collection was needed, if the line states it.
    pub cause: Option<NameId>,
}

/// A period in which all threads of the application stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Safepoint {
    /// When it ended.
    pub end_ns: u64,
    /// From the request until the threads run again.
    pub total_ns: u64,
    /// From the request until all threads stood still.
    pub reaching_ns: u64,
    /// The operation for which it was made; `unknown` if the log does not state it.
    pub name: NameId,
    /// Whether the log states the operation.
    pub is_named: bool,
    /// Whether the operation belongs to garbage collection. Without its name, whether there was a pause since the
    /// safepoint before.
    pub is_gc: bool,
}

/// The part of the heap that a collection cleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The young generation.
    Young,
    /// The young generation and a part of the old one.
    Mixed,
    /// The old generation, or the whole heap, beside the application.
    Old,
    /// The whole heap, in a pause.
    Full,
}

/// A completed collection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Collection {
    /// When it ended.
    pub end_ns: u64,
    /// The part of the heap.
    pub scope: Scope,
    /// Why it was needed.
    pub cause: Option<NameId>,
    /// Heap in use before it.
    pub before_bytes: Option<u64>,
    /// Heap in use after it.
    pub after_bytes: Option<u64>,
    /// Size of the heap after it.
    pub capacity_bytes: Option<u64>,
    /// Bytes that it moved from the young to the old generation.
    pub promoted_bytes: Option<u64>,
    /// Bytes of the young generation that survived in it.
    pub survived_bytes: Option<u64>,
    /// Bytes in use in the young generation before it.
    pub young_bytes: Option<u64>,
    /// Bytes of live objects that it found, if it considered the old generation.
    pub live_bytes: Option<u64>,
    /// Part of the old generation in use after it (0 to 1), if that has a size of its own.
    pub old_share: Option<f32>,
}

/// A change of the heap's use by collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapChange {
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Bytes in use at its beginning.
    pub before_bytes: u64,
    /// Bytes in use at its end.
    pub after_bytes: u64,
    /// Bytes that the application allocated meanwhile.
    pub allocated_bytes: u64,
}

/// A phase of a collection that ran beside the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrentPhase {
    /// When it ended.
    pub end_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// Its name.
    pub name: NameId,
}

/// The reason why an application thread waited for the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallKind {
    /// There was no memory to allocate.
    Allocation,
    /// The object that it needed was being moved.
    Relocation,
}

/// A wait of one application thread for the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// When it ended.
    pub end_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// Its reason.
    pub kind: StallKind,
}

/// CPU time of one collection or phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTime {
    /// When the collection ended.
    pub end_ns: u64,
    /// Time in user mode, of all threads of the collector.
    pub user_ns: u64,
    /// Time in the kernel, of all threads of the collector.
    pub system_ns: u64,
}

/// An event that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incident {
    /// There was no room for the objects that survived.
    EvacuationFailure,
    /// A concurrent collection was given up.
    ConcurrentAbort,
}

/// When an incident happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncidentEvent {
    /// When the line was written.
    pub at_ns: u64,
    /// What happened.
    pub incident: Incident,
}

/// A new tenuring threshold: the number of young collections that an object survives before it is promoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// When it was computed.
    pub at_ns: u64,
    /// The threshold.
    pub age: u32,
}

impl GcLog {
    /// Extends the span of the log to a time.
    pub fn extend_to(&mut self, at_ns: u64) {
        let span = self.span.get_or_insert(Span { start_ns: at_ns, end_ns: at_ns });
        span.start_ns = span.start_ns.min(at_ns);
        span.end_ns = span.end_ns.max(at_ns);
    }

    /// Returns whether the log contains nothing about garbage collection or safepoints.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.states_collections() && self.safepoints.is_empty()
    }

    /// Returns whether the log states collections, so that it has none if no line is about one. A log of safepoints alone
    /// does not.
    #[must_use]
    pub fn states_collections(&self) -> bool {
        self.jvm.collector.is_some()
            || !self.pauses.is_empty()
            || !self.collections.is_empty()
            || !self.concurrent.is_empty()
    }

    /// Returns whether the log states pauses, so that it has none if no line is about one. ZGC does not without the tags
    /// `gc,phases`: as long as it has completed no collection, there is none.
    #[must_use]
    pub fn states_pauses(&self) -> bool {
        let is_silent = self.jvm.collector.as_deref() == Some("ZGC") && !self.collections.is_empty();
        self.states_collections() && !(is_silent && self.pauses.is_empty())
    }

    /// Adds a record unless the limit is reached.
    pub(crate) fn push<T>(&mut self, select: impl FnOnce(&mut Self) -> &mut Vec<T>, record: T) {
        if let Some(left) = self.room.0.checked_sub(size_of::<T>()) {
            self.room.0 = left;
            select(self).push(record);
            return;
        }
        if !self.is_limited {
            self.losses.add(self.span.map_or(0, |span| span.end_ns), u64::MAX);
        }
        self.is_limited = true;
    }
}

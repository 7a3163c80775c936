//! What a verbose GC log says about pauses, collections and copied objects.

use serde::Serialize;

/// Stop-the-world increments of collections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenJ9Increments {
    /// Number of increments (`gc-end`).
    pub count: u64,
    /// Their total duration in microseconds (`durationms`).
    pub duration_us: u64,
}

/// Cycles of a collector. A cycle has one or more increments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenJ9Cycles {
    /// Number of cycles that began (`cycle-start`).
    pub started: u64,
    /// Total time from the start of the previous cycle of the same type to that of these, in microseconds
    /// (`intervalms`).
    pub interval_us: u64,
    /// Number of cycles that ended (`cycle-end`).
    pub ended: u64,
}

/// Bytes that scavenges copied (`memory-copied`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenJ9Copied {
    /// Bytes copied within the nursery.
    pub flipped: u64,
    /// Bytes promoted to the tenure area.
    pub tenured: u64,
}

/// Events that a healthy heap does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OpenJ9Incidents {
    /// Scavenges that became a global collection (`percolate-collect`).
    pub percolations: u64,
    /// Scavenges that were aborted because too little memory was free.
    pub aborted_scavenges: u64,
    /// Objects that a scavenge could not copy (`copy-failed`).
    pub objects_not_copied: u64,
    /// Scavenges during which the remembered set overflowed.
    pub remembered_set_overflows: u64,
    /// Concurrent phases of scavenges that the collector ended early, because the survivor or allocate space was full.
    pub ended_scavenges: u64,
    /// Concurrent global cycles that were aborted (`concurrent-aborted`).
    pub aborted_globals: u64,
    /// Global cycles whose final increment began at the threshold for card cleaning, before everything was traced.
    pub early_globals: u64,
    /// Allocations that failed even after a collection (`allocation-unsatisfied`).
    pub unsatisfied_allocations: u64,
    /// Reports of excessive activity of the collector.
    pub excessive_activity: u64,
}

/// Sums over pauses and over what happened between them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenJ9Counts {
    /// Collections triggered by an allocation failure (`af-start`).
    pub allocation_failures: u64,
    /// Collections that the application or a tool requested (`sys-start`).
    pub forced: u64,
    /// Increments of nursery and global collections that neither an allocation failure nor a request triggered.
    pub untriggered: u64,
    /// Increments that collect the nursery: scavenges, and the partial collections of the balanced policy.
    pub nursery: OpenJ9Increments,
    /// Increments that collect the whole heap.
    pub global: OpenJ9Increments,
    /// Other increments, such as those of the balanced policy's global mark phase.
    pub other: OpenJ9Increments,
    /// Cycles that collect the nursery.
    pub nursery_cycles: OpenJ9Cycles,
    /// Cycles that collect the whole heap.
    pub global_cycles: OpenJ9Cycles,
    /// Global cycles that ended with the final increment of a concurrent collection.
    pub concurrent_globals: u64,
    /// Operations that state what they copied within the nursery and out of it (`gc-op` of the type `scavenge`).
    pub scavenges: u64,
    /// Copied in pauses.
    pub copied_in_pauses: OpenJ9Copied,
    /// Copied by concurrent phases of scavenges.
    pub copied_concurrently: OpenJ9Copied,
    /// Bytes promoted while a global cycle was active, in pauses and concurrently.
    pub tenured_during_global: u64,
    /// Increments with the free memory before and after them.
    pub heap_readings: u64,
    /// Bytes that increments freed.
    pub freed: u64,
    /// Increments with allocation statistics.
    pub allocation_readings: u64,
    /// Bytes allocated before increments, in heaps of threads (`tlh`) and outside.
    pub allocated: u64,
    /// The part of them that was allocated outside heaps of threads (`non-tlh`).
    pub allocated_outside_tlh: u64,
    /// Size of the largest allocation that failed, in bytes; 0 if none failed.
    pub largest_request: u64,
    /// Allocations of more than 1 MiB that failed.
    pub large_requests: u64,
    /// CPU time of the collector's threads in user mode in pauses, in microseconds.
    pub user_us: u64,
    /// CPU time of the collector's threads in the kernel in pauses, in microseconds.
    pub system_us: u64,
    /// Duration of concurrent phases in microseconds, as far as the log contains it.
    pub concurrent_us: u64,
    /// What a healthy heap does not have.
    pub incidents: OpenJ9Incidents,
}

/// Adds to a sum. A log with wrong numbers must not cause an overflow.
pub(super) fn add(sum: &mut u64, value: u64) {
    *sum = sum.saturating_add(value);
}

impl OpenJ9Increments {
    pub(super) fn add(&mut self, other: &Self) {
        add(&mut self.count, other.count);
        add(&mut self.duration_us, other.duration_us);
    }
}

impl OpenJ9Cycles {
    fn add(&mut self, other: &Self) {
        add(&mut self.started, other.started);
        add(&mut self.interval_us, other.interval_us);
        add(&mut self.ended, other.ended);
    }
}

impl OpenJ9Copied {
    pub(super) fn add(&mut self, other: &Self) {
        add(&mut self.flipped, other.flipped);
        add(&mut self.tenured, other.tenured);
    }
}

impl OpenJ9Incidents {
    fn add(&mut self, other: &Self) {
        add(&mut self.percolations, other.percolations);
        add(&mut self.aborted_scavenges, other.aborted_scavenges);
        add(&mut self.objects_not_copied, other.objects_not_copied);
        add(&mut self.remembered_set_overflows, other.remembered_set_overflows);
        add(&mut self.ended_scavenges, other.ended_scavenges);
        add(&mut self.aborted_globals, other.aborted_globals);
        add(&mut self.early_globals, other.early_globals);
        add(&mut self.unsatisfied_allocations, other.unsatisfied_allocations);
        add(&mut self.excessive_activity, other.excessive_activity);
    }
}

impl OpenJ9Counts {
    /// Adds other counts to these.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.allocation_failures, other.allocation_failures);
        add(&mut self.forced, other.forced);
        add(&mut self.untriggered, other.untriggered);
        self.nursery.add(&other.nursery);
        self.global.add(&other.global);
        self.other.add(&other.other);
        self.nursery_cycles.add(&other.nursery_cycles);
        self.global_cycles.add(&other.global_cycles);
        add(&mut self.concurrent_globals, other.concurrent_globals);
        add(&mut self.scavenges, other.scavenges);
        self.copied_in_pauses.add(&other.copied_in_pauses);
        self.copied_concurrently.add(&other.copied_concurrently);
        add(&mut self.tenured_during_global, other.tenured_during_global);
        add(&mut self.heap_readings, other.heap_readings);
        add(&mut self.freed, other.freed);
        add(&mut self.allocation_readings, other.allocation_readings);
        add(&mut self.allocated, other.allocated);
        add(&mut self.allocated_outside_tlh, other.allocated_outside_tlh);
        self.largest_request = self.largest_request.max(other.largest_request);
        add(&mut self.large_requests, other.large_requests);
        add(&mut self.user_us, other.user_us);
        add(&mut self.system_us, other.system_us);
        add(&mut self.concurrent_us, other.concurrent_us);
        self.incidents.add(&other.incidents);
    }
}

/// The main work of a pause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpenJ9StopKind {
    /// No increment of a collection: for example, the start of a concurrent cycle.
    #[default]
    NoIncrement,
    /// An increment of another type, such as the balanced policy's global mark phase.
    OtherIncrement,
    /// A scavenge or partial collection.
    Nursery,
    /// A collection of the whole heap, or its final increment.
    Global,
}

/// Why a collection ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OpenJ9Trigger {
    /// None of the other reasons: for example, a concurrent cycle proceeds.
    #[default]
    Concurrent,
    /// An allocation failed.
    AllocationFailure,
    /// The application or a tool requested it.
    Forced,
}

/// A period in which the collector had exclusive access to the heap, and what the log contains since the previous one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenJ9Stop {
    /// Start in milliseconds since 1970 on the local clock of the JVM; `None` if the log does not contain it.
    pub start_ms: Option<i64>,
    /// End, likewise.
    pub end_ms: Option<i64>,
    /// Duration of the exclusive access in microseconds.
    pub duration_us: u64,
    /// Time until all threads had stopped, before the exclusive access, in microseconds.
    pub reaching_us: Option<u64>,
    /// The main work of the pause.
    pub kind: OpenJ9StopKind,
    /// Why the collection ran.
    pub trigger: OpenJ9Trigger,
    /// Used bytes of the heap before the pause's first increment.
    pub used_before: Option<u64>,
    /// Used bytes of the heap after the pause's last increment.
    pub used_after: Option<u64>,
    /// Size of the heap after the pause's last increment, in bytes.
    pub heap_bytes: Option<u64>,
    /// Used bytes of the tenure area after a global increment: nearly the live data.
    pub tenure_used_after_global: Option<u64>,
    /// Scavenges that objects must survive before they are promoted, after this pause.
    pub tenure_age: Option<u64>,
    /// Part of the nursery that is used for allocation after this pause, in percent.
    pub tilt_percent: Option<u64>,
    /// What happened in the pause, and concurrently since the previous one.
    pub counts: OpenJ9Counts,
}

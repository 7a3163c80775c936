//! The figures of a window that only logs of OpenJ9 have.

use serde::Serialize;

use super::counts::{OpenJ9Counts, OpenJ9Incidents};
use super::log::OpenJ9Log;
use super::summary::{OpenJ9Counting, OpenJ9Summary};

/// Threads that are listed.
const CONSUMERS: usize = 5;

/// What only logs of OpenJ9 contain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenJ9Report {
    /// The figures of GCMV's summary table, counted as GCMV does.
    pub summary: OpenJ9Summary,
    /// The same with each cycle as one collection; different only if scavenges are concurrent.
    pub summary_of_cycles: OpenJ9Summary,
    /// Whether scavenges ran concurrently, according to the log, not to the options.
    pub concurrent_scavenge: bool,
    /// Bytes allocated before collections, outside heaps of threads and in all; `None` if the log does not state it.
    pub allocated: Option<OpenJ9Allocated>,
    /// Allocations of more than 1 MiB that failed, so that a collection was needed.
    pub large_requests: u64,
    /// What a healthy heap does not have.
    pub incidents: OpenJ9Incidents,
    /// Part of the nursery used for allocation, in percent, after the last scavenge.
    pub tilt_percent: Option<u64>,
    /// Threads that allocated most before collections of the whole log, largest first.
    pub largest_consumers: Vec<OpenJ9Consumer>,
    /// Options of the JVM that begin with `-X`.
    pub options: Vec<String>,
    /// Size of the heap's memory pages in bytes.
    pub page_bytes: Option<u64>,
}

/// Allocated memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenJ9Allocated {
    /// All bytes.
    pub bytes: u64,
    /// Bytes of objects that were too large for the heap of a thread, or did not fit.
    pub outside_tlh_bytes: u64,
}

/// A thread that allocated most before a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenJ9Consumer {
    /// Its name.
    pub thread: String,
    /// Bytes that it allocated before collections in which no other thread allocated more.
    pub bytes: u64,
}

impl OpenJ9Report {
    /// Leaves out means, shares and rates, which depend on all pauses, if some are missing.
    pub(crate) fn leave_out_rates(&mut self) {
        for summary in [&mut self.summary, &mut self.summary_of_cycles] {
            summary.global_mean_pause_ms = None;
            summary.global_mean_interval_ms = None;
            summary.nursery_mean_pause_ms = None;
            summary.nursery_mean_interval_ms = None;
            summary.paused_percent = None;
            summary.unpaused_percent = None;
            summary.collected_mb_per_minute = None;
        }
    }
}

impl OpenJ9Log {
    /// Returns the figures of the whole log, or of a window in milliseconds since 1970 on the JVM's local clock.
    #[must_use]
    pub fn report(&self, window: Option<(i64, i64)>) -> OpenJ9Report {
        let mut counts = window.map_or(self.rest, |_| OpenJ9Counts::default());
        let mut tilt_percent = None;
        for stop in self.stops_in(window) {
            counts.add(&stop.counts);
            tilt_percent = stop.tilt_percent.or(tilt_percent);
        }
        let consumers = self.largest_consumers.iter().take(CONSUMERS);
        OpenJ9Report {
            summary: self.summary(window, OpenJ9Counting::Pauses),
            summary_of_cycles: self.summary(window, OpenJ9Counting::Cycles),
            concurrent_scavenge: self.concurrent_scavenge,
            allocated: (counts.allocation_readings > 0).then_some(OpenJ9Allocated {
                bytes: counts.allocated,
                outside_tlh_bytes: counts.allocated_outside_tlh,
            }),
            large_requests: counts.large_requests,
            incidents: counts.incidents,
            tilt_percent,
            largest_consumers: consumers
                .map(|(thread, bytes)| OpenJ9Consumer { thread: thread.clone(), bytes: *bytes })
                .collect(),
            options: self.settings.options.clone(),
            page_bytes: self.settings.page_bytes,
        }
    }
}

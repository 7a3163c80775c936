//! The figures of the summary table that IBM's Garbage Collection and Memory Visualizer (GCMV) prints.
//!
//! GCMV documents the names of its rows, not their formulas. These were derived from the elements of the log and from
//! four published tables (field report S1), which they reproduce, except for one row: what GCMV sums as "Total amount
//! tenured" of global collections is not known.

use serde::Serialize;

use super::counts::{OpenJ9Counts, OpenJ9Stop};
use super::log::OpenJ9Log;

/// Bytes of the unit that GCMV calls MB.
const MB: f64 = 1_048_576.0;

/// How collections are counted. Both ways give the same figures unless scavenges are concurrent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenJ9Counting {
    /// As GCMV counts: each pause of a concurrent scavenge is a nursery collection, objects that are copied while the
    /// application runs are omitted, and pauses that no allocation failure or request triggered are concurrent
    /// collections.
    Pauses,
    /// Each cycle is one collection with the sum of its pauses, and all copied objects are counted.
    Cycles,
}

/// The figures of GCMV's summary table. What cannot be computed is `None`: a mean without collections, or what the
/// policy does not log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OpenJ9Summary {
    /// Concurrent collection count.
    pub concurrent_collections: u64,
    /// Forced collection count.
    pub forced_collections: u64,
    /// Global collections - Mean garbage collection pause (ms).
    pub global_mean_pause_ms: Option<f64>,
    /// Global collections - Mean interval between collections (ms).
    pub global_mean_interval_ms: Option<f64>,
    /// Global collections - Number of collections.
    pub global_collections: u64,
    /// Global collections - Total amount tenured (MB): what was promoted while a global cycle was active.
    pub global_tenured_mb: Option<f64>,
    /// Largest memory request (bytes) that failed.
    pub largest_request_bytes: Option<u64>,
    /// Number of collections triggered by allocation failure.
    pub allocation_failures: u64,
    /// Nursery collections - Mean garbage collection pause (ms).
    pub nursery_mean_pause_ms: Option<f64>,
    /// Nursery collections - Mean interval between collections (ms).
    pub nursery_mean_interval_ms: Option<f64>,
    /// Nursery collections - Number of collections.
    pub nursery_collections: u64,
    /// Nursery collections - Total amount flipped (MB).
    pub nursery_flipped_mb: Option<f64>,
    /// Nursery collections - Total amount tenured (MB).
    pub nursery_tenured_mb: Option<f64>,
    /// Proportion of time spent in garbage collection pauses (%).
    pub paused_percent: Option<f64>,
    /// Proportion of time spent unpaused (%).
    pub unpaused_percent: Option<f64>,
    /// Rate of garbage collection (MB/minutes).
    pub collected_mb_per_minute: Option<f64>,
}

impl OpenJ9Log {
    /// Returns the figures of the whole log, or of a window in milliseconds since 1970 on the JVM's local clock.
    ///
    /// A pause belongs to the window in which it ended; of one that began before the window, only the rest counts as
    /// paused.
    #[must_use]
    pub fn summary(&self, window: Option<(i64, i64)>, counting: OpenJ9Counting) -> OpenJ9Summary {
        let mut counts = window.map_or(self.rest, |_| OpenJ9Counts::default());
        let mut paused_us = 0_u64;
        for stop in self.stops_in(window) {
            let inside_us =
                window.zip(stop.end_ms).map_or(u64::MAX, |((start_ms, _), end_ms)| us(start_ms, end_ms));
            counts.add(&stop.counts);
            paused_us = paused_us.saturating_add(stop.duration_us.min(inside_us));
        }
        let span_us =
            window.or(self.first_ms.zip(self.last_ms)).map(|(start_ms, end_ms)| us(start_ms, end_ms));
        OpenJ9Summary::new(&counts, paused_us, span_us, counting)
    }

    /// Returns the pauses that ended in a window, or all.
    pub(super) fn stops_in(&self, window: Option<(i64, i64)>) -> impl Iterator<Item = &OpenJ9Stop> {
        let is_inside = move |stop: &&OpenJ9Stop| {
            window.is_none_or(|(start_ms, end_ms)| {
                stop.end_ms.is_some_and(|ended| start_ms < ended && ended <= end_ms)
            })
        };
        self.stops.iter().filter(is_inside)
    }
}

/// Returns the microseconds from a start to an end; 0 if the end is earlier.
fn us(start_ms: i64, end_ms: i64) -> u64 {
    u64::try_from(end_ms.saturating_sub(start_ms)).unwrap_or(0).saturating_mul(1000)
}

impl OpenJ9Summary {
    fn new(counts: &OpenJ9Counts, paused_us: u64, span_us: Option<u64>, counting: OpenJ9Counting) -> Self {
        let (nursery, global) = (counts.nursery, counts.global);
        let mut copied = counts.copied_in_pauses;
        let (nursery_collections, concurrent_collections) = match counting {
            OpenJ9Counting::Pauses => (nursery.count, counts.untriggered),
            OpenJ9Counting::Cycles => {
                copied.add(&counts.copied_concurrently);
                (counts.nursery_cycles.ended, counts.concurrent_globals)
            }
        };
        // The balanced policy states what it copied by the age of regions instead.
        let has_copied = nursery.count == 0 || counts.scavenges > 0;
        let copied_mb = |bytes: u64| has_copied.then(|| bytes as f64 / MB);
        let span_us = span_us.filter(|span| *span > 0).map(|span| span as f64);
        let paused_percent = span_us.map(|span| paused_us as f64 * 100.0 / span);
        let freed = (counts.heap_readings > 0).then_some(counts.freed as f64 / MB);
        Self {
            concurrent_collections,
            forced_collections: counts.forced,
            global_mean_pause_ms: mean_ms(global.duration_us, global.count),
            global_mean_interval_ms: mean_ms(counts.global_cycles.interval_us, counts.global_cycles.started),
            global_collections: counts.global_cycles.ended,
            global_tenured_mb: copied_mb(counts.tenured_during_global),
            largest_request_bytes: (counts.allocation_failures > 0).then_some(counts.largest_request),
            allocation_failures: counts.allocation_failures,
            nursery_mean_pause_ms: mean_ms(nursery.duration_us, nursery_collections),
            nursery_mean_interval_ms: mean_ms(
                counts.nursery_cycles.interval_us,
                counts.nursery_cycles.started,
            ),
            nursery_collections,
            nursery_flipped_mb: copied_mb(copied.flipped),
            nursery_tenured_mb: copied_mb(copied.tenured),
            paused_percent,
            unpaused_percent: paused_percent.map(|percent| 100.0 - percent),
            collected_mb_per_minute: freed.zip(span_us).map(|(freed, span)| freed * 60_000_000.0 / span),
        }
    }
}

fn mean_ms(total_us: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| total_us as f64 / count as f64 / 1000.0)
}

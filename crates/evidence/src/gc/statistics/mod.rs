//! What happened in a window of time: pauses, stops, allocation, and the work of the collector.
//!
//! An event belongs to the window in which it ended. Shares are exact: a pause that is partly in the window counts with
//! this part. What a log does not contain is `None`, never 0.

mod heap;
mod incomplete;
mod pauses;
mod window;

use serde::Serialize;

use crate::gc::log::{GcLog, Span};
pub use heap::{Allocation, Heap};
pub use pauses::{Durations, NamedDurations, SafepointTimes, Trouble, Utilisation};
use window::{Window, seconds};

/// Statistics of a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statistics {
    /// Beginning of the window in seconds on the clock of the log; `None` if its lines have no times.
    pub start_s: Option<f64>,
    /// Length of the window in seconds; `None` if lines have no times.
    pub duration_s: Option<f64>,
    /// Whether the log proves that something of the window is missing or does not belong to it: numbers, sums and largest
    /// values are then at least these, and what depends on all events is `None`.
    pub is_incomplete: bool,
    /// Number of pauses; `None` if the log does not state pauses.
    pub pause_count: Option<u64>,
    /// All pauses for garbage collection; `None` if there were none, or if the log does not state them.
    pub pauses: Option<Durations>,
    /// Pauses by kind, such as `Young (Normal)`, in the order of their total time.
    pub pause_kinds: Vec<NamedDurations>,
    /// Pauses by cause, such as `G1 Evacuation Pause`, in the order of their total time.
    pub pause_causes: Vec<NamedDurations>,
    /// Share of the window in pauses (0 to 1).
    pub pause_share: Option<f64>,
    /// Completed collections of the young generation, mixed ones included; each may have several pauses.
    pub young_collections: Option<u64>,
    /// Completed collections of the old generation, or of the whole heap.
    pub old_collections: Option<u64>,
    /// All safepoints; `None` if the log has none: it was written without `safepoint`.
    pub safepoints: Option<SafepointTimes>,
    /// Safepoints by operation, in the order of their total time.
    pub safepoint_operations: Vec<NamedDurations>,
    /// Share of the window in which the application was stopped (0 to 1), from the safepoints.
    pub stop_share: Option<f64>,
    /// Minimum mutator utilisation for several lengths of windows, from safepoints if there are any, otherwise from
    /// pauses.
    pub utilisation: Vec<Utilisation>,
    /// What the application allocated.
    pub allocation: Allocation,
    /// Use of the heap.
    pub heap: Heap,
    /// CPU seconds of the collector in user mode during pauses.
    pub cpu_user_s: Option<f64>,
    /// CPU seconds of the collector in the kernel during pauses.
    pub cpu_system_s: Option<f64>,
    /// Phases beside the application, by name, in the order of their total time.
    pub concurrent_phases: Vec<NamedDurations>,
    /// Seconds of all phases beside the application.
    pub concurrent_s: Option<f64>,
    /// Waits of single threads for memory.
    pub allocation_stalls: Option<Durations>,
    /// Waits of single threads for objects that are being moved.
    pub relocation_stalls: Option<Durations>,
    /// Events that are signs of trouble.
    pub trouble: Trouble,
    /// Smallest tenuring threshold.
    pub tenuring_threshold_min: Option<u32>,
    /// Mean tenuring threshold.
    pub tenuring_threshold_mean: Option<f64>,
}

impl GcLog {
    /// Returns the statistics of the whole log.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics_of(Window { span: self.span, is_whole: true })
    }

    /// Returns the statistics of a window on the clock of the log. They are empty for a log without times.
    #[must_use]
    pub fn statistics_between(&self, window: Span) -> Statistics {
        self.statistics_of(Window { span: self.span.map(|_| window), is_whole: false })
    }

    fn statistics_of(&self, window: Window) -> Statistics {
        let pauses = pauses::pauses(self, window);
        let stops = pauses::stops(self, window);
        let stalls = pauses::stalls(self, window);
        let cpu: Vec<_> = self.cpu.iter().filter(|cpu| window.contains(cpu.end_ns)).collect();
        let cpu_s = |select: fn(&crate::gc::log::CpuTime) -> u64| {
            let sum = cpu.iter().map(|cpu| select(cpu)).fold(0, u64::saturating_add);
            (!self.cpu.is_empty()).then(|| seconds(sum))
        };
        let (young_collections, old_collections) = heap::collections(self, window);
        let concurrent_phases = pauses::concurrent_phases(self, window);
        let total_s = concurrent_phases.iter().map(|phase| phase.durations.total_s).sum();
        let ages: Vec<u32> =
            self.thresholds.iter().filter(|each| window.contains(each.at_ns)).map(|each| each.age).collect();
        let age_sum: f64 = ages.iter().copied().map(f64::from).sum();
        let found = Statistics {
            is_incomplete: self.losses.concern(window.span.filter(|_| !window.is_whole)),
            pause_count: self.states_pauses().then(|| pauses.all.as_ref().map_or(0, |all| all.count)),
            start_s: window.span.map(|span| seconds(span.start_ns)),
            duration_s: window.seconds(),
            pauses: pauses.all,
            pause_kinds: pauses.kinds,
            pause_causes: pauses.causes,
            pause_share: pauses.share,
            young_collections,
            old_collections,
            safepoints: stops.times,
            safepoint_operations: stops.operations,
            stop_share: stops.share,
            utilisation: stops.utilisation,
            allocation: heap::allocation(self, window),
            heap: heap::heap(self, window),
            cpu_user_s: cpu_s(|cpu| cpu.user_ns),
            cpu_system_s: cpu_s(|cpu| cpu.system_ns),
            concurrent_s: (!self.concurrent.is_empty()).then_some(total_s),
            concurrent_phases,
            allocation_stalls: stalls.0,
            relocation_stalls: stalls.1,
            trouble: pauses::trouble(self, window),
            tenuring_threshold_min: ages.iter().copied().min(),
            tenuring_threshold_mean: (!ages.is_empty()).then(|| age_sum / ages.len() as f64),
        };
        if found.is_incomplete { found.at_least() } else { found }
    }
}

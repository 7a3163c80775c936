//! What remains of statistics if events are missing.

use crate::gc::statistics::Statistics;
use crate::gc::statistics::pauses::Durations;

impl Statistics {
    /// Leaves numbers, sums and largest values, which are at least these. What depends on all events becomes `None`, and so
    /// does a number of 0, which says nothing.
    pub(super) fn at_least(mut self) -> Self {
        let named = [&mut self.pause_kinds, &mut self.pause_causes, &mut self.safepoint_operations];
        let phases = named.into_iter().chain([&mut self.concurrent_phases]).flatten();
        phases.for_each(|named| named.durations.keep_least());
        let stops = self.safepoints.as_mut().map(|safepoints| &mut safepoints.stops);
        let single = [&mut self.pauses, &mut self.allocation_stalls, &mut self.relocation_stalls];
        single.into_iter().flatten().chain(stops).for_each(Durations::keep_least);
        (self.pause_share, self.stop_share) = (None, None);
        self.utilisation.clear();
        let allocation = &mut self.allocation;
        (allocation.allocated_bytes, allocation.observed_s) = (None, None);
        (allocation.allocated_bytes_per_s, allocation.promoted_bytes_per_s) = (None, None);
        allocation.survived_share = None;
        let heap = &mut self.heap;
        (heap.after_mean_bytes, heap.live_bytes, heap.resizes) = (None, None, None);
        self.tenuring_threshold_min = None;
        self.tenuring_threshold_mean = None;
        let trouble = &mut self.trouble;
        let counts = [
            &mut self.pause_count,
            &mut self.young_collections,
            &mut self.old_collections,
            &mut trouble.full_collections,
            &mut trouble.forced_collections,
            &mut trouble.evacuation_failures,
            &mut trouble.degenerated_collections,
            &mut trouble.concurrent_aborts,
            &mut trouble.humongous_pauses,
        ];
        for count in counts {
            *count = count.filter(|count| *count > 0);
        }
        self
    }
}

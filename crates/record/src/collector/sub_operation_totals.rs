//! Totals of an operation within an operation, over all threads.

use crate::catalog::PartInfo;
use crate::failure::ErrorTally;
use crate::result::{Distribution, PartResult, error_summaries};
use crate::window::{Counts, Window};

/// Everything recorded of one part.
#[derive(Debug, Default)]
pub struct PartTotals {
    /// One per sample type, by its index.
    whole: [Option<Window>; 2],
    errors: ErrorTally,
}

impl PartTotals {
    /// Adds a part of a second.
    pub fn add(&mut self, window: &Window) {
        match &mut self.whole[window.sample_type.index()] {
            Some(whole) => whole.merge(window),
            none => *none = Some(window.clone()),
        }
    }

    /// Adds failures.
    pub fn add_errors(&mut self, errors: ErrorTally) {
        self.errors.merge(errors);
    }

    /// Operations that have ended.
    pub fn ended(&self) -> u64 {
        self.whole.iter().flatten().map(|window| window.counts.operations).sum()
    }

    /// What the part came to.
    pub fn result(&self, info: &PartInfo) -> PartResult {
        let [warmup, normal] = &self.whole;
        let measured = normal.as_ref().map(|window| window.counts).unwrap_or_default();
        let mut counts: Counts = measured;
        if let Some(warmup) = warmup {
            counts.merge(&warmup.counts);
        }
        PartResult {
            operation: info.operation.clone(),
            operation_type: info.operation_type.clone(),
            service_time: normal.as_ref().and_then(|window| Distribution::of(&window.service)),
            failed_service_time: normal.as_ref().and_then(|w| w.failed.as_ref()).and_then(Distribution::of),
            operations: counts.operations,
            failed: counts.errors,
            retried: counts.retries,
            requests: counts.requests,
            error_rate: if measured.operations == 0 {
                0.0
            } else {
                measured.errors as f64 / measured.operations as f64
            },
            errors: error_summaries(&self.errors),
        }
    }
}

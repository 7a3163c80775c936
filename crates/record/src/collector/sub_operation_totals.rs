//! Totals of a sub-operation over all threads.

use crate::catalog::SubOperationInfo;
use crate::failure::FailureGroups;
use crate::result::{DurationSummary, SubOperationResult};
use crate::window::Window;

/// Everything recorded of one sub-operation.
#[derive(Debug, Default)]
pub struct SubOperationTotals {
    /// One per sample type, by its index.
    windows: [Option<Window>; 2],
    failures: FailureGroups,
}

impl SubOperationTotals {
    /// Adds what one thread recorded in one second.
    pub fn add(&mut self, window: &Window) {
        match &mut self.windows[window.sample_type.index()] {
            Some(total) => total.merge(window),
            none => *none = Some(window.clone()),
        }
    }

    /// Adds failures.
    pub fn add_failures(&mut self, failures: FailureGroups) {
        self.failures.merge(failures);
    }

    /// Number of sub-operations that have ended.
    pub fn ended(&self) -> u64 {
        self.windows.iter().flatten().map(|window| window.counts.operations).sum()
    }

    /// The result of the sub-operation.
    pub fn result(&self, info: &SubOperationInfo) -> SubOperationResult {
        let [warmup, normal] = &self.windows;
        let measured = normal.as_ref().map(|window| window.counts).unwrap_or_default();
        let mut counts = measured;
        if let Some(warmup) = warmup {
            counts.merge(&warmup.counts);
        }
        let failed_service_time = normal.as_ref().and_then(|window| window.failed_service_time.as_ref());
        SubOperationResult {
            operation: info.operation.clone(),
            operation_type: info.operation_type.clone(),
            service_time: normal.as_ref().and_then(|window| DurationSummary::of(&window.service_time)),
            failed_service_time: failed_service_time.and_then(DurationSummary::of),
            operations: counts.operations,
            failed: counts.errors,
            retried: counts.retries,
            requests: counts.requests,
            error_rate: measured.error_rate(),
            errors: self.failures.groups(),
        }
    }
}

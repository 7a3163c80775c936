//! What was done in a measured window.

use crate::operation_stats::OperationCounts;

/// What was done in the measured window of a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowCounts {
    /// Number of operations, whatever their outcome.
    pub operations: u64,
    /// The part of them that succeeded.
    pub succeeded: u64,
    /// Work done, in the task's unit.
    pub weight: u64,
}

impl WindowCounts {
    /// Returns what ended within the window.
    pub(crate) fn within(counts: &OperationCounts) -> Self {
        let OperationCounts { window_ended, window_succeeded, window_weight, .. } = *counts;
        Self { operations: window_ended, succeeded: window_succeeded, weight: window_weight }
    }
}

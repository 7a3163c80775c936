//! Totals of a sub-operation over all workers.

use crate::catalog::SubOperationInfo;
use crate::failure::FailureGroups;
use crate::operation_stats::{OperationStats, SecondStats};
use crate::result::{DurationSummary, SubOperationResult};
use crate::stretches::{Kind, Stretches};

/// Everything recorded for one sub-operation.
#[derive(Debug, Default)]
pub struct SubOperationTotals {
    /// The statistics for each sample type, indexed by [`SampleType::index`](crate::SampleType::index).
    stats: [Option<OperationStats>; 2],
    /// The measured executions by time.
    stretches: Stretches,
    failures: FailureGroups,
}

impl SubOperationTotals {
    /// Adds the statistics of one worker for one second.
    pub fn add_second(&mut self, second: &SecondStats) {
        match &mut self.stats[second.sample_type.index()] {
            Some(total) => total.merge(&second.stats),
            none => *none = Some(second.stats.clone()),
        }
    }

    /// Adds a second that all workers have delivered to the stretches.
    pub fn add_complete(&mut self, complete: &SecondStats) {
        self.stretches.add(complete);
    }

    /// Adds failures.
    pub fn add_failures(&mut self, failures: FailureGroups) {
        self.failures.merge(failures);
    }

    /// Returns the number of sub-operations that have ended.
    pub fn ended_operations(&self) -> u64 {
        self.stats.iter().flatten().map(|stats| stats.counts.ended).sum()
    }

    /// Returns the result of the sub-operation.
    pub fn result(&self, info: &SubOperationInfo) -> SubOperationResult {
        let [warmup, measured] = &self.stats;
        let measured_counts = measured.as_ref().map(|stats| stats.counts).unwrap_or_default();
        let mut counts = measured_counts;
        if let Some(warmup) = warmup {
            counts.merge(&warmup.counts);
        }
        let summary =
            |kind| measured.as_ref().and_then(|stats| DurationSummary::of(stats, &self.stretches, kind));
        SubOperationResult {
            operation: info.operation.clone(),
            operation_type: info.operation_type.clone(),
            service_time: summary(Kind::ServiceTime),
            failed_service_time: summary(Kind::FailedServiceTime),
            ended: counts.ended,
            failed: counts.failed,
            retried: counts.retries,
            requests: counts.requests,
            error_rate: measured_counts.error_rate(),
            errors: self.failures.groups(),
        }
    }
}

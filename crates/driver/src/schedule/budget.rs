//! Limits the number of operations or the time of a client, or of the clients of a shared schedule, and determines
//! which operations are warm-up.

use pacenote_plan::TaskBound;
use pacenote_record::{EndedBy, SampleType};

use crate::units::seconds_to_nanos;

/// The iterations or the time of a task. Determines whether an operation is warm-up, measured, or after the end of the
/// task.
#[derive(Debug, Clone)]
pub struct OperationBudget {
    bound: TaskBound,
    /// Number of clients that share the budget; their iterations are added up.
    client_count: u64,
    admitted_count: u64,
    /// Number of admitted operations that [`OperationBudget::drain_admitted_count`] has returned.
    reported_count: u64,
}

/// The times that determine whether an operation is admitted, in nanoseconds since the task started.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionTimes {
    /// When the operation is due, or `now_ns` if there is no schedule.
    pub due_ns: u64,
    /// The current time.
    pub now_ns: u64,
}

impl OperationBudget {
    /// Creates a budget shared by `client_count` clients that has admitted no operation.
    pub fn new(bound: TaskBound, client_count: u64) -> Self {
        Self { bound, client_count, admitted_count: 0, reported_count: 0 }
    }

    /// Returns when the task's time ends, in nanoseconds since the task started, or `None` if it is not limited by
    /// time.
    pub fn end_ns(&self) -> Option<u64> {
        match self.bound {
            TaskBound::TimePeriod { warmup_s, measured_s } => {
                measured_s.map(|measured_s| seconds_to_nanos(warmup_s + measured_s))
            }
            TaskBound::Iterations { .. } => None,
        }
    }

    /// Returns the reason why the task has ended at `now_ns`: all its iterations have been admitted, or its time has
    /// passed. Returns `None` while it continues; even then, an operation may be due too late to be admitted.
    pub fn end_reason(&self, now_ns: u64) -> Option<EndedBy> {
        match self.bound {
            TaskBound::Iterations { warmup, measured } => {
                let total = warmup.saturating_add(measured).saturating_mul(self.client_count);
                (self.admitted_count >= total).then_some(EndedBy::Iterations)
            }
            TaskBound::TimePeriod { .. } => self.end_ns().filter(|end| now_ns >= *end).map(|_| EndedBy::Time),
        }
    }

    /// Admits an operation and determines whether it is warm-up.
    ///
    /// A task ends when its time has passed, even if operations that were due have not been sent.
    ///
    /// # Errors
    ///
    /// The reason why the task has ended.
    pub fn admit(
        &mut self,
        AdmissionTimes { due_ns, now_ns }: AdmissionTimes,
    ) -> Result<SampleType, EndedBy> {
        if let Some(end) = self.end_reason(due_ns.max(now_ns)) {
            return Err(end);
        }
        let warming_up = match self.bound {
            TaskBound::Iterations { warmup, .. } => {
                self.admitted_count < warmup.saturating_mul(self.client_count)
            }
            TaskBound::TimePeriod { warmup_s, .. } => due_ns < seconds_to_nanos(warmup_s),
        };
        self.admitted_count += 1;
        Ok(if warming_up { SampleType::Warmup } else { SampleType::Measured })
    }

    /// Returns the number of operations admitted since the last call.
    pub fn drain_admitted_count(&mut self) -> u64 {
        self.admitted_count - std::mem::replace(&mut self.reported_count, self.admitted_count)
    }

    /// Reverts the last admission before it is reported, as if the operation had never been admitted. The recorder counts
    /// an operation that is withdrawn after its admission was reported.
    pub fn unadmit(&mut self) {
        self.admitted_count = self.admitted_count.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(budget: &mut OperationBudget, due_ns: u64, now_ns: u64) -> Result<SampleType, EndedBy> {
        budget.admit(AdmissionTimes { due_ns, now_ns })
    }

    #[test]
    fn warm_up_iterations_come_first() {
        let mut budget = OperationBudget::new(TaskBound::Iterations { warmup: 1, measured: 2 }, 1);
        let admissions: Vec<_> = (0..4).map(|_| admit(&mut budget, 0, 0)).collect();
        let (warmup, measured) = (Ok(SampleType::Warmup), Ok(SampleType::Measured));
        assert_eq!(admissions, [warmup, measured, measured, Err(EndedBy::Iterations)]);
    }

    #[test]
    fn clients_that_share_a_budget_share_their_iterations() {
        let mut budget = OperationBudget::new(TaskBound::Iterations { warmup: 1, measured: 1 }, 3);
        let warmups = (0..3).filter(|_| admit(&mut budget, 0, 0) == Ok(SampleType::Warmup)).count();
        let measured = (0..9).filter(|_| admit(&mut budget, 0, 0) == Ok(SampleType::Measured)).count();
        assert_eq!((warmups, measured), (3, 3));
        let endless = TaskBound::Iterations { warmup: 0, measured: u64::MAX };
        assert_eq!(admit(&mut OperationBudget::new(endless, 3), 0, 0), Ok(SampleType::Measured));
    }

    #[test]
    fn warm_up_ends_by_the_schedule_and_the_task_by_the_clock() {
        let mut budget =
            OperationBudget::new(TaskBound::TimePeriod { warmup_s: 1.0, measured_s: Some(2.0) }, 1);
        let second = 1_000_000_000;
        assert_eq!(admit(&mut budget, second - 1, second + 1), Ok(SampleType::Warmup));
        assert_eq!(admit(&mut budget, second, 0), Ok(SampleType::Measured));
        assert_eq!(admit(&mut budget, 3 * second - 1, 0), Ok(SampleType::Measured));
        assert_eq!(admit(&mut budget, 3 * second, 0), Err(EndedBy::Time));
        assert_eq!(admit(&mut budget, 2 * second, 3 * second), Err(EndedBy::Time));
        let mut endless = OperationBudget::new(TaskBound::TimePeriod { warmup_s: 0.0, measured_s: None }, 1);
        assert_eq!(admit(&mut endless, u64::MAX, u64::MAX), Ok(SampleType::Measured));
    }
}

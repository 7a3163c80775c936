//! Limits the number of operations or the time of a client, or of the clients of a shared schedule, and determines
//! which operations are warm-up.

use pacenote_plan::TaskBound;
use pacenote_record::{EndedBy, SampleType, UnsentOperations};

use crate::units::seconds_to_nanos;

/// Iterations of a client in a plan that leaves their number to the source.
const UNTIL_EXHAUSTED: u64 = 1 << 53;

/// The iterations or the time of a task, for the clients that share them.
#[derive(Debug, Clone, Copy)]
pub struct TaskLimit {
    bound: TaskBound,
    /// Number of clients that share the limit; their iterations are added up.
    client_count: u64,
    /// When the window begins if it waits for the backlog of the warm-up, in nanoseconds since the task started;
    /// operations that are due before it belong to the warm-up. Otherwise 0.
    drained_until_ns: u64,
}

/// Counts the operations of a task: those of one client, or of all clients that share its limit. Determines whether an
/// operation is warm-up, measured, or after the end of the task.
#[derive(Debug, Clone)]
pub struct OperationBudget {
    limit: TaskLimit,
    admitted_count: u64,
}

/// The times that determine whether an operation is admitted, in nanoseconds since the task started.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionTimes {
    /// When the operation is due, or `now_ns` if there is no schedule.
    pub due_ns: u64,
    /// The current time.
    pub now_ns: u64,
}

impl TaskLimit {
    /// Creates the limit that `client_count` clients share.
    pub fn new(bound: TaskBound, client_count: u64) -> Self {
        Self { bound, client_count, drained_until_ns: 0 }
    }

    /// Returns the limit of a task whose operations belong to the warm-up if they are due before `drained_until_ns`.
    pub fn drained_until(self, drained_until_ns: u64) -> Self {
        Self { drained_until_ns, ..self }
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

    /// Returns when the warm-up ends, in nanoseconds since the task started, or 0 if it is not limited by time.
    pub fn warmup_end_ns(&self) -> u64 {
        match self.bound {
            TaskBound::TimePeriod { warmup_s, .. } => seconds_to_nanos(warmup_s),
            TaskBound::Iterations { .. } => 0,
        }
    }

    /// Returns the argument of [`TaskLimit::drained_until`], or 0.
    pub fn drained_until_ns(&self) -> u64 {
        self.drained_until_ns
    }

    /// Returns the number of iterations of all clients, warm-up included, or `None` if they are not limited.
    pub fn iterations(&self) -> Option<u64> {
        match self.bound {
            TaskBound::Iterations { warmup, measured } => {
                Some(warmup.saturating_add(measured).saturating_mul(self.client_count))
            }
            TaskBound::TimePeriod { .. } => None,
        }
    }

    /// Returns the number of iterations like [`TaskLimit::iterations`], or `None` if the source determines it.
    pub fn planned_iterations(&self) -> Option<u64> {
        match self.bound {
            TaskBound::Iterations { measured, .. } if measured >= UNTIL_EXHAUSTED => None,
            _ => self.iterations(),
        }
    }

    /// Returns the instant before which all operations of the plan are due, in nanoseconds since the task started: the
    /// end of its time, or the end of all times if its iterations are planned. Returns 0 if nothing is known about
    /// them.
    pub fn planned_end_ns(&self) -> u64 {
        self.end_ns().or(self.planned_iterations().map(|_| u64::MAX)).unwrap_or(0)
    }

    /// Returns the reason why a task that has admitted `admitted_count` operations has ended at `now_ns`: all its
    /// iterations have been admitted, or its time has passed. Returns `None` while it continues; even then, an
    /// operation may be due too late to be admitted.
    pub fn end_reason(&self, admitted_count: u64, now_ns: u64) -> Option<EndedBy> {
        match self.iterations() {
            Some(total) => (admitted_count >= total).then_some(EndedBy::Iterations),
            None => self.end_ns().filter(|end| now_ns >= *end).map(|_| EndedBy::Time),
        }
    }

    /// Returns whether the operation that follows `earlier_count` others and is due at `due_ns` is warm-up.
    pub fn sample_type(&self, earlier_count: u64, due_ns: u64) -> SampleType {
        let warming_up = match self.bound {
            TaskBound::Iterations { warmup, .. } => earlier_count < warmup.saturating_mul(self.client_count),
            TaskBound::TimePeriod { warmup_s, .. } => due_ns < seconds_to_nanos(warmup_s),
        };
        if warming_up { SampleType::Warmup } else { SampleType::Measured }
    }

    /// Returns the operations that are due before `cutoff_ns`, except the first `admitted_count` ones. `due_before`
    /// returns the number of those that are due before an instant, as far as the schedule goes. Operations begin in the
    /// order in which they are due, so those that are left of the warm-up come first.
    pub fn unsent_before(
        &self,
        cutoff_ns: u64,
        admitted_count: u64,
        due_before: impl Fn(u64) -> u64,
    ) -> UnsentOperations {
        let remaining = self.iterations().map_or(u64::MAX, |total| total.saturating_sub(admitted_count));
        let total = due_before(cutoff_ns).min(remaining);
        let planned = match self.bound {
            TaskBound::Iterations { warmup, .. } => {
                warmup.saturating_mul(self.client_count).saturating_sub(admitted_count)
            }
            TaskBound::TimePeriod { warmup_s, .. } => due_before(cutoff_ns.min(seconds_to_nanos(warmup_s))),
        };
        let drained =
            if self.drained_until_ns > 0 { due_before(cutoff_ns.min(self.drained_until_ns)) } else { 0 };
        UnsentOperations { total, warmup: planned.max(drained).min(total) }
    }
}

impl OperationBudget {
    /// Creates a budget that has admitted no operation.
    pub fn new(limit: TaskLimit) -> Self {
        Self { limit, admitted_count: 0 }
    }

    /// Returns when the task's time ends, in nanoseconds since the task started, or `None` if it is not limited by
    /// time.
    pub fn end_ns(&self) -> Option<u64> {
        self.limit.end_ns()
    }

    /// Returns the reason why the client has ended at `now_ns`, or `None` while it continues; see
    /// [`TaskLimit::end_reason`].
    pub fn end_reason(&self, now_ns: u64) -> Option<EndedBy> {
        self.limit.end_reason(self.admitted_count, now_ns)
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
        let sample_type = self.limit.sample_type(self.admitted_count, due_ns);
        self.admitted_count += 1;
        Ok(sample_type)
    }

    /// Returns the number of operations that were admitted and not withdrawn.
    pub fn admitted_count(&self) -> u64 {
        self.admitted_count
    }

    /// Returns the number of iterations that have not been admitted, or `None` if they are not limited.
    pub fn remaining_count(&self) -> Option<u64> {
        self.limit.iterations().map(|total| total.saturating_sub(self.admitted_count))
    }

    /// Returns the limit.
    pub fn limit(&self) -> TaskLimit {
        self.limit
    }

    /// Withdraws the last admission, as if the operation had never been admitted.
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
        let mut budget =
            OperationBudget::new(TaskLimit::new(TaskBound::Iterations { warmup: 1, measured: 2 }, 1));
        let admissions: Vec<_> = (0..4).map(|_| admit(&mut budget, 0, 0)).collect();
        let (warmup, measured) = (Ok(SampleType::Warmup), Ok(SampleType::Measured));
        assert_eq!(admissions, [warmup, measured, measured, Err(EndedBy::Iterations)]);
    }

    #[test]
    fn clients_that_share_a_budget_share_their_iterations() {
        let mut budget =
            OperationBudget::new(TaskLimit::new(TaskBound::Iterations { warmup: 1, measured: 1 }, 3));
        let warmups = (0..3).filter(|_| admit(&mut budget, 0, 0) == Ok(SampleType::Warmup)).count();
        let measured = (0..9).filter(|_| admit(&mut budget, 0, 0) == Ok(SampleType::Measured)).count();
        assert_eq!((warmups, measured), (3, 3));
        let endless = TaskBound::Iterations { warmup: 0, measured: u64::MAX };
        assert_eq!(
            admit(&mut OperationBudget::new(TaskLimit::new(endless, 3)), 0, 0),
            Ok(SampleType::Measured)
        );
    }

    #[test]
    fn warm_up_ends_by_the_schedule_and_the_task_by_the_clock() {
        let mut budget = OperationBudget::new(TaskLimit::new(
            TaskBound::TimePeriod { warmup_s: 1.0, measured_s: Some(2.0) },
            1,
        ));
        let second = 1_000_000_000;
        assert_eq!(admit(&mut budget, second - 1, second + 1), Ok(SampleType::Warmup));
        assert_eq!(admit(&mut budget, second, 0), Ok(SampleType::Measured));
        assert_eq!(admit(&mut budget, 3 * second - 1, 0), Ok(SampleType::Measured));
        assert_eq!(admit(&mut budget, 3 * second, 0), Err(EndedBy::Time));
        assert_eq!(admit(&mut budget, 2 * second, 3 * second), Err(EndedBy::Time));
        let mut endless = OperationBudget::new(TaskLimit::new(
            TaskBound::TimePeriod { warmup_s: 0.0, measured_s: None },
            1,
        ));
        assert_eq!(admit(&mut endless, u64::MAX, u64::MAX), Ok(SampleType::Measured));
    }
}

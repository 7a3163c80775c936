//! The schedule of one client in one task.

use std::sync::Arc;

use pacenote_plan::Plan;
use pacenote_record::{EndedBy, SampleType, UnsentOperations};

use crate::schedule::budget::{OperationBudget, TaskLimit};
use crate::schedule::pacer::Pacer;
use crate::schedule::shared_schedule::{AdmittedOperation, SharedSchedule};
use crate::task_client_id::TaskClientId;

/// The schedule of a client in one task.
#[derive(Debug)]
pub enum Schedule {
    /// The client has its own schedule and budget.
    PerClient {
        /// When the client's operations are due. Operations of an unpaced task have no due time; each one follows the
        /// previous one.
        pacer: Pacer,
        /// When the client ends.
        budget: OperationBudget,
    },
    /// All clients of the task share a schedule and a budget, as in an open loop.
    Shared {
        /// The schedule of the task.
        shared: Arc<SharedSchedule>,
        /// Number of operations that this client has taken and that were not withdrawn.
        taken_count: u64,
    },
}

/// How a client has ended, as far as it matters for its schedule.
#[derive(Debug, Clone, Copy)]
pub struct ScheduleEnd {
    /// Why the client has ended.
    pub ended_by: EndedBy,
    /// Whether its source or scheduler failed, which is recorded as the failure of one operation.
    pub source_failed: bool,
    /// When the race was stopped or its step was completed, in nanoseconds since the task started, or `None` if neither
    /// has happened.
    pub stopped_ns: Option<u64>,
    /// When an operation of the client's own schedule was due that it had reached, but that was withdrawn or not
    /// admitted, in nanoseconds since the task started.
    pub not_begun_due_ns: Option<u64>,
    /// When the window begins if it waits for the backlog of the warm-up; see [`TaskLimit::drained_until`].
    pub drained_until_ns: u64,
    /// Operations after that one which were due according to a scheduler in Python.
    pub counted_by_scheduler: UnsentOperations,
}

impl From<EndedBy> for ScheduleEnd {
    /// Returns the end of a client that had not reached another operation.
    fn from(ended_by: EndedBy) -> Self {
        Self {
            ended_by,
            source_failed: false,
            stopped_ns: None,
            not_begun_due_ns: None,
            drained_until_ns: 0,
            counted_by_scheduler: UnsentOperations::default(),
        }
    }
}

/// The rest of the schedule of a client whose source has failed.
#[derive(Debug, Clone)]
pub struct FailedSchedule {
    pacer: Pacer,
    budget: OperationBudget,
}

impl FailedSchedule {
    /// Returns the operations that should have begun, except the one that failed: those that were due before
    /// `stopped_ns` if the race was stopped or the step completed, otherwise the rest of the plan. If the source
    /// determines the number of operations, the rest of the plan is not known. For `drained_until_ns`, see
    /// [`TaskLimit::drained_until`].
    pub fn unsent(&self, stopped_ns: Option<u64>, drained_until_ns: u64) -> UnsentOperations {
        let limit = self.budget.limit().drained_until(drained_until_ns);
        let cutoff_ns = match stopped_ns {
            Some(stopped_ns) => stopped_ns.min(limit.end_ns().unwrap_or(u64::MAX)),
            None => limit.planned_end_ns(),
        };
        limit.unsent_before(cutoff_ns, self.budget.admitted_count() + 1, |end_ns| {
            // All iterations of the plan are due before the end of all times, even without a schedule.
            if end_ns == u64::MAX { u64::MAX } else { self.pacer.remaining_before(end_ns) }
        })
    }
}

impl Schedule {
    /// Creates the schedule of a client. `shared` is the schedule of its task, if the task runs in an open loop.
    pub fn new(plan: &Plan, client: TaskClientId, shared: Option<&Arc<SharedSchedule>>) -> Self {
        if let Some(shared) = shared {
            return Self::Shared { shared: Arc::clone(shared), taken_count: 0 };
        }
        let limit = TaskLimit::new(plan.tasks[client.task_index as usize].bound, 1);
        Self::PerClient { pacer: Pacer::for_client(plan, client), budget: OperationBudget::new(limit) }
    }

    /// Returns the limit of the client's operations, or of those of all clients that share the schedule.
    pub fn limit(&self) -> TaskLimit {
        match self {
            Self::PerClient { budget, .. } => budget.limit(),
            Self::Shared { shared, .. } => shared.limit(),
        }
    }

    /// Returns when the task's time ends, in nanoseconds since the task started, or `None` if it is not limited by
    /// time.
    pub fn end_ns(&self) -> Option<u64> {
        match self {
            Self::PerClient { budget, .. } => budget.end_ns(),
            Self::Shared { shared, .. } => shared.end_ns(),
        }
    }

    /// Withdraws the operation that the client was admitted last, because it does not begin. If the schedule is shared,
    /// another client may take it.
    pub fn withdraw(&mut self, due_ns: Option<u64>, sample_type: SampleType) {
        match self {
            Self::PerClient { budget, .. } => budget.unadmit(),
            Self::Shared { shared, taken_count } => {
                *taken_count = taken_count.saturating_sub(1);
                if let Some(due_ns) = due_ns {
                    shared.put_back(AdmittedOperation { due_ns, sample_type });
                }
            }
        }
    }

    /// Returns the number of operations that the client was admitted and that were not withdrawn.
    pub fn admitted_count(&self) -> u64 {
        match self {
            Self::PerClient { budget, .. } => budget.admitted_count(),
            Self::Shared { taken_count, .. } => *taken_count,
        }
    }

    /// Ends the schedule for this client. Returns the operations that should have begun, but did not. Those of a shared
    /// schedule that no client has taken are returned to its last client.
    #[must_use]
    pub fn end(&mut self, end: &ScheduleEnd) -> UnsentOperations {
        let cutoff_ns = self.cutoff_ns(end);
        match self {
            // The rest of its schedule is counted when the task ends.
            Self::PerClient { .. } if end.source_failed => UnsentOperations::default(),
            Self::PerClient { pacer, budget } => {
                let UnsentOperations { total, warmup } = end.counted_by_scheduler;
                let limit = budget.limit().drained_until(end.drained_until_ns);
                limit.unsent_before(cutoff_ns, budget.admitted_count(), |end_ns| {
                    let not_begun = u64::from(end.not_begun_due_ns.is_some_and(|due_ns| due_ns < end_ns));
                    // The scheduler has counted those before the cutoff, and before the end of the warm-up.
                    let counted = if end_ns < cutoff_ns { warmup } else { total };
                    pacer.remaining_before(end_ns).saturating_add(counted).saturating_add(not_begun)
                })
            }
            Self::Shared { shared, .. } => shared.leave(cutoff_ns, end.stopped_ns, end.drained_until_ns),
        }
    }

    /// Returns the rest of a schedule that the client does not share with others.
    pub fn rest(&self) -> Option<FailedSchedule> {
        match self {
            Self::PerClient { pacer, budget } => {
                Some(FailedSchedule { pacer: pacer.clone(), budget: budget.clone() })
            }
            Self::Shared { .. } => None,
        }
    }

    /// Returns the number of iterations that the client has not been admitted, or `None` if they are not limited.
    pub fn remaining_count(&self) -> Option<u64> {
        match self {
            Self::PerClient { budget, .. } => budget.remaining_count(),
            Self::Shared { .. } => None,
        }
    }

    /// Returns the instant before which the due operations should have begun, in nanoseconds since the task started.
    pub fn cutoff_ns(&self, end: &ScheduleEnd) -> u64 {
        let ScheduleEnd { ended_by, source_failed, stopped_ns, .. } = *end;
        match (ended_by, self) {
            // The other clients serve the rest of the schedule; what they do not send either is unsent.
            (EndedBy::Source, Self::Shared { shared, .. }) if source_failed => shared.planned_end_ns(),
            _ => self.cutoff_of(ended_by, stopped_ns),
        }
    }

    fn cutoff_of(&self, ended_by: EndedBy, stopped_ns: Option<u64>) -> u64 {
        match ended_by {
            // The data of the task has ended, and with it the schedule.
            EndedBy::Source => 0,
            // What remains of the iterations, because it was put back.
            EndedBy::Iterations => u64::MAX,
            EndedBy::Time => self.end_ns().unwrap_or(0),
            EndedBy::CompletedBy | EndedBy::Stopped | EndedBy::Aborted => {
                stopped_ns.unwrap_or(0).min(self.end_ns().unwrap_or(u64::MAX))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pacenote_plan::{PlannedTask, TaskBound, TaskPacing};

    use super::*;
    use crate::schedule::budget::AdmissionTimes;
    use crate::schedule::pacer::tests::task;

    const MS: u64 = 1_000_000;

    /// The rest of the schedule of a client whose source failed at its third operation.
    fn failed(pacing: TaskPacing, bound: TaskBound) -> FailedSchedule {
        let task = PlannedTask { bound, ..task(pacing, 1, 0.0) };
        let (mut pacer, mut budget) =
            (Pacer::new(&task, 0, 1), OperationBudget::new(TaskLimit::new(task.bound, 1)));
        for _ in 0..2 {
            pacer.next_due_ns();
            budget.admit(AdmissionTimes { due_ns: 0, now_ns: 0 }).unwrap();
        }
        pacer.next_due_ns();
        FailedSchedule { pacer, budget }
    }

    #[test]
    fn what_a_failed_source_leaves_unsent_ends_with_the_race_or_the_step() {
        let paced = TaskPacing::Deterministic { interval_s: 0.01 };
        let iterations = |measured| TaskBound::Iterations { warmup: 0, measured };
        let second = TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(1.0) };
        let endless = TaskBound::TimePeriod { warmup_s: 0.0, measured_s: None };
        let stopped = Some(55 * MS);
        for (pacing, bound, whole, until_stop) in [
            (paced, iterations(20), 17, 3),
            (paced, iterations(4), 1, 1),
            (paced, iterations(1 << 53), 0, 3),
            (paced, second, 97, 3),
            (paced, endless, 0, 3),
            (TaskPacing::Unpaced {}, iterations(20), 17, 0),
            (TaskPacing::Unpaced {}, second, 0, 0),
        ] {
            let failed = failed(pacing, bound);
            let counted = (failed.unsent(None, 0).total, failed.unsent(stopped, 0).total);
            assert_eq!(counted, (whole, until_stop), "{pacing:?} {bound:?}");
        }
        let late = failed(paced, second).unsent(Some(5000 * MS), 0).total;
        assert_eq!(late, 97, "the schedule ends with its task");
    }

    /// Two operations have begun, and a third one was due after 30 ms.
    #[test]
    fn operations_that_a_scheduler_counts_are_warm_up_as_far_as_the_limit_says() {
        let iterations = |measured| TaskBound::Iterations { warmup: 5, measured };
        let time = TaskBound::TimePeriod { warmup_s: 0.05, measured_s: Some(1.0) };
        for (bound, counted, expected) in
            [(iterations(20), (9, 0), (10, 3)), (iterations(5), (50, 0), (8, 3)), (time, (9, 4), (10, 5))]
        {
            let task = PlannedTask { bound, ..task(TaskPacing::PythonScheduler {}, 1, 0.0) };
            let mut budget = OperationBudget::new(TaskLimit::new(bound, 1));
            for _ in 0..2 {
                budget.admit(AdmissionTimes { due_ns: 0, now_ns: 0 }).unwrap();
            }
            let mut schedule = Schedule::PerClient { pacer: Pacer::new(&task, 0, 1), budget };
            let unsent = schedule.end(&ScheduleEnd {
                stopped_ns: Some(200 * MS),
                not_begun_due_ns: Some(30 * MS),
                counted_by_scheduler: UnsentOperations { total: counted.0, warmup: counted.1 },
                ..EndedBy::Stopped.into()
            });
            assert_eq!((unsent.total, unsent.warmup), expected, "{bound:?}");
        }
    }
}

//! The schedule of one client in one task.

use std::sync::Arc;

use pacenote_plan::Plan;
use pacenote_record::EndedBy;

use crate::schedule::budget::{OperationBudget, TaskLimit};
use crate::schedule::pacer::Pacer;
use crate::schedule::shared_schedule::SharedSchedule;
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

/// Why and when a client has ended.
#[derive(Debug, Clone, Copy)]
pub struct ClientEndTime {
    /// Why it has ended.
    pub ended_by: EndedBy,
    /// Whether its source or scheduler failed, which is recorded as the failure of one operation.
    pub source_failed: bool,
    /// When the race was stopped or its step was completed, in nanoseconds since the task started, if that is why.
    pub stopped_ns: u64,
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

    /// Returns when the task's time ends, in nanoseconds since the task started, or `None` if it is not limited by
    /// time.
    pub fn end_ns(&self) -> Option<u64> {
        match self {
            Self::PerClient { budget, .. } => budget.end_ns(),
            Self::Shared { shared, .. } => shared.end_ns(),
        }
    }

    /// Withdraws the operation that the client was admitted last, because it does not begin.
    pub fn withdraw(&mut self) {
        match self {
            Self::PerClient { budget, .. } => budget.unadmit(),
            Self::Shared { taken_count, .. } => *taken_count = taken_count.saturating_sub(1),
        }
    }

    /// Returns the number of operations that the client was admitted and that were not withdrawn.
    pub fn admitted_count(&self) -> u64 {
        match self {
            Self::PerClient { budget, .. } => budget.admitted_count(),
            Self::Shared { taken_count, .. } => *taken_count,
        }
    }

    /// Ends the schedule for this client. `not_begun_due_ns` is when an operation was due that the client had reached, but
    /// that was withdrawn or not admitted. Returns the number of operations that should have begun, but did not. Those of
    /// a shared schedule that no client has taken are returned to its last client.
    #[must_use]
    pub fn end(&mut self, end: ClientEndTime, not_begun_due_ns: Option<u64>) -> u64 {
        if end.source_failed {
            return self.abandon();
        }
        let cutoff_ns = self.cutoff_ns(end);
        let not_begun = u64::from(not_begun_due_ns.is_some_and(|due_ns| due_ns < cutoff_ns));
        match self {
            Self::PerClient { pacer, budget } => {
                let scheduled = not_begun.saturating_add(pacer.remaining_before(cutoff_ns));
                scheduled.min(budget.remaining_count().unwrap_or(u64::MAX))
            }
            Self::Shared { shared, .. } => not_begun + shared.leave(cutoff_ns),
        }
    }

    /// Returns how many of the `unsent` operations that [`Schedule::end`] has returned are warm-up. Operations begin in
    /// the order in which they are due, so the warm-up is unsent first.
    pub fn warmup_among(&self, unsent: u64, end: ClientEndTime, not_begun_due_ns: Option<u64>) -> u64 {
        if unsent == 0 {
            return 0;
        }
        let cutoff_ns = self.cutoff_ns(end);
        let not_begun = |before_ns| u64::from(not_begun_due_ns.is_some_and(|due_ns| due_ns < before_ns));
        let warmup = match self {
            Self::PerClient { pacer, budget } => {
                budget.limit().warmup_left(budget.admitted_count(), cutoff_ns, |before_ns| {
                    pacer.remaining_before(before_ns).saturating_add(not_begun(before_ns))
                })
            }
            Self::Shared { shared, .. } => shared.warmup_left(cutoff_ns),
        };
        warmup.min(unsent)
    }

    /// Ends the schedule for this client because its source failed. Returns the number of planned operations that are
    /// left, except the one that failed. If the source determines their number, it is not known.
    fn abandon(&self) -> u64 {
        match self {
            Self::PerClient { pacer, budget } => match budget.limit().planned_iterations() {
                Some(planned) => planned.saturating_sub(budget.admitted_count() + 1),
                None => pacer.remaining_before(budget.limit().planned_end_ns()),
            },
            Self::Shared { shared, .. } => shared.leave(shared.planned_end_ns()),
        }
    }

    /// Returns the instant before which the due operations should have begun, in nanoseconds since the task started.
    fn cutoff_ns(&self, ClientEndTime { ended_by, stopped_ns, .. }: ClientEndTime) -> u64 {
        match ended_by {
            // The data of the task has ended, and with it the schedule.
            EndedBy::Source => 0,
            // What remains of the iterations, because it was put back.
            EndedBy::Iterations => u64::MAX,
            EndedBy::Time => self.end_ns().unwrap_or(0),
            EndedBy::CompletedBy | EndedBy::Stopped | EndedBy::Aborted => {
                stopped_ns.min(self.end_ns().unwrap_or(u64::MAX))
            }
        }
    }
}

//! The schedule of one client in one task.

use std::sync::Arc;

use pacenote_plan::Plan;

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

/// The part of a schedule that a client should have executed.
#[derive(Debug, Clone, Copy)]
pub struct ScheduleEnd {
    /// Operations that are due before this instant should have begun, in nanoseconds since the task started.
    pub cutoff_ns: u64,
    /// When an operation was due that the client had reached, but that was withdrawn or not admitted.
    pub not_begun_due_ns: Option<u64>,
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

    /// Ends the schedule for this client. Returns the number of operations that should have begun, but did not. Those
    /// of a shared schedule that no client has taken are returned to its last client.
    #[must_use]
    pub fn end(&mut self, end: ScheduleEnd) -> u64 {
        let ScheduleEnd { cutoff_ns, not_begun_due_ns } = end;
        let not_begun = u64::from(not_begun_due_ns.is_some_and(|due_ns| due_ns < cutoff_ns));
        match self {
            Self::PerClient { pacer, budget } => {
                let scheduled = not_begun.saturating_add(pacer.remaining_before(cutoff_ns));
                scheduled.min(budget.remaining_count().unwrap_or(u64::MAX))
            }
            Self::Shared { shared, .. } => not_begun + shared.leave(cutoff_ns),
        }
    }
}

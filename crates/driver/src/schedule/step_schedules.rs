//! The schedules of the clients that one worker runs in a step.

use std::collections::BTreeMap;
use std::rc::Rc;

use pacenote_plan::Plan;

use crate::schedule::budget::OperationBudget;
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
    /// All clients of the task on this worker share a schedule and a budget, as in an open loop.
    Shared(Rc<SharedSchedule>),
}

impl Schedule {
    /// Returns the number of operations that the schedule has admitted since the last call. If several clients of a
    /// shared schedule call this, each operation is counted only once.
    pub fn drain_admitted_count(&mut self) -> u64 {
        match self {
            Self::PerClient { budget, .. } => budget.drain_admitted_count(),
            Self::Shared(shared) => shared.drain_taken_count(),
        }
    }
}

/// Creates the schedules of a worker's clients in a step.
#[derive(Debug)]
pub struct StepSchedules<'a> {
    plan: &'a Plan,
    /// The shared schedules of open-loop tasks, by the position of the task in the plan.
    shared: BTreeMap<u32, Rc<SharedSchedule>>,
}

impl<'a> StepSchedules<'a> {
    /// Prepares the schedules of `clients`, which must be all clients that the worker runs in the step.
    pub fn new(plan: &'a Plan, clients: impl Iterator<Item = TaskClientId>) -> Self {
        let mut pacers: BTreeMap<u32, Vec<Pacer>> = BTreeMap::new();
        for client in clients.filter(|client| plan.tasks[client.task_index as usize].open_loop) {
            pacers.entry(client.task_index).or_default().push(pacer(plan, client));
        }
        let schedule =
            |(task, pacers)| (task, Rc::new(SharedSchedule::new(plan.tasks[task as usize].bound, pacers)));
        Self { plan, shared: pacers.into_iter().map(schedule).collect() }
    }

    /// Returns the schedule of one client.
    pub fn schedule_of(&self, client: TaskClientId) -> Schedule {
        if let Some(shared) = self.shared.get(&client.task_index) {
            return Schedule::Shared(Rc::clone(shared));
        }
        let bound = self.plan.tasks[client.task_index as usize].bound;
        Schedule::PerClient { pacer: pacer(self.plan, client), budget: OperationBudget::new(bound, 1) }
    }
}

/// Returns the pacer of one client. Random arrivals differ between tasks and between clients.
fn pacer(plan: &Plan, client: TaskClientId) -> Pacer {
    let seed = plan.seed.wrapping_add(u64::from(client.task_index).wrapping_mul(0x9e37_79b9));
    Pacer::new(&plan.tasks[client.task_index as usize], client.client_number, seed)
}

//! The schedules of the clients that one worker runs in a step.

use std::collections::BTreeMap;
use std::rc::Rc;

use pacenote_plan::Plan;

use crate::client_id::ClientId;
use crate::schedule::limiter::Limiter;
use crate::schedule::open_loop::OpenLoop;
use crate::schedule::pacer::Pacer;

/// The schedule of a client in one task.
#[derive(Debug)]
pub enum Schedule {
    /// Closed loop: the client has its own schedule.
    ClosedLoop(Pacer, Limiter),
    /// Open loop: all clients of the task on this worker share a schedule.
    OpenLoop(Rc<OpenLoop>),
}

impl Schedule {
    /// Number of operations that the schedule has admitted since the last call.
    pub fn take_planned(&self) -> u64 {
        match self {
            Self::ClosedLoop(_, limiter) => limiter.admitted(),
            Self::OpenLoop(open_loop) => open_loop.take_admitted(),
        }
    }
}

/// Creates the schedules of a worker's clients in a step.
#[derive(Debug)]
pub struct StepSchedules<'a> {
    plan: &'a Plan,
    /// The shared schedules of open-loop tasks, by position of the task in the plan.
    open_loops: BTreeMap<u32, Rc<OpenLoop>>,
}

impl<'a> StepSchedules<'a> {
    /// The schedules of `clients`, which are all that the worker runs in the step.
    pub fn new(plan: &'a Plan, clients: impl Iterator<Item = ClientId>) -> Self {
        let mut pacers: BTreeMap<u32, Vec<Pacer>> = BTreeMap::new();
        for client in clients.filter(|client| plan.tasks[client.task as usize].open_loop) {
            pacers.entry(client.task).or_default().push(pacer(plan, client));
        }
        let open_loop =
            |(task, pacers)| (task, Rc::new(OpenLoop::new(plan.tasks[task as usize].bound, pacers)));
        Self { plan, open_loops: pacers.into_iter().map(open_loop).collect() }
    }

    /// The schedule of one client.
    pub fn schedule(&self, client: ClientId) -> Schedule {
        if let Some(open_loop) = self.open_loops.get(&client.task) {
            return Schedule::OpenLoop(Rc::clone(open_loop));
        }
        let bound = self.plan.tasks[client.task as usize].bound;
        Schedule::ClosedLoop(pacer(self.plan, client), Limiter::new(bound, 1))
    }
}

/// The pacer of one client. Random arrivals differ from task to task and from client to client.
fn pacer(plan: &Plan, client: ClientId) -> Pacer {
    let seed = plan.seed.wrapping_add(u64::from(client.task).wrapping_mul(0x9e37_79b9));
    Pacer::new(&plan.tasks[client.task as usize], client.client, seed)
}

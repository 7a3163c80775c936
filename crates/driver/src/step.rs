//! A step while it runs.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use pacenote_plan::{ClientAllocation, CompletedBy, Plan, PlannedTask, Step};

use crate::shared::Shared;

/// A step and the state its clients share.
#[derive(Debug)]
pub struct StepRun {
    plan: Arc<Plan>,
    index: usize,
    tasks: Vec<TaskRun>,
    /// Another task has completed the step: no new operations.
    completed: AtomicBool,
    shared: Arc<Shared>,
}

/// A task while it runs.
#[derive(Debug)]
pub struct TaskRun {
    /// Position in the plan.
    pub index: u32,
    /// Set by the first of its clients that starts; all its times count from here.
    origin: OnceLock<Instant>,
    /// Clients that have not ended it.
    remaining: AtomicU32,
    /// The unit that its first success had; only a runner in Python says one.
    unit: OnceLock<String>,
}

impl TaskRun {
    /// When the task began; it begins now if it has not yet.
    pub fn origin(&self) -> Instant {
        *self.origin.get_or_init(Instant::now)
    }

    /// Takes down the unit of a success; `true` when it is the first.
    pub fn has_unit(&self, unit: &str) -> bool {
        self.unit.get().is_none() && self.unit.set(unit.to_owned()).is_ok()
    }
}

impl StepRun {
    /// A step that is about to run.
    pub fn new(plan: &Arc<Plan>, index: usize, shared: &Arc<Shared>) -> Self {
        let mut tasks: Vec<TaskRun> = Vec::new();
        for allocation in plan.steps[index].task_allocations() {
            match tasks.iter_mut().find(|task| task.index == allocation.task) {
                Some(task) => *task.remaining.get_mut() += 1,
                None => tasks.push(TaskRun {
                    index: allocation.task,
                    origin: OnceLock::new(),
                    remaining: AtomicU32::new(1),
                    unit: OnceLock::new(),
                }),
            }
        }
        let completed = AtomicBool::new(false);
        Self { plan: Arc::clone(plan), index, tasks, completed, shared: Arc::clone(shared) }
    }

    /// Its position in the plan.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The step in the plan.
    pub fn step(&self) -> &Step {
        &self.plan.steps[self.index]
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The tasks of the step.
    pub fn tasks(&self) -> &[TaskRun] {
        &self.tasks
    }

    /// A task of the step by its position in the plan.
    pub fn task(&self, index: u32) -> Option<(&TaskRun, &PlannedTask)> {
        let run = self.tasks.iter().find(|run| run.index == index)?;
        Some((run, &self.plan.tasks[index as usize]))
    }

    /// The clients that one of `workers` workers runs. Clients are assigned round-robin, so that few clients use as many
    /// cores as they can.
    pub fn clients_of(&self, worker: usize, workers: usize) -> impl Iterator<Item = &ClientAllocation> {
        dealt(self.step(), worker, workers)
    }

    /// Whether another task has completed the step.
    pub fn is_completed(&self) -> bool {
        self.completed.load(Ordering::Relaxed)
    }

    /// Takes down that one client has ended a task, which may complete the step.
    pub fn client_ended(&self, task: &TaskRun) {
        let last = task.remaining.fetch_sub(1, Ordering::AcqRel) == 1;
        let completes = match self.step().completed_by {
            Some(CompletedBy::Task { task: by }) => by == task.index,
            Some(CompletedBy::Any {}) => true,
            None => false,
        };
        if last && completes {
            self.completed.store(true, Ordering::Relaxed);
            self.shared.wake_all();
        }
    }
}

/// The clients of a step that one of `workers` workers runs.
fn dealt(step: &Step, worker: usize, workers: usize) -> impl Iterator<Item = &ClientAllocation> {
    step.client_allocations.iter().filter(move |row| row.client as usize % workers == worker)
}

#[cfg(test)]
mod tests {
    use pacenote_plan::{ClientAllocation, Step};

    use super::*;

    #[test]
    fn few_clients_are_dealt_out_over_all_threads() {
        let row = |client| ClientAllocation { client, allocations: Vec::new() };
        let step =
            Step { name: "s".into(), client_allocations: vec![row(0), row(1), row(5)], completed_by: None };
        let of = |worker| dealt(&step, worker, 4).map(|row| row.client).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2), of(3)], [vec![0], vec![1, 5], vec![], vec![]]);
    }
}

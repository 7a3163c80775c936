//! The state of a step while it runs.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use pacenote_plan::{ClientAllocation, CompletedBy, Plan, PlannedTask, Step};

use crate::race_state::RaceState;

/// A step and the state that its clients share.
#[derive(Debug)]
pub struct StepRun {
    plan: Arc<Plan>,
    index: usize,
    tasks: Vec<TaskRun>,
    /// Whether a task that completes the step has ended: then no new operations begin.
    completed: AtomicBool,
    race: Arc<RaceState>,
}

/// The state of a task while its step runs.
#[derive(Debug)]
pub struct TaskRun {
    /// Position of the task in the plan.
    pub index: u32,
    /// Set by the first client that starts; all times of the task count from here.
    origin: OnceLock<Instant>,
    /// Clients that have not ended the task.
    remaining: AtomicU32,
    /// The unit of the first success; only runners in Python name one.
    unit: OnceLock<String>,
}

/// Position of a worker among the workers of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerIndex {
    /// Number of the worker, from 0.
    pub index: usize,
    /// Number of workers.
    pub workers: usize,
}

impl WorkerIndex {
    /// Whether the worker runs a client, given by its row in the allocation matrix. Rows are assigned to workers
    /// round-robin, so that few clients use as many cores as possible.
    pub fn runs(self, client: u32) -> bool {
        client as usize % self.workers == self.index
    }
}

impl TaskRun {
    /// When the task began; the first call sets it to `now`.
    pub fn origin(&self, now: Instant) -> Instant {
        *self.origin.get_or_init(|| now)
    }

    /// Records the unit of a success; `true` for the first one.
    pub fn set_unit(&self, unit: &str) -> bool {
        self.unit.get().is_none() && self.unit.set(unit.to_owned()).is_ok()
    }
}

impl StepRun {
    /// A step that is about to run.
    pub fn new(plan: &Arc<Plan>, index: usize, race: &Arc<RaceState>) -> Self {
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
        Self { plan: Arc::clone(plan), index, tasks, completed, race: Arc::clone(race) }
    }

    /// Position of the step in the plan.
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

    /// A task of the step, by its position in the plan.
    pub fn task(&self, index: u32) -> Option<(&TaskRun, &PlannedTask)> {
        let run = self.tasks.iter().find(|run| run.index == index)?;
        Some((run, &self.plan.tasks[index as usize]))
    }

    /// The clients of the step that a worker runs.
    pub fn clients_of(&self, worker: WorkerIndex) -> impl Iterator<Item = &ClientAllocation> {
        self.step().client_allocations.iter().filter(move |row| worker.runs(row.client))
    }

    /// Whether another task has completed the step.
    pub fn is_completed(&self) -> bool {
        self.completed.load(Ordering::Relaxed)
    }

    /// Records that a client has ended a task, which may complete the step.
    pub fn client_ended(&self, task: &TaskRun) {
        let last = task.remaining.fetch_sub(1, Ordering::AcqRel) == 1;
        let completes = match self.step().completed_by {
            Some(CompletedBy::Task { task: by }) => by == task.index,
            Some(CompletedBy::Any {}) => true,
            None => false,
        };
        if last && completes {
            self.completed.store(true, Ordering::Relaxed);
            self.race.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_clients_are_spread_over_all_workers() {
        let clients_of = |index| {
            let worker = WorkerIndex { index, workers: 4 };
            [0, 1, 5].into_iter().filter(|client| worker.runs(*client)).collect::<Vec<u32>>()
        };
        assert_eq!(
            [clients_of(0), clients_of(1), clients_of(2), clients_of(3)],
            [vec![0], vec![1, 5], vec![], vec![]]
        );
    }
}

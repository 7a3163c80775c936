//! The state of a step while it runs.

use std::ops::Add;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use pacenote_plan::{ClientAllocation, CompletedBy, Plan, PlannedTask, Step, TaskPacing};
use pacenote_record::UnsentOperations;

use crate::race_state::{RaceState, TaskChanges, lock};
use crate::schedule::client_schedule::FailedSchedule;
use crate::schedule::shared_schedule::SharedSchedule;
use crate::schedule::warmup_backlog::TaskBacklog;
use crate::scheduling::demotion::TaskSpan;

/// A step and the state that its clients share.
#[derive(Debug)]
pub struct StepState {
    plan: Arc<Plan>,
    index: usize,
    tasks: Vec<TaskState>,
    /// Whether a task that completes the step has ended, after which no new operations begin.
    completed: AtomicBool,
    /// When that task ended.
    completed_at: OnceLock<Instant>,
    race_state: Arc<RaceState>,
}

/// The state of a task while its step runs.
#[derive(Debug)]
pub struct TaskState {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// Set by the first client that starts, or ends without having started; all times of the task are relative to this.
    origin: OnceLock<Instant>,
    /// Number of clients that have not ended the task.
    clients_left: AtomicU32,
    /// When the last of them ended it.
    ended: OnceLock<Instant>,
    /// The unit of the first success; only Python runners return one.
    unit: OnceLock<String>,
    /// The schedule that the clients share, if the task runs in an open loop.
    shared_schedule: Option<Arc<SharedSchedule>>,
    /// Its clients that are behind the warm-up.
    pub warmup_backlog: TaskBacklog,
    /// The rest of the schedules of clients whose sources have failed.
    failed_schedules: Mutex<Vec<FailedSchedule>>,
    /// Counts its beginning and its end.
    changes: Arc<TaskChanges>,
}

/// The start of a task, as a client sees it that enters the task.
#[derive(Debug, Clone, Copy)]
pub struct TaskStart {
    /// When the task started; all its times are relative to this.
    pub origin: Instant,
    /// Whether the client has started it.
    pub is_first: bool,
}

/// Determines which of a race's clients a worker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerShare {
    /// Number of the worker, from 0.
    pub worker_index: usize,
    /// Number of workers.
    pub worker_count: usize,
}

impl WorkerShare {
    /// Returns whether the worker runs a client, given by its number in the race. Clients are assigned to workers
    /// round-robin, so that even a few clients use as many cores as possible.
    pub fn runs(self, race_client: u32) -> bool {
        race_client as usize % self.worker_count == self.worker_index
    }
}

impl TaskState {
    /// Starts the task at `now` unless it has started. Returns when it started.
    pub fn origin_or_begin(&self, now: Instant) -> Instant {
        self.enter(now).origin
    }

    /// Starts the task at `now` unless it has started.
    pub fn enter(&self, now: Instant) -> TaskStart {
        let mut is_first = false;
        let origin = *self.origin.get_or_init(|| {
            is_first = true;
            self.changes.add();
            now
        });
        TaskStart { origin, is_first }
    }

    /// Returns the schedule that the clients of all workers share, if the task runs in an open loop.
    pub fn shared_schedule(&self) -> Option<&Arc<SharedSchedule>> {
        self.shared_schedule.as_ref()
    }

    /// Returns the number of queues from which the clients of `task`, which this is the state of, take their
    /// operations, or `None` if it has no schedule.
    pub fn queue_count(&self, task: &PlannedTask) -> Option<u32> {
        let queues = if self.shared_schedule.is_some() { 1 } else { task.clients };
        (!matches!(task.pacing, TaskPacing::Unpaced {})).then_some(queues)
    }

    /// Keeps the rest of the schedule of a client whose source has failed until the task ends: only then is it known
    /// which of its operations were due.
    pub fn keep_failed_schedule(&self, schedule: FailedSchedule) {
        lock(&self.failed_schedules).push(schedule);
    }

    /// Removes the schedules of the clients whose sources have failed, and returns their operations that are unsent.
    /// `stopped_ns` is when the race was stopped or the step completed, in nanoseconds since the task started, if that
    /// happened before the task ended.
    pub fn take_unsent_of_failed(&self, stopped_ns: Option<u64>) -> UnsentOperations {
        let failed = std::mem::take(&mut *lock(&self.failed_schedules));
        let drained_until_ns = self.warmup_backlog.drained_until_ns(stopped_ns.unwrap_or(u64::MAX));
        let unsent = failed.iter().map(|schedule| schedule.unsent(stopped_ns, drained_until_ns));
        unsent.fold(UnsentOperations::default(), Add::add)
    }

    /// Records the unit of a success. Returns `true` for the first one.
    pub fn set_unit(&self, unit: &str) -> bool {
        self.unit.get().is_none() && self.unit.set(unit.to_owned()).is_ok()
    }
}

impl StepState {
    /// Creates the state of a step that is about to run.
    pub fn new(plan: &Arc<Plan>, index: usize, race_state: &Arc<RaceState>) -> Self {
        let mut tasks: Vec<TaskState> = Vec::new();
        for allocation in plan.steps[index].task_allocations() {
            match tasks.iter_mut().find(|task| task.task_index == allocation.task_index) {
                Some(task) => *task.clients_left.get_mut() += 1,
                None => tasks.push(TaskState {
                    task_index: allocation.task_index,
                    origin: OnceLock::new(),
                    clients_left: AtomicU32::new(1),
                    ended: OnceLock::new(),
                    unit: OnceLock::new(),
                    shared_schedule: SharedSchedule::of_task(plan, allocation.task_index).map(Arc::new),
                    warmup_backlog: TaskBacklog::new(
                        &plan.tasks[allocation.task_index as usize],
                        plan.driver.warmup_drain,
                    ),
                    failed_schedules: Mutex::default(),
                    changes: Arc::clone(&race_state.task_changes),
                }),
            }
        }
        Self {
            plan: Arc::clone(plan),
            index,
            tasks,
            completed: AtomicBool::new(false),
            completed_at: OnceLock::new(),
            race_state: Arc::clone(race_state),
        }
    }

    /// Returns the position of the step in the plan.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the step in the plan.
    pub fn planned(&self) -> &Step {
        &self.plan.steps[self.index]
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Returns the tasks of the step.
    pub fn tasks(&self) -> &[TaskState] {
        &self.tasks
    }

    /// Returns a task of the step, by its position in the plan.
    pub fn task(&self, task_index: u32) -> Option<(&TaskState, &PlannedTask)> {
        let state = self.tasks.iter().find(|state| state.task_index == task_index)?;
        Some((state, &self.plan.tasks[task_index as usize]))
    }

    /// Returns the clients of the step that a worker runs.
    pub fn clients_of(&self, share: WorkerShare) -> impl Iterator<Item = &ClientAllocation> {
        self.planned().client_allocations.iter().filter(move |allocation| share.runs(allocation.race_client))
    }

    /// Returns when the tasks ran whose clients a worker runs, if these ended at `now`. Tasks that did not begin are
    /// left out.
    pub fn task_spans(&self, share: WorkerShare, now: Instant) -> Vec<TaskSpan> {
        let runs = |task: &&TaskState| {
            let mut allocations = self.clients_of(share).flat_map(|client| &client.allocations);
            allocations.any(|allocation| allocation.task_index == task.task_index)
        };
        let span = |task: &TaskState| {
            let until = task.ended.get().map_or(now, |ended| now.min(*ended));
            Some(TaskSpan { task_index: task.task_index, from: *task.origin.get()?, until })
        };
        self.tasks.iter().filter(runs).filter_map(span).collect()
    }

    /// Returns whether a task has completed the step.
    pub fn is_completed(&self) -> bool {
        self.completed.load(Ordering::Relaxed)
    }

    /// Returns when a task has completed the step, or `None` if none has.
    pub fn completed_at(&self) -> Option<Instant> {
        self.completed_at.get().copied()
    }

    /// Records that a client has ended a task at `now`, which may complete the step. Returns whether it was the last
    /// client of the task.
    pub fn client_ended(&self, task: &TaskState, now: Instant) -> bool {
        let last = task.clients_left.fetch_sub(1, Ordering::AcqRel) == 1;
        if last {
            task.ended.get_or_init(|| now);
            task.changes.add();
        }
        let completes = match self.planned().completed_by {
            Some(CompletedBy::Task { task: by }) => by == task.task_index,
            Some(CompletedBy::Any {}) => true,
            None => false,
        };
        if last && completes {
            self.completed_at.get_or_init(|| now);
            self.completed.store(true, Ordering::Relaxed);
            self.race_state.wake_all();
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_clients_are_spread_over_all_workers() {
        let clients_of = |worker_index| {
            let share = WorkerShare { worker_index, worker_count: 4 };
            [0, 1, 5].into_iter().filter(|client| share.runs(*client)).collect::<Vec<u32>>()
        };
        assert_eq!(
            [clients_of(0), clients_of(1), clients_of(2), clients_of(3)],
            [vec![0], vec![1, 5], vec![], vec![]]
        );
    }
}

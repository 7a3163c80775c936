//! Clients that join a task after others have begun it, because they were still in another task of the step.
//!
//! With its own schedule, such a client skips the operations that it has missed, so that the task has fewer operations
//! than its target rate asks for, although nothing was slow. Of a schedule that it shares, the others execute all
//! operations, but with fewer connections.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::schedule::budget::TaskLimit;

/// The clients that joined one task late, or not at all, without those that follow a scheduler in Python.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskLateJoins {
    /// Position of the task in the plan.
    pub index: u32,
    /// Number of these clients.
    pub clients: u32,
    /// Time of the task that they missed, in seconds, summed over them.
    pub missed_s: f64,
    /// The part of it in the measured window, if that begins at a planned time or waits for the backlog of the warm-up;
    /// otherwise all of it.
    pub missed_measured_s: f64,
    /// When the last of them joined, in seconds since the task started; if it never did, when the task ended for it.
    pub latest_s: f64,
}

/// The late joins of a race.
#[derive(Debug, Default)]
pub struct LateJoins {
    /// By position of the task in the plan.
    tasks: Mutex<BTreeMap<u32, MissedTime>>,
}

/// What the clients of a task missed. Times are in nanoseconds since the task started.
#[derive(Debug, Default)]
struct MissedTime {
    /// The time that each of them missed.
    of_clients: Vec<Range<u64>>,
    /// When the measured window begins, as far as it is known.
    window_begin_ns: u64,
}

impl MissedTime {
    fn summary(&self, index: u32) -> TaskLateJoins {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let lengths = || self.of_clients.iter().map(|missed| missed.end - missed.start);
        let after_begin =
            |missed: &Range<u64>| missed.end.saturating_sub(missed.start.max(self.window_begin_ns));
        TaskLateJoins {
            index,
            clients: u32::try_from(self.of_clients.len()).unwrap_or(u32::MAX),
            missed_s: seconds(lengths().fold(0, u64::saturating_add)),
            missed_measured_s: seconds(self.of_clients.iter().map(after_begin).fold(0, u64::saturating_add)),
            latest_s: seconds(lengths().max().unwrap_or(0)),
        }
    }
}

impl LateJoins {
    /// Adds a client that missed a part of the task with the index `task_index`, unless it missed none of it until the
    /// end of its `limit`. Times are in nanoseconds since the task started.
    pub fn add(&self, task_index: u32, missed: Range<u64>, limit: TaskLimit) {
        let missed = missed.start..missed.end.min(limit.end_ns().unwrap_or(u64::MAX));
        if missed.is_empty() {
            return;
        }
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tasks.entry(task_index).or_default();
        task.of_clients.push(missed);
        task.window_begin_ns = task.window_begin_ns.max(limit.warmup_end_ns());
    }

    /// Begins the measured window of a task that waited for the backlog of its warm-up, in nanoseconds since the task
    /// started. Must be called when its clients have ended: only then is the begin known, and who joined late.
    pub fn begin_window(&self, task_index: u32, begin_ns: u64) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = tasks.get_mut(&task_index) {
            task.window_begin_ns = task.window_begin_ns.max(begin_ns);
        }
    }

    /// Returns the tasks that had such clients, in the order of the plan.
    pub fn of_tasks(&self) -> Vec<TaskLateJoins> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.iter().map(|(index, missed)| missed.summary(*index)).collect()
    }
}

//! Clients that join a task after others have begun it, because they were still in another task of the step.
//!
//! With its own schedule, such a client skips the operations that it has missed, so that the task has fewer operations
//! than its target rate asks for, although nothing was slow.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// The clients with their own schedules that joined one task late, or not at all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskLateJoins {
    /// Position of the task in the plan.
    pub index: u32,
    /// Number of these clients.
    pub clients: u32,
    /// Time of the task that they missed, in seconds, summed over them.
    pub missed_s: f64,
    /// The part of it after the warm-up, if that is limited by time; otherwise all of it.
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

/// What the clients of a task missed, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct MissedTime {
    clients: u32,
    total_ns: u64,
    measured_ns: u64,
    longest_ns: u64,
}

impl LateJoins {
    /// Adds a client that missed a part of the task with the index `task_index`, unless it missed none of it. Times are
    /// in nanoseconds since the task began, and the task's warm-up ends at `warmup_end_ns`.
    pub fn add(&self, task_index: u32, missed: Range<u64>, warmup_end_ns: u64) {
        if missed.is_empty() {
            return;
        }
        let missed_ns = missed.end - missed.start;
        let measured_ns = missed.end.saturating_sub(missed.start.max(warmup_end_ns));
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let missed = tasks.entry(task_index).or_default();
        missed.clients += 1;
        missed.total_ns = missed.total_ns.saturating_add(missed_ns);
        missed.measured_ns = missed.measured_ns.saturating_add(measured_ns);
        missed.longest_ns = missed.longest_ns.max(missed_ns);
    }

    /// Returns the tasks that had such clients, in the order of the plan.
    pub fn of_tasks(&self) -> Vec<TaskLateJoins> {
        let of = |(index, missed): (&u32, &MissedTime)| TaskLateJoins {
            index: *index,
            clients: missed.clients,
            missed_s: missed.total_ns as f64 / 1e9,
            missed_measured_s: missed.measured_ns as f64 / 1e9,
            latest_s: missed.longest_ns as f64 / 1e9,
        };
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).iter().map(of).collect()
    }
}

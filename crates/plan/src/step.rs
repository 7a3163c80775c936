//! The allocation matrix: which client runs which task in which step.

use serde::{Deserialize, Serialize};

/// One element of the schedule: a task or several in parallel. All clients meet at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// For messages: the task's name, or the parallel element's.
    pub name: String,
    /// The clients that have something to do, by ascending client.
    pub slots: Vec<Slot>,
    /// Ends the step before all its tasks have ended.
    pub completed_by: Option<CompletedBy>,
}

/// What one client does in a step: its allocations, one after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// Row of the matrix; the same client keeps its connection through the whole race.
    pub client: u32,
    /// Never empty.
    pub allocations: Vec<Allocation>,
}

/// A share of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocation {
    /// Position in [`crate::Plan::tasks`].
    pub task: u32,
    /// Which of the task's clients this is, from 0; decides its part of the corpus and its phase.
    pub client: u32,
}

/// What ends a step early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CompletedBy {
    /// All clients of this task have ended.
    Task {
        /// Position in [`crate::Plan::tasks`].
        task: u32,
    },
    /// All clients of any one task have ended.
    Any {},
}

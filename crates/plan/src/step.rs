//! The allocation matrix, which maps clients and steps to tasks.

use serde::{Deserialize, Serialize};

/// One element of the schedule: a task, or several tasks in parallel. It ends with a join point of all clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The name of the task or of the parallel element, for messages.
    pub name: String,
    /// The allocations of each client of the step, in ascending order of clients.
    pub client_allocations: Vec<ClientAllocation>,
    /// Ends the step before all its tasks have ended; `null` if the step ends with its last task.
    pub completed_by: Option<CompletedBy>,
}

impl Step {
    /// Returns all allocations of this step, client by client.
    pub fn task_allocations(&self) -> impl Iterator<Item = TaskAllocation> {
        self.client_allocations.iter().flat_map(|client| client.allocations.iter().copied())
    }
}

/// The allocations of one client in a step, which run one after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientAllocation {
    /// Number of the client in the race: its row of the allocation matrix. A client keeps its connection for the whole
    /// race.
    #[serde(rename = "client")]
    pub race_client: u32,
    /// Allocations that run one after another; never empty.
    pub allocations: Vec<TaskAllocation>,
}

/// The part of a task that one client runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskAllocation {
    /// Position in [`crate::Plan::tasks`].
    #[serde(rename = "task")]
    pub task_index: u32,
    /// Number of the client in the task, from 0, which determines its range of the corpus and its phase.
    #[serde(rename = "client")]
    pub client_number: u32,
}

/// The event that ends a step before all its tasks have ended.
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

//! The id of a client in a task.

/// One client of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskClientId {
    /// Position of the task in the plan, from 0.
    pub task_index: u32,
    /// Number of the client in the task, from 0.
    pub client_number: u32,
}

//! Which client of which task.

/// One client of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId {
    /// Position of the task in the plan, from 0.
    pub task: u32,
    /// Which of the task's clients, from 0.
    pub client: u32,
}

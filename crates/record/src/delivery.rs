//! What recorders send to the collector.

use crate::buffers::Missing;
use crate::catalog::PartInfo;
use crate::failure::ErrorTally;
use crate::result::EndedBy;
use crate::sample::Sample;
use crate::window::Window;

/// What a recorder hands over, once a second or when a buffer is full.
#[derive(Debug)]
pub enum Delivery {
    /// So many threads are about to run a task. Sent before any of them starts it.
    Begin {
        /// Position of the task in the plan.
        task: u32,
        /// Threads that have clients of it.
        threads: u32,
        /// When its step began, nanoseconds since the race's first step.
        started_ns: u64,
    },
    /// A part of a second of a task.
    Window(Box<Window>),
    /// Samples in the order of their ends.
    Samples(Vec<Sample>),
    /// The unit of a task's work, where it is only known once the task runs.
    Unit(u32, String),
    /// An operation within an operation that was not seen before; gets the next number.
    Part(PartInfo),
    /// Samples of a task that are in no buffer.
    Missing(u32, Missing),
    /// Failures since the last delivery.
    Errors {
        /// Position of the task in the plan.
        task: u32,
        /// Number of the operation within, 0 for the whole operation.
        part: u32,
        /// The failures.
        errors: ErrorTally,
    },
    /// All clients of this thread have ended the task; everything recorded was delivered before.
    Ended(TaskEnded),
}

/// How a thread's clients ended a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskEnded {
    /// Position of the task in the plan.
    pub task: u32,
    /// Why the last of its clients ended.
    pub by: EndedBy,
    /// Operations that the clients were to do, sent or not; `None` when clients were dropped at work.
    pub planned: Option<u64>,
    /// Operations begun.
    pub begun: u64,
    /// Operations begun whose reply never came.
    pub unanswered: u64,
    /// Operations that were due within the task's time and never sent.
    pub unsent: u64,
    /// Operations whose source handed them over too late.
    pub underruns: u64,
    /// How long they were waited for.
    pub underrun_ns: u64,
    /// When the task began, nanoseconds since the race's first step.
    pub started_ns: u64,
}

//! Messages from recorders to the collector.

use crate::buffers::MissingSamples;
use crate::catalog::SubOperationInfo;
use crate::failure::FailureGroups;
use crate::result::EndedBy;
use crate::sample::Sample;
use crate::window::Window;

/// What recorders send to the collector, once a second or when a buffer is full.
#[derive(Debug)]
pub enum Delivery {
    /// A task is about to begin. Sent before any thread begins it.
    Begin {
        /// Position of the task in the plan.
        task: u32,
        /// Number of threads with clients of the task.
        threads: u32,
        /// When its step began, nanoseconds since the race's first step.
        started_ns: u64,
    },
    /// What one thread recorded in one second of a task.
    Window(Box<Window>),
    /// Samples in the order of their ends.
    Samples(Vec<Sample>),
    /// The unit of a task's work, where it is only known once the task runs.
    Unit {
        /// Position of the task in the plan.
        task: u32,
        /// The unit.
        unit: String,
    },
    /// A sub-operation that was not seen before; it gets the next number.
    SubOperation(SubOperationInfo),
    /// Samples that are in no buffer.
    Missing {
        /// Position of the task in the plan.
        task: u32,
        /// How many of its samples are missing.
        missing: MissingSamples,
    },
    /// Failures since the last delivery.
    Failures {
        /// Position of the task in the plan.
        task: u32,
        /// Number of the sub-operation, 0 for the whole operation.
        sub_operation: u32,
        /// The failures.
        failures: FailureGroups,
    },
    /// All clients of the thread have ended the task; everything recorded was delivered before.
    Ended(TaskEnded),
}

/// How the clients of one thread ended a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskEnded {
    /// Position of the task in the plan.
    pub task: u32,
    /// Why the last of its clients ended.
    pub by: EndedBy,
    /// Operations that the schedule planned for the clients, sent or not; `None` when clients were dropped while they
    /// worked.
    pub planned: Option<u64>,
    /// Operations begun.
    pub begun: u64,
    /// Operations begun whose reply never came.
    pub unanswered: u64,
    /// Operations that were due within the task's time and never sent.
    pub unsent: u64,
    /// Operations that their source supplied too late.
    pub underruns: u64,
    /// How long clients waited for them, nanoseconds.
    pub underrun_ns: u64,
    /// When the task began, nanoseconds since the race's first step.
    pub started_ns: u64,
}

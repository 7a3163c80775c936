//! Messages from recorders to the collector.

use crate::buffers::MissingSamples;
use crate::catalog::{SubOperationInfo, SubOperationNumber};
use crate::failure::FailureGroups;
use crate::operation_stats::SecondStats;
use crate::result::EndedBy;
use crate::sample::Sample;

/// What recorders send to the collector, once a second or when a buffer is full.
#[derive(Debug)]
pub enum Delivery {
    /// A task is about to begin. Sent before any worker begins it.
    Begin {
        /// Position of the task in the plan.
        task_index: u32,
        /// Number of workers with clients of the task.
        workers: u32,
        /// When its step began, nanoseconds since the race's first step.
        started_ns: u64,
    },
    /// What one worker recorded in one second of a task.
    Second(Box<SecondStats>),
    /// Samples in the order of their ends.
    Samples(Vec<Sample>),
    /// The unit of a task's work, where it is only known once the task runs.
    Unit {
        /// Position of the task in the plan.
        task_index: u32,
        /// The unit.
        unit: String,
    },
    /// A sub-operation that was not seen before; it gets the next number.
    SubOperation(SubOperationInfo),
    /// Samples that are in no buffer.
    Missing {
        /// Position of the task in the plan.
        task_index: u32,
        /// How many of its samples are missing.
        missing: MissingSamples,
    },
    /// Failures since the last delivery.
    Failures {
        /// Position of the task in the plan.
        task_index: u32,
        /// The sub-operation; `None` for the whole operation.
        sub_operation: Option<SubOperationNumber>,
        /// The failures.
        failures: FailureGroups,
    },
    /// All clients of the worker have ended the task; everything recorded was delivered before.
    WorkerTaskEnd(WorkerTaskEnd),
}

/// How the clients of one worker ended a task.
#[derive(Debug, Clone, Copy)]
pub struct WorkerTaskEnd {
    /// Position of the task in the plan.
    pub task_index: u32,
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

//! Messages from recorders to the collector.

use crate::buffers::MissingSamples;
use crate::catalog::{SubOperationInfo, SubOperationNumber};
use crate::client_span::ClientSpan;
use crate::details::SampleBatch;
use crate::driver_time::DriverTime;
use crate::failure::FailureGroups;
use crate::flights::FlightLog;
use crate::histogram::DurationHistogram;
use crate::operation_stats::SecondStats;
use crate::overhead::ClientOverhead;
use crate::result::EndedBy;
use crate::sample::Traffic;
use crate::unsent::UnsentOperations;
use crate::warmup_backlog::{DrainedWindow, WarmupBacklog};

/// A message to the collector: from a recorder once a second, when a buffer is full, and when a task ends, or from the
/// coordinator when a task is about to begin.
#[derive(Debug)]
pub enum Delivery {
    /// A task is about to begin. Sent before any worker begins it.
    Begin {
        /// Position of the task in the plan.
        task_index: u32,
        /// Number of workers with clients of the task.
        worker_count: u32,
        /// Number of queues from which the task's clients take operations; `None` if the task has no schedule.
        queue_count: Option<u32>,
        /// When the step of the task began, in nanoseconds since the race's first step.
        step_began_ns: u64,
    },
    /// The statistics that one worker recorded for one second of a task.
    Second(Box<SecondStats>),
    /// Samples, in the order in which their operations ended.
    Samples(SampleBatch),
    /// The unit of a task's work, if it becomes known only while the task runs.
    Unit {
        /// Position of the task in the plan.
        task_index: u32,
        /// The unit.
        unit: String,
    },
    /// A sub-operation that had not been recorded before; it gets the next number.
    SubOperation(SubOperationInfo),
    /// Samples that were not put into a buffer.
    Missing {
        /// Position of the task in the plan.
        task_index: u32,
        /// Counts of the missing samples.
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
    /// What the clients of the worker did besides the operations of the task. Sent before the worker ends the task.
    Overhead {
        /// Position of the task in the plan.
        task_index: u32,
        /// The overhead.
        overhead: Box<ClientOverhead>,
    },
    /// When the clients of the worker were in the task. Sent before the worker ends the task.
    Spans {
        /// Position of the task in the plan.
        task_index: u32,
        /// The spans of clients that have left it.
        spans: Vec<ClientSpan>,
    },
    /// Latency of the measured operations that the warm-up delayed and that succeeded. Sent before the worker ends the
    /// task, if there are any.
    WarmupDelays {
        /// Position of the task in the plan.
        task_index: u32,
        /// The latencies.
        latency: Box<DurationHistogram>,
    },
    /// The operations around the begin of the measured window of a task with a schedule and a warm-up. Sent before the
    /// worker ends the task.
    Flights {
        /// Position of the task in the plan.
        task_index: u32,
        /// The operations.
        flights: Box<FlightLog>,
    },
    /// All clients of the worker have ended the task or were dropped; everything that they recorded has already been
    /// delivered.
    WorkerTaskEnd(WorkerTaskEnd),
}

/// How the clients of one worker ended a task.
#[derive(Debug, Clone, Copy)]
pub struct WorkerTaskEnd {
    /// Position of the task in the plan.
    pub task_index: u32,
    /// The reason with the highest precedence why its clients ended.
    pub ended_by: EndedBy,
    /// Operations that the schedules of the clients admitted and that were not withdrawn, plus unsent ones; `None` if
    /// clients were dropped before they ended.
    pub scheduled: Option<u64>,
    /// Operations that began.
    pub begun: u64,
    /// The part of `begun` that is warm-up.
    pub warmup_begun: u64,
    /// Operations that began but never received a response.
    pub unanswered: u64,
    /// The part of `unanswered` that was due before a client was free for it.
    pub unanswered_waited: u64,
    /// Operations that were due before the end of the task, whatever ended it, but did not begin.
    pub unsent: UnsentOperations,
    /// Measured operations that the warm-up delayed.
    pub warmup_backlog: WarmupBacklog,
    /// The task's window, if it waits for the backlog of the warm-up.
    pub drained_window: Option<DrainedWindow>,
    /// Operations that their source supplied too late.
    pub underruns: u64,
    /// Time that clients waited for these operations, in nanoseconds.
    pub underrun_ns: u64,
    /// The driver's own work on its operations.
    pub driver_time: DriverTime,
    /// Traffic that belongs to no operation that has ended.
    pub other_traffic: Traffic,
    /// When another task completed the step, in nanoseconds since the task began.
    pub completed_ns: Option<u64>,
    /// When the task began, in nanoseconds since the race's first step.
    pub task_began_ns: u64,
}

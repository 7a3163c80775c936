//! Sources of operations: a source prepares the next operation before it is timed and executes it when it is due.

use std::time::{Duration, Instant};

use pacenote_plan::{Plan, PlannedTask, TaskWork};
use pacenote_record::SampleType;

use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::operation::PreparedCalls;
use crate::operation::bulk::{BulkSource, ClientPartition};
use crate::operation::context::Destination;
use crate::operation::data_files::DataFiles;
use crate::operation::outcome::OperationOutcome;
use crate::operation::wait::execute_sleep;
use crate::python::{ClientHandle, QueuedSource, RunnerSource};
use crate::transport::pool::ConnectionPool;

/// The source of the operations that one client executes in one task.
#[derive(Debug)]
pub enum OperationSource {
    /// Sends the documents of a corpus.
    Bulk(Box<BulkSource>),
    /// Executes prepared calls.
    Calls(Box<PreparedCalls>),
    /// Waits for this duration without sending a request.
    Sleep(Duration),
    /// Executes operations queued by a parameter source in Python.
    Queued(Box<QueuedSource>),
    /// Executes each operation in a Python runner.
    Runner(Box<RunnerSource>),
}

/// The context in which a source is used.
#[derive(Debug, Clone, Copy)]
pub struct SourceContext<'a> {
    /// The data files of the step.
    pub files: &'a DataFiles,
    /// The client's handle to Python, if its task needs Python.
    pub handle: Option<&'a ClientHandle>,
    /// Number of the client in the race.
    pub race_client: u32,
}

impl OperationSource {
    /// Creates the source of one client of a task, and prepares as much as possible before the clock starts.
    ///
    /// # Errors
    ///
    /// If a request cannot be written as HTTP or data cannot be read.
    pub fn new(
        plan: &Plan,
        task: &PlannedTask,
        client_number: u32,
        context: SourceContext<'_>,
    ) -> Result<Self, DriveError> {
        let to = Destination::of_client(&plan.target, &task.name, Some(context.race_client));
        Ok(match &task.work {
            TaskWork::Bulk(bulk) => {
                let partition = ClientPartition { task, bulk, client_number };
                Self::Bulk(Box::new(BulkSource::new(partition, plan.seed, context.files, to)?))
            }
            TaskWork::Calls(calls) => Self::Calls(Box::new(PreparedCalls::new(calls, to)?)),
            TaskWork::PythonSource { .. } => {
                let queued = context.handle.and_then(|handle| QueuedSource::new(handle.channel()));
                Self::Queued(Box::new(queued.ok_or_else(|| without_bridge(task))?))
            }
            TaskWork::PythonRunner {} => {
                let handle = context.handle.ok_or_else(|| without_bridge(task))?;
                Self::Runner(Box::new(RunnerSource::new(handle)))
            }
            TaskWork::Sleep { seconds } => Self::Sleep(Duration::from_secs_f64(*seconds)),
        })
    }

    /// Prepares the next operation. Returns `false` if there is none.
    pub fn prepare_next(&mut self) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.prepare_next(),
            Self::Calls(_) | Self::Sleep(_) => true,
            Self::Queued(queued) => queued.prepare_next(),
            Self::Runner(runner) => runner.prepare_next(),
        }
    }

    /// Returns the number of documents of the operation that is prepared next, if it is known.
    pub fn next_document_count(&self) -> Option<u64> {
        match self {
            Self::Bulk(bulk) => bulk.next_document_count(),
            Self::Queued(queued) => queued.next_document_count(),
            Self::Calls(_) | Self::Sleep(_) | Self::Runner(_) => None,
        }
    }

    /// Returns the number of documents of the prepared operation, or `None` if it is not a bulk or only known once it has
    /// been executed.
    pub fn document_count(&self) -> Option<u64> {
        match self {
            Self::Bulk(bulk) => Some(bulk.document_count()),
            Self::Queued(queued) => queued.document_count(),
            Self::Calls(_) | Self::Sleep(_) | Self::Runner(_) => None,
        }
    }

    /// Compresses the prepared operation if it is sent compressed, and yields to the thread's other clients in the
    /// meantime.
    pub async fn compress(&mut self) {
        if let Self::Bulk(bulk) = self {
            bulk.compress().await;
        }
    }

    /// Returns the reason why the source cannot supply any more operations, if that is an error of the driver's host.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Bulk(bulk) => bulk.failure(),
            _ => None,
        }
    }

    /// Returns whether the queue is empty, although Python may still add operations to it.
    pub fn is_starved(&self) -> bool {
        matches!(self, Self::Queued(queued) if queued.is_starved())
    }

    /// Returns when the last operation ended according to its runner, or `None` if the driver executes the operations
    /// itself.
    pub fn processing_end(&self) -> Option<Instant> {
        match self {
            Self::Runner(runner) => runner.completed(),
            _ => None,
        }
    }

    /// Executes the prepared operation. Returns `None` if the race or the step ends while it waits: such an operation
    /// has neither succeeded nor failed.
    pub async fn execute(
        &mut self,
        connections: &ConnectionPool,
        cancellation: &Cancellation<'_>,
        sample_type: SampleType,
    ) -> Option<OperationOutcome> {
        match self {
            Self::Bulk(bulk) => Some(bulk.execute(connections, cancellation).await),
            Self::Calls(operation) => operation.execute(connections, cancellation).await,
            Self::Sleep(duration) => execute_sleep(*duration, 1, cancellation).await,
            Self::Queued(queued) => queued.execute(connections, cancellation).await,
            Self::Runner(runner) => runner.execute(cancellation, sample_type).await,
        }
    }
}

/// Creates the error for a task that needs Python in a race without a bridge. This is a bug, because such a plan always
/// has a bridge.
fn without_bridge(task: &PlannedTask) -> DriveError {
    DriveError::Python(format!("task {} has no connection to Python", task.name))
}

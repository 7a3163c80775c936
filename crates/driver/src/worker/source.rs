//! What an operation sends. A source prepares the next operation off the clock and then carries it out.

use std::time::{Duration, Instant};

use pacenote_plan::{Plan, PlannedTask, TaskWork};
use pacenote_record::SampleType;

use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::operation::Operation;
use crate::operation::bulk::{BulkSource, ClientDocuments};
use crate::operation::context::Destination;
use crate::operation::data_files::DataFiles;
use crate::operation::outcome::Outcome;
use crate::operation::wait::wait;
use crate::python::{ClientHandle, QueuedSource, RunnerSource};
use crate::transport::pool::ConnectionPool;

/// The source of one client's share of a task.
#[derive(Debug)]
pub enum Source {
    /// Posts documents.
    Bulk(Box<BulkSource>),
    /// Makes prepared calls.
    Calls(Box<Operation>),
    /// Waits.
    Sleep(Duration),
    /// Carries out what a parameter source in Python hands over.
    Queued(Box<QueuedSource>),
    /// Lets a runner in Python do it.
    Runner(Box<RunnerSource>),
}

impl Source {
    /// Prepares everything that need not be done on the clock.
    ///
    /// # Errors
    ///
    /// When a request cannot be written as HTTP or data cannot be read.
    pub fn new(plan: &Plan, task: &PlannedTask, client: u32, site: Site) -> Result<Self, DriveError> {
        let to = Destination { target: &plan.target, host: site.host, task: &task.name };
        Ok(match &task.work {
            TaskWork::Bulk(bulk) => {
                let documents = ClientDocuments { task, bulk, client };
                Self::Bulk(Box::new(BulkSource::new(documents, plan.seed, site.files, to)?))
            }
            TaskWork::Calls(calls) => Self::Calls(Box::new(Operation::new(calls, to)?)),
            TaskWork::PythonSource { .. } => {
                let queued = site.handle.and_then(|handle| QueuedSource::new(handle.channel()));
                Self::Queued(Box::new(queued.ok_or_else(|| without_bridge(task))?))
            }
            TaskWork::PythonRunner {} => {
                let handle = site.handle.ok_or_else(|| without_bridge(task))?;
                Self::Runner(Box::new(RunnerSource::new(handle)))
            }
            TaskWork::Sleep { seconds } => Self::Sleep(Duration::from_secs_f64(*seconds)),
        })
    }

    /// Prepares the next operation. Returns `false` when there is none.
    pub fn prepare(&mut self) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.prepare(),
            Self::Calls(_) | Self::Sleep(_) => true,
            Self::Queued(queued) => queued.prepare(),
            Self::Runner(runner) => runner.prepare(),
        }
    }

    /// Compresses what was prepared, if it is sent so. This takes its time, and others of the thread work meanwhile.
    pub async fn pack(&mut self) {
        if let Self::Bulk(bulk) = self {
            bulk.compress().await;
        }
    }

    /// Whether the next operation has yet to be handed over.
    pub fn is_starved(&self) -> bool {
        matches!(self, Self::Queued(queued) if queued.is_starved())
    }

    /// When the last operation ended as a whole, where that is not for the driver to say.
    pub fn ended(&self) -> Option<Instant> {
        match self {
            Self::Runner(runner) => runner.completed(),
            _ => None,
        }
    }

    /// Carries the prepared operation out; `None` when the race or the step ended while it waited. Such an operation
    /// has neither succeeded nor failed.
    pub async fn execute(
        &mut self,
        links: &ConnectionPool,
        cancellation: &Cancellation<'_>,
        sample_type: SampleType,
    ) -> Option<Outcome> {
        match self {
            Self::Bulk(bulk) => {
                let mut link = links.acquire();
                let outcome = bulk.execute(&mut link, cancellation).await;
                links.release(link);
                Some(outcome)
            }
            Self::Calls(calls) => calls.execute(links, cancellation).await,
            Self::Sleep(duration) => wait(*duration, 1, cancellation).await,
            Self::Queued(queued) => queued.execute(links, cancellation).await,
            Self::Runner(runner) => runner.execute(cancellation, sample_type).await,
        }
    }
}

/// Cannot happen: a plan with such a task has a bridge.
fn without_bridge(task: &PlannedTask) -> DriveError {
    DriveError::Python(format!("task {} has no connection to Python", task.name))
}

/// Where a source is to be used.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// Position of the client's host in the plan.
    pub host: usize,
    /// The data files of the step.
    pub files: &'a DataFiles,
    /// Connection of this client to Python, if its task needs it.
    pub handle: Option<&'a ClientHandle>,
}

//! What an operation sends. A source prepares the next operation off the clock and then carries it out.

mod bulk;
mod requests;

use std::time::{Duration, Instant};

use pacenote_plan::{Call, Plan, Request, Task, Work};

use crate::alarm::unless_stopped;
use crate::drive::Desk;
use crate::error::DriveError;
use crate::link::Link;
use crate::outcome::{Outcome, Verdict};

use bulk::BulkSource;
pub use bulk::{DataFiles, planned_bulks};
use requests::RequestSource;

/// The source of one client's share of a task.
#[derive(Debug)]
pub enum Source {
    /// Posts documents.
    Bulk(Box<BulkSource>),
    /// Sends prepared requests.
    Requests(Box<RequestSource>),
    /// Waits.
    Sleep(Duration),
}

impl Source {
    /// Prepares everything that need not be done on the clock.
    ///
    /// # Errors
    ///
    /// When a request cannot be written as HTTP or data cannot be read.
    pub fn new(plan: &Plan, task: &Task, client: u32, site: Site) -> Result<Self, DriveError> {
        Ok(match &task.work {
            Work::Bulk(bulk) => {
                Self::Bulk(Box::new(BulkSource::new(plan, task, bulk, (client, site.host), site.files)?))
            }
            Work::Calls { calls, retry } => {
                let requests = calls.iter().map(request_of).collect::<Result<Vec<_>, _>>()?;
                Self::Requests(Box::new(RequestSource::new(plan, task, (&requests, *retry), site.host)?))
            }
            Work::Supplied { .. } | Work::Lane {} => {
                return Err(DriveError::Unsupported(format!(
                    "task {} needs Python while it runs",
                    task.name
                )));
            }
            Work::Sleep { seconds } => Self::Sleep(Duration::from_secs_f64(*seconds)),
        })
    }

    /// Prepares the next operation. Returns `false` when there is none.
    pub fn prepare(&mut self) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.prepare(),
            Self::Requests(_) | Self::Sleep(_) => true,
        }
    }

    /// Carries the prepared operation out; `None` when the race or the step ended while it waited. Such an operation
    /// has neither succeeded nor failed.
    pub async fn execute(&mut self, link: &mut Link, desk: &Desk<'_>) -> Option<Outcome> {
        match self {
            Self::Bulk(bulk) => Some(bulk.execute(link).await),
            Self::Requests(requests) => requests.execute(link, desk).await,
            Self::Sleep(duration) => sleep(*duration, desk).await,
        }
    }
}

fn request_of(call: &Call) -> Result<Request, DriveError> {
    match call {
        Call::Request(request) => Ok(request.clone()),
        _ => Err(DriveError::Unsupported("only single requests can be sent".into())),
    }
}

/// Where a source is to be used.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// Position of the client's host in the plan.
    pub host: usize,
    /// The data files of the step.
    pub files: &'a DataFiles,
}

async fn sleep(duration: Duration, desk: &Desk<'_>) -> Option<Outcome> {
    let sent = Instant::now();
    let slept = unless_stopped(tokio::time::sleep(duration), desk.waker, || desk.stopped().is_some()).await;
    slept.map(|()| Outcome { first_sent: sent, sent, verdict: Verdict::success(1, -1), ..Outcome::nothing() })
}

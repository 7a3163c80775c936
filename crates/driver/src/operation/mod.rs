//! Carrying out calls: what an operation does beside posting documents.
//!
//! [`Prepared`] is made once, off the clock, and carried out as often as the operation is due. All calls of an operation
//! run on the client's thread; what runs beside one another there is nothing but several replies waited for.
//!
//! | file | holds |
//! | --- | --- |
//! | `request.rs` | one request: head and body ready to be sent, with gaps for what only earlier replies say |
//! | `template.rs`, `captures.rs` | the gaps, and what is remembered to fill them |
//! | `paging.rs` | page by page: searches, scrolls, aggregations, SQL |
//! | `composite.rs` | operations within the operation, some beside one another |

pub mod bulk;
mod bulk_retry;
mod captures;
mod composite;
pub mod compression;
pub mod outcome;
mod paging;
mod request;
mod template;

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use pacenote_plan::{Call, RetryPolicy, Target};
use pacenote_record::ErrorClass;
use tokio::sync::Semaphore;

use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::operation::outcome::{Outcome, SubOperation};
use crate::response::outcome::ReplyOutcome;
use crate::transport::pool::ConnectionPool;
use crate::transport::traffic::Traffic;

use captures::Memory;
use composite::Composite;
use paging::Pages;
use request::Letter;

/// Where an operation goes.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// The cluster.
    pub target: &'a Target,
    /// Which of its hosts; the [`ConnectionPool`] that the operation is carried out with lead there.
    pub host: usize,
    /// The task, for messages.
    pub task: &'a str,
}

/// An operation, ready to be carried out any number of times.
#[derive(Debug)]
pub struct Prepared {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// One request that is judged by its check and that is all: what nearly every operation is. It goes straight to its
    /// connection.
    Plain(Box<Letter>),
    Any(Box<Any>),
}

/// Any operation.
#[derive(Debug)]
struct Any {
    operation: Operation,
    memory: RefCell<Memory>,
    sub_operations: RefCell<Vec<SubOperation>>,
}

impl Prepared {
    /// Prepares calls for one host.
    ///
    /// # Errors
    ///
    /// When a request cannot be written as HTTP, or pages cannot be asked for.
    pub fn new(calls: &[Call], retry: RetryPolicy, to: Destination<'_>) -> Result<Self, DriveError> {
        let tried_once = retry.retries == 0 && !retry.until_success;
        if let ([Call::Request(request)], true) = (calls, tried_once) {
            let letter = Box::new(Letter::new(request, to)?);
            if letter.is_plain() {
                return Ok(Self { kind: Kind::Plain(letter) });
            }
        }
        let operation = Operation::new(calls, retry, to)?;
        let any = Any { operation, memory: RefCell::default(), sub_operations: RefCell::default() };
        Ok(Self { kind: Kind::Any(Box::new(any)) })
    }

    /// Carries the operation out, with all attempts that its retry rule asks for; `None` when it was cut short while
    /// it waited.
    pub async fn execute(
        &mut self,
        links: &ConnectionPool,
        cancellation: &Cancellation<'_>,
    ) -> Option<Outcome> {
        match &mut self.kind {
            Kind::Plain(letter) => {
                let mut link = links.acquire();
                let outcome = letter.send_plain(&mut link).await;
                links.release(link);
                Some(outcome)
            }
            Kind::Any(any) => any.execute(links, cancellation).await,
        }
    }
}

impl Any {
    async fn execute(&mut self, links: &ConnectionPool, cancellation: &Cancellation<'_>) -> Option<Outcome> {
        let Self { operation, memory, sub_operations } = self;
        memory.get_mut().clear();
        sub_operations.get_mut().clear();
        let wire = Wire::default();
        let run =
            Run { links, cancellation, memory, sub_operations, wire: &wire, limit: None, within: false };
        let mut outcome = operation.run(&run).await?;
        outcome.sub_operations = std::mem::take(sub_operations.get_mut());
        Some(outcome)
    }
}

/// What the steps of an operation share while it is carried out.
#[derive(Debug, Clone, Copy)]
struct Run<'a> {
    links: &'a ConnectionPool,
    cancellation: &'a Cancellation<'a>,
    memory: &'a RefCell<Memory>,
    /// The operations within that have ended.
    sub_operations: &'a RefCell<Vec<SubOperation>>,
    wire: &'a Wire,
    /// How many requests may be under way at a time.
    limit: Option<&'a Semaphore>,
    /// Within a composite operation.
    within: bool,
}

/// What went over the wire since the operation began, also for streams that were dropped.
#[derive(Debug, Default)]
struct Wire {
    ended: Cell<Traffic>,
    under_way: Cell<u32>,
}

impl Wire {
    fn begin(&self) {
        self.under_way.set(self.under_way.get() + 1);
    }

    fn end(&self, outcome: &Outcome) {
        self.under_way.set(self.under_way.get() - 1);
        self.ended.set(self.ended.get() + outcome.traffic);
    }

    /// Takes the traffic of what has ended; it is counted anew from here.
    fn take(&self) -> Traffic {
        self.ended.take()
    }

    /// How many requests were dropped while they waited for their reply.
    fn abandon(&self) -> u32 {
        self.under_way.take()
    }
}

/// Calls one after another, and when they are tried again.
#[derive(Debug)]
struct Operation {
    steps: Vec<Step>,
    retry: RetryPolicy,
}

#[derive(Debug)]
enum Step {
    Composite(Box<Composite>),
    Single(Single),
}

/// A step that has one request under way at a time.
#[derive(Debug)]
enum Single {
    Request(Box<Letter>),
    Pages(Box<Pages>),
    Wait { duration: Duration, weight: u64 },
}

impl Operation {
    fn new(calls: &[Call], retry: RetryPolicy, to: Destination<'_>) -> Result<Self, DriveError> {
        let alone = u64::from(calls.len() == 1);
        let step = |call: &Call| {
            Ok(match call {
                Call::Request(request) => Step::Single(Single::Request(Box::new(Letter::new(request, to)?))),
                Call::Pages(pages) => Step::Single(Single::Pages(Box::new(Pages::new(pages, to)?))),
                Call::Wait { seconds } => {
                    let duration = Duration::from_secs_f64(*seconds);
                    Step::Single(Single::Wait { duration, weight: alone })
                }
                Call::Composite(composite) => Step::Composite(Box::new(Composite::new(composite, to)?)),
            })
        };
        let steps: Result<Vec<_>, DriveError> = calls.iter().map(step).collect();
        Ok(Self { steps: steps?, retry })
    }

    async fn run(&mut self, run: &Run<'_>) -> Option<Outcome> {
        let mut retries = 0;
        let mut first_sent = None;
        let mut traffic = Traffic::default();
        loop {
            let outcome = self.attempt(run).await?;
            let first_sent = *first_sent.get_or_insert(outcome.first_sent);
            traffic += outcome.traffic;
            let again = self.retry.until_success || u64::from(retries) < self.retry.retries;
            if !(again && self.may_retry(&outcome)) {
                return Some(Outcome { first_sent, retries, traffic, ..outcome });
            }
            pause(Duration::from_secs_f64(self.retry.wait_s), run.cancellation).await?;
            retries += 1;
        }
    }

    fn may_retry(&self, outcome: &Outcome) -> bool {
        match outcome.result.class {
            ErrorClass::Connect | ErrorClass::Tls | ErrorClass::Reset | ErrorClass::Timeout => {
                self.retry.on_timeout
            }
            ErrorClass::HttpStatus => outcome.status == 408 && self.retry.on_timeout,
            ErrorClass::Condition => self.retry.on_unsuccess || self.retry.until_success,
            _ => false,
        }
    }

    /// All steps once; the first failure ends the attempt.
    async fn attempt(&mut self, run: &Run<'_>) -> Option<Outcome> {
        let mut whole: Option<Outcome> = None;
        for step in &mut self.steps {
            let outcome = step.run(run).await?;
            let failed = !outcome.result.is_success();
            whole = Some(match whole {
                None => outcome,
                Some(before) => before.join(outcome),
            });
            if failed {
                // Work of an operation that failed is no work, even where its first requests succeeded.
                return whole.map(Outcome::without_work);
            }
        }
        whole
    }
}

impl Step {
    async fn run(&mut self, run: &Run<'_>) -> Option<Outcome> {
        let single = match self {
            Self::Composite(composite) => return Box::pin(composite.send(run)).await,
            Self::Single(single) => single,
        };
        let permit = match run.limit {
            Some(limit) => limit.acquire().await.ok(),
            None => None,
        };
        let outcome = match single {
            // It needs no connection: one more would be opened for the next request.
            Single::Wait { duration, weight } => wait(*duration, *weight, run.cancellation).await,
            Single::Request(letter) => {
                let mut link = run.links.acquire();
                let outcome = letter.send(&mut link, run).await;
                run.links.release(link);
                outcome
            }
            Single::Pages(pages) => {
                let mut link = run.links.acquire();
                let outcome = Box::pin(pages.send(&mut link, run)).await;
                run.links.release(link);
                outcome
            }
        };
        drop(permit);
        outcome
    }
}

/// Waits, which is an operation too.
async fn wait(duration: Duration, weight: u64, cancellation: &Cancellation<'_>) -> Option<Outcome> {
    let sent = Instant::now();
    pause(duration, cancellation).await?;
    Some(Outcome { first_sent: sent, sent, result: ReplyOutcome::success(weight, -1), ..Outcome::nothing() })
}

/// Waits between two requests; `None` when the race or the step ends meanwhile.
async fn pause(duration: Duration, cancellation: &Cancellation<'_>) -> Option<()> {
    cancellation.until_cancelled(tokio::time::sleep(duration)).await
}

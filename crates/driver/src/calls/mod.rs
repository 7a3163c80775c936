//! Carrying out calls: what an operation does beside posting documents.
//!
//! [`Prepared`] is made once, off the clock, and carried out as often as the operation is due. All calls of an operation
//! run on the client's thread; what runs beside one another there is nothing but several replies waited for.
//!
//! | file | holds |
//! | --- | --- |
//! | `letter.rs` | one request: head and body ready to be sent |

mod letter;

use std::time::{Duration, Instant};

use pacenote_plan::{Call, Retry, Target};
use pacenote_record::ErrorClass;

use crate::alarm::unless_stopped;
use crate::drive::Desk;
use crate::error::DriveError;
use crate::link::{Link, Links};
use crate::outcome::{Outcome, Verdict};

use letter::Letter;

/// Where an operation goes.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// The cluster.
    pub target: &'a Target,
    /// Which of its hosts; the [`Links`] that the operation is carried out with lead there.
    pub host: usize,
    /// The task, for messages.
    pub task: &'a str,
}

/// An operation, ready to be carried out any number of times.
#[derive(Debug)]
pub struct Prepared {
    operation: Operation,
}

impl Prepared {
    /// Prepares calls for one host.
    ///
    /// # Errors
    ///
    /// When a request cannot be written as HTTP, or pages cannot be asked for.
    pub fn new(calls: &[Call], retry: Retry, to: Destination<'_>) -> Result<Self, DriveError> {
        Ok(Self { operation: Operation::new(calls, retry, to)? })
    }

    /// Carries the operation out, with all attempts that its retry rule asks for; `None` when it was cut short while
    /// it waited.
    pub async fn execute(&mut self, links: &Links, desk: &Desk<'_>) -> Option<Outcome> {
        self.operation.run(&Run { links, desk }).await
    }
}

/// What the steps of an operation share while it is carried out.
#[derive(Debug, Clone, Copy)]
struct Run<'a> {
    links: &'a Links,
    desk: &'a Desk<'a>,
}

/// Calls one after another, and when they are tried again.
#[derive(Debug)]
struct Operation {
    steps: Vec<Step>,
    retry: Retry,
}

#[derive(Debug)]
enum Step {
    Request(Box<Letter>),
    Wait { duration: Duration, weight: u64 },
}

impl Operation {
    fn new(calls: &[Call], retry: Retry, to: Destination<'_>) -> Result<Self, DriveError> {
        let alone = u64::from(calls.len() == 1);
        let step = |call: &Call| {
            Ok(match call {
                Call::Request(request) => Step::Request(Box::new(Letter::new(request, to)?)),
                Call::Wait { seconds } => {
                    Step::Wait { duration: Duration::from_secs_f64(*seconds), weight: alone }
                }
                _ => return Err(DriveError::Unsupported("only single requests can be sent".into())),
            })
        };
        let steps: Result<Vec<_>, DriveError> = calls.iter().map(step).collect();
        Ok(Self { steps: steps?, retry })
    }

    async fn run(&mut self, run: &Run<'_>) -> Option<Outcome> {
        let mut retries = 0;
        let mut first_sent = None;
        let (mut requests, mut bytes_out, mut bytes_in) = (0, 0, 0);
        loop {
            let outcome = self.attempt(run).await?;
            let first_sent = *first_sent.get_or_insert(outcome.first_sent);
            requests += outcome.requests;
            bytes_out += outcome.bytes_out;
            bytes_in += outcome.bytes_in;
            let again = self.retry.until_success || u64::from(retries) < self.retry.retries;
            if !(again && self.may_retry(&outcome)) {
                return Some(Outcome { first_sent, requests, retries, bytes_out, bytes_in, ..outcome });
            }
            pause(Duration::from_secs_f64(self.retry.wait_s), run.desk).await?;
            retries += 1;
        }
    }

    fn may_retry(&self, outcome: &Outcome) -> bool {
        match outcome.verdict.class {
            ErrorClass::Connect | ErrorClass::Reset | ErrorClass::Timeout => self.retry.on_timeout,
            ErrorClass::HttpStatus => outcome.status == 408 && self.retry.on_timeout,
            ErrorClass::Condition => self.retry.on_unsuccess || self.retry.until_success,
            _ => false,
        }
    }

    /// All steps once; the first failure ends the attempt.
    async fn attempt(&mut self, run: &Run<'_>) -> Option<Outcome> {
        let mut whole: Option<Outcome> = None;
        for step in &mut self.steps {
            let mut link = run.links.take();
            let outcome = step.run(&mut link, run).await;
            run.links.give_back(link);
            let outcome = outcome?;
            let failed = !outcome.verdict.is_success();
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
    async fn run(&mut self, link: &mut Link, run: &Run<'_>) -> Option<Outcome> {
        match self {
            Self::Request(letter) => letter.send(link, run).await,
            Self::Wait { duration, weight } => wait(*duration, *weight, run.desk).await,
        }
    }
}

/// Waits, which is an operation too.
async fn wait(duration: Duration, weight: u64, desk: &Desk<'_>) -> Option<Outcome> {
    let sent = Instant::now();
    pause(duration, desk).await?;
    Some(Outcome { first_sent: sent, sent, verdict: Verdict::success(weight, -1), ..Outcome::nothing() })
}

/// Waits between two requests; `None` when the race or the step ends meanwhile.
async fn pause(duration: Duration, desk: &Desk<'_>) -> Option<()> {
    unless_stopped(tokio::time::sleep(duration), desk.waker, || desk.stopped().is_some()).await
}

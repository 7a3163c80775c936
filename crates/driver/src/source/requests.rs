//! Prepared requests, one after another, tried again as the operation's retry rule says.

use std::time::Duration;

use pacenote_plan::{Plan, Request, Retry, Task};
use pacenote_record::ErrorClass;

use crate::alarm::unless_stopped;
use crate::drive::Desk;
use crate::error::DriveError;
use crate::http::Head;
use crate::judge::judge;
use crate::link::Link;
use crate::outcome::Outcome;

/// The requests of one operation, for one host.
#[derive(Debug)]
pub struct RequestSource {
    requests: Vec<Prepared>,
    retry: Retry,
}

#[derive(Debug)]
struct Prepared {
    request: Request,
    head: Head,
    timeout: Duration,
}

impl RequestSource {
    /// Prepares the requests for host number `host`.
    ///
    /// # Errors
    ///
    /// When a request cannot be written as HTTP.
    pub fn new(plan: &Plan, task: &Task, work: (&[Request], Retry), host: usize) -> Result<Self, DriveError> {
        let (requests, retry) = work;
        let prepare = |request: &Request| {
            let headers = plan.target.headers.iter().chain(&request.headers);
            let head = Head::new(&plan.target.hosts[host], &request.method, &request.path, headers)
                .map_err(|source| DriveError::Request { task: task.name.clone(), source })?;
            let timeout = Duration::from_millis(request.timeout_ms.unwrap_or(plan.target.timeout_ms));
            Ok(Prepared { request: request.clone(), head, timeout })
        };
        let requests: Result<Vec<_>, DriveError> = requests.iter().map(prepare).collect();
        Ok(Self { requests: requests?, retry })
    }

    /// Carries the operation out, with all attempts that its retry rule asks for; `None` when it was cut short while
    /// it waited.
    pub async fn execute(&mut self, link: &mut Link, desk: &Desk<'_>) -> Option<Outcome> {
        let mut retries = 0;
        let mut first_sent = None;
        let (mut requests, mut bytes_out, mut bytes_in) = (0, 0, 0);
        loop {
            let outcome = self.attempt(link, desk).await?;
            let first_sent = *first_sent.get_or_insert(outcome.first_sent);
            requests += outcome.requests;
            bytes_out += outcome.bytes_out;
            bytes_in += outcome.bytes_in;
            let again = self.retry.until_success || u64::from(retries) < self.retry.retries;
            if !(again && self.may_retry(&outcome)) {
                return Some(Outcome { first_sent, requests, retries, bytes_out, bytes_in, ..outcome });
            }
            pause(self.retry.wait_s, desk).await?;
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

    /// All requests once; the first failure ends the attempt.
    async fn attempt(&mut self, link: &mut Link, desk: &Desk<'_>) -> Option<Outcome> {
        let mut whole: Option<Outcome> = None;
        for prepared in &mut self.requests {
            let outcome = prepared.send(link, desk).await?;
            let failed = !outcome.verdict.is_success();
            whole = Some(match whole {
                None => outcome,
                Some(before) => join(&before, outcome),
            });
            if failed {
                // Work of an operation that failed is no work, even where its first requests succeeded.
                return whole.map(Outcome::without_work);
            }
        }
        whole
    }
}

impl Prepared {
    /// Sends the request, again and again if it polls.
    async fn send(&mut self, link: &mut Link, desk: &Desk<'_>) -> Option<Outcome> {
        let Self { request, head, timeout } = self;
        let body = request.body.as_deref().unwrap_or_default().as_bytes();
        let mut whole: Option<Outcome> = None;
        loop {
            let outcome =
                link.call(head, body, *timeout, |status, reply| judge(request, status, reply)).await;
            let unmet = outcome.verdict.class == ErrorClass::Condition;
            let joined = match whole.take() {
                None => outcome,
                Some(before) => join(&before, outcome),
            };
            let Some(poll) = request.poll.filter(|_| unmet) else { return Some(joined) };
            pause(poll.every_s, desk).await?;
            whole = Some(joined);
        }
    }
}

/// Two parts of one operation, one after another. A poll's earlier answers are no failures.
fn join(before: &Outcome, after: Outcome) -> Outcome {
    let mut verdict = after.verdict;
    verdict.accepted += before.verdict.accepted;
    verdict.rejected += before.verdict.rejected;
    Outcome {
        first_sent: before.first_sent,
        sent: before.sent,
        done: after.done,
        verdict,
        status: after.status,
        requests: before.requests + after.requests,
        retries: 0,
        bytes_out: before.bytes_out + after.bytes_out,
        bytes_in: before.bytes_in + after.bytes_in,
    }
}

/// Waits between two requests; `None` when the race or the step ends meanwhile.
async fn pause(seconds: f64, desk: &Desk<'_>) -> Option<()> {
    let wait = tokio::time::sleep(Duration::from_secs_f64(seconds));
    unless_stopped(wait, desk.waker, || desk.stopped().is_some()).await
}

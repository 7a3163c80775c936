//! One request: head and body ready to be sent.

use std::time::Duration;

use pacenote_plan::Request;
use pacenote_record::ErrorClass;

use super::{Destination, Run, pause};
use crate::error::DriveError;
use crate::http::Head;
use crate::judge::judge;
use crate::link::Link;
use crate::outcome::Outcome;

/// A request for one host.
#[derive(Debug)]
pub struct Letter {
    request: Request,
    head: Head,
    timeout: Duration,
}

impl Letter {
    /// Prepares a request.
    ///
    /// # Errors
    ///
    /// When it cannot be written as HTTP.
    pub fn new(request: &Request, to: Destination<'_>) -> Result<Self, DriveError> {
        let Destination { target, host, task } = to;
        let headers = target.headers.iter().chain(&request.headers);
        let head = Head::new(&target.hosts[host], &request.method, &request.path, headers)
            .map_err(|source| DriveError::Request { task: task.to_owned(), source })?;
        let timeout = Duration::from_millis(request.timeout_ms.unwrap_or(target.timeout_ms));
        Ok(Self { request: request.clone(), head, timeout })
    }

    /// Sends the request, again and again if it polls.
    pub async fn send(&mut self, link: &mut Link, run: &Run<'_>) -> Option<Outcome> {
        let Self { request, head, timeout } = self;
        let body = request.body.as_deref().unwrap_or_default().as_bytes();
        let mut whole: Option<Outcome> = None;
        loop {
            let outcome =
                link.call(head, body, *timeout, |status, reply| judge(request, status, reply)).await;
            let unmet = outcome.verdict.class == ErrorClass::Condition;
            let joined = match whole.take() {
                None => outcome,
                Some(before) => before.join(outcome),
            };
            let Some(poll) = request.poll.filter(|_| unmet) else { return Some(joined) };
            pause(Duration::from_secs_f64(poll.every_s), run.desk).await?;
            whole = Some(joined);
        }
    }
}

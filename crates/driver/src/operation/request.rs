//! A request of a call sequence: its template, and how its response is checked.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use pacenote_plan::{Check, Placeholder, Request};
use pacenote_record::{Details, ErrorClass};

use super::busy_replies::BusyReplies;
use super::captures::{Captured, Captures, too_long};
use super::context::{Destination, Execution};
use super::outcome::OperationOutcome;
use super::prepared::{PreparedRequest, RequestSpec};
use super::template::{BodyTemplate, Values};
use super::wait::sleep_before_retry;
use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::response::body::{invalid_json, is_2xx};
use crate::response::check::{check_response, failed_assertion, failed_assertion_of_details};
use crate::response::details::ResponseDetails;
use crate::response::json_scan::{
    InvalidJson, first_value_in_slices, parse_first, scalar, value_at_path_in_slices,
};
use crate::response::outcome::WorkOutcome;
use crate::response::selection::asks_for_other_format;
use crate::slices::Slices;
use crate::transport::exchange::ResponseView;
use crate::transport::http::RequestHead;
use crate::transport::pool::ConnectionPool;
use crate::units::nanos_since;

/// A request with the policy for its response.
#[derive(Debug)]
pub struct CheckedRequest {
    /// The request to send.
    pub template: RequestTemplate,
    /// How the response is checked.
    pub policy: ResponsePolicy,
}

/// A request whose path and body may have gaps for values from earlier responses.
#[derive(Debug)]
pub struct RequestTemplate {
    request: PreparedRequest<BodyTemplate>,
    /// The head for each host, with the placeholder in its path, if there is one.
    head_templates: Option<Box<[RequestHead]>>,
}

/// Determines how a response is checked, and when the request is sent again.
#[derive(Debug)]
pub struct ResponsePolicy {
    /// The request as planned, without its body.
    pub request: Request,
    /// Whether the response is read not only by its check, but also for assertions, a capture or details.
    inspects_body: bool,
}

/// An error from filling the gaps of a request.
pub enum FillError {
    /// The earlier response lacked the value, or there was none, so there is nothing to send. This is not a failure.
    NothingToDo,
    /// A value is missing, for this reason.
    Missing(String),
}

impl CheckedRequest {
    /// Prepares a request.
    ///
    /// # Errors
    ///
    /// If it cannot be written as HTTP.
    pub fn new(request: &Request, to: Destination<'_>) -> Result<Self, DriveError> {
        let mut request = request.clone();
        let body = BodyTemplate::new(request.body.take().unwrap_or_default());
        let spec = RequestSpec {
            method: &request.method,
            path: &request.path,
            headers: request.headers.iter(),
            has_body: !body.is_empty(),
            timeout: request.timeout_ms.map(Duration::from_millis),
        };
        let mut template = RequestTemplate::new(spec, body, to)?;
        if let Some(placeholder) = &request.placeholder {
            template.body_mut().add_captured(&placeholder.marker);
            if request.path.contains(&placeholder.marker) {
                template.head_templates = Some(template.request.heads().into());
            }
        }
        let inspects_body =
            !request.assertions.is_empty() || request.capture.is_some() || request.details.is_some();
        if asks_for_other_format(&request.path, to.target.headers.iter().chain(&request.headers)) {
            check_status_only(&mut request.check);
        }
        Ok(Self { template, policy: ResponsePolicy { request, inspects_body } })
    }

    /// Returns whether the request is sent only once, has no gaps, and has an outcome that depends only on its check.
    pub fn is_plain(&self) -> bool {
        let Request { poll, placeholder, .. } = &self.policy.request;
        poll.is_none() && placeholder.is_none() && !self.policy.inspects_body
    }

    /// Sends a plain request.
    pub fn send_plain(&mut self, connections: &ConnectionPool) -> impl Future<Output = OperationOutcome> {
        let Self { template, policy } = self;
        let policy = &*policy;
        let check = async move |response: ResponseView<'_>| {
            check_response(&policy.request, response.status, response.body).await
        };
        // The future is returned instead of awaited in an enclosing future, which would copy the outcome.
        template.request.send(connections, check)
    }

    /// Sends the request, repeatedly if it polls. Returns `None` if the race or the step ends while it waits.
    pub async fn send(&mut self, execution: &Execution<'_>) -> Option<OperationOutcome> {
        let Self { template, policy } = self;
        if let Some(placeholder) = &policy.request.placeholder
            && let Err(error) =
                template.fill(Some(placeholder), &execution.captures.borrow(), Values::default())
        {
            return Some(error.outcome());
        }
        template.send_and_poll(policy, execution, async |_| None).await
    }

    /// Sends the request once, if it cleans up what an earlier request left behind. Returns when
    /// it ended, or `None` if there is nothing to clean up.
    pub async fn clean_up(&mut self, execution: &Execution<'_>) -> Option<Instant> {
        let Self { template, policy: ResponsePolicy { request, .. } } = self;
        let placeholder = request.placeholder.as_ref();
        if !request.cleanup
            || template.fill(placeholder, &execution.captures.borrow(), Values::default()).is_err()
        {
            return None;
        }
        Some(template.send_clean_up(execution).await.freed)
    }
}

/// Replaces a check that only recognizes partial results and errors, for a response that is not JSON, by its status. Checks
/// without which nothing is known of the result are kept, and fail.
fn check_status_only(check: &mut Check) {
    if matches!(
        check,
        Check::NoError {}
            | Check::Esql {}
            | Check::Acknowledged {}
            | Check::Shards { .. }
            | Check::SubmittedSearch {}
    ) {
        *check = Check::Status {};
    }
}

impl RequestTemplate {
    /// Prepares heads and body of a request.
    ///
    /// # Errors
    ///
    /// If it cannot be written as HTTP.
    pub fn new<'a>(
        spec: RequestSpec<'_, impl Iterator<Item = &'a (String, String)> + Clone>,
        body: BodyTemplate,
        to: Destination<'a>,
    ) -> Result<Self, DriveError> {
        let mut request = PreparedRequest::new(spec, body, to).map_err(|error| to.head_error(error))?;
        request.compress().map_err(|error| to.calls_error(error.to_string()))?;
        Ok(Self { request, head_templates: None })
    }

    /// Returns the body, to which gaps can be added.
    pub fn body_mut(&mut self) -> &mut BodyTemplate {
        self.request.body_mut()
    }

    /// Fills the gaps.
    ///
    /// # Errors
    ///
    /// If a captured value is missing.
    pub fn fill(
        &mut self,
        placeholder: Option<&Placeholder>,
        captures: &Captures,
        values: Values<'_>,
    ) -> Result<(), FillError> {
        let value = match placeholder {
            None => "",
            Some(placeholder) => self.captured(placeholder, captures)?,
        };
        if let Some((templates, placeholder)) = self.head_templates.as_ref().zip(placeholder) {
            self.request.fill_heads(templates, &placeholder.marker, value);
        }
        let body = self.request.body_mut();
        body.fill(Values { captured: value, ..values });
        if body.has_gaps() {
            self.request.compress().map_err(|error| FillError::Missing(error.to_string()))?;
        }
        Ok(())
    }

    /// Returns the captured value that replaces a placeholder.
    fn captured<'a>(&self, placeholder: &Placeholder, captures: &'a Captures) -> Result<&'a str, FillError> {
        let name = &placeholder.name;
        match captures.get(name) {
            Captured::Value(value) => Ok(value),
            // If a search completed without returning an id, there is no result to get or delete.
            Captured::Missing if placeholder.optional && self.head_templates.is_some() => {
                Err(FillError::NothingToDo)
            }
            // The gap of an empty value keeps its text.
            Captured::Missing if placeholder.optional => Ok(""),
            Captured::Unknown if placeholder.optional && self.head_templates.is_none() => {
                Err(FillError::NothingToDo)
            }
            Captured::Missing => Err(FillError::Missing(format!("the response had no id for {name}"))),
            Captured::Unknown => {
                Err(FillError::Missing(format!("no earlier request of this operation captures {name}")))
            }
        }
    }

    /// Sends the request, repeatedly if `policy` polls. `inspect` is called with each successful response, and may
    /// return a failure. Returns `None` if the race or the step ends while it waits.
    pub async fn send_and_poll(
        &mut self,
        policy: &ResponsePolicy,
        execution: &Execution<'_>,
        mut inspect: impl AsyncFnMut(&[u8]) -> Option<WorkOutcome>,
    ) -> Option<OperationOutcome> {
        let mut so_far: Option<OperationOutcome> = None;
        let mut busy_replies = BusyReplies::default();
        loop {
            let mut details = None;
            let check = async |ResponseView { status, body, .. }: ResponseView<'_>| {
                let result = check_response(&policy.request, status, body).await;
                details = policy.details(status, body);
                if !(result.is_success() && is_2xx(status)) {
                    return result;
                }
                let failed = match inspect(body).await {
                    Some(failure) => Some(failure),
                    None => policy.inspect(execution.captures, body, details.as_deref()).await,
                };
                failed.map_or(result, |failure| failure.with_status(status))
            };
            execution.traffic.request_started();
            let mut outcome = self.request.send(execution.connections, check).await;
            execution.traffic.request_ended(&outcome);
            outcome.details = details;
            let result = &outcome.result;
            let unmet = result.error_class == ErrorClass::Condition && !result.is_final;
            let is_ignored = busy_replies.ignores(&outcome);
            let mut outcome = match so_far.take() {
                None => outcome,
                Some(before) => before.followed_by(outcome),
            };
            let Some(poll) = policy.request.poll else { return Some(outcome) };
            if !(unmet || is_ignored) {
                // Its calls are not tried again because of busy replies: the request already was.
                outcome.result.is_final |= outcome.has_failed();
                return Some(outcome);
            }
            let end = policy.polling_end(execution.cancellation);
            if !sleep_before_retry(Duration::from_secs_f64(poll.every_s), end, execution.cancellation).await?
            {
                return Some(outcome);
            }
            so_far = Some(outcome);
        }
    }

    /// Sends the request once, to clean up after an operation, and counts it with its outcome.
    pub async fn send_clean_up(&mut self, execution: &Execution<'_>) -> OperationOutcome {
        let check = async |response: ResponseView<'_>| {
            if is_2xx(response.status) {
                WorkOutcome::success(0)
            } else {
                WorkOutcome::failure(ErrorClass::HttpStatus, String::new())
            }
        };
        execution.traffic.request_started();
        let outcome = self.request.send(execution.connections, check).await;
        execution.traffic.request_ended(&outcome);
        count_clean_up(&outcome, execution);
        outcome
    }
}

/// Counts a request that cleaned up. What does not exist any more, with status 404, needs no cleaning up.
pub fn count_clean_up(outcome: &OperationOutcome, execution: &Execution<'_>) {
    let class = if outcome.status == 404 { ErrorClass::None } else { outcome.result.error_class };
    execution.connections.count_clean_up(class, nanos_since(outcome.first_sent, outcome.done));
}

impl ResponsePolicy {
    /// Returns when polling ends although the check does not hold: as long after the end of the task as the response to
    /// the last of its requests may take. What the request asks about began before, like such a response.
    fn polling_end(&self, cancellation: &Cancellation<'_>) -> Option<Instant> {
        cancellation.task_end?.checked_add(self.timeout(cancellation))
    }

    /// Returns whether, at `now`, an operation of several requests must send no more of them: whatever has ended its
    /// task was longer ago than the response to the last of its requests may take.
    pub fn is_over(&self, now: Instant, cancellation: &Cancellation<'_>) -> bool {
        let stopped = cancellation.stop_reason().and_then(|_| cancellation.stopped_at());
        let ended = [cancellation.task_end, stopped].into_iter().flatten().min();
        let end = ended.and_then(|ended| ended.checked_add(self.timeout(cancellation)));
        end.is_some_and(|end| now >= end)
    }

    /// Returns the timeout of the request.
    fn timeout(&self, cancellation: &Cancellation<'_>) -> Duration {
        let planned_ms = self.request.timeout_ms;
        Duration::from_millis(planned_ms.unwrap_or(cancellation.step.plan().target.timeout_ms))
    }

    /// Returns the details of a response, if the track asks for them. A response with an error has none.
    fn details(&self, status: u16, body: &[u8]) -> Option<Box<dyn Details>> {
        let kind = self.request.details.filter(|_| is_2xx(status))?;
        Some(Box::new(ResponseDetails::new(kind, body)))
    }

    /// Captures a value of a successful response, and returns the failure of the first assertion that does not hold.
    async fn inspect(
        &self,
        captures: &RefCell<Captures>,
        body: &[u8],
        details: Option<&dyn Details>,
    ) -> Option<WorkOutcome> {
        if !self.inspects_body {
            return None;
        }
        if let Some(capture) = &self.request.capture {
            match captured_value(body, &capture.path).await {
                Ok(Ok(value)) => captures.borrow_mut().set(&capture.name, value),
                Ok(Err(failure)) => return Some(failure),
                Err(InvalidJson) => return Some(invalid_json(0, body)),
            }
        }
        match failed_assertion(&self.request.assertions, body).await {
            Some(failure) => Some(failure),
            None => self.failed_assertion_of_details(details),
        }
    }

    fn failed_assertion_of_details(&self, details: Option<&dyn Details>) -> Option<WorkOutcome> {
        let assertions = &self.request.assertions;
        if !assertions.iter().any(|assertion| assertion.in_details) {
            return None;
        }
        let text = details.and_then(Details::to_json);
        let details = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        failed_assertion_of_details(assertions, &details)
    }
}

/// Returns the text at a path of a response, `None` if it has none or the value is not text, or the failure of a
/// response whose text is too long.
async fn captured_value(body: &[u8], path: &str) -> Result<Result<Option<String>, WorkOutcome>, InvalidJson> {
    let mut slices = Slices::default();
    let Some(text) = value_at_path_in_slices(body, path.split('.'), &mut slices).await? else {
        return Ok(Ok(None));
    };
    if !text.starts_with(b"\"") {
        return scalar(text).map(|_| Ok(None));
    }
    match too_long(path, first_value_in_slices(text, &mut slices).await?) {
        Some(failure) => Ok(Err(failure)),
        None => parse_first(text).map(|text| Ok(Some(text))),
    }
}

impl FillError {
    /// Returns the outcome of a request that is not sent.
    pub fn outcome(self) -> OperationOutcome {
        match self {
            Self::NothingToDo => OperationOutcome::nothing(),
            Self::Missing(reason) => OperationOutcome::unsendable(reason),
        }
    }
}

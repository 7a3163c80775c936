//! Values passed between Python and the driver, except events.

use std::time::Duration;

use pacenote_record::{Details, ErrorClass};

use crate::operation::outcome::OperationOutcome;
use crate::response::details::RunnerDetails;
use crate::response::outcome::WorkOutcome;

/// The reason recorded for a failure if the runner returned none.
const UNSPECIFIED: &str = "the runner reported a failure without a reason";

/// The reason for an operation that had not ended when the race or its step did.
const INTERRUPTED: &str = "the race or its step ended while the operation waited";

/// Error classes that a runner may return.
const RUNNER_CLASSES: [ErrorClass; 13] = [
    ErrorClass::Connect,
    ErrorClass::Tls,
    ErrorClass::Reset,
    ErrorClass::Timeout,
    ErrorClass::Protocol,
    ErrorClass::HttpStatus,
    ErrorClass::BulkItem,
    ErrorClass::ShardFailure,
    ErrorClass::SearchTimeout,
    ErrorClass::Condition,
    ErrorClass::Partial,
    ErrorClass::Assertion,
    ErrorClass::Plugin,
];

/// An HTTP request of a runner.
#[derive(Debug, Clone)]
pub struct RunnerRequest {
    /// HTTP method, such as `GET`.
    pub method: String,
    /// Path and query string.
    pub target: String,
    /// Headers sent in addition to the cluster's headers. If both contain a header, the request's value is sent.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// Timeout of the request, or `None` for the plan's timeout.
    pub timeout: Option<Duration>,
}

/// The value that a runner returned for one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerResult {
    /// Work done.
    pub weight: u64,
    /// Work that failed.
    pub failed_weight: u64,
    /// Unit of the work.
    pub unit: String,
    /// Whether the operation succeeded.
    pub success: bool,
    /// Whether it was the client's last operation.
    pub last: bool,
    /// The failure, if the runner returned one.
    pub failure: Option<RunnerFailure>,
    /// How long the operation waited for its parameter source.
    pub source_wait: Duration,
    /// The details that the runner returned, as the text of a JSON object.
    pub details: Option<String>,
}

/// The failure of one operation, as passed between runners and the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerFailure {
    /// The error class.
    pub class: ErrorClass,
    /// The engine's error type, or the name of the exception.
    pub error_type: String,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// The engine's or the exception's message.
    pub reason: String,
}

/// Result of an operation that the driver executed on behalf of a runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionResult {
    /// Whether it succeeded.
    pub success: bool,
    /// Work done.
    pub weight: u64,
    /// HTTP status of the last response, 0 if there was none.
    pub status: u16,
    /// The duration that the engine reports, in milliseconds, or `None` if it reports none.
    pub took_ms: Option<u64>,
    /// The failure, if it failed.
    pub failure: Option<RunnerFailure>,
    /// The details of its responses, as the text of a JSON object, if the runner asked for them.
    pub details: Option<String>,
}

impl RunnerFailure {
    /// Returns the error class with this name, or `None` if runners cannot use it.
    #[must_use]
    pub fn class_of(name: &str) -> Option<ErrorClass> {
        RUNNER_CLASSES.into_iter().find(|class| class.name() == name)
    }
}

impl RunnerResult {
    /// Takes the details for the sample of the operation.
    pub(crate) fn take_details(&mut self) -> Option<Box<dyn Details>> {
        self.details.take().map(|text| Box::new(RunnerDetails(text)) as Box<dyn Details>)
    }

    /// Converts the result to the outcome that is recorded for the operation.
    pub(crate) fn outcome(&self) -> WorkOutcome {
        if self.success {
            return WorkOutcome::success(self.weight);
        }
        let outcome = match &self.failure {
            Some(failure) => {
                let status = failure.status.unwrap_or(0);
                WorkOutcome::failure(failure.class, failure.reason.clone())
                    .with_status(status)
                    .with_error_type(&failure.error_type)
            }
            None => WorkOutcome::failure(ErrorClass::Condition, UNSPECIFIED.into()),
        };
        WorkOutcome { weight: self.weight, failed_weight: self.failed_weight, ..outcome }
    }
}

impl ExecutionResult {
    /// Creates the result of an operation. An outcome of `None` means that the operation was interrupted.
    pub(crate) fn new(outcome: Option<&OperationOutcome>) -> Self {
        let Some(outcome) = outcome else { return Self::interrupted() };
        let result = &outcome.result;
        let first = result.failures.first();
        let status = first.map_or(outcome.status, |failure| failure.status);
        let failure = (!result.is_success()).then(|| RunnerFailure {
            class: result.error_class,
            error_type: first.map_or_else(String::new, |failure| failure.error_type.clone()),
            status: (status > 0).then_some(status),
            reason: first.map_or_else(String::new, |failure| failure.reason.clone()),
        });
        Self {
            success: result.is_success(),
            weight: result.weight,
            status: outcome.status,
            took_ms: result.took_ms,
            failure,
            details: outcome.details.as_ref().and_then(|details| details.to_json()),
        }
    }

    fn interrupted() -> Self {
        let failure = RunnerFailure {
            class: ErrorClass::Condition,
            error_type: String::new(),
            status: None,
            reason: INTERRUPTED.into(),
        };
        Self { success: false, weight: 0, status: 0, took_ms: None, failure: Some(failure), details: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_operation_keeps_its_class_and_counts_what_it_has_done() {
        let failure = RunnerFailure {
            class: RunnerFailure::class_of("http-status").unwrap(),
            error_type: "rejected".into(),
            status: Some(429),
            reason: "queue is full".into(),
        };
        let result = RunnerResult {
            weight: 7,
            failed_weight: 3,
            unit: "docs".into(),
            success: false,
            last: false,
            failure: Some(failure),
            source_wait: Duration::ZERO,
            details: None,
        };
        let outcome = result.outcome();
        assert_eq!(
            (outcome.error_class, outcome.weight, outcome.failed_weight),
            (ErrorClass::HttpStatus, 7, 3)
        );
        assert_eq!((outcome.failures[0].status, outcome.failures[0].error_type.as_str()), (429, "rejected"));
        assert_eq!(RunnerFailure::class_of("bad luck"), None);
        let unreachable = ["connect", "tls", "reset"]
            .map(|name| RunnerFailure::class_of(name).is_some_and(ErrorClass::is_unreachable));
        assert_eq!(unreachable, [true, true, false]);
    }
}

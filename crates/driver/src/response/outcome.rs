//! Whether an operation or one of its requests succeeded, how much work it did, and why it failed.

use pacenote_record::{ErrorClass, Failure, FailureUnit};

/// Maximum length of the description of a failure; an engine may quote a whole query.
const MAX_CHARACTERS: usize = 300;

/// The success or failure of an operation or of one of its requests, and the work that it did: the result of checking a
/// response, or of a failure to get one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkOutcome {
    /// [`ErrorClass::None`] for a success.
    pub error_class: ErrorClass,
    /// Units of work that succeeded: the documents of a bulk, or the weight of any other request.
    pub weight: u64,
    /// Units of work that failed.
    pub failed_weight: u64,
    /// The duration that the engine reports, in milliseconds, or `None` if it reports none.
    pub took_ms: Option<u64>,
    /// Reasons for the failure; empty for a success.
    pub failures: Vec<Failure>,
    /// Whether the work that the request asks about has ended, so that the same request would fail again.
    pub is_final: bool,
}

impl WorkOutcome {
    /// Creates a success that did `weight` units of work.
    pub fn success(weight: u64) -> Self {
        Self {
            error_class: ErrorClass::None,
            weight,
            failed_weight: 0,
            took_ms: None,
            failures: Vec::new(),
            is_final: false,
        }
    }

    /// Creates a failure with one reason, without status and error type.
    pub fn failure(error_class: ErrorClass, reason: String) -> Self {
        let unit = FailureUnit::Operations;
        let failure = Failure { error_class, status: 0, error_type: String::new(), reason, unit, count: 1 };
        Self { error_class, failures: vec![failure], ..Self::success(0) }
    }

    /// Returns the same failure, as that of work that has ended.
    pub fn into_final(self) -> Self {
        Self { is_final: true, ..self }
    }

    /// Returns the same result with the duration that the engine reports, in milliseconds.
    pub fn with_took(self, took_ms: Option<u64>) -> Self {
        Self { took_ms, ..self }
    }

    /// Returns the same failure with an HTTP status.
    pub fn with_status(mut self, status: u16) -> Self {
        self.failures.iter_mut().for_each(|failure| failure.status = status);
        self
    }

    /// Returns the same failure with the engine's error type, or the name of an exception.
    pub fn with_error_type(mut self, error_type: &str) -> Self {
        self.failures.iter_mut().for_each(|failure| error_type.clone_into(&mut failure.error_type));
        self
    }

    /// Converts the failure of a whole bulk to that of each of its documents: without a result for each document, it is
    /// unknown whether any of them was indexed.
    pub fn of_documents(mut self, documents: u64) -> Self {
        (self.weight, self.failed_weight) = (0, documents);
        for failure in &mut self.failures {
            (failure.unit, failure.count) = (FailureUnit::Documents, documents);
        }
        self
    }

    /// Returns the first reason for the failure, shortened to 300 characters, with its HTTP status unless
    /// that is a success.
    pub fn describe(&self) -> String {
        let Some(failure) = self.failures.first() else { return self.error_class.name().to_owned() };
        let kind = if failure.error_type.is_empty() { "" } else { ": " };
        let reason = format!("{}{kind}{}", failure.error_type, failure.reason);
        let reason: String = reason.chars().take(MAX_CHARACTERS).collect();
        if failure.status < 300 { reason } else { format!("{reason} (HTTP status {})", failure.status) }
    }

    /// Returns whether all work succeeded.
    pub fn is_success(&self) -> bool {
        self.error_class == ErrorClass::None
    }
}

//! Whether a request succeeded, how much work it did, and why it failed.

use pacenote_record::{ErrorClass, Failure};

/// The result of checking the response to a request, or of a request without a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseOutcome {
    /// [`ErrorClass::None`] for a success.
    pub error_class: ErrorClass,
    /// Units of work that succeeded: documents of a bulk, the weight of any other request.
    pub weight: u64,
    /// Units of work that failed.
    pub failed_weight: u64,
    /// The duration that the engine reports, in milliseconds; -1 if it reports none.
    pub took_ms: i64,
    /// Reasons of the failure; empty for a success.
    pub failures: Vec<Failure>,
}

impl ResponseOutcome {
    /// A success that did `weight` units of work.
    pub fn success(weight: u64, took_ms: i64) -> Self {
        Self { error_class: ErrorClass::None, weight, failed_weight: 0, took_ms, failures: Vec::new() }
    }

    /// A failure with one reason.
    pub fn failure(class: ErrorClass, status: u16, kind: &str, reason: String) -> Self {
        let failure = Failure { status, kind: kind.to_owned(), reason, count: 1 };
        Self { error_class: class, weight: 0, failed_weight: 0, took_ms: -1, failures: vec![failure] }
    }

    /// Whether all work succeeded.
    pub fn is_success(&self) -> bool {
        self.error_class == ErrorClass::None
    }
}

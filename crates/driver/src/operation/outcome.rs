//! The outcome of one operation: its times, its result and its traffic.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use pacenote_record::{Details, ErrorClass, Traffic};
use rustls::AlertDescription;

use crate::response::outcome::WorkOutcome;
use crate::transport::ConnectError;
use crate::transport::exchange::{Exchange, RequestError};
use crate::transport::http::ExchangeError;
use crate::transport::tls_error;

/// The outcome of one operation, from its first request to its last response.
#[derive(Debug)]
pub struct OperationOutcome {
    /// When the first request of the first attempt was sent.
    pub first_sent: Instant,
    /// Start of the service time: when the first request of the last attempt was sent. A bulk whose rejected documents
    /// are sent again is one attempt in this respect.
    pub service_start: Instant,
    /// When the last byte of the last response arrived.
    pub done: Instant,
    /// When the client became free for its next operation. This is later than `done` if the operation cleans up after
    /// it has been timed.
    pub freed: Instant,
    /// Whether the operation succeeded, and how much work it did.
    pub result: WorkOutcome,
    /// HTTP status of the last response, or 0 if there was none.
    pub status: u16,
    /// Number of attempts after the first; for a bulk, how often rejected documents were sent again.
    pub retries: u32,
    /// Requests and bytes of all attempts.
    pub traffic: Traffic,
    /// The sub-operations of a composite, in the order in which they ended.
    pub sub_operations: Vec<SubOperation>,
    /// What is kept with its sample besides the measurements, if the track asks for it.
    pub details: Option<Box<dyn Details>>,
}

/// One operation of a composite.
#[derive(Debug)]
pub struct SubOperation {
    /// Its name and type.
    pub label: Arc<Label>,
    /// Its outcome, which has no sub-operations of its own.
    pub outcome: OperationOutcome,
}

/// Name and type of an operation of a composite.
#[derive(Debug, PartialEq, Eq)]
pub struct Label {
    /// The name, as in the track.
    pub operation: String,
    /// The type, such as `search`.
    pub operation_type: String,
}

impl OperationOutcome {
    /// Returns this outcome without the work that was done.
    pub fn without_work(mut self) -> Self {
        self.result.weight = 0;
        self
    }

    /// Returns the outcome of an operation whose request could not be created.
    pub fn unsendable(reason: String) -> Self {
        Self { result: WorkOutcome::failure(ErrorClass::Protocol, reason), ..Self::nothing() }
    }

    /// Returns the outcome of an operation that sends no request: a success without work.
    pub fn nothing() -> Self {
        let now = Instant::now();
        Self {
            first_sent: now,
            service_start: now,
            done: now,
            freed: now,
            result: WorkOutcome::success(0),
            status: 0,
            retries: 0,
            traffic: Traffic::default(),
            sub_operations: Vec::new(),
            details: None,
        }
    }

    /// Returns whether the operation succeeded without sending a request.
    pub fn sent_nothing(&self) -> bool {
        self.traffic.requests == 0 && !self.has_failed()
    }

    /// Returns whether the operation failed.
    pub fn has_failed(&self) -> bool {
        !self.result.is_success()
    }

    /// Returns this failure with the traffic of a later request that cleans up, which changes neither its result nor
    /// its times.
    pub fn cleaned_up_by(self, cleanup: &Self) -> Self {
        Self { traffic: self.traffic + cleanup.traffic, freed: cleanup.freed, ..self }
    }

    /// Returns the combined outcome of this call and the next one of the same operation. Only `after` determines
    /// whether the operation succeeded, because the earlier responses to a poll are not failures. The details are those
    /// of the last response that has any.
    pub fn followed_by(self, after: Self) -> Self {
        let mut result = after.result;
        result.weight += self.result.weight;
        result.failed_weight += self.result.failed_weight;
        let mut sub_operations = self.sub_operations;
        sub_operations.extend(after.sub_operations);
        Self {
            first_sent: self.first_sent,
            service_start: self.service_start,
            result,
            traffic: self.traffic + after.traffic,
            sub_operations,
            details: after.details.or(self.details),
            ..after
        }
    }
}

impl From<Exchange<WorkOutcome>> for OperationOutcome {
    /// Returns the outcome of an operation that consists of one request.
    fn from(exchange: Exchange<WorkOutcome>) -> Self {
        let Exchange { sent, done, traffic, status, result } = exchange;
        Self {
            first_sent: sent,
            service_start: sent,
            done,
            freed: done,
            result: result.unwrap_or_else(|error| failed_request(&error)),
            status,
            retries: 0,
            traffic,
            sub_operations: Vec::new(),
            details: None,
        }
    }
}

/// Returns the failure of a request that has no response.
fn failed_request(error: &RequestError) -> WorkOutcome {
    let class = match error {
        RequestError::Connect(ConnectError::Tls(_)) => ErrorClass::Tls,
        RequestError::Connect(_) => ErrorClass::Connect,
        RequestError::Exchange(ExchangeError::Io(error)) if tls_error(error).is_some() => {
            let class = if rejects_certificate(error) { ErrorClass::Tls } else { ErrorClass::Reset };
            return WorkOutcome::failure(class, format!("TLS: {error}"));
        }
        RequestError::Exchange(ExchangeError::Timeout(_)) => ErrorClass::Timeout,
        RequestError::Exchange(ExchangeError::Io(_) | ExchangeError::Closed) => ErrorClass::Reset,
        RequestError::Exchange(_) => ErrorClass::Protocol,
    };
    WorkOutcome::failure(class, error.to_string())
}

/// Returns whether the server rejected the client's certificate. With TLS 1.3, the client learns this only after its
/// handshake, and the next request will fail in the same way; any other alert ends one connection.
fn rejects_certificate(error: &io::Error) -> bool {
    use AlertDescription as Alert;
    let Some(rustls::Error::AlertReceived(alert)) = tls_error(error) else { return false };
    matches!(
        alert,
        Alert::NoCertificate
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
            | Alert::DecryptError
            | Alert::HandshakeFailure
            | Alert::CertificateRequired
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_alert_that_rejects_the_certificate_makes_the_host_unreachable() {
        let failure = |alert| {
            let error = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::AlertReceived(alert));
            failed_request(&RequestError::Exchange(ExchangeError::Io(error)))
        };
        for alert in [AlertDescription::CertificateRequired, AlertDescription::UnknownCA] {
            assert!(failure(alert).error_class.is_unreachable(), "{alert:?}");
        }
        let ended = failure(AlertDescription::InternalError);
        assert_eq!(ended.error_class, ErrorClass::Reset);
        assert!(ended.failures[0].reason.starts_with("TLS: "), "{ended:?}");
    }
}

//! A bulk request, whose rejected documents may be sent again.

use pacenote_record::ErrorClass;

use super::bulk_retry::{add_resend, select_documents, subtract_resent};
use super::outcome::OperationOutcome;
use super::prepared::PreparedRequest;
use crate::cancel::Cancellation;
use crate::response::bulk::{SentBulk, check_bulk_response};
use crate::response::outcome::WorkOutcome;
use crate::transport::exchange::ResponseView;
use crate::transport::pool::ConnectionPool;

/// A bulk request and the number of its documents.
#[derive(Debug)]
pub struct BulkRequest<B> {
    request: PreparedRequest<B>,
    sent: SentBulk,
    /// Maximum number of times that documents rejected with status 429 are sent again.
    retries_on_429: u32,
    /// The error if the body could not be compressed.
    compression_error: Option<String>,
    resend_bodies: ResendBodies,
}

/// Buffers for the bodies of resends, kept because resends are timed.
#[derive(Debug, Default)]
struct ResendBodies {
    /// The documents that were sent last.
    current: Vec<u8>,
    /// The documents that are sent next.
    next: Vec<u8>,
}

/// The outcome of sending a bulk request once, or of not being able to send it.
struct BulkSending {
    outcome: OperationOutcome,
    /// Positions of the documents that may be sent again.
    resendable_positions: Vec<usize>,
}

/// Checks the response to a bulk request.
struct BulkCheck {
    sent: SentBulk,
    /// Whether rejected documents may be sent again.
    may_resend: bool,
    /// Positions of the documents that may be sent again.
    resendable_positions: Vec<usize>,
}

impl<B: AsRef<[u8]>> BulkRequest<B> {
    /// Creates a bulk request; `sent` describes its body.
    pub fn new(request: PreparedRequest<B>, sent: SentBulk, retries_on_429: u32) -> Self {
        Self {
            request,
            sent,
            retries_on_429,
            compression_error: None,
            resend_bodies: ResendBodies::default(),
        }
    }

    /// Returns the body, to which the next documents are written; call [`Self::set_document_count`] afterwards.
    pub fn body_mut(&mut self) -> &mut B {
        self.request.body_mut()
    }

    /// Sets the number of documents in the body.
    pub fn set_document_count(&mut self, document_count: u64) {
        self.sent.documents = document_count;
    }

    /// Compresses the body if it is sent compressed. If that fails, the request fails when it is executed.
    pub async fn compress_in_slices(&mut self) {
        self.compression_error = self.request.compress_in_slices().await.err().map(|error| error.to_string());
    }

    /// Sends the documents. Those that the engine rejects with status 429 are sent again without the others, as often
    /// as planned, unless the race or the step ends first.
    pub async fn execute(
        &mut self,
        connections: &ConnectionPool,
        cancellation: &Cancellation<'_>,
    ) -> OperationOutcome {
        let BulkSending { mut outcome, mut resendable_positions } = self.send(connections).await;
        let ResendBodies { mut current, mut next } = std::mem::take(&mut self.resend_bodies);
        for resend in 0..self.retries_on_429 {
            if resendable_positions.is_empty() || cancellation.stop_reason().is_some() {
                break;
            }
            let sent = if resend == 0 { self.request.body().as_ref() } else { &current };
            select_documents(sent, &resendable_positions, &mut next);
            std::mem::swap(&mut current, &mut next);
            let document_count = resendable_positions.len() as u64;
            let sending = self.send_again(connections, &current, document_count).await;
            outcome = add_resend(subtract_resent(outcome, document_count), sending.outcome);
            resendable_positions = sending.resendable_positions;
        }
        self.resend_bodies = ResendBodies { current, next };
        outcome
    }

    /// Creates the check for the response to this number of documents.
    fn check_of(&self, document_count: u64) -> BulkCheck {
        let sent = SentBulk { documents: document_count, ..self.sent };
        BulkCheck { sent, may_resend: self.retries_on_429 > 0, resendable_positions: Vec::new() }
    }

    /// Sends all documents.
    async fn send(&mut self, connections: &ConnectionPool) -> BulkSending {
        if let Some(error) = &self.compression_error {
            return BulkSending::unsendable(error.clone(), self.sent.documents);
        }
        let mut check = self.check_of(self.sent.documents);
        let check_response = async |response: ResponseView<'_>| check.check(response).await;
        let outcome = self.request.send(connections, check_response).await;
        check.into_sending(outcome)
    }

    /// Sends some of the documents again.
    async fn send_again(
        &mut self,
        connections: &ConnectionPool,
        body: &[u8],
        document_count: u64,
    ) -> BulkSending {
        let mut check = self.check_of(document_count);
        let check_response = async |response: ResponseView<'_>| check.check(response).await;
        match self.request.send_other_body(body, connections, check_response).await {
            Ok(outcome) => check.into_sending(outcome),
            Err(error) => BulkSending::unsendable(error.to_string(), document_count),
        }
    }
}

impl BulkCheck {
    async fn check(&mut self, response: ResponseView<'_>) -> WorkOutcome {
        let ResponseView { status, body, .. } = response;
        let rejected = self.may_resend.then_some(&mut self.resendable_positions);
        check_bulk_response(status, body, self.sent, rejected).await
    }

    /// Returns the attempt whose response was checked.
    fn into_sending(self, mut outcome: OperationOutcome) -> BulkSending {
        if !outcome.result.is_success() && outcome.result.error_class != ErrorClass::BulkItem {
            outcome.result = outcome.result.of_documents(self.sent.documents);
        }
        BulkSending { outcome, resendable_positions: self.resendable_positions }
    }
}

impl BulkSending {
    /// Creates an attempt that was not sent, so none of its documents was indexed.
    fn unsendable(reason: String, document_count: u64) -> Self {
        let mut outcome = OperationOutcome::unsendable(reason);
        outcome.result = outcome.result.of_documents(document_count);
        Self { outcome, resendable_positions: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pacenote_plan::Target;
    use serde_json::json;

    use super::super::context::Destination;
    use super::super::prepared::RequestSpec;
    use super::*;
    use crate::transport::pool::ClientPlace;
    use crate::transport::{Endpoint, Endpoints};

    #[test]
    fn all_documents_of_a_bulk_that_cannot_be_compressed_fail() {
        let target: Target = serde_json::from_value(json!({
            "hosts": [{"scheme": "http", "host": "127.0.0.1", "port": 9200, "path": "", "proxy": null}],
            "headers": [], "timeout_ms": 5000, "compress": true,
            "tls": {"ca_file": null, "client_cert": null, "client_key": null, "verify": true,
                    "verify_host": true, "server_name": null}
        }))
        .unwrap();
        let to = Destination { target: &target, task_name: "index" };
        let spec =
            RequestSpec { method: "POST", path: "/_bulk", headers: [].iter(), has_body: true, timeout: None };
        let request = PreparedRequest::new(spec, Vec::new(), to).unwrap();
        let mut bulk = BulkRequest::new(request, SentBulk { documents: 7, filters_fields: false }, 0);
        bulk.compression_error = Some("out of memory".into());
        let endpoints: Endpoints = Arc::from([Arc::new(Endpoint::plain(Vec::new()))]);
        let connections = ConnectionPool::for_client(&endpoints, ClientPlace { race_client: 0, threads: 1 });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcome = runtime.block_on(bulk.send(&connections)).outcome;
        let result = outcome.result;
        assert_eq!((result.weight, result.failed_weight, outcome.traffic.requests), (0, 7, 0));
        assert_eq!((result.error_class, result.failures.len()), (ErrorClass::Protocol, 1));
    }
}

//! A bulk request, whose rejected documents may be sent again.

use pacenote_plan::Assertion;
use pacenote_record::ErrorClass;
use serde_json::Value;

use super::bulk_retry::{add_resend, select_documents, subtract_resent};
use super::outcome::OperationOutcome;
use super::prepared::PreparedRequest;
use crate::cancel::Cancellation;
use crate::response::body::is_2xx;
use crate::response::bulk::{SentBulk, check_bulk_response};
use crate::response::check::failed_assertion_of_details;
use crate::response::details::{BulkCounts, BulkDetails, BulkLengths};
use crate::response::outcome::WorkOutcome;
use crate::transport::exchange::ResponseView;
use crate::transport::pool::ConnectionPool;

/// A bulk request and the number of its documents.
#[derive(Debug)]
pub struct BulkRequest<B> {
    request: PreparedRequest<B>,
    sent: SentBulk,
    options: BulkOptions,
    /// The error if the body could not be compressed.
    compression_error: Option<String>,
    resend_bodies: ResendBodies,
}

/// What is done with the responses to a bulk request.
#[derive(Debug, Default)]
pub struct BulkOptions {
    /// Maximum number of times that documents rejected with status 429 are sent again.
    pub retries_on_429: u32,
    /// Whether the details of the responses are kept with the sample.
    pub detailed_results: bool,
    /// Assertions of the track about the details.
    pub assertions: Vec<Assertion>,
}

impl BulkOptions {
    /// Returns whether the bodies of responses are needed after they have been checked.
    fn keeps_responses(&self) -> bool {
        self.detailed_results || !self.assertions.is_empty()
    }
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
    /// The body of the response, if it is kept.
    response: Option<Vec<u8>>,
}

/// Checks the response to a bulk request.
struct BulkCheck {
    sent: SentBulk,
    /// Whether rejected documents may be sent again.
    may_resend: bool,
    /// Whether the body of the response is kept.
    keeps_response: bool,
    /// Positions of the documents that may be sent again.
    resendable_positions: Vec<usize>,
    /// The body of the response, if it is kept.
    response: Option<Vec<u8>>,
}

impl<B: AsRef<[u8]>> BulkRequest<B> {
    /// Creates a bulk request; `sent` describes its body.
    pub fn new(request: PreparedRequest<B>, sent: SentBulk, options: BulkOptions) -> Self {
        Self { request, sent, options, compression_error: None, resend_bodies: ResendBodies::default() }
    }

    /// Returns the body, to which the next documents are written; call [`Self::set_document_count`] afterwards.
    pub fn body_mut(&mut self) -> &mut B {
        self.request.body_mut()
    }

    /// Sets the number of documents in the body.
    pub fn set_document_count(&mut self, document_count: u64) {
        self.sent.documents = document_count;
    }

    /// Returns the number of documents in the body.
    pub fn document_count(&self) -> u64 {
        self.sent.documents
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
        let BulkSending { mut outcome, mut resendable_positions, response } = self.send(connections).await;
        let mut responses: Vec<_> = response.into_iter().collect();
        let ResendBodies { mut current, mut next } = std::mem::take(&mut self.resend_bodies);
        for resend in 0..self.options.retries_on_429 {
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
            responses.extend(sending.response);
        }
        self.resend_bodies = ResendBodies { current, next };
        if !responses.is_empty() {
            self.report(&mut outcome, responses);
        }
        outcome
    }

    /// Adds the details of the responses to the outcome, and checks the assertions of the track about them.
    fn report(&self, outcome: &mut OperationOutcome, responses: Vec<Vec<u8>>) {
        let result = &mut outcome.result;
        let counts = BulkCounts {
            succeeded: result.weight,
            failed: result.failed_weight,
            status: outcome.status,
            retries: outcome.retries,
            took_ms: result.took_ms,
        };
        let lengths = BulkLengths::of(self.request.body().as_ref());
        let details = BulkDetails { counts, lengths, responses };
        if !self.options.assertions.is_empty() {
            let object = Value::Object(details.to_object());
            if let Some(failure) = failed_assertion_of_details(&self.options.assertions, &object) {
                // The documents of the bulk succeeded or failed nevertheless.
                result.error_class = failure.error_class;
                result.failures.splice(0..0, failure.with_status(outcome.status).failures);
            }
        }
        if self.options.detailed_results {
            outcome.details = Some(Box::new(details));
        }
    }

    /// Creates the check for the response to this number of documents.
    fn check_of(&self, document_count: u64) -> BulkCheck {
        let sent = SentBulk { documents: document_count, ..self.sent };
        BulkCheck {
            sent,
            may_resend: self.options.retries_on_429 > 0,
            keeps_response: self.options.keeps_responses(),
            resendable_positions: Vec::new(),
            response: None,
        }
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
        self.response = (self.keeps_response && is_2xx(status)).then(|| body.to_vec());
        let rejected = self.may_resend.then_some(&mut self.resendable_positions);
        check_bulk_response(status, body, self.sent, rejected).await
    }

    /// Returns the attempt whose response was checked.
    fn into_sending(self, mut outcome: OperationOutcome) -> BulkSending {
        if !outcome.result.is_success() && outcome.result.error_class != ErrorClass::BulkItem {
            outcome.result = outcome.result.of_documents(self.sent.documents);
        }
        BulkSending { outcome, resendable_positions: self.resendable_positions, response: self.response }
    }
}

impl BulkSending {
    /// Creates an attempt that was not sent, so none of its documents was indexed.
    fn unsendable(reason: String, document_count: u64) -> Self {
        let mut outcome = OperationOutcome::unsendable(reason);
        outcome.result = outcome.result.of_documents(document_count);
        Self { outcome, resendable_positions: Vec::new(), response: None }
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
        let to = Destination::of_client(&target, "index", None);
        let spec =
            RequestSpec { method: "POST", path: "/_bulk", headers: [].iter(), has_body: true, timeout: None };
        let request = PreparedRequest::new(spec, Vec::new(), to).unwrap();
        let sent = SentBulk { documents: 7, filters_fields: false };
        let mut bulk = BulkRequest::new(request, sent, BulkOptions::default());
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

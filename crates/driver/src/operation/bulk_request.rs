//! One bulk request, and its rejected documents sent again.

use pacenote_record::ErrorClass;

use super::bulk_retry::{join_attempts, rejected_positions, select_documents, without_retried};
use super::outcome::Outcome;
use super::prepared::PreparedRequest;
use crate::cancel::Cancellation;
use crate::response::check::check_bulk_response;
use crate::response::outcome::ReplyOutcome;
use crate::transport::pool::PooledConnection;

/// A bulk request and the number of its documents.
#[derive(Debug)]
pub struct BulkRequest<B> {
    request: PreparedRequest<B>,
    documents: u64,
    /// How many times documents rejected with status 429 are sent again.
    retries_on_429: u32,
    /// Why the body could not be compressed.
    compression_error: Option<String>,
}

/// One response to a bulk request.
struct Attempt {
    outcome: Outcome,
    /// Positions of the documents that may be sent again.
    rejected: Vec<usize>,
}

/// Checks the response to a bulk request.
struct BulkCheck {
    documents: u64,
    /// Whether rejected documents may be sent again.
    retries: bool,
    rejected: Vec<usize>,
}

impl<B: AsRef<[u8]>> BulkRequest<B> {
    /// A bulk request whose body has `documents` documents.
    pub fn new(request: PreparedRequest<B>, documents: u64, retries_on_429: u32) -> Self {
        Self { request, documents, retries_on_429, compression_error: None }
    }

    /// The body, to write the next documents to it; call [`Self::set_documents`] afterwards.
    pub fn body_mut(&mut self) -> &mut B {
        self.request.body_mut()
    }

    /// Sets the number of documents in the body.
    pub fn set_documents(&mut self, documents: u64) {
        self.documents = documents;
    }

    /// Compresses the body if it is sent compressed. If that fails, the request fails when it is executed.
    pub async fn compress_in_slices(&mut self) {
        self.compression_error = self.request.compress_in_slices().await.err().map(|error| error.to_string());
    }

    /// Posts the documents. Those that the engine rejects with status 429 are posted again without the others, as often
    /// as planned unless the race or the step ends.
    pub async fn execute(
        &mut self,
        connection: &mut PooledConnection,
        cancellation: &Cancellation<'_>,
    ) -> Outcome {
        let Attempt { mut outcome, mut rejected } = self.send(connection).await;
        let mut selected: Option<Vec<u8>> = None;
        for _ in 0..self.retries_on_429 {
            if rejected.is_empty() || cancellation.stop_reason().is_some() {
                break;
            }
            let body = selected.as_deref().unwrap_or(self.request.body().as_ref());
            let (body, documents) = (select_documents(body, &rejected), rejected.len() as u64);
            let next = self.send_again(connection, &body, documents).await;
            outcome = join_attempts(without_retried(outcome, documents), next.outcome);
            (selected, rejected) = (Some(body), next.rejected);
        }
        outcome
    }

    /// Posts all documents.
    async fn send(&mut self, connection: &mut PooledConnection) -> Attempt {
        if let Some(error) = &self.compression_error {
            return Attempt::unsent(error.clone());
        }
        let mut check = BulkCheck::new(self.documents, self.retries_on_429 > 0);
        let outcome = self.request.send(connection, |status, reply: &[u8]| check.check(status, reply)).await;
        check.attempt(outcome)
    }

    /// Posts some of the documents again.
    async fn send_again(
        &mut self,
        connection: &mut PooledConnection,
        body: &[u8],
        documents: u64,
    ) -> Attempt {
        let mut check = BulkCheck::new(documents, self.retries_on_429 > 0);
        let check_reply = |status, reply: &[u8]| check.check(status, reply);
        match self.request.send_other_body(body, connection, check_reply).await {
            Ok(outcome) => check.attempt(outcome),
            Err(error) => Attempt::unsent(error.to_string()),
        }
    }
}

impl BulkCheck {
    fn new(documents: u64, retries: bool) -> Self {
        Self { documents, retries, rejected: Vec::new() }
    }

    fn check(&mut self, status: u16, reply: &[u8]) -> ReplyOutcome {
        let result = check_bulk_response(status, reply, self.documents);
        if self.retries && result.class == ErrorClass::BulkItem {
            self.rejected = rejected_positions(reply, self.documents);
        }
        result
    }

    fn attempt(self, mut outcome: Outcome) -> Attempt {
        let result = &mut outcome.result;
        if !result.is_success() && result.class != ErrorClass::BulkItem {
            // Without a response about each document it is unknown whether any of them was indexed.
            (result.accepted, result.rejected) = (0, self.documents);
        }
        Attempt { outcome, rejected: self.rejected }
    }
}

impl Attempt {
    fn unsent(reason: String) -> Self {
        Self { outcome: Outcome::unsent(reason), rejected: Vec::new() }
    }
}

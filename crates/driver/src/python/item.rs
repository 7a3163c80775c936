//! One operation that Python handed over, ready to be carried out.

use std::time::Duration;

use pacenote_plan::{SuppliedBulk, SuppliedOperation};
use pacenote_record::ErrorClass;

use crate::cancel::Cancellation;
use crate::error::DriveError;
use crate::operation::compression::{coding, pack};
use crate::operation::outcome::Outcome;
use crate::operation::{Destination, Prepared};
use crate::response::check::judge_bulk;
use crate::transport::http::RequestHead;
use crate::transport::pool::{ConnectionPool, PooledConnection, RequestBody};

/// Everything that can be done off the clock is done: the thread that hands over pays for it, not the client.
#[derive(Debug)]
pub enum Item {
    /// Calls.
    Calls(Box<Prepared>),
    /// One bulk request.
    Bulk(Box<Post>),
}

/// A bulk request and its body.
#[derive(Debug)]
pub struct Post {
    head: RequestHead,
    body: Vec<u8>,
    /// Length of the body before it was compressed.
    content: usize,
    documents: u64,
    timeout: Duration,
}

impl Item {
    /// Reads a `SuppliedOperation` document.
    ///
    /// # Errors
    ///
    /// When it is no such document, or cannot be written as HTTP.
    pub fn new(to: Destination<'_>, supply: (&str, Option<Vec<u8>>)) -> Result<Self, DriveError> {
        let (operation, body) = supply;
        let refused = |reason: String| DriveError::Supply { task: to.task.to_owned(), reason };
        let supply: SuppliedOperation =
            serde_json::from_str(operation).map_err(|error| refused(error.to_string()))?;
        supply.validate().map_err(|error| refused(error.to_string()))?;
        match supply {
            SuppliedOperation::Calls(_) if body.is_some() => {
                Err(refused("calls have no body beside them".into()))
            }
            SuppliedOperation::Calls(calls) => {
                Ok(Self::Calls(Box::new(Prepared::new(&calls.calls, calls.retry, to)?)))
            }
            SuppliedOperation::Bulk(SuppliedBulk { path, headers, documents, timeout_ms }) => {
                let mut body = body.ok_or_else(|| refused("a bulk needs a body".into()))?;
                let content = body.len();
                let headers = to.target.headers.iter().chain(&headers);
                let coding = coding(to.target, content > 0, headers.clone());
                if coding.is_some() {
                    let mut packed = Vec::new();
                    pack(&body, &mut packed).map_err(|error| refused(error.to_string()))?;
                    body = packed;
                }
                let head = RequestHead::new(&to.target.hosts[to.host], "POST", &path, headers.chain(&coding))
                    .map_err(|source| DriveError::Request { task: to.task.to_owned(), source })?;
                let timeout = Duration::from_millis(timeout_ms.unwrap_or(to.target.timeout_ms));
                Ok(Self::Bulk(Box::new(Post { head, body, content, documents, timeout })))
            }
        }
    }

    /// Carries it out; `None` when the race or the step ended while it waited.
    pub async fn execute(
        &mut self,
        links: &ConnectionPool,
        cancellation: &Cancellation<'_>,
    ) -> Option<Outcome> {
        match self {
            Self::Calls(calls) => calls.execute(links, cancellation).await,
            Self::Bulk(post) => {
                let mut link = links.acquire();
                let outcome = post.send(&mut link).await;
                links.release(link);
                Some(outcome)
            }
        }
    }
}

impl Post {
    async fn send(&mut self, link: &mut PooledConnection) -> Outcome {
        let documents = self.documents;
        let judge = |status, reply: &[u8]| judge_bulk(status, reply, documents);
        let body = RequestBody { bytes: &self.body, uncompressed_len: self.content };
        let exchange = link.exchange(&mut self.head, body, self.timeout, judge).await;
        let mut outcome = Outcome::from(exchange);
        let result = &mut outcome.result;
        if !result.is_success() && result.class != ErrorClass::BulkItem {
            // Without a reply about each document none of them is known to be in the index.
            (result.accepted, result.rejected) = (0, documents);
        }
        outcome
    }
}

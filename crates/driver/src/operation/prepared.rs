//! One HTTP request, ready to be sent. Only this file prepares heads and compresses bodies.

use std::io;
use std::time::Duration;

use super::compression::{CONTENT_ENCODING, compress, compress_in_slices, will_compress};
use super::context::Destination;
use super::outcome::OperationOutcome;
use crate::response::outcome::WorkOutcome;
use crate::transport::exchange::{RequestBody, ResponseView};
use crate::transport::http::{RequestHead, RequestHeadError};
use crate::transport::pool::ConnectionPool;

/// The properties in which requests to the same cluster differ.
#[derive(Debug, Clone, Copy)]
pub struct RequestSpec<'a, H> {
    /// HTTP method, such as `GET`.
    pub method: &'a str,
    /// Path with query string, percent-encoded.
    pub path: &'a str,
    /// Headers sent in addition to the target's headers. If two have the same name, the later one is sent.
    pub headers: H,
    /// Whether the request has a body, even if the body is created later.
    pub has_body: bool,
    /// Timeout of the request, or `None` for the target's timeout.
    pub timeout: Option<Duration>,
}

/// A request that can be sent any number of times: head, body, content encoding and timeout.
#[derive(Debug)]
pub struct PreparedRequest<B> {
    /// The head for each host of the cluster.
    heads: Box<[RequestHead]>,
    body: B,
    /// The compressed body, or `None` if the body is sent uncompressed.
    compressed: Option<Vec<u8>>,
    timeout: Duration,
}

impl<B: AsRef<[u8]>> PreparedRequest<B> {
    /// Prepares a request. Does not compress the body: see [`Self::compress`].
    ///
    /// # Errors
    ///
    /// If the request cannot be written as HTTP.
    pub fn new<'a>(
        spec: RequestSpec<'_, impl Iterator<Item = &'a (String, String)> + Clone>,
        body: B,
        to: Destination<'a>,
    ) -> Result<Self, RequestHeadError> {
        let RequestSpec { method, path, headers, has_body, timeout } = spec;
        let headers = to.target.headers.iter().chain(to.client_header).chain(headers);
        let compressed = will_compress(to.target, has_body, headers.clone());
        let headers = headers.chain(compressed.then(|| &*CONTENT_ENCODING));
        let head = |host| RequestHead::new(host, method, path, headers.clone());
        let heads = to.target.hosts.iter().map(head).collect::<Result<_, _>>()?;
        let timeout = timeout.unwrap_or(Duration::from_millis(to.target.timeout_ms));
        Ok(Self { heads, body, compressed: compressed.then(Vec::new), timeout })
    }

    /// Returns the body before compression.
    pub fn body(&self) -> &B {
        &self.body
    }

    /// Returns the body before compression. After a change, it must be compressed again.
    pub fn body_mut(&mut self) -> &mut B {
        &mut self.body
    }

    /// Returns the head of the request for each host of the cluster.
    pub fn heads(&self) -> &[RequestHead] {
        &self.heads
    }

    /// Replaces each head with a copy of its template in which `marker` is replaced by `value`.
    pub fn fill_heads(&mut self, templates: &[RequestHead], marker: &str, value: &str) {
        for (head, template) in self.heads.iter_mut().zip(templates) {
            head.fill(template, marker, value);
        }
    }

    /// Compresses the body if it is sent compressed.
    ///
    /// # Errors
    ///
    /// If the compression library fails, which is a bug in the driver.
    pub fn compress(&mut self) -> io::Result<()> {
        match &mut self.compressed {
            Some(compressed) => compress(self.body.as_ref(), compressed),
            None => Ok(()),
        }
    }

    /// Compresses the body if it is sent compressed, and yields to the thread's other clients in the meantime.
    ///
    /// # Errors
    ///
    /// If the compression library fails, which is a bug in the driver.
    pub async fn compress_in_slices(&mut self) -> io::Result<()> {
        match &mut self.compressed {
            Some(compressed) => compress_in_slices(self.body.as_ref(), compressed).await,
            None => Ok(()),
        }
    }

    /// Sends the request; `check` determines whether the response is a success.
    pub async fn send(
        &mut self,
        connections: &ConnectionPool,
        check: impl AsyncFnOnce(ResponseView<'_>) -> WorkOutcome,
    ) -> OperationOutcome {
        let body = request_body(self.body.as_ref(), self.compressed.as_deref());
        OperationOutcome::from(connections.exchange(&mut self.heads, body, self.timeout, check).await)
    }

    /// Sends `content` in place of the request's body, compressed if the request's body is.
    ///
    /// # Errors
    ///
    /// If the compression library fails, which is a bug in the driver.
    pub async fn send_other_body(
        &mut self,
        content: &[u8],
        connections: &ConnectionPool,
        check: impl AsyncFnOnce(ResponseView<'_>) -> WorkOutcome,
    ) -> io::Result<OperationOutcome> {
        if let Some(compressed) = &mut self.compressed {
            compress_in_slices(content, compressed).await?;
        }
        let body = request_body(content, self.compressed.as_deref());
        Ok(OperationOutcome::from(connections.exchange(&mut self.heads, body, self.timeout, check).await))
    }
}

fn request_body<'a>(content: &'a [u8], compressed: Option<&'a [u8]>) -> RequestBody<'a> {
    RequestBody { bytes: compressed.unwrap_or(content), uncompressed_len: content.len() }
}

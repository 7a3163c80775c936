//! A connection that sends requests and receives responses.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::error::ExchangeError;
use super::memory::ResponseMemory;
use super::request_head::RequestHead;
use super::response_reader::{Response, ResponseReader};
use crate::health::reply_waits::count_arrival;
use crate::slices::Slices;
use crate::transport::byte_counts::ByteCounts;
use crate::transport::stream::MaybeTlsStream;
use crate::transport::tls::tls_error;

/// Maximum number of bytes that are read from a connection on which data arrived without a request.
const MAX_UNSOLICITED: usize = 1 << 20;

/// An HTTP/1.1 connection to one host.
#[derive(Debug)]
pub struct Connection {
    stream: MaybeTlsStream,
    reader: ResponseReader,
    /// Whether another request may be sent: no exchange is in progress, none has failed, and no response has announced
    /// that the connection will be closed.
    reusable: bool,
    /// Number of bytes that arrived without a request, once the connection has been found to be no longer idle.
    unsolicited: Option<u64>,
}

impl Connection {
    /// Creates a connection over an open stream, whose responses occupy a part of this memory.
    #[must_use]
    pub fn new(stream: MaybeTlsStream, memory: Arc<ResponseMemory>) -> Self {
        Self { stream, reader: ResponseReader::sharing(memory), reusable: true, unsolicited: None }
    }

    /// Returns whether another request can be sent: the server has neither closed the connection nor announced that it
    /// will.
    #[must_use]
    pub fn is_ready(&mut self) -> bool {
        // A server sends nothing between two exchanges: any byte is unexpected data, and the end of the stream means
        // that the connection was closed.
        self.reusable && self.unsolicited.is_none() && self.is_idle()
    }

    fn is_idle(&mut self) -> bool {
        let mut byte = [0];
        let Some(read) = self.stream.read_now(&mut byte) else { return true };
        self.read_unsolicited(&byte[..read]);
        false
    }

    /// Reads the data that has arrived without a request, after its first byte, or after nothing at the end of the
    /// stream. A response with status 408 belongs to the end of the stream: the server announces that it closes an idle
    /// connection.
    #[cold]
    fn read_unsolicited(&mut self, first: &[u8]) {
        let mut buffer = vec![0; 4096];
        buffer[..first.len()].copy_from_slice(first);
        let (mut start, mut bytes) = (first.len(), first.len());
        while (1..MAX_UNSOLICITED).contains(&bytes)
            && let Some(read @ 1..) = self.stream.read_now(&mut buffer[start..])
        {
            bytes += read;
            // The first bytes are kept.
            start = (start + read).min(buffer.len() / 2);
        }
        let announces_close =
            [&b"HTTP/1.1 408"[..], b"HTTP/1.0 408"].iter().any(|head| buffer.starts_with(head));
        self.unsolicited = Some(if announces_close { 0 } else { bytes as u64 });
    }

    /// Returns the number of bytes that [`Connection::is_ready`] has found although no request asked for them.
    #[must_use]
    pub fn unsolicited_bytes(&self) -> u64 {
        self.unsolicited.unwrap_or(0)
    }

    /// Returns the numbers of bytes sent and received since the connection was opened, TLS included.
    #[must_use]
    pub fn byte_counts(&self) -> ByteCounts {
        self.stream.byte_counts()
    }

    /// Returns whether the server has closed the connection, or sent unexpected data, since the last exchange.
    #[must_use]
    pub fn broke_while_idle(&mut self) -> bool {
        self.reusable && !self.is_ready()
    }

    /// Sends one request and receives its response up to the last byte.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`]; then [`Connection::is_ready`] returns `false`.
    pub async fn exchange(&mut self, head: &mut RequestHead, body: &[u8]) -> Result<Response, ExchangeError> {
        self.reusable = false;
        self.reader.reset(head.response_has_no_body());
        let (head, body) = head.request_slices(body);
        let all_sent;
        let response = match self.send(head, body).await {
            Ok(SendResult { early: Some(response), request_sent }) => {
                all_sent = request_sent;
                response
            }
            Ok(SendResult { early: None, request_sent }) => {
                all_sent = request_sent;
                self.receive().await?
            }
            // A server that rejects a large body may respond and close the connection before it has read all of it. Its
            // response, or a TLS alert, is more specific than a broken pipe.
            Err(ExchangeError::Io(error)) => match self.receive().await {
                // A response that ends with the connection may be truncated here, which is tolerated only if its status
                // is an error.
                Ok(response) if response.status < 400 && self.reader.ends_with_connection() => {
                    return Err(error.into());
                }
                read => {
                    all_sent = false;
                    read.map_err(|read_error| more_specific(read_error, error))?
                }
            },
            Err(error) => return Err(error),
        };
        self.reusable = all_sent && !response.close;
        Ok(response)
    }

    /// Decompresses the body of the last response if it is compressed. This is not part of the service time, so call it
    /// after the exchange has been timed. Yields to the thread's other clients after each slice of a long body.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`] if the body has a different encoding, is invalid, or exceeds the limit once decompressed.
    pub async fn decompress(&mut self, response: Response) -> Result<Response, ExchangeError> {
        self.reader.decompress(response).await
    }

    /// Frees large buffers that are not used, and the last response with them; see [`ResponseReader::trim`].
    pub fn trim(&mut self) {
        self.reader.trim();
    }

    /// Returns the headers of the last response as the server wrote them, or an empty list if its head is
    /// not complete.
    #[must_use]
    pub fn headers(&self) -> Vec<(String, String)> {
        self.reader.headers()
    }

    /// Returns the body of the last response: as received or, after [`Connection::decompress`], decompressed.
    #[must_use]
    pub fn body(&self, response: &Response) -> &[u8] {
        self.reader.body(response)
    }

    /// Sends head and body; without TLS in one system call if the socket accepts all bytes. While the socket accepts no
    /// more bytes, reads from it, because the server may respond before it has read the whole request. If the server
    /// then closes the connection, or announces in its response that it will, the rest of the request is not sent (RFC
    /// 9112, section 9.5); otherwise it is sent, so that the connection can be used again.
    async fn send(&mut self, mut head: &[u8], mut body: &[u8]) -> Result<SendResult, ExchangeError> {
        let mut early: Option<Response> = None;
        while !(head.is_empty() && body.is_empty() && self.stream.is_flushed()) {
            match poll_fn(|context| self.poll_send(head, body, context)).await {
                Ok(SendStep::Written(written)) => {
                    let head_written = written.min(head.len());
                    head = &head[head_written..];
                    body = &body[written - head_written..];
                }
                Ok(SendStep::Received(1..)) if early.is_none() => early = self.reader.advance()?,
                last_step => {
                    let early = Some(self.early_response(early, last_step)?);
                    return Ok(SendResult { early, request_sent: false });
                }
            }
            if early.as_ref().is_some_and(|response| response.close) {
                return Ok(SendResult { early, request_sent: false });
            }
        }
        Ok(SendResult { early, request_sent: true })
    }

    /// Writes part of the request or, if the socket accepts none of it, reads part of the response.
    fn poll_send(
        &mut self,
        head: &[u8],
        body: &[u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<SendStep>> {
        match self.stream.poll_write(head, body, context) {
            Poll::Ready(written) => Poll::Ready(written.map(SendStep::Written)),
            Poll::Pending => pin!(self.stream.read_buf(self.reader.receive_buffer()))
                .poll(context)
                .map_ok(SendStep::Received),
        }
    }

    /// Returns the response to a request that could not be sent completely, or the reason why there is none.
    fn early_response(
        &mut self,
        early: Option<Response>,
        last_step: io::Result<SendStep>,
    ) -> Result<Response, ExchangeError> {
        match (last_step, early) {
            (Ok(SendStep::Received(bytes @ 1..)), _) => {
                Err(ExchangeError::TrailingData { bytes: bytes as u64 })
            }
            (_, Some(response)) => Ok(response),
            (Ok(_), None) => self.reader.finish(),
            (Err(error), None) => Err(error.into()),
        }
    }

    async fn receive(&mut self) -> Result<Response, ExchangeError> {
        let mut slices = Slices::default();
        let mut received = 0;
        let mut last_arrival = 0;
        loop {
            let advanced = self.reader.advance()?;
            if received > 0 {
                count_arrival(&mut last_arrival);
            }
            if let Some(response) = advanced {
                return Ok(response);
            }
            // A host that sends a long response fast must not keep the thread from its other clients.
            if received > 0 {
                slices.spend(received).await;
            }
            received = self.stream.read_buf(self.reader.receive_buffer()).await?;
            if received == 0 {
                return self.reader.finish();
            }
        }
    }
}

/// Returns the more specific of two errors, from a failed write and the failed read after it: the read's error if it is
/// a TLS alert, otherwise the write's.
fn more_specific(read_error: ExchangeError, write_error: io::Error) -> ExchangeError {
    match read_error {
        ExchangeError::Io(alert) if tls_error(&alert).is_some() => alert.into(),
        _ => write_error.into(),
    }
}

/// The result of sending a request.
#[derive(Debug)]
struct SendResult {
    /// The response, if it arrived before the request was sent completely.
    early: Option<Response>,
    /// Whether the whole request was sent.
    request_sent: bool,
}

/// One step of sending a request.
#[derive(Debug)]
enum SendStep {
    /// This number of bytes of the request was written.
    Written(usize),
    /// This number of bytes of the response was read, or 0 if the server has closed its side.
    Received(usize),
}

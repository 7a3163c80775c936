//! The values of one exchange: the body to send, the response to check, and what came of it.

use std::time::Instant;

use pacenote_record::Traffic;

use crate::transport::connect::ConnectError;
use crate::transport::http::{Connection, ExchangeError};

/// The body of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestBody<'a> {
    /// The bytes to send, which may be compressed.
    pub bytes: &'a [u8],
    /// Length of the body before compression, in bytes.
    pub uncompressed_len: usize,
}

/// One request and its response.
#[derive(Debug)]
pub struct Exchange<T> {
    /// When sending began: after connecting, before the first byte.
    pub sent: Instant,
    /// When the last byte of the response arrived, or the exchange failed.
    pub done: Instant,
    /// Numbers of requests sent and of bytes sent and received.
    pub traffic: Traffic,
    /// HTTP status of the response, or 0 if there is none.
    pub status: u16,
    /// The result of checking the response, or the reason why there is none.
    pub result: Result<T, RequestError>,
}

/// A complete response, as passed to its check.
#[derive(Debug, Clone, Copy)]
pub struct ResponseView<'a> {
    /// HTTP status.
    pub status: u16,
    /// The body, decompressed.
    pub body: &'a [u8],
    /// The connection on which it was received.
    pub connection: &'a Connection,
}

impl ResponseView<'_> {
    /// Returns the headers.
    pub fn headers(&self) -> Vec<(String, String)> {
        self.connection.headers()
    }
}

/// An error from a request on a connection of the pool: from connecting, or from the exchange.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection failed, or the response is not valid.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
}

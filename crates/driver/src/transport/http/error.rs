//! The error of a request without a complete and valid response.

use std::io;
use std::time::Duration;

/// An error from sending a request or receiving its response. The connection cannot be used again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The socket or TLS failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed the connection before the response was complete.
    #[error("the connection was closed before the response was complete")]
    Closed,
    /// The request took longer than its timeout.
    #[error("no complete response within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The response violates HTTP/1.1, or exceeds a limit of this client.
    #[error("{0}")]
    Malformed(&'static str),
    /// Bytes follow the end of the response.
    #[error("there is unexpected data after the response")]
    TrailingData {
        /// Number of the bytes that have been read.
        bytes: u64,
    },
    /// The response has an encoding that was not requested.
    #[error("the response's {header} is {encoding:?}, which was not requested")]
    UnexpectedEncoding {
        /// The header with the encoding.
        header: &'static str,
        /// Its value.
        encoding: String,
    },
    /// The responses that are being received occupy too much memory, over all connections of the race.
    #[error(
        "the responses of all clients together exceed {} MiB, a quarter of this machine's memory: \
         use fewer clients or request less",
        limit >> 20
    )]
    Memory {
        /// The limit in bytes.
        limit: usize,
    },
    /// The response is complete, but its body cannot be decompressed.
    #[error("the response's gzip stream is invalid: {0}")]
    Gzip(&'static str),
}

impl ExchangeError {
    /// Returns whether the connection broke or no response arrived in time, as opposed to a response that is not valid.
    #[must_use]
    pub fn is_network_failure(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Closed | Self::Timeout(_))
    }
}

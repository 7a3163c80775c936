//! The error of a request without a complete and valid response.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

/// An error from sending a request or receiving its response. The connection cannot be used again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The socket or TLS failed.
    #[error("{}", io_reason(.0))]
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

/// Returns the reason why a socket or TLS failed.
///
/// If the server closed the connection without the notice that TLS requires, the text of the TLS library is replaced: it
/// explains how to use the library.
fn io_reason(error: &io::Error) -> Cow<'static, str> {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            "the connection was closed without the notice that TLS requires".into()
        }
        _ => error.to_string().into(),
    }
}

impl ExchangeError {
    /// Returns whether the connection broke or no response arrived in time, as opposed to a response that is not valid.
    #[must_use]
    pub fn is_network_failure(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Closed | Self::Timeout(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_without_notice_is_told_without_the_words_of_the_tls_library() {
        let of_library = "peer closed connection without sending TLS close_notify: https://docs.rs/rustls";
        let closed = ExchangeError::from(io::Error::new(io::ErrorKind::UnexpectedEof, of_library));
        assert_eq!(closed.to_string(), "the connection was closed without the notice that TLS requires");
        assert!(closed.is_network_failure());
        let reset = ExchangeError::from(io::Error::new(io::ErrorKind::ConnectionReset, "reset by peer"));
        assert_eq!(reset.to_string(), "reset by peer");
    }
}

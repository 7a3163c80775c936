//! Why no whole reply came.

use std::io;
use std::time::Duration;

/// More has come than was asked for.
pub(super) const FOLLOWED: ExchangeError =
    ExchangeError::Malformed("bytes follow the reply that nobody asked for");

/// Why no whole reply came. The connection cannot be used again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The peer closed the connection before the reply was whole.
    #[error("the connection was closed before the reply was complete")]
    Closed,
    /// It has taken longer than it may.
    #[error("no complete reply within {} s", .0.as_secs_f64())]
    Late(Duration),
    /// The reply is not what HTTP/1.1 allows, or larger than anything sensible.
    #[error("{0}")]
    Malformed(&'static str),
    /// The reply is coded in a way that nobody asked for.
    #[error("the reply's {header} is {coding:?}, which nobody asked for")]
    Coding {
        /// The header that says so.
        header: &'static str,
        /// What it says.
        coding: String,
    },
    /// The reply has come whole, but its body cannot be decompressed.
    #[error("the reply's gzip stream is broken: {0}")]
    Gzip(&'static str),
}

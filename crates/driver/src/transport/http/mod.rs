//! An HTTP/1.1 client: one request and one response at a time on a connection that is kept alive.
//!
//! [`Connection`] sends a prepared [`RequestHead`] and a body, and receives status, headers and body of the response in
//! buffers that are reused. [`ResponseReader`] converts received bytes to responses without using a socket, so that
//! tests and fuzzing can split the bytes anywhere. The parent module handles timeouts, reconnecting and pooling;
//! `response` determines whether a response is a success. `operation` uses this module to prepare heads; requests are
//! sent through the parent's pool.

mod chunked;
mod connection;
mod error;
mod gzip;
mod memory;
mod request_head;
mod response_head;
mod response_reader;

pub use connection::Connection;
pub use error::ExchangeError;
pub use memory::ResponseMemory;
pub(crate) use request_head::authority;
pub use request_head::{RequestHead, RequestHeadError};
pub use response_reader::{Response, ResponseReader};

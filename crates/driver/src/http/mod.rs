//! HTTP/1.1 over one kept-alive connection per client.
//!
//! The seam to the rest of the driver is [`Connection`]: a prepared head and a body go out, a status and the body's
//! bytes come back, in buffers that are used again and again.

mod chunked;
mod connection;
mod head;
mod reply;

pub use connection::{Connection, ExchangeError, Reply};
pub use head::{Head, HeadError};

//! HTTP/1.1 over one kept-alive connection per client.
//!
//! The seam to the rest of the driver is [`Connection`]: a prepared head and a body go out, a status and the body's
//! bytes come back, in buffers that are used again and again. What makes a reply of bytes is [`Receiver`], which knows
//! no socket.

mod chunked;
mod connection;
mod error;
mod gzip;
mod head;
mod receiver;
mod reply;

pub use connection::Connection;
pub use error::ExchangeError;
pub(crate) use head::authority;
pub use head::{Head, HeadError};
pub use receiver::{Receiver, Reply};

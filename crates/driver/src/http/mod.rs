//! HTTP/1.1 over one kept-alive connection per client.
//!
//! The seam to the rest of the driver is [`Connection`]: a prepared head and a body go out, a status and the body's
//! bytes come back, in buffers that are used again and again. What makes a reply of bytes is [`Receiver`], which knows
//! no socket. [`Route`] leads to a host: over its addresses, through a proxy, within TLS.

mod chunked;
mod connection;
mod dial;
mod error;
mod gzip;
mod head;
mod receiver;
mod reply;
mod stream;
mod trust;

pub use connection::Connection;
pub use dial::{DialError, Route, RouteError, Routes};
pub use error::ExchangeError;
pub use head::{Head, HeadError};
pub use receiver::{Receiver, Reply};
pub use stream::Crossed;
pub use trust::{SystemRoots, TrustError, tls_error};

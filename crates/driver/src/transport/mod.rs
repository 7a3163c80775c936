//! Bytes to and from hosts: connecting, TLS, HTTP/1.1, and the connections that a client keeps.
//!
//! [`connect`] leads to a host: over its addresses, through a proxy, within TLS. [`http`] writes one request and reads
//! one reply on a connection; [`pool`] keeps the connections of a client and opens them again. Nothing here knows
//! tasks, schedules or Python, or decides whether a reply is a success: that is `response`.

mod connect;
pub mod http;
pub(crate) mod pool;
mod stream;
mod timeout;
mod tls;
pub(crate) mod traffic;

pub use connect::{DialError, Route, RouteError, Routes};
pub use stream::Crossed;
pub use tls::{SystemRoots, TrustError, tls_error};

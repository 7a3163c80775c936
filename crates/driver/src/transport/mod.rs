//! Exchanges bytes with hosts: connecting, TLS, HTTP/1.1, and the connections that a client keeps open.
//!
//! [`connect`] opens a connection: to one of a host's addresses, through a proxy, with TLS. [`http`] sends one request
//! and receives one response on it. [`pool`] sends the requests of a client to the hosts of a cluster in turn
//! ([`rotation`]), keeps its connections ([`host_connections`]) and reopens those that were closed. It is called by
//! `operation` (requests), `worker` and `python` (connecting before a step), and `race.rs` (resolving endpoints). This
//! module is independent of tasks, schedules and Python. `response` determines whether a response is a success.

pub(crate) mod byte_counts;
mod connect;
pub(crate) mod exchange;
mod host_connections;
mod host_counts;
pub mod http;
pub(crate) mod overhead;
pub(crate) mod pool;
mod rotation;
mod stream;
mod timeout;
mod tls;

pub use byte_counts::ByteCounts;
pub use connect::{ConnectError, Endpoint, EndpointError, Endpoints};
pub use host_counts::{HostCounts, HostUse};
pub use stream::MaybeTlsStream;
pub use tls::{SystemRoots, TlsSettingsError, tls_error};

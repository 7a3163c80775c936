//! The transport on real sockets: HTTP/1.1, TLS, proxies and connections, and the bytes that are counted.
//!
//! | file | contains |
//! | --- | --- |
//! | `http/` | real and hand-written responses, split anywhere; comparison with hyper; early responses; gzip |
//! | `tls.rs` | which certificates are accepted, and how a failed handshake is reported |
//! | `connect.rs` | addresses, proxies and reconnecting |
//! | `traffic.rs` | bytes on the wire and compressed bodies |

mod certificates;
mod connect;
mod http;
mod proxy;
mod tls;
mod traffic;

/// Builds a runtime like those of the driver's threads.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

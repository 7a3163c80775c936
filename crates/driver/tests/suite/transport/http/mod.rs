//! Tests the HTTP client with responses that are split into pieces.

mod early_response;
mod edge_cases;
mod gzip;
mod oracle;
mod recorded;

use std::io::Write;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pacenote_driver::transport::{
    Endpoint,
    http::{Connection, ExchangeError, RequestHead},
};
use pacenote_plan::{Scheme, TargetHost};

use crate::support::Server;
use crate::support::server::{Answer, End};
use crate::transport::runtime;

/// Opens a connection to a local server.
async fn connect(port: u16) -> Connection {
    let endpoint = Endpoint::plain(vec![([127, 0, 0, 1], port).into()]);
    let deadline = Instant::now() + Duration::from_mins(1);
    Connection::new(endpoint.connect(0, deadline).await.unwrap(), Arc::default())
}

/// Builds a request head for a local server.
fn head(port: u16, method: &str, path: &str) -> RequestHead {
    let host =
        TargetHost { scheme: Scheme::Http, host: "127.0.0.1".into(), port, path: String::new(), proxy: None };
    RequestHead::new(&host, method, path, std::iter::empty()).unwrap()
}

/// A response as received by the client.
#[derive(Debug, PartialEq, Eq)]
struct Received {
    status: u16,
    body: Vec<u8>,
    /// Whether the connection can be used again.
    is_ready: bool,
}

impl Received {
    fn new(status: u16, body: &[u8], is_ready: bool) -> Self {
        Self { status, body: body.to_vec(), is_ready }
    }
}

/// Sends a request to a server that answers with `response` in pieces of about `size` bytes.
fn exchange(method: &str, response: &'static [u8], size: usize) -> Result<Received, ExchangeError> {
    exchange_then(method, response, size, End::Keep)
}

/// Like [`exchange`], but the server then ends the connection with `end`.
fn exchange_then(
    method: &str,
    response: &'static [u8],
    size: usize,
    end: End,
) -> Result<Received, ExchangeError> {
    let pieces = response.len().div_ceil(size);
    let server =
        Server::start(move |_, _| Answer::from(response.to_vec()).trickled(pieces, Duration::ZERO).then(end));
    runtime().block_on(async {
        let mut connection = connect(server.port).await;
        let response = connection.exchange(&mut head(server.port, method, "/"), b"").await?;
        let body = connection.body(&response).to_vec();
        Ok(Received { status: response.status, body, is_ready: connection.is_ready() })
    })
}

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nx-filler: some more bytes\r\n\r\n\
    7\r\n{\"took\"\r\n4;x=y\r\n: 1}\r\n0\r\nx-trailer: 1\r\n\r\n";

#[test]
fn a_chunked_body_is_joined_however_it_is_split() {
    for size in [1, 2, 3, 7, 19, 64, 4096] {
        let expected = Received::new(200, b"{\"took\": 1}", true);
        assert_eq!(exchange("GET", CHUNKED, size).unwrap(), expected, "pieces of {size} bytes");
    }
}

#[test]
fn interim_responses_are_skipped() {
    let response = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";
    for size in [1, 30, 4096] {
        assert_eq!(exchange("GET", response, size).unwrap(), Received::new(201, b"{}", true));
    }
}

#[test]
fn responses_to_head_and_no_content_have_no_body() {
    let response = b"HTTP/1.1 200 OK\r\ncontent-length: 120\r\nx-filler: some more bytes\r\n\r\n";
    assert_eq!(exchange("HEAD", response, 4096).unwrap(), Received::new(200, b"", true));
    let response = b"HTTP/1.1 204 No Content\r\nx-filler: some more bytes\r\nx-filler: and some more\r\n\r\n";
    assert_eq!(exchange("GET", response, 4096).unwrap(), Received::new(204, b"", true));
}

#[test]
fn a_connection_is_not_used_again_after_connection_close() {
    let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nConnection: close\r\n\r\n{}";
    assert_eq!(exchange("GET", response, 4096).unwrap(), Received::new(200, b"{}", false));
}

#[test]
fn a_body_without_framing_ends_with_the_connection() {
    let response = b"HTTP/1.1 200 OK\r\nserver: old\r\n\r\neverything up to the end";
    let seen = exchange_then("GET", response, 5, End::Close).unwrap();
    assert_eq!(seen, Received::new(200, b"everything up to the end", false));
}

#[test]
fn trailing_data_and_incomplete_responses_are_errors() {
    let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n";
    assert!(matches!(exchange("GET", response, 4096), Err(ExchangeError::TrailingData { .. })));
    assert!(matches!(
        exchange("GET", b"SMTP ready\r\nand nothing else\r\n\r\n", 4096),
        Err(ExchangeError::Malformed(_))
    ));
    let half = b"HTTP/1.1 200 OK\r\nx-half: ";
    assert!(matches!(exchange_then("GET", half, 4096, End::Close), Err(ExchangeError::Closed)));
}

/// Returns whether the connection can be used again after the server has sent `data` between two exchanges, and then
/// closed its side if `closes`.
fn is_ready_after(data: &'static [u8], closes: bool) -> bool {
    let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let server = Server::start(|_, _| Answer::from(response.to_vec()));
    runtime().block_on(async {
        let mut connection = connect(server.port).await;
        connection.exchange(&mut head(server.port, "GET", "/"), b"").await.unwrap();
        assert!(connection.is_ready());
        let mut socket = &*server.socket(0);
        socket.write_all(data).unwrap();
        if closes {
            socket.shutdown(Shutdown::Write).unwrap();
        }
        // The runtime detects received data only when it is idle.
        tokio::time::sleep(Duration::from_millis(1)).await;
        connection.is_ready()
    })
}

#[test]
fn any_data_between_two_responses_ends_the_connection() {
    assert!(is_ready_after(b"", false));
    assert!(!is_ready_after(b"", true));
    assert!(!is_ready_after(b"\r\n", false));
    assert!(!is_ready_after(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n", true));
}

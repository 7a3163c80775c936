//! The HTTP client against replies as real servers send them, cut at every byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "http/early.rs"]
mod early;
#[path = "http/edges.rs"]
mod edges;
#[path = "http/gzip.rs"]
mod gzip;
#[path = "http/oracle.rs"]
mod oracle;
#[path = "http/recorded.rs"]
mod recorded;
mod support;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use pacenote_driver::transport::{
    Endpoint,
    http::{Connection, ExchangeError, RequestHead},
};
use pacenote_plan::{Scheme, TargetHost};

/// Opens a connection to a server on this machine.
async fn connect(port: u16) -> Connection {
    let endpoint = Endpoint::plain(vec![([127, 0, 0, 1], port).into()]);
    let deadline = Instant::now() + Duration::from_mins(1);
    Connection::new(endpoint.connect(0, deadline).await.unwrap())
}

/// A request head for such a server.
fn head(port: u16, method: &str, path: &str) -> RequestHead {
    let host =
        TargetHost { scheme: Scheme::Http, host: "127.0.0.1".into(), port, path: String::new(), proxy: None };
    RequestHead::new(&host, method, path, std::iter::empty()).unwrap()
}

/// A runtime as the driver's threads have it.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Sends one request and answers it with `reply` in pieces of `size`, then closes the connection if `closes` says so.
/// Tells status, body and whether the connection can be used again.
fn exchange_closing(
    method: &str,
    reply: &'static [u8],
    size: usize,
    closes: bool,
) -> Result<(u16, Vec<u8>, bool), ExchangeError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        for piece in reply.chunks(size) {
            stream.write_all(piece).unwrap();
        }
        (!closes).then_some(stream)
    });
    let seen = runtime().block_on(async {
        let mut connection = connect(port).await;
        let reply = connection.exchange(&mut head(port, method, "/"), b"").await?;
        Ok((reply.status, connection.body(&reply).to_vec(), connection.is_ready()))
    });
    drop(server.join().unwrap());
    seen
}

fn exchange(method: &str, reply: &'static [u8], size: usize) -> Result<(u16, Vec<u8>, bool), ExchangeError> {
    exchange_closing(method, reply, size, false)
}

#[test]
fn an_address_that_says_nothing_leaves_time_for_the_next() {
    let seen = runtime().block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let full = socket.listen(1).unwrap();
        let silent = full.local_addr().unwrap();
        // Whom nobody accepts fills the queue; who comes then hears nothing.
        let mut waiting = Vec::new();
        while let Ok(stream) =
            tokio::time::timeout(Duration::from_millis(300), tokio::net::TcpStream::connect(silent)).await
        {
            waiting.push(stream.unwrap());
            assert!(waiting.len() < 64);
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::plain(vec![silent, listener.local_addr().unwrap()]);
        let deadline = Instant::now() + Duration::from_secs(1);
        endpoint.connect(0, deadline).await.map(|stream| Connection::new(stream).is_ready())
    });
    assert!(seen.unwrap());
}

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nx-filler: some more bytes\r\n\r\n\
    7\r\n{\"took\"\r\n4;x=y\r\n: 1}\r\n0\r\nx-trailer: 1\r\n\r\n";

#[test]
fn chunks_come_together_wherever_they_are_cut() {
    for size in [1, 2, 3, 7, 19, 64, 4096] {
        let (status, body, usable) = exchange("GET", CHUNKED, size).unwrap();
        assert_eq!(
            (status, body.as_slice(), usable),
            (200, b"{\"took\": 1}".as_slice(), true),
            "pieces of {size}"
        );
    }
}

#[test]
fn interim_replies_are_passed_over() {
    let reply = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";
    for size in [1, 30, 4096] {
        assert_eq!(exchange("GET", reply, size).unwrap(), (201, b"{}".to_vec(), true));
    }
}

#[test]
fn head_and_no_content_have_no_body() {
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 120\r\nx-filler: some more bytes\r\n\r\n";
    assert_eq!(exchange("HEAD", reply, 4096).unwrap(), (200, Vec::new(), true));
    let reply = b"HTTP/1.1 204 No Content\r\nx-filler: some more bytes\r\nx-filler: and some more\r\n\r\n";
    assert_eq!(exchange("GET", reply, 4096).unwrap(), (204, Vec::new(), true));
}

#[test]
fn a_closed_connection_is_not_used_again() {
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nConnection: close\r\n\r\n{}";
    assert_eq!(exchange("GET", reply, 4096).unwrap(), (200, b"{}".to_vec(), false));
}

#[test]
fn a_body_without_a_frame_ends_with_the_connection() {
    let reply = b"HTTP/1.1 200 OK\r\nserver: old\r\n\r\neverything up to the end";
    let seen = exchange_closing("GET", reply, 5, true).unwrap();
    assert_eq!(seen, (200, b"everything up to the end".to_vec(), false));
}

#[test]
fn garbage_after_a_reply_and_half_replies_are_errors() {
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n\r\n";
    assert!(matches!(exchange("GET", reply, 4096), Err(ExchangeError::Malformed(_))));
    assert!(matches!(
        exchange("GET", b"SMTP ready\r\nand nothing else\r\n\r\n", 4096),
        Err(ExchangeError::Malformed(_))
    ));
    let half = b"HTTP/1.1 200 OK\r\nx-half: ";
    assert!(matches!(exchange_closing("GET", half, 4096, true), Err(ExchangeError::Closed)));
}

/// What comes between two exchanges, and whether the connection is still good after it.
fn usable_after(between: &'static [u8], closes: bool) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = std::sync::mpsc::channel();
    let (answer, answered) = tokio::sync::oneshot::channel();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
        told.recv().unwrap();
        stream.write_all(between).unwrap();
        let kept = (!closes).then_some(stream);
        answer.send(()).unwrap();
        kept
    });
    let usable = runtime().block_on(async {
        let mut connection = connect(port).await;
        connection.exchange(&mut head(port, "GET", "/"), b"").await.unwrap();
        assert!(connection.is_ready());
        tell.send(()).unwrap();
        answered.await.unwrap();
        // The runtime learns of what has come when it next has nothing to do.
        tokio::time::sleep(Duration::from_millis(1)).await;
        connection.is_ready()
    });
    drop(server.join().unwrap());
    usable
}

#[test]
fn whatever_comes_between_two_replies_ends_the_connection() {
    assert!(usable_after(b"", false));
    assert!(!usable_after(b"", true));
    assert!(!usable_after(b"\r\n", false));
    assert!(!usable_after(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n", true));
}

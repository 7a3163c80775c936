//! Servers that respond before they have read the whole request.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use pacenote_driver::transport::http::ExchangeError;

use super::{Received, connect, head};
use crate::support::server::accept_one;
use crate::transport::runtime;

/// Size of a body that does not fit into the socket buffers of both sides, in bytes.
const LARGE: usize = 64 << 20;

/// Sends a large body to a server that reads the start of the request and then runs `serve`.
fn send_large(serve: impl FnOnce(TcpStream) + Send + 'static) -> Result<Received, ExchangeError> {
    let (port, server) = accept_one(move |mut stream| {
        let mut first = [0; 512];
        stream.read_exact(&mut first).unwrap();
        assert!(first.starts_with(b"POST /_bulk HTTP/1.1\r\n"));
        serve(stream);
    });
    let body = vec![b'x'; LARGE];
    let received = runtime().block_on(async {
        let mut connection = connect(port).await;
        let response = connection.exchange(&mut head(port, "POST", "/_bulk"), &body).await?;
        let body = connection.body(&response).to_vec();
        Ok(Received { status: response.status, body, is_ready: connection.is_ready() })
    });
    server.join().unwrap();
    received
}

/// Reads until the client closes its side of the connection. Returns the number of bytes.
fn drain(mut stream: &TcpStream) -> usize {
    let mut buffer = vec![0; 1 << 20];
    let mut all = 0;
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        all += read;
    }
    all
}

#[test]
fn sending_stops_when_an_early_response_announces_the_close() {
    let received = send_large(|mut stream| {
        // The server reads no further, so the client must read the response while it cannot write the body.
        stream
            .write_all(b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbig")
            .unwrap();
        assert!(drain(&stream) < LARGE);
    });
    assert_eq!(received.unwrap(), Received::new(413, b"big", false));
}

#[test]
fn an_early_response_is_received_when_the_server_closes_its_side() {
    let received = send_large(|mut stream| {
        stream.write_all(b"HTTP/1.1 413 Too Large\r\n\r\nbig").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert!(drain(&stream) < LARGE);
    });
    assert_eq!(received.unwrap(), Received::new(413, b"big", false));
}

#[test]
fn the_whole_body_is_sent_to_a_server_that_continues_to_read() {
    let received = send_large(|mut stream| {
        stream
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Busy\r\ncontent-length: 4\r\n\r\nbusy")
            .unwrap();
        let mut left = vec![0; LARGE - 512];
        stream.read_exact(&mut left).unwrap();
        // The connection stays open until the client has tested whether it can be used again.
        let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
        let _ = drain(&stream);
    });
    assert_eq!(received.unwrap(), Received::new(429, b"busy", true));
}

#[test]
fn trailing_data_or_a_missing_response_is_an_error() {
    let received = send_large(|mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}and more").unwrap();
        drain(&stream);
    });
    assert!(matches!(received, Err(ExchangeError::TrailingData { .. })));
    let received = send_large(|stream| stream.shutdown(Shutdown::Write).unwrap());
    assert!(matches!(received, Err(ExchangeError::Closed | ExchangeError::Io(_))), "{received:?}");
    let received = send_large(drop);
    assert!(matches!(received, Err(ExchangeError::Closed | ExchangeError::Io(_))), "{received:?}");
}

#[test]
fn a_response_that_a_reset_may_have_truncated_is_accepted_with_an_error_status_only() {
    for (status, is_accepted) in [(200, false), (413, true)] {
        let received = send_large(move |mut stream| {
            stream.write_all(format!("HTTP/1.1 {status} x\r\n\r\nhalf").as_bytes()).unwrap();
            // The client needs time to read the response before the connection is reset.
            thread::sleep(Duration::from_millis(50));
            // Closing a socket with unread data resets it.
            drop(stream);
        });
        match received {
            Ok(received) if is_accepted => assert_eq!(received, Received::new(status, b"half", false)),
            Err(ExchangeError::Io(_)) if !is_accepted => {}
            received => panic!("{status}: {received:?}"),
        }
    }
}

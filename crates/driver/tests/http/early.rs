//! Servers that answer before they have read the whole request.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use pacenote_driver::transport::http::ExchangeError;

use crate::{connect, head, runtime};

/// More than the buffers of both sides hold.
const LARGE: usize = 64 << 20;

/// Sends a large body to a server that reads the head of the request and then does what `serve` does. Tells status and
/// body of the reply, and whether the connection can be used again.
fn send_large(serve: impl FnOnce(TcpStream) + Send + 'static) -> Result<(u16, Vec<u8>, bool), ExchangeError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut first = [0; 512];
        stream.read_exact(&mut first).unwrap();
        assert!(first.starts_with(b"POST /_bulk HTTP/1.1\r\n"));
        serve(stream);
    });
    let body = vec![b'x'; LARGE];
    let seen = runtime().block_on(async {
        let mut connection = connect(port).await;
        let reply = connection.exchange(&mut head(port, "POST", "/_bulk"), &body).await?;
        Ok((reply.status, connection.body(&reply).to_vec(), connection.is_ready()))
    });
    server.join().unwrap();
    seen
}

/// Reads until the other end closes its side; tells how much came.
fn drain(mut stream: &TcpStream) -> usize {
    let mut buffer = vec![0; 1 << 20];
    let mut all = 0;
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        all += read;
    }
    all
}

#[test]
fn a_server_that_refuses_and_says_it_closes_gets_no_more() {
    let seen = send_large(|mut stream| {
        // It reads nothing before it has been heard: what it says must be read while the body is stuck.
        stream
            .write_all(b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbig")
            .unwrap();
        assert!(drain(&stream) < LARGE);
    });
    assert_eq!(seen.unwrap(), (413, b"big".to_vec(), false));
}

#[test]
fn a_server_that_refuses_and_just_closes_is_still_heard() {
    let seen = send_large(|mut stream| {
        stream.write_all(b"HTTP/1.1 413 Too Large\r\n\r\nbig").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert!(drain(&stream) < LARGE);
    });
    assert_eq!(seen.unwrap(), (413, b"big".to_vec(), false));
}

#[test]
fn a_server_that_goes_on_reading_gets_everything() {
    let seen = send_large(|mut stream| {
        stream
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Busy\r\ncontent-length: 4\r\n\r\nbusy")
            .unwrap();
        let mut left = vec![0; LARGE - 512];
        stream.read_exact(&mut left).unwrap();
        // The other end is done with the request and now looks whether the connection is still there.
        let _ = stream.set_read_timeout(Some(std::time::Duration::from_secs(10)));
        let _ = drain(&stream);
    });
    assert_eq!(seen.unwrap(), (429, b"busy".to_vec(), true));
}

#[test]
fn who_says_more_than_a_reply_or_nothing_at_all_is_no_server() {
    let seen = send_large(|mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}and more").unwrap();
        drain(&stream);
    });
    assert!(matches!(seen, Err(ExchangeError::Malformed(_))));
    let seen = send_large(|stream| stream.shutdown(Shutdown::Write).unwrap());
    assert!(matches!(seen, Err(ExchangeError::Closed | ExchangeError::Io(_))), "{seen:?}");
    let seen = send_large(drop);
    assert!(matches!(seen, Err(ExchangeError::Closed | ExchangeError::Io(_))), "{seen:?}");
}

#[test]
fn a_reply_that_a_reset_may_have_cut_is_whole_only_if_it_refuses() {
    for (status, fits) in [(200, false), (413, true)] {
        let seen = send_large(move |mut stream| {
            stream.write_all(format!("HTTP/1.1 {status} x\r\n\r\nhalf").as_bytes()).unwrap();
            // The client is to have read it before the connection breaks.
            std::thread::sleep(std::time::Duration::from_millis(50));
            // Closed with bytes unread, it is reset.
            drop(stream);
        });
        match seen {
            Ok(seen) if fits => assert_eq!(seen, (status, b"half".to_vec(), false)),
            Err(ExchangeError::Io(_)) if !fits => {}
            seen => panic!("{status}: {seen:?}"),
        }
    }
}

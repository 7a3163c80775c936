//! A proxy that opens tunnels, over TCP or TLS.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::sync::{Arc, Mutex};
use std::thread;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A proxy that runs until the test's process ends.
pub struct Proxy {
    pub port: u16,
    asked: Log,
}

impl Proxy {
    /// Answers CONNECT with `answer`; if that opens a tunnel, it leads to `port` of this machine, whatever was asked for.
    pub fn start(answer: &'static str, port: u16, tls: Option<ServerConfig>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let own_port = listener.local_addr().unwrap().port();
        let asked: Log = Arc::default();
        let log = Arc::clone(&asked);
        let acceptor = tls.map(|tls| TlsAcceptor::from(Arc::new(tls)));
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(listener, acceptor, (answer, port), log));
        });
        Self { port: own_port, asked }
    }

    /// The heads of all requests for tunnels.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

type Log = Arc<Mutex<Vec<String>>>;

async fn serve(
    listener: std::net::TcpListener,
    acceptor: Option<TlsAcceptor>,
    to: (&'static str, u16),
    log: Log,
) {
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((stream, _)) = listener.accept().await {
        let (log, acceptor) = (Arc::clone(&log), acceptor.clone());
        tokio::spawn(async move {
            match acceptor {
                None => tunnel(stream, to, &log).await,
                Some(acceptor) => tunnel(acceptor.accept(stream).await.ok()?, to, &log).await,
            }
        });
    }
}

async fn tunnel<S>(mut stream: S, to: (&'static str, u16), log: &Mutex<Vec<String>>) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    log.lock().unwrap().push(String::from_utf8(head).unwrap());
    let (answer, port) = to;
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    if answer.contains(" 200 ") {
        let mut host = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        copy_bidirectional(&mut stream, &mut host).await.ok()?;
    }
    Some(())
}

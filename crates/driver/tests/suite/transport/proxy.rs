//! A proxy that opens tunnels and accepts plain TCP or TLS connections.

use std::sync::{Arc, Mutex};
use std::thread;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A proxy that runs until the test process ends.
pub struct Proxy {
    pub port: u16,
    log: Log,
}

impl Proxy {
    /// Starts a proxy that answers CONNECT with `answer`. If that opens a tunnel, it leads to `port` on this machine,
    /// regardless of the requested host.
    pub fn start(answer: &'static str, port: u16, tls: Option<ServerConfig>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let own_port = listener.local_addr().unwrap().port();
        let log: Log = Arc::default();
        let requests = Arc::clone(&log);
        let acceptor = tls.map(|tls| TlsAcceptor::from(Arc::new(tls)));
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(listener, acceptor, Answer { head: answer, host_port: port }, requests));
        });
        Self { port: own_port, log }
    }

    /// Returns the heads of all CONNECT requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

type Log = Arc<Mutex<Vec<String>>>;

/// The answer to CONNECT, and where its tunnels lead.
#[derive(Clone, Copy)]
struct Answer {
    head: &'static str,
    /// The port on this machine to which tunnels lead.
    host_port: u16,
}

async fn serve(listener: std::net::TcpListener, acceptor: Option<TlsAcceptor>, answer: Answer, log: Log) {
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((stream, _)) = listener.accept().await {
        let (log, acceptor) = (Arc::clone(&log), acceptor.clone());
        tokio::spawn(async move {
            match acceptor {
                None => tunnel(stream, answer, &log).await,
                Some(acceptor) => tunnel(acceptor.accept(stream).await.ok()?, answer, &log).await,
            }
        });
    }
}

async fn tunnel<S>(mut stream: S, answer: Answer, log: &Mutex<Vec<String>>) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    log.lock().unwrap().push(String::from_utf8(head).unwrap());
    stream.write_all(answer.head.as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    if answer.head.contains(" 200 ") {
        let mut host = TcpStream::connect(("127.0.0.1", answer.host_port)).await.ok()?;
        copy_bidirectional(&mut stream, &mut host).await.ok()?;
    }
    Some(())
}

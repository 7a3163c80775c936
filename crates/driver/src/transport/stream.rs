//! The byte stream of a connection: plain, or within TLS. Every kind is a type of its own, so that a plain one pays
//! for nothing but the question which it is.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A stream to a host.
#[derive(Debug)]
pub enum Stream {
    /// What is sent is what crosses the wire.
    Plain(Socket),
    /// Within TLS.
    Tls(Box<TlsStream<Socket>>),
    /// TLS with a host through the tunnel of a proxy that is talked to over TLS itself.
    Nested(Box<TlsStream<TlsStream<Socket>>>),
}

/// A socket that counts what crosses it.
#[derive(Debug)]
pub struct Socket {
    tcp: TcpStream,
    crossed: Crossed,
}

/// Bytes that have crossed a socket since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Crossed {
    /// Written.
    pub out: u64,
    /// Read.
    pub inward: u64,
}

impl Socket {
    /// A socket that nothing has crossed yet, without delay for small writes.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn new(tcp: TcpStream) -> io::Result<Self> {
        tcp.set_nodelay(true)?;
        Ok(Self { tcp, crossed: Crossed::default() })
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.tcp).poll_read(context, into))?;
        self.crossed.inward += (into.filled().len() - before) as u64;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.tcp).poll_write(context, bytes))?;
        self.crossed.out += written as u64;
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.tcp).poll_write_vectored(context, slices))?;
        self.crossed.out += written as u64;
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}

impl Stream {
    /// What has crossed the wire so far, with everything that TLS adds.
    #[must_use]
    pub fn crossed(&self) -> Crossed {
        match self {
            Self::Plain(socket) => socket.crossed,
            Self::Tls(tls) => tls.get_ref().0.crossed,
            Self::Nested(nested) => nested.get_ref().0.get_ref().0.crossed,
        }
    }

    /// Appends what has come to `buffer`, waiting for something to come; 0 at the end.
    ///
    /// # Errors
    ///
    /// What the system or TLS said.
    pub async fn read_buf(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read_buf(buffer).await,
            Self::Tls(tls) => tls.read_buf(buffer).await,
            Self::Nested(nested) => nested.read_buf(buffer).await,
        }
    }

    /// Writes some of a head and a body, both at once as long as they go. What TLS has taken may wait for the wire: when
    /// nothing else is left, that is written.
    ///
    /// # Errors
    ///
    /// What the system or TLS said.
    pub fn poll_write(
        &mut self,
        head: &[u8],
        body: &[u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => poll_write(socket, head, body, context),
            Self::Tls(tls) => poll_write(tls.as_mut(), head, body, context),
            Self::Nested(nested) => poll_write(nested.as_mut(), head, body, context),
        }
    }

    /// Whether nothing that was written waits for the wire.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tls(tls) => !tls.get_ref().1.wants_write(),
            Self::Nested(nested) => {
                let (outer, inner) = nested.get_ref();
                !inner.wants_write() && !outer.get_ref().1.wants_write()
            }
        }
    }

    /// Whether the peer has neither said anything nor closed the stream. The runtime remembers that the socket was
    /// drained, so this is no system call as long as the peer is silent. What TLS has to say to itself is no word of
    /// the peer's.
    #[must_use]
    pub fn is_silent(&mut self) -> bool {
        match self {
            Self::Plain(socket) => {
                let read = socket.tcp.try_read(&mut [0]);
                matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
            }
            // Whoever reads next leaves a waker that wakes.
            _ => self.poll_byte(&mut Context::from_waker(Waker::noop())).is_pending(),
        }
    }

    /// Reads a byte; 0 at the end.
    pub fn poll_byte(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut byte = [0];
        let mut into = ReadBuf::new(&mut byte);
        let polled = match self {
            Self::Plain(socket) => Pin::new(socket).poll_read(context, &mut into),
            Self::Tls(tls) => Pin::new(tls).poll_read(context, &mut into),
            Self::Nested(nested) => Pin::new(nested).poll_read(context, &mut into),
        };
        polled.map_ok(|()| into.filled().len())
    }
}

fn poll_write<S: AsyncWrite + Unpin>(
    stream: &mut S,
    head: &[u8],
    body: &[u8],
    context: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let stream = Pin::new(stream);
    let written = match (head, body) {
        ([], []) => return stream.poll_flush(context).map_ok(|()| 0),
        (head, []) => stream.poll_write(context, head),
        ([], body) => stream.poll_write(context, body),
        (head, body) => stream.poll_write_vectored(context, &[IoSlice::new(head), IoSlice::new(body)]),
    };
    match written {
        Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        written => written,
    }
}

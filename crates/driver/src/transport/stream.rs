//! The byte stream of a connection: plain TCP, TLS, or TLS inside TLS. It is an enum, not a trait object, so that plain
//! TCP costs only one comparison more than a bare socket.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::byte_counts::ByteCounts;

/// A stream to a host.
#[derive(Debug)]
pub enum MaybeTlsStream {
    /// TCP without TLS.
    Plain(CountingStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<CountingStream>>),
    /// TLS with the host, inside TLS with the proxy.
    TlsInTls(Box<TlsStream<TlsStream<CountingStream>>>),
}

/// A TCP stream that counts the bytes it sends and receives.
#[derive(Debug)]
pub struct CountingStream {
    tcp: TcpStream,
    counts: ByteCounts,
}

impl CountingStream {
    /// Wraps a connected socket, starts counting at zero, and disables Nagle's algorithm.
    ///
    /// # Errors
    ///
    /// The operating system's error.
    pub fn new(tcp: TcpStream) -> io::Result<Self> {
        tcp.set_nodelay(true)?;
        Ok(Self { tcp, counts: ByteCounts::default() })
    }
}

impl AsyncRead for CountingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.tcp).poll_read(context, buffer))?;
        self.counts.received += (buffer.filled().len() - before) as u64;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CountingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.tcp).poll_write(context, bytes))?;
        self.counts.sent += written as u64;
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.tcp).poll_write_vectored(context, slices))?;
        self.counts.sent += written as u64;
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

impl MaybeTlsStream {
    /// Returns the numbers of bytes sent and received so far, TLS included.
    #[must_use]
    pub fn byte_counts(&self) -> ByteCounts {
        match self {
            Self::Plain(socket) => socket.counts,
            Self::Tls(tls) => tls.get_ref().0.counts,
            Self::TlsInTls(inner) => inner.get_ref().0.get_ref().0.counts,
        }
    }

    /// Waits for bytes and appends them to `buffer`. Returns their number, which is 0 at the end of the stream.
    ///
    /// # Errors
    ///
    /// The operating system's or the TLS library's error.
    pub async fn read_buf(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read_buf(buffer).await,
            Self::Tls(tls) => tls.read_buf(buffer).await,
            Self::TlsInTls(inner) => inner.read_buf(buffer).await,
        }
    }

    /// Writes part of a head and a body, in one system call if possible, and returns the number of bytes. If both are
    /// empty, flushes what TLS has buffered.
    ///
    /// # Errors
    ///
    /// The operating system's or the TLS library's error.
    pub fn poll_write(
        &mut self,
        head: &[u8],
        body: &[u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(socket) => poll_write(socket, head, body, context),
            Self::Tls(tls) => poll_write(tls.as_mut(), head, body, context),
            Self::TlsInTls(inner) => poll_write(inner.as_mut(), head, body, context),
        }
    }

    /// Returns whether all bytes buffered by TLS have been written to the socket.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tls(tls) => !tls.get_ref().1.wants_write(),
            Self::TlsInTls(inner) => {
                let (outer, session) = inner.get_ref();
                !session.wants_write() && !outer.get_ref().1.wants_write()
            }
        }
    }

    /// Reads data that has arrived. Returns the number of bytes, which is 0 at the end of the stream and after an error,
    /// or `None` if the stream is open and has no data; TLS records without data do not count. The runtime remembers that
    /// the socket was drained, so no system call is made unless bytes have arrived.
    pub fn read_now(&mut self, bytes: &mut [u8]) -> Option<usize> {
        if let Self::Plain(socket) = self {
            return match socket.tcp.try_read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
                read => Some(read.unwrap_or(0)),
            };
        }
        let mut buffer = ReadBuf::new(bytes);
        // The next read registers its own waker.
        match self.poll_read(&mut Context::from_waker(Waker::noop()), &mut buffer) {
            Poll::Pending => None,
            Poll::Ready(Ok(())) => Some(buffer.filled().len()),
            Poll::Ready(Err(_)) => Some(0),
        }
    }

    /// Reads and discards one byte. Returns 1, or 0 at the end of the stream.
    ///
    /// # Errors
    ///
    /// The operating system's or the TLS library's error.
    pub fn poll_read_byte(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        self.poll_read(context, &mut buffer).map_ok(|()| buffer.filled().len())
    }

    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Tls(tls) => Pin::new(tls).poll_read(context, buffer),
            Self::TlsInTls(inner) => Pin::new(inner).poll_read(context, buffer),
        }
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

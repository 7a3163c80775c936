//! One connection: a request goes out, a reply comes in.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::ops::Range;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::chunked::{Chunked, Progress};
use super::head::Head;
use super::reply::{self, Framing, ReplyHead};

/// A reply head longer than this is refused.
const LONGEST_HEAD: usize = 64 * 1024;
/// A reply body longer than this is refused, so that no reply can fill the memory.
const LONGEST_BODY: usize = 512 * 1024 * 1024;
/// A buffer that has grown beyond this is given back.
const LARGE: usize = 4 << 20;
/// Free room offered to each read.
const READ_ROOM: usize = 32 * 1024;

/// Why no whole reply came. The connection cannot be used again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// The socket failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The peer closed the connection before the reply was whole.
    #[error("the connection was closed before the reply was complete")]
    Closed,
    /// The reply is not what HTTP/1.1 allows.
    #[error("{0}")]
    Malformed(&'static str),
}

/// A whole reply; its body lies in the connection's buffer until the next exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Bytes read, head and framing included.
    pub bytes_in: u64,
    body: Range<usize>,
}

/// A connection to one host.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    spent: bool,
}

impl Connection {
    /// Connects to the first address that answers, without delay for small writes.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub async fn open(addresses: &[SocketAddr]) -> io::Result<Self> {
        let stream = TcpStream::connect(addresses).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(READ_ROOM), spent: false })
    }

    /// Whether another request can be sent: the peer has neither announced nor carried out the end.
    #[must_use]
    pub fn usable(&self) -> bool {
        // Between exchanges nothing may come in: a byte is garbage, an end of file a closed connection. The runtime
        // remembers that the socket was drained, so this is no system call as long as the peer is silent.
        !self.spent
            && matches!(self.stream.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Sends one request and reads its reply to the last byte.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`]; the connection is then not [`Connection::usable`] any more.
    pub async fn exchange(&mut self, head: &mut Head, body: &[u8]) -> Result<Reply, ExchangeError> {
        self.spent = true;
        self.buffer.clear();
        if self.buffer.capacity() > LARGE {
            // One large reply must not cost its memory for the rest of the race.
            self.buffer = Vec::with_capacity(READ_ROOM);
        }
        let bodiless = head.bodiless_reply();
        let written = write_all(&mut self.stream, head.for_body(body.len()), body).await;
        // A server that refuses a large body may answer and close before it has read it all: its answer says more than
        // the broken pipe.
        let reply = match (self.read_reply(bodiless).await, written) {
            (Ok(reply), _) => Ok(reply),
            (Err(_), Err(error)) => Err(error.into()),
            (Err(error), Ok(())) => Err(error),
        };
        reply.map(|(head, reply)| {
            self.spent = head.close;
            reply
        })
    }

    /// The headers of the last reply, as the server wrote them; none while there is no whole reply.
    #[must_use]
    pub fn headers(&self) -> Vec<(String, String)> {
        reply::headers(&self.buffer)
    }

    /// The body of the last reply.
    #[must_use]
    pub fn body(&self, reply: &Reply) -> &[u8] {
        &self.buffer[reply.body.clone()]
    }

    async fn read_reply(&mut self, bodiless: bool) -> Result<(ReplyHead, Reply), ExchangeError> {
        let mut interim = 0;
        loop {
            let head = self.read_head(bodiless).await?;
            if (100..200).contains(&head.status) {
                self.buffer.drain(..head.length);
                interim += head.length;
                continue;
            }
            let (body, end) = match head.framing {
                Framing::Length(length) => self.read_length(head.length, length).await?,
                Framing::Chunked => self.read_chunked(head.length).await?,
                Framing::Close => self.read_to_end(head.length).await?,
            };
            if self.buffer.len() > end {
                return Err(ExchangeError::Malformed("bytes follow the reply that nobody asked for"));
            }
            let bytes_in = (interim + end) as u64;
            return Ok((head, Reply { status: head.status, bytes_in, body }));
        }
    }

    async fn read_head(&mut self, bodiless: bool) -> Result<ReplyHead, ExchangeError> {
        loop {
            if !self.buffer.is_empty()
                && let Some(head) = reply::parse(&self.buffer, bodiless).map_err(ExchangeError::Malformed)?
            {
                return Ok(head);
            }
            if self.buffer.len() > LONGEST_HEAD {
                return Err(ExchangeError::Malformed("the reply's head is longer than 64 KiB"));
            }
            self.read_more(READ_ROOM).await?;
        }
    }

    async fn read_length(
        &mut self,
        start: usize,
        length: usize,
    ) -> Result<(Range<usize>, usize), ExchangeError> {
        if length > LONGEST_BODY {
            return Err(ExchangeError::Malformed("the reply's body is longer than 512 MiB"));
        }
        let end = start + length;
        while self.buffer.len() < end {
            self.read_more(end - self.buffer.len()).await?;
        }
        Ok((start..end, end))
    }

    async fn read_chunked(&mut self, start: usize) -> Result<(Range<usize>, usize), ExchangeError> {
        let mut chunked = Chunked::default();
        loop {
            match chunked.advance(&mut self.buffer[start..]) {
                Progress::Complete { decoded, consumed } => {
                    return Ok((start..start + decoded, start + consumed));
                }
                Progress::Malformed => {
                    return Err(ExchangeError::Malformed("the reply's chunks are malformed"));
                }
                Progress::Partial => {}
            }
            self.limit()?;
            self.read_more(READ_ROOM).await?;
        }
    }

    async fn read_to_end(&mut self, start: usize) -> Result<(Range<usize>, usize), ExchangeError> {
        loop {
            match self.read_more(READ_ROOM).await {
                Ok(()) => self.limit()?,
                Err(ExchangeError::Closed) => return Ok((start..self.buffer.len(), self.buffer.len())),
                Err(error) => return Err(error),
            }
        }
    }

    fn limit(&self) -> Result<(), ExchangeError> {
        if self.buffer.len() > LONGEST_BODY {
            return Err(ExchangeError::Malformed("the reply's body is longer than 512 MiB"));
        }
        Ok(())
    }

    async fn read_more(&mut self, room: usize) -> Result<(), ExchangeError> {
        // At least a full read's room, at most what one read brings: a declared length alone claims no memory.
        self.buffer.reserve(room.clamp(READ_ROOM, 1 << 20));
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(ExchangeError::Closed);
        }
        Ok(())
    }
}

/// Head and body leave in one system call as long as the socket takes them.
async fn write_all(stream: &mut TcpStream, mut head: &[u8], mut body: &[u8]) -> io::Result<()> {
    while !head.is_empty() {
        let written = stream.write_vectored(&[IoSlice::new(head), IoSlice::new(body)]).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let of_head = written.min(head.len());
        head = &head[of_head..];
        body = &body[written - of_head..];
    }
    stream.write_all(body).await
}

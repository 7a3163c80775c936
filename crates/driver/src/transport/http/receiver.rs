//! Reads one reply after another from bytes as they come. There is no socket in here, so that any cut of any bytes can
//! be tried.

use std::ops::Range;

use super::chunked::{Chunked, Progress};
use super::error::{ExchangeError, FOLLOWED};
use super::gzip;
use super::reply::{self, Coding, Framing, ReplyHead};

/// A reply head longer than this is refused.
const LONGEST_HEAD: usize = 64 * 1024;
/// A reply body longer than this is refused, so that no reply can fill the memory.
const LONGEST_BODY: usize = 512 * 1024 * 1024;
/// More interim replies to one request are refused.
const MOST_INTERIMS: usize = 32;
/// A buffer that has grown beyond this is given back.
const LARGE: usize = 4 << 20;
/// Least free room offered to each read.
const READ_ROOM: usize = 32 * 1024;
/// Most free room offered to a read of a body whose length is known: a declared length alone claims no memory.
const MOST_ROOM: usize = 1 << 20;

const NOT_HTTP: ExchangeError = ExchangeError::Malformed("the reply does not begin as HTTP/1.1 does");
const LONG_BODY: ExchangeError = ExchangeError::Malformed("the reply's body is longer than 512 MiB");

/// A whole reply; its body lies in the buffers of its receiver until the next exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Bytes read, head and framing included.
    pub bytes_in: u64,
    /// The connection cannot be used again.
    pub close: bool,
    body: Body,
}

/// Where a body lies.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Body {
    /// Among the bytes that came, coded so.
    Came(Range<usize>, Coding),
    /// Decompressed.
    Plain,
}

/// Reads replies. Its buffers are used again and again.
#[derive(Debug)]
pub struct Receiver {
    /// All bytes since the last request.
    buffer: Vec<u8>,
    /// The last body that had to be decompressed.
    plain: Vec<u8>,
    /// Where the head in question begins: behind those of interim replies.
    start: usize,
    interims: usize,
    /// The reply has no body, whatever its head says.
    bodiless: bool,
    stage: Stage,
    longest_body: usize,
}

#[derive(Debug)]
enum Stage {
    Head {
        /// Bytes of it when it was last parsed, in vain.
        parsed: usize,
        /// Bytes of it in which its end was looked for.
        searched: usize,
    },
    Body(ReplyHead, Chunked),
}

impl Stage {
    const BEGIN: Self = Self::Head { parsed: 0, searched: 0 };
}

impl Default for Receiver {
    fn default() -> Self {
        Self::new(LONGEST_BODY)
    }
}

impl Receiver {
    /// Refuses bodies longer than `longest_body`, as they come and once they are decompressed.
    #[must_use]
    pub fn new(longest_body: usize) -> Self {
        Self {
            buffer: Vec::with_capacity(READ_ROOM),
            plain: Vec::new(),
            start: 0,
            interims: 0,
            bodiless: false,
            stage: Stage::BEGIN,
            longest_body,
        }
    }

    /// Forgets the last reply and awaits the next. `bodiless`: it is one to HEAD.
    pub fn begin(&mut self, bodiless: bool) {
        self.buffer.clear();
        // One large reply must not cost its memory for the rest of the race.
        if self.buffer.capacity() > LARGE {
            self.buffer = Vec::with_capacity(READ_ROOM);
        }
        if self.plain.capacity() > LARGE {
            self.plain = Vec::new();
        }
        (self.start, self.interims, self.bodiless, self.stage) = (0, 0, bodiless, Stage::BEGIN);
    }

    /// Where bytes that come are to be appended; it has room for what a read should bring.
    pub fn room(&mut self) -> &mut Vec<u8> {
        let room = match &self.stage {
            Stage::Body(ReplyHead { length, framing: Framing::Length(body), .. }, _) => {
                (self.start + length + body).saturating_sub(self.buffer.len()).clamp(READ_ROOM, MOST_ROOM)
            }
            _ => READ_ROOM,
        };
        self.buffer.reserve(room);
        &mut self.buffer
    }

    /// Looks at what has been appended. `Ok(None)`: more bytes are needed.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`] when no whole reply can come of it any more.
    pub fn advance(&mut self) -> Result<Option<Reply>, ExchangeError> {
        while let Stage::Head { parsed, searched } = self.stage {
            match self.read_head(parsed, searched)? {
                Some(head) if head.status < 200 => self.pass_over(&head)?,
                Some(head) => self.stage = Stage::Body(head, Chunked::default()),
                None => return Ok(None),
            }
        }
        self.read_body()
    }

    /// The peer has closed the connection: what has come is all there is.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`] when that is no whole reply.
    pub fn end(&mut self) -> Result<Reply, ExchangeError> {
        match &self.stage {
            Stage::Body(head @ ReplyHead { framing: Framing::Close, .. }, _) => {
                Ok(self.whole(head, self.start + head.length..self.buffer.len()))
            }
            // A head that was not worth parsing yet may be none: then that is what is wrong.
            Stage::Head { .. } if self.start < self.buffer.len() => {
                reply::parse(&self.buffer[self.start..], self.bodiless)?;
                Err(ExchangeError::Closed)
            }
            _ => Err(ExchangeError::Closed),
        }
    }

    /// Whether nothing but the end of the connection says where the reply ends.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.stage, Stage::Body(ReplyHead { framing: Framing::Close, .. }, _))
    }

    /// Decompresses the body of the last reply, if it is compressed. This is work of the client's: it is done when the
    /// clock has stopped.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`] when it is coded otherwise, or broken, or longer than any body may be.
    pub fn decode(&mut self, reply: Reply) -> Result<Reply, ExchangeError> {
        match &reply.body {
            Body::Came(range, Coding::Gzip) => {
                gzip::decode(&self.buffer[range.clone()], &mut self.plain, self.longest_body)?;
                Ok(Reply { body: Body::Plain, ..reply })
            }
            Body::Came(_, Coding::Unknown) => {
                let header = "content-encoding";
                Err(ExchangeError::Coding {
                    header,
                    coding: reply::header(&self.buffer[self.start..], header),
                })
            }
            Body::Came(_, Coding::Plain) | Body::Plain => Ok(reply),
        }
    }

    /// The body of the last reply: as it came until [`Receiver::decode`] has seen it.
    #[must_use]
    pub fn body(&self, reply: &Reply) -> &[u8] {
        match &reply.body {
            Body::Came(range, _) => &self.buffer[range.clone()],
            Body::Plain => &self.plain,
        }
    }

    /// The headers of the last reply, as the server wrote them; none while there is no whole reply.
    #[must_use]
    pub fn headers(&self) -> Vec<(String, String)> {
        reply::headers(&self.buffer[self.start..])
    }

    /// Bytes that the buffers take up.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.buffer.capacity() + self.plain.capacity()
    }

    /// Parsing begins anew each time; so it is done when the head may be whole or has doubled, and a head that
    /// trickles in costs no more than a few times its length.
    fn read_head(&mut self, parsed: usize, searched: usize) -> Result<Option<ReplyHead>, ExchangeError> {
        let bytes = &self.buffer[self.start..];
        match bytes.first() {
            None => return Ok(None),
            Some(b'H') => {}
            // Not even empty lines may come before it.
            Some(_) => return Err(NOT_HTTP),
        }
        let promising = bytes.len() >= 2 * parsed || has_empty_line(&bytes[searched..]);
        let head = if promising { reply::parse(bytes, self.bodiless)? } else { None };
        // The end of the first line of two may be known already.
        let searched = bytes.len().saturating_sub(2);
        let parsed = if promising { bytes.len() } else { parsed };
        if head.map_or(bytes.len(), |head| head.length) > LONGEST_HEAD {
            return Err(ExchangeError::Malformed("the reply's head is longer than 64 KiB"));
        }
        self.stage = Stage::Head { parsed, searched };
        Ok(head)
    }

    fn pass_over(&mut self, head: &ReplyHead) -> Result<(), ExchangeError> {
        self.interims += 1;
        if head.status == 101 {
            return Err(ExchangeError::Malformed("the reply switches protocols, which nobody asked for"));
        }
        if self.interims > MOST_INTERIMS {
            return Err(ExchangeError::Malformed("more than 32 interim replies came before the reply"));
        }
        self.start += head.length;
        self.stage = Stage::BEGIN;
        Ok(())
    }

    fn read_body(&mut self) -> Result<Option<Reply>, ExchangeError> {
        let Stage::Body(head, chunked) = &mut self.stage else { return Ok(None) };
        let (head, start) = (*head, self.start + head.length);
        let came = self.buffer.len() - start;
        let (length, consumed) = match head.framing {
            Framing::Length(length) if length > self.longest_body => return Err(LONG_BODY),
            Framing::Length(length) if came >= length => (length, length),
            Framing::Close if came > self.longest_body => return Err(LONG_BODY),
            Framing::Length(_) | Framing::Close => return Ok(None),
            Framing::Chunked => match chunked.advance(&mut self.buffer[start..], self.longest_body) {
                Progress::Complete { decoded, consumed } => (decoded, consumed),
                Progress::Malformed(why) => return Err(ExchangeError::Malformed(why)),
                // What frames the chunks counts too, since it takes the same memory.
                Progress::Partial if came > self.longest_body => return Err(LONG_BODY),
                Progress::Partial => return Ok(None),
            },
        };
        if came > consumed {
            return Err(FOLLOWED);
        }
        Ok(Some(self.whole(&head, start..start + length)))
    }

    fn whole(&self, head: &ReplyHead, body: Range<usize>) -> Reply {
        // Nothing is nothing, however it is coded.
        let coding = if body.is_empty() { Coding::Plain } else { head.coding };
        Reply {
            status: head.status,
            bytes_in: self.buffer.len() as u64,
            close: head.close,
            body: Body::Came(body, coding),
        }
    }
}

/// Whether there is an empty line in it, or its last line is followed by one.
fn has_empty_line(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).any(|at| matches!(&bytes[at + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 1 << 20;

    /// What the pieces come to; the connection is closed after them.
    fn receive<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(u16, Vec<u8>), ExchangeError> {
        let mut receiver = Receiver::new(LONGEST);
        receiver.begin(false);
        let mut reply = None;
        for piece in pieces {
            receiver.room().extend_from_slice(piece);
            if let Some(whole) = receiver.advance()? {
                reply = Some(whole);
                break;
            }
        }
        let reply = match reply {
            Some(reply) => reply,
            None => receiver.end()?,
        };
        let reply = receiver.decode(reply)?;
        Ok((reply.status, receiver.body(&reply).to_vec()))
    }

    fn with_head(fill: &str) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\nx: {fill}\r\ncontent-length: 2\r\n\r\n{{}}").into_bytes()
    }

    #[test]
    fn a_head_has_its_bounds_however_it_comes() {
        let rest = with_head("").len() - 2;
        for (length, fits) in [(LONGEST_HEAD, true), (LONGEST_HEAD + 1, false)] {
            let text = with_head(&"y".repeat(length - rest));
            assert_eq!(receive([text.as_slice()]).is_ok(), fits, "{length} at once");
            assert_eq!(receive(text.chunks(1)).is_ok(), fits, "{length} byte by byte");
        }
        assert!(receive(["HTTP/1.1 200 OK\r\nx: ", &"y".repeat(LONGEST_HEAD)].map(str::as_bytes)).is_err());
    }

    #[test]
    fn interim_replies_have_their_bounds() {
        let last = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".as_slice();
        let interim = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\ncontent-length: 7\r\n\r\n".as_slice();
        for (number, fits) in [(0, true), (1, true), (MOST_INTERIMS, true), (MOST_INTERIMS + 1, false)] {
            let text = [interim.repeat(number).as_slice(), last].concat();
            assert_eq!(receive([text.as_slice()]).is_ok(), fits, "{number} at once");
            assert_eq!(receive(text.chunks(3)).is_ok(), fits, "{number} in pieces");
        }
        assert!(receive([b"HTTP/1.1 101 Switching\r\n\r\n".as_slice(), last]).is_err());
    }

    #[test]
    fn a_body_has_its_bounds() {
        let mut too_long = Receiver::new(LONGEST);
        too_long.room().extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 1048577\r\n\r\n");
        assert!(too_long.advance().is_err());
        for head in ["", "transfer-encoding: chunked\r\n"] {
            let mut endless = Receiver::new(LONGEST);
            endless.room().extend_from_slice(format!("HTTP/1.1 200 OK\r\n{head}\r\n").as_bytes());
            let mut fed = 0;
            while endless.advance().is_ok() {
                fed += 5008;
                endless.room().extend_from_slice(b"1388\r\n");
                endless.room().extend_from_slice(&[b'x'; 5000]);
                endless.room().extend_from_slice(b"\r\n");
                assert!(fed < 2 * LONGEST, "{head}");
            }
            assert!(endless.capacity() < 3 * LONGEST, "{head}");
        }
    }

    #[test]
    fn no_length_claims_memory_before_its_bytes_come() {
        let mut receiver = Receiver::new(LONGEST_BODY);
        receiver.room().extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 536870912\r\n\r\n");
        assert_eq!(receiver.advance().unwrap(), None);
        receiver.room();
        assert!(receiver.capacity() < 3 * MOST_ROOM);
    }

    #[test]
    fn one_large_reply_does_not_cost_its_memory_for_ever() {
        let mut receiver = Receiver::default();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 2 * LARGE);
        receiver.room().extend_from_slice(head.as_bytes());
        receiver.room().extend_from_slice(&vec![b'x'; 2 * LARGE]);
        assert!(receiver.advance().unwrap().is_some());
        receiver.begin(false);
        assert!(receiver.capacity() <= READ_ROOM);
    }

    #[test]
    fn codings_that_nobody_asked_for_are_named() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\ncontent-length: 2\r\n\r\n{}".as_slice();
        let error = receive([text]).unwrap_err().to_string();
        assert_eq!(error, "the reply's content-encoding is \"br\", which nobody asked for");
        let text = b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n".as_slice();
        let error = receive([text]).unwrap_err().to_string();
        assert_eq!(error, "the reply's transfer-encoding is \"gzip, chunked\", which nobody asked for");
        let empty = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\ncontent-length: 0\r\n\r\n".as_slice();
        assert_eq!(receive([empty]).unwrap(), (200, Vec::new()));
    }
}

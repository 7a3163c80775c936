//! The chunked transfer coding (RFC 9112, section 7.1), decoded in place.
//!
//! Lines must end with CRLF: parsers that also accept other line endings may disagree about where the body ends. Every
//! byte is moved at most once. An incomplete line is searched again after every read, at a cost that is bounded by its
//! maximum length.

/// Maximum length of the line with a chunk's size, extensions included, in bytes.
const MAX_SIZE_LINE: usize = 4 * 1024;
/// Maximum length of the trailer section, in bytes.
const MAX_TRAILER_SECTION: usize = 16 * 1024;
/// Maximum number of trailers.
const MAX_TRAILERS: usize = 64;

/// Decodes a chunked body. The decoded bytes are moved to the beginning of the body.
#[derive(Debug, Default)]
pub struct ChunkedDecoder {
    /// End of the decoded bytes, from the beginning of the body.
    decoded: usize,
    /// Position of the next byte to decode, from the beginning of the body.
    next: usize,
    state: State,
}

/// The part of the coding that is expected next.
#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// The line with the size of a chunk.
    #[default]
    Size,
    /// This number of bytes, the rest of the current chunk.
    Data(usize),
    /// The line ending after a chunk.
    DataEnd,
    /// The trailer section, up to an empty line.
    Trailers,
}

/// Result of decoding the bytes received so far.
#[derive(Debug, PartialEq, Eq)]
pub enum ChunkedStatus {
    /// More bytes are needed.
    Partial,
    /// The body is complete.
    Complete {
        /// Decoded length in bytes.
        decoded: usize,
        /// Encoded length in bytes, trailers included.
        consumed: usize,
    },
    /// The chunked coding is invalid, for this reason.
    Malformed(&'static str),
}

impl ChunkedDecoder {
    /// Continues decoding `body`, which contains all bytes received since the beginning of the encoded body. A chunk of
    /// more than `max_body` bytes is rejected as soon as its size is known.
    pub fn advance(&mut self, body: &mut [u8], max_body: usize) -> ChunkedStatus {
        loop {
            let status = match self.state {
                State::Size => self.read_size(&body[self.next..], max_body),
                State::Data(left) => self.read_data(body, left),
                State::DataEnd => self.read_data_end(&body[self.next..]),
                State::Trailers => Some(self.read_trailers(&body[self.next..])),
            };
            if let Some(status) = status {
                return status;
            }
        }
    }

    fn read_size(&mut self, rest: &[u8], max_body: usize) -> Option<ChunkedStatus> {
        let first = *rest.first().unwrap_or(&b'0');
        let Some(length) = memchr::memchr(b'\n', &rest[..rest.len().min(MAX_SIZE_LINE)]) else {
            return Some(if !first.is_ascii_hexdigit() {
                ChunkedStatus::Malformed("a chunk's size is not a number")
            } else if rest.len() >= MAX_SIZE_LINE {
                ChunkedStatus::Malformed("the line with a chunk's size is longer than 4 KiB")
            } else {
                ChunkedStatus::Partial
            });
        };
        let Some(size) = rest[..length].strip_suffix(b"\r").and_then(parse_size) else {
            return Some(ChunkedStatus::Malformed("a chunk's size is not a number"));
        };
        if size > max_body {
            return Some(ChunkedStatus::Malformed("a chunk is longer than the limit of a body"));
        }
        self.next += length + 1;
        self.state = if size == 0 { State::Trailers } else { State::Data(size) };
        None
    }

    fn read_data(&mut self, body: &mut [u8], left: usize) -> Option<ChunkedStatus> {
        let available = left.min(body.len() - self.next);
        body.copy_within(self.next..self.next + available, self.decoded);
        self.decoded += available;
        self.next += available;
        if left > available {
            self.state = State::Data(left - available);
            return Some(ChunkedStatus::Partial);
        }
        self.state = State::DataEnd;
        None
    }

    fn read_data_end(&mut self, rest: &[u8]) -> Option<ChunkedStatus> {
        match rest {
            [b'\r', b'\n', ..] => {
                self.next += 2;
                self.state = State::Size;
                None
            }
            [] | [b'\r'] => Some(ChunkedStatus::Partial),
            _ => Some(ChunkedStatus::Malformed("a chunk is longer than its declared size")),
        }
    }

    fn read_trailers(&self, rest: &[u8]) -> ChunkedStatus {
        let searched = &rest[..rest.len().min(MAX_TRAILER_SECTION)];
        let end = match searched {
            [b'\r', b'\n', ..] => Some(2),
            _ => memchr::memmem::find(searched, b"\r\n\r\n").map(|position| position + 4),
        };
        match end {
            Some(2) => ChunkedStatus::Complete { decoded: self.decoded, consumed: self.next + 2 },
            Some(length) => match check_trailers(&searched[..length]) {
                Ok(()) => ChunkedStatus::Complete { decoded: self.decoded, consumed: self.next + length },
                Err(reason) => ChunkedStatus::Malformed(reason),
            },
            None if rest.len() >= MAX_TRAILER_SECTION => {
                ChunkedStatus::Malformed("the trailers are longer than 16 KiB")
            }
            None => ChunkedStatus::Partial,
        }
    }
}

/// Parses the hexadecimal size of a chunk and ignores its extensions.
fn parse_size(line: &[u8]) -> Option<usize> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let blanks = line[digits..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let rest = &line[digits + blanks..];
    if digits == 0 || !(rest.is_empty() || rest[0] == b';' && !rest.contains(&b'\r')) {
        return None;
    }
    usize::from_str_radix(std::str::from_utf8(&line[..digits]).ok()?, 16).ok()
}

fn check_trailers(section: &[u8]) -> Result<(), &'static str> {
    // Parsers disagree about whether a bare LF ends a line.
    if memchr::memchr_iter(b'\n', section).any(|newline| newline == 0 || section[newline - 1] != b'\r') {
        return Err("a trailer's line does not end with CRLF");
    }
    let mut trailers = [httparse::EMPTY_HEADER; MAX_TRAILERS];
    match httparse::parse_headers(section, &mut trailers) {
        Ok(httparse::Status::Complete(_)) => Ok(()),
        Err(httparse::Error::TooManyHeaders) => Err("there are more than 64 trailers"),
        _ => Err("the data after the last chunk is not a trailer section"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    /// Decodes the bytes in pieces of `size`, as if they came from a socket.
    fn decode(encoded: &[u8], size: usize) -> (ChunkedStatus, Vec<u8>) {
        let mut decoder = ChunkedDecoder::default();
        let mut buffer = Vec::new();
        for piece in encoded.chunks(size) {
            buffer.extend_from_slice(piece);
            let status = decoder.advance(&mut buffer, LIMIT);
            if status != ChunkedStatus::Partial {
                buffer.truncate(decoder.decoded);
                return (status, buffer);
            }
        }
        (ChunkedStatus::Partial, buffer)
    }

    /// Returns the status after decoding in one piece. Asserts that it is the same after decoding byte by byte.
    fn status(encoded: &[u8]) -> ChunkedStatus {
        let (whole, bytewise) = (decode(encoded, encoded.len()).0, decode(encoded, 1).0);
        assert_eq!(
            std::mem::discriminant(&whole),
            std::mem::discriminant(&bytewise),
            "{:?}",
            String::from_utf8_lossy(encoded)
        );
        whole
    }

    #[test]
    fn the_body_does_not_depend_on_how_the_bytes_are_split() {
        let encoded =
            b"5;ext=1\r\nhello\r\n1\r\n \r\n00A \t;a=\"b\"\r\n0123456789\r\n0\r\nx-trailer: y\r\n\r\n";
        for size in 1..=encoded.len() {
            let (status, body) = decode(encoded, size);
            assert_eq!(
                status,
                ChunkedStatus::Complete { decoded: 16, consumed: encoded.len() },
                "pieces of {size} bytes"
            );
            assert_eq!(body, b"hello 0123456789");
        }
        assert!(matches!(
            status(b"a\r\n0123456789\r\n0;last\r\n\r\n"),
            ChunkedStatus::Complete { decoded: 10, .. }
        ));
        assert!(matches!(status(b"0 \r\n\r\n"), ChunkedStatus::Complete { decoded: 0, consumed: 6 }));
    }

    #[test]
    fn a_malformed_chunked_body_is_rejected() {
        let sizes: [&[u8]; 16] = [
            b"2\r;x\r\nab\r\n",
            b"2\x0c;x\r\nab\r\n",
            b"zz\r\n",
            b"\r\n\r\n",
            b";x\r\n",
            b" 2\r\nab\r\n",
            b"2\nab\r\n",
            b"2;x\nab\r\n",
            b"2;x\ry\r\nab\r\n",
            b"-2\r\nab\r\n",
            b"+2\r\nab\r\n",
            b"0x2\r\nab\r\n",
            b"2 2\r\nab\r\n",
            b"10000000000000000\r\n",
            b"ffffffffffffffff\r\n",
            b"100001\r\n",
        ];
        let data: [&[u8]; 3] = [b"2\r\nabc\r\n", b"2\r\nab\n0\r\n\r\n", b"2\r\nab\r0\r\n"];
        let trailers: [&[u8]; 5] = [
            b"0\r\nno colon\r\n\r\n",
            b"0\r\n\n\r\n\r\n",
            b"0\r\na: b\nc: d\r\n\r\n",
            b"0\r\n folded: b\r\n\r\n",
            b"0\r\na b: c\r\n\r\n",
        ];
        for encoded in sizes.into_iter().chain(data).chain(trailers) {
            let status = status(encoded);
            assert!(matches!(status, ChunkedStatus::Malformed(_)), "{}", String::from_utf8_lossy(encoded));
        }
        assert_eq!(status(b"2\r\nab"), ChunkedStatus::Partial);
        assert_eq!(status(b"2\r\nab\r"), ChunkedStatus::Partial);
        assert_eq!(status(b"0\r\na: b\r\n"), ChunkedStatus::Partial);
    }

    #[test]
    fn lines_and_trailers_beyond_their_limits_are_rejected() {
        let line = [b"2;".as_slice(), &[b'x'; MAX_SIZE_LINE]].concat();
        assert!(matches!(status(&line), ChunkedStatus::Malformed(_)));
        let trailer = [b"0\r\nx: ".as_slice(), &[b'x'; MAX_TRAILER_SECTION]].concat();
        assert!(matches!(status(&trailer), ChunkedStatus::Malformed(_)));
        let many = [b"0\r\n".as_slice(), &b"x: y\r\n".repeat(MAX_TRAILERS + 1), b"\r\n"].concat();
        assert!(matches!(status(&many), ChunkedStatus::Malformed(_)));
    }
}

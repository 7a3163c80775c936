//! The chunked transfer coding (RFC 9112, section 7.1), decoded in place.
//!
//! Lines end in CRLF and in nothing else: where one reader sees an end of line and another does not, they disagree
//! about what the body is. Every byte is moved once; a line that has not come whole is looked at again with every
//! read, which its greatest length bounds.

/// A line with a chunk's size, extensions included, may not be longer.
const LONGEST_SIZE_LINE: usize = 4 * 1024;
/// Trailers may not be longer together.
const LONGEST_TRAILERS: usize = 16 * 1024;
/// More trailers are refused.
const MOST_TRAILERS: usize = 64;

/// Where decoding stands. The decoded bytes are moved together at the beginning of the body.
#[derive(Debug, Default)]
pub struct Chunked {
    /// End of the decoded bytes, from the body's beginning.
    decoded: usize,
    /// Next byte to look at, likewise.
    next: usize,
    /// What is expected next.
    expected: Expected,
}

#[derive(Debug, Default, Clone, Copy)]
enum Expected {
    /// The line with a chunk's size.
    #[default]
    Size,
    /// So many bytes of the present chunk.
    Data(usize),
    /// The end of the line after a chunk.
    LineEnd,
    /// Trailers from here to an empty line.
    Trailers,
}

/// What looking at more bytes came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    Partial,
    /// The body is complete: so many decoded bytes, made of so many bytes on the wire.
    Complete {
        /// Decoded length.
        decoded: usize,
        /// Encoded length, trailers included.
        consumed: usize,
    },
    /// This is no chunked body, and why.
    Malformed(&'static str),
}

impl Chunked {
    /// Goes on with `body`, which begins where the coded body begins and holds all bytes that have come. A chunk
    /// longer than `longest` is refused before any of it has come.
    pub fn advance(&mut self, body: &mut [u8], longest: usize) -> Progress {
        loop {
            let step = match self.expected {
                Expected::Size => self.take_size(&body[self.next..], longest),
                Expected::Data(left) => self.take_data(body, left),
                Expected::LineEnd => self.take_line_end(&body[self.next..]),
                Expected::Trailers => Some(self.take_trailers(&body[self.next..])),
            };
            if let Some(progress) = step {
                return progress;
            }
        }
    }

    fn take_size(&mut self, rest: &[u8], longest: usize) -> Option<Progress> {
        let first = *rest.first().unwrap_or(&b'0');
        let Some(length) = memchr::memchr(b'\n', &rest[..rest.len().min(LONGEST_SIZE_LINE)]) else {
            return Some(if !first.is_ascii_hexdigit() {
                Progress::Malformed("a chunk's size is no number")
            } else if rest.len() >= LONGEST_SIZE_LINE {
                Progress::Malformed("the line with a chunk's size is longer than 4 KiB")
            } else {
                Progress::Partial
            });
        };
        let Some(size) = rest[..length].strip_suffix(b"\r").and_then(size) else {
            return Some(Progress::Malformed("a chunk's size is no number"));
        };
        if size > longest {
            return Some(Progress::Malformed("a chunk is longer than any body may be"));
        }
        self.next += length + 1;
        self.expected = if size == 0 { Expected::Trailers } else { Expected::Data(size) };
        None
    }

    fn take_data(&mut self, body: &mut [u8], left: usize) -> Option<Progress> {
        let here = left.min(body.len() - self.next);
        body.copy_within(self.next..self.next + here, self.decoded);
        self.decoded += here;
        self.next += here;
        if left > here {
            self.expected = Expected::Data(left - here);
            return Some(Progress::Partial);
        }
        self.expected = Expected::LineEnd;
        None
    }

    fn take_line_end(&mut self, rest: &[u8]) -> Option<Progress> {
        match rest {
            [b'\r', b'\n', ..] => {
                self.next += 2;
                self.expected = Expected::Size;
                None
            }
            [] | [b'\r'] => Some(Progress::Partial),
            _ => Some(Progress::Malformed("a chunk is longer than its size says")),
        }
    }

    fn take_trailers(&self, rest: &[u8]) -> Progress {
        let shown = &rest[..rest.len().min(LONGEST_TRAILERS)];
        let end = match shown {
            [b'\r', b'\n', ..] => Some(2),
            _ => memchr::memmem::find(shown, b"\r\n\r\n").map(|at| at + 4),
        };
        match end {
            Some(2) => Progress::Complete { decoded: self.decoded, consumed: self.next + 2 },
            Some(length) => match check_trailers(&shown[..length]) {
                Ok(()) => Progress::Complete { decoded: self.decoded, consumed: self.next + length },
                Err(why) => Progress::Malformed(why),
            },
            None if rest.len() >= LONGEST_TRAILERS => {
                Progress::Malformed("the trailers are longer than 16 KiB")
            }
            None => Progress::Partial,
        }
    }
}

/// A size in hexadecimal digits; extensions are passed over.
fn size(line: &[u8]) -> Option<usize> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let blanks = line[digits..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let rest = &line[digits + blanks..];
    if digits == 0 || !(rest.is_empty() || rest[0] == b';' && !rest.contains(&b'\r')) {
        return None;
    }
    usize::from_str_radix(std::str::from_utf8(&line[..digits]).ok()?, 16).ok()
}

fn check_trailers(section: &[u8]) -> Result<(), &'static str> {
    // Such a line would be one to some and two to others.
    if memchr::memchr_iter(b'\n', section).any(|at| at == 0 || section[at - 1] != b'\r') {
        return Err("a trailer's line does not end with CRLF");
    }
    let mut trailers = [httparse::EMPTY_HEADER; MOST_TRAILERS];
    match httparse::parse_headers(section, &mut trailers) {
        Ok(httparse::Status::Complete(_)) => Ok(()),
        Err(httparse::Error::TooManyHeaders) => Err("there are more than 64 trailers"),
        _ => Err("what follows the last chunk are no trailers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: usize = 1 << 20;

    /// Feeds the bytes in pieces of `size`, as they would come from a socket.
    fn decode(coded: &[u8], size: usize) -> (Progress, Vec<u8>) {
        let mut chunked = Chunked::default();
        let mut buffer = Vec::new();
        for piece in coded.chunks(size) {
            buffer.extend_from_slice(piece);
            let progress = chunked.advance(&mut buffer, LONGEST);
            if progress != Progress::Partial {
                buffer.truncate(chunked.decoded);
                return (progress, buffer);
            }
        }
        (Progress::Partial, buffer)
    }

    /// What becomes of it whole and byte by byte, which must be the same.
    fn outcome(coded: &[u8]) -> Progress {
        let (whole, bytewise) = (decode(coded, coded.len()).0, decode(coded, 1).0);
        assert_eq!(
            std::mem::discriminant(&whole),
            std::mem::discriminant(&bytewise),
            "{:?}",
            String::from_utf8_lossy(coded)
        );
        whole
    }

    #[test]
    fn any_cut_of_the_bytes_gives_the_same_body() {
        let coded =
            b"5;ext=1\r\nhello\r\n1\r\n \r\n00A \t;a=\"b\"\r\n0123456789\r\n0\r\nx-trailer: y\r\n\r\n";
        for size in 1..=coded.len() {
            let (progress, body) = decode(coded, size);
            assert_eq!(
                progress,
                Progress::Complete { decoded: 16, consumed: coded.len() },
                "pieces of {size}"
            );
            assert_eq!(body, b"hello 0123456789");
        }
        assert!(matches!(
            outcome(b"a\r\n0123456789\r\n0;last\r\n\r\n"),
            Progress::Complete { decoded: 10, .. }
        ));
        assert!(matches!(outcome(b"0 \r\n\r\n"), Progress::Complete { decoded: 0, consumed: 6 }));
    }

    #[test]
    fn what_is_not_chunked_is_refused() {
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
        for coded in sizes.into_iter().chain(data).chain(trailers) {
            let progress = outcome(coded);
            assert!(matches!(progress, Progress::Malformed(_)), "{}", String::from_utf8_lossy(coded));
        }
        assert_eq!(outcome(b"2\r\nab"), Progress::Partial);
        assert_eq!(outcome(b"2\r\nab\r"), Progress::Partial);
        assert_eq!(outcome(b"0\r\na: b\r\n"), Progress::Partial);
    }

    #[test]
    fn lines_that_never_end_are_refused() {
        let line = [b"2;".as_slice(), &[b'x'; LONGEST_SIZE_LINE]].concat();
        assert!(matches!(outcome(&line), Progress::Malformed(_)));
        let trailer = [b"0\r\nx: ".as_slice(), &[b'x'; LONGEST_TRAILERS]].concat();
        assert!(matches!(outcome(&trailer), Progress::Malformed(_)));
        let many = [b"0\r\n".as_slice(), &b"x: y\r\n".repeat(MOST_TRAILERS + 1), b"\r\n"].concat();
        assert!(matches!(outcome(&many), Progress::Malformed(_)));
    }
}

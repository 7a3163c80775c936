//! The chunked transfer coding (RFC 9112, section 7.1), decoded in place.

/// Where decoding stands. The decoded bytes are moved together at the beginning of the body.
#[derive(Debug, Default)]
pub struct Chunked {
    /// End of the decoded bytes, from the body's beginning.
    decoded: usize,
    /// Next byte to look at, likewise.
    next: usize,
    /// Bytes of the present chunk still to come; `None` between chunks.
    left: Option<usize>,
    /// The last chunk was seen; trailers follow.
    trailers: bool,
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
    /// This is no chunked body.
    Malformed,
}

impl Chunked {
    /// Goes on with `body`, which begins where the coded body begins and holds all bytes that have come.
    pub fn advance(&mut self, body: &mut [u8]) -> Progress {
        loop {
            if self.trailers {
                return self.skip_trailers(body);
            }
            let step = match self.left {
                Some(left) => self.take_data(body, left),
                None => self.take_size(body),
            };
            if let Some(progress) = step {
                return progress;
            }
        }
    }

    fn take_size(&mut self, body: &[u8]) -> Option<Progress> {
        match httparse::parse_chunk_size(&body[self.next..]) {
            Ok(httparse::Status::Complete((length, size))) => {
                self.next += length;
                let Ok(size) = usize::try_from(size) else { return Some(Progress::Malformed) };
                self.trailers = size == 0;
                self.left = (size > 0).then_some(size);
                None
            }
            Ok(httparse::Status::Partial) => Some(Progress::Partial),
            Err(_) => Some(Progress::Malformed),
        }
    }

    fn take_data(&mut self, body: &mut [u8], left: usize) -> Option<Progress> {
        let here = left.min(body.len() - self.next);
        body.copy_within(self.next..self.next + here, self.decoded);
        self.decoded += here;
        self.next += here;
        self.left = Some(left - here);
        if left > here {
            return Some(Progress::Partial);
        }
        match body.get(self.next..self.next + 2) {
            Some(b"\r\n") => {
                self.next += 2;
                self.left = None;
                None
            }
            Some(_) => Some(Progress::Malformed),
            None => Some(Progress::Partial),
        }
    }

    fn skip_trailers(&mut self, body: &[u8]) -> Progress {
        while let Some(length) = memchr::memchr(b'\n', &body[self.next..]) {
            let line = &body[self.next..self.next + length];
            self.next += length + 1;
            if matches!(line, b"" | b"\r") {
                return Progress::Complete { decoded: self.decoded, consumed: self.next };
            }
        }
        Progress::Partial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the bytes in pieces of `size`, as they would come from a socket.
    fn decode(coded: &[u8], size: usize) -> (Progress, Vec<u8>) {
        let mut chunked = Chunked::default();
        let mut buffer = Vec::new();
        for piece in coded.chunks(size) {
            buffer.extend_from_slice(piece);
            let progress = chunked.advance(&mut buffer);
            if progress != Progress::Partial {
                buffer.truncate(chunked.decoded);
                return (progress, buffer);
            }
        }
        (Progress::Partial, buffer)
    }

    #[test]
    fn any_cut_of_the_bytes_gives_the_same_body() {
        let coded = b"5;ext=1\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\nx-trailer: y\r\n\r\n";
        for size in 1..=coded.len() {
            let (progress, body) = decode(coded, size);
            assert_eq!(
                progress,
                Progress::Complete { decoded: 16, consumed: coded.len() },
                "pieces of {size}"
            );
            assert_eq!(body, b"hello 0123456789");
        }
    }

    #[test]
    fn what_is_not_chunked_is_refused() {
        assert_eq!(decode(b"zz\r\n", 4).0, Progress::Malformed);
        assert_eq!(decode(b"2\r\nabc\r\n", 20).0, Progress::Malformed);
        assert_eq!(decode(b"2\r\nab", 20).0, Progress::Partial);
    }
}

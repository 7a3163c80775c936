//! Reads responses from bytes as they arrive. The reader uses no socket, so that tests can split the bytes anywhere.

use std::ops::Range;
use std::sync::Arc;

use super::chunked::{ChunkedDecoder, ChunkedStatus};
use super::error::ExchangeError;
use super::gzip;
use super::memory::{ReservedMemory, ResponseMemory};
use super::response_head::{self, BodyFraming, ContentEncoding, ResponseHead};

/// Maximum length of a response head, in bytes.
const MAX_HEAD_LEN: usize = 64 * 1024;
/// Maximum length of a response body in bytes, both as received and decompressed, so that no response can exhaust
/// memory.
const MAX_BODY_LEN: usize = 512 * 1024 * 1024;
/// Maximum number of interim (1xx) responses to one request.
const MAX_INTERIM_RESPONSES: usize = 32;
/// Capacity of the buffers, in bytes, above which they are freed if they are not used.
const MAX_KEPT_CAPACITY: usize = 4 << 20;
/// Number of successive responses that use less than a quarter of large buffers, after which these are freed.
const UNUSED_RESPONSES: u32 = 16;
/// Minimum free capacity for a read, in bytes.
const MIN_READ: usize = 32 * 1024;
/// Maximum free capacity for a read of a body of known length, in bytes, so that a declared length alone allocates no
/// memory.
const MAX_READ: usize = 1 << 20;

const NOT_HTTP: ExchangeError =
    ExchangeError::Malformed("the response does not start with an HTTP/1.1 status line");
const BODY_TOO_LONG: ExchangeError = ExchangeError::Malformed("the response's body is longer than 512 MiB");
const DECOMPRESSED_TOO_LONG: ExchangeError =
    ExchangeError::Malformed("the response's body is longer than 512 MiB once decompressed");

/// A complete response. Its body stays in the buffers of its [`ResponseReader`] until the next request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Bytes received, head and framing included.
    pub total_len: u64,
    /// Whether the connection cannot be used again.
    pub close: bool,
    body: BodyLocation,
}

impl Response {
    /// Returns whether the body must be decompressed before it can be read.
    #[must_use]
    pub fn is_encoded(&self) -> bool {
        matches!(self.body, BodyLocation::Received(_, ContentEncoding::Gzip | ContentEncoding::Unsupported))
    }
}

/// The location of a response's body.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BodyLocation {
    /// The body is in the received bytes, with this encoding.
    Received(Range<usize>, ContentEncoding),
    /// The body is in the buffer for decompressed bodies.
    Decompressed,
}

/// Reads one response after another and reuses its buffers.
#[derive(Debug)]
pub struct ResponseReader {
    /// All bytes received since the last request.
    buffer: Vec<u8>,
    /// The last body that was decompressed.
    decompressed: Vec<u8>,
    /// Start of the current head in `buffer`, after the heads of interim responses.
    head_start: usize,
    interim_count: usize,
    /// Whether the response has no body, regardless of its head.
    no_body: bool,
    state: State,
    max_body_len: usize,
    /// The memory that both buffers occupy.
    reserved: ReservedMemory,
    /// Number of responses since large buffers were used.
    unused_responses: u32,
}

#[derive(Debug)]
enum State {
    Head {
        /// Length of the incomplete head when it was last parsed, in bytes.
        parsed_len: usize,
        /// Length of the part of the head that has been searched for the end of the head, in bytes.
        searched_len: usize,
    },
    Body(ResponseHead, ChunkedDecoder),
}

impl State {
    const START: Self = Self::Head { parsed_len: 0, searched_len: 0 };
}

impl Default for ResponseReader {
    /// Creates a reader that shares its memory with no other.
    fn default() -> Self {
        Self::sharing(Arc::default())
    }
}

impl ResponseReader {
    /// Creates a reader whose responses occupy a part of this memory.
    #[must_use]
    pub fn sharing(memory: Arc<ResponseMemory>) -> Self {
        Self { reserved: ReservedMemory::new(memory), ..Self::new(MAX_BODY_LEN) }
    }

    /// Creates a reader that rejects bodies longer than `max_body_len` bytes, as received or decompressed, and shares
    /// its memory with no other.
    #[must_use]
    pub fn new(max_body_len: usize) -> Self {
        Self {
            buffer: Vec::with_capacity(MIN_READ),
            decompressed: Vec::new(),
            head_start: 0,
            interim_count: 0,
            no_body: false,
            state: State::START,
            max_body_len,
            reserved: ReservedMemory::new(Arc::default()),
            unused_responses: 0,
        }
    }

    /// Discards the last response and prepares for the next; `no_body` is set for the response to HEAD.
    pub fn reset(&mut self, no_body: bool) {
        self.buffer.clear();
        self.decompressed.clear();
        (self.head_start, self.interim_count, self.no_body, self.state) = (0, 0, no_body, State::START);
    }

    /// Frees large buffers that are not used: the memory for a single large response must not stay allocated for the
    /// rest of the race. Call this after the last response has been checked, outside any measured time; it discards the
    /// response if it frees the buffers.
    pub fn trim(&mut self) {
        if self.capacity() > MAX_KEPT_CAPACITY || self.reserved.should_be_freed() {
            self.trim_large();
        }
    }

    #[cold]
    fn trim_large(&mut self) {
        let is_used = self.buffer.len() + self.decompressed.len() > self.capacity() / 4;
        self.unused_responses = if is_used { 0 } else { self.unused_responses + 1 };
        if self.unused_responses >= UNUSED_RESPONSES || self.reserved.should_be_freed() {
            self.unused_responses = 0;
            self.buffer = Vec::with_capacity(MIN_READ);
            self.decompressed = Vec::new();
            self.reset(self.no_body);
            self.reserved.release();
        }
    }

    /// Returns the buffer that received bytes are appended to, with spare capacity for a read.
    pub fn receive_buffer(&mut self) -> &mut Vec<u8> {
        let (received, capacity) = (self.buffer.len(), self.buffer.capacity());
        let (additional, total) = match &self.state {
            State::Body(ResponseHead { head_len, framing: BodyFraming::Length(body), .. }, _) => {
                let total = (self.head_start + head_len).saturating_add(*body);
                (total.saturating_sub(received).clamp(MIN_READ, MAX_READ), total)
            }
            _ => (MIN_READ, usize::MAX),
        };
        if capacity - received < additional {
            // The capacity doubles, but not beyond the last read of the body.
            let grown = (2 * capacity).min(total.saturating_add(MIN_READ)).max(received + additional);
            self.buffer.reserve_exact(grown - received);
        }
        &mut self.buffer
    }

    /// Parses the bytes that were appended. `Ok(None)` means that more bytes are needed.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`] if the bytes cannot become a valid response.
    pub fn advance(&mut self) -> Result<Option<Response>, ExchangeError> {
        // Interim responses count too, and so does the capacity that is not used yet.
        if self.reserved.is_exceeded_by(self.buffer.capacity()) {
            self.reserved.reserve(self.capacity())?;
        }
        while let State::Head { parsed_len, searched_len } = self.state {
            match self.read_head(parsed_len, searched_len)? {
                Some(head) if head.status < 200 => self.skip_interim(&head)?,
                Some(head) => self.state = State::Body(head, ChunkedDecoder::default()),
                None => return Ok(None),
            }
        }
        self.read_body()
    }

    /// Ends the response because the server has closed the connection.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`] if the response is incomplete.
    pub fn finish(&mut self) -> Result<Response, ExchangeError> {
        match &self.state {
            State::Body(head @ ResponseHead { framing: BodyFraming::UntilClose, .. }, _) => {
                Ok(self.response(head, self.head_start + head.head_len..self.buffer.len()))
            }
            // An incomplete head that has not been parsed may be invalid, which is the more specific error.
            State::Head { .. } if self.head_start < self.buffer.len() => {
                response_head::parse(&self.buffer[self.head_start..], self.no_body)?;
                Err(ExchangeError::Closed)
            }
            _ => Err(ExchangeError::Closed),
        }
    }

    /// Returns whether the response ends when the connection is closed.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.state, State::Body(ResponseHead { framing: BodyFraming::UntilClose, .. }, _))
    }

    /// Decompresses the body of the last response if it is compressed. Yields to the thread's other clients after each
    /// slice of a long body.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`] if the body has a different encoding, is invalid, or exceeds a limit once decompressed.
    pub async fn decompress(&mut self, response: Response) -> Result<Response, ExchangeError> {
        let Self { buffer, decompressed, reserved, max_body_len, .. } = self;
        match &response.body {
            BodyLocation::Received(range, ContentEncoding::Gzip) => {
                let encoded = &buffer[range.clone()];
                let received = buffer.capacity();
                let reserve = |length, capacity| {
                    if length > *max_body_len {
                        return Err(DECOMPRESSED_TOO_LONG);
                    }
                    reserved.reserve(received + capacity)
                };
                match gzip::decode_short(encoded, decompressed) {
                    Some(decoded) => decoded?,
                    None => gzip::decode_in_slices(encoded, decompressed, reserve).await?,
                }
                Ok(Response { body: BodyLocation::Decompressed, ..response })
            }
            BodyLocation::Received(_, ContentEncoding::Unsupported) => {
                let header = "content-encoding";
                let encoding = response_head::header(&buffer[self.head_start..], header);
                Err(ExchangeError::UnexpectedEncoding { header, encoding })
            }
            BodyLocation::Received(_, ContentEncoding::Identity) | BodyLocation::Decompressed => Ok(response),
        }
    }

    /// Returns the body of the last response: as received or, after [`ResponseReader::decompress`], decompressed.
    #[must_use]
    pub fn body(&self, response: &Response) -> &[u8] {
        match &response.body {
            BodyLocation::Received(range, _) => &self.buffer[range.clone()],
            BodyLocation::Decompressed => &self.decompressed,
        }
    }

    /// Returns the headers of the last response as the server wrote them, or an empty list if its head is
    /// not complete.
    #[must_use]
    pub fn headers(&self) -> Vec<(String, String)> {
        response_head::headers(&self.buffer[self.head_start..])
    }

    /// Returns the number of bytes that the buffers occupy.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.buffer.capacity() + self.decompressed.capacity()
    }

    /// Parses the head when it may be complete or its size has doubled. Parsing starts over each time, so this keeps
    /// the cost of a head that arrives in small pieces proportional to its length.
    fn read_head(
        &mut self,
        parsed_len: usize,
        searched_len: usize,
    ) -> Result<Option<ResponseHead>, ExchangeError> {
        let bytes = &self.buffer[self.head_start..];
        match bytes.first() {
            None => return Ok(None),
            Some(b'H') => {}
            // Not even empty lines may precede the status line.
            Some(_) => return Err(NOT_HTTP),
        }
        let worth_parsing = bytes.len() >= 2 * parsed_len || has_empty_line(&bytes[searched_len..]);
        let head = if worth_parsing { response_head::parse(bytes, self.no_body)? } else { None };
        // The last two bytes may be part of the empty line.
        let searched_len = bytes.len().saturating_sub(2);
        let parsed_len = if worth_parsing { bytes.len() } else { parsed_len };
        if head.map_or(bytes.len(), |head| head.head_len) > MAX_HEAD_LEN {
            return Err(ExchangeError::Malformed("the response's head is longer than 64 KiB"));
        }
        self.state = State::Head { parsed_len, searched_len };
        Ok(head)
    }

    fn skip_interim(&mut self, head: &ResponseHead) -> Result<(), ExchangeError> {
        self.interim_count += 1;
        if head.status == 101 {
            return Err(ExchangeError::Malformed("the response switches protocols, which was not requested"));
        }
        if self.interim_count > MAX_INTERIM_RESPONSES {
            return Err(ExchangeError::Malformed("more than 32 interim responses precede the response"));
        }
        self.head_start += head.head_len;
        self.state = State::START;
        Ok(())
    }

    fn read_body(&mut self) -> Result<Option<Response>, ExchangeError> {
        let State::Body(head, chunked) = &mut self.state else { return Ok(None) };
        let (head, body_start) = (*head, self.head_start + head.head_len);
        let body_received = self.buffer.len() - body_start;
        let (length, consumed) = match head.framing {
            BodyFraming::Length(length) if length > self.max_body_len => return Err(BODY_TOO_LONG),
            BodyFraming::Length(length) if body_received >= length => (length, length),
            BodyFraming::UntilClose if body_received > self.max_body_len => return Err(BODY_TOO_LONG),
            BodyFraming::Length(_) | BodyFraming::UntilClose => return Ok(None),
            BodyFraming::Chunked => {
                match chunked.advance(&mut self.buffer[body_start..], self.max_body_len) {
                    ChunkedStatus::Complete { decoded, consumed } => (decoded, consumed),
                    ChunkedStatus::Malformed(reason) => return Err(ExchangeError::Malformed(reason)),
                    // The framing of chunks is counted too, because it also occupies memory.
                    ChunkedStatus::Partial if body_received > self.max_body_len => return Err(BODY_TOO_LONG),
                    ChunkedStatus::Partial => return Ok(None),
                }
            }
        };
        if body_received > consumed {
            return Err(ExchangeError::TrailingData { bytes: (body_received - consumed) as u64 });
        }
        Ok(Some(self.response(&head, body_start..body_start + length)))
    }

    fn response(&self, head: &ResponseHead, body: Range<usize>) -> Response {
        // An empty body needs no decoding, regardless of its encoding.
        let encoding = if body.is_empty() { ContentEncoding::Identity } else { head.encoding };
        Response {
            status: head.status,
            total_len: self.buffer.len() as u64,
            close: head.close,
            body: BodyLocation::Received(body, encoding),
        }
    }
}

/// Returns whether one of the lines is followed by an empty line.
fn has_empty_line(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes)
        .any(|newline| matches!(&bytes[newline + 1..], [b'\n', ..] | [b'\r', b'\n', ..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    /// Feeds the pieces to a reader, then ends the stream. Returns status and body.
    fn receive<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(u16, Vec<u8>), ExchangeError> {
        let mut reader = ResponseReader::new(LIMIT);
        reader.reset(false);
        let mut response = None;
        for piece in pieces {
            reader.receive_buffer().extend_from_slice(piece);
            if let Some(complete) = reader.advance()? {
                response = Some(complete);
                break;
            }
        }
        let response = match response {
            Some(response) => response,
            None => reader.finish()?,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let response = runtime.block_on(reader.decompress(response))?;
        Ok((response.status, reader.body(&response).to_vec()))
    }

    fn with_head(fill: &str) -> Vec<u8> {
        format!("HTTP/1.1 200 OK\r\nx: {fill}\r\ncontent-length: 2\r\n\r\n{{}}").into_bytes()
    }

    #[test]
    fn the_length_of_a_head_is_limited_however_it_is_split() {
        let rest = with_head("").len() - 2;
        for (length, fits) in [(MAX_HEAD_LEN, true), (MAX_HEAD_LEN + 1, false)] {
            let text = with_head(&"y".repeat(length - rest));
            assert_eq!(receive([text.as_slice()]).is_ok(), fits, "{length} in one piece");
            assert_eq!(receive(text.chunks(1)).is_ok(), fits, "{length} byte by byte");
        }
        assert!(receive(["HTTP/1.1 200 OK\r\nx: ", &"y".repeat(MAX_HEAD_LEN)].map(str::as_bytes)).is_err());
    }

    #[test]
    fn the_number_of_interim_responses_is_limited() {
        let last = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".as_slice();
        let interim = b"HTTP/1.1 103 Early Hints\r\nlink: x\r\ncontent-length: 7\r\n\r\n".as_slice();
        let cases = [(0, true), (1, true), (MAX_INTERIM_RESPONSES, true), (MAX_INTERIM_RESPONSES + 1, false)];
        for (number, fits) in cases {
            let text = [interim.repeat(number).as_slice(), last].concat();
            assert_eq!(receive([text.as_slice()]).is_ok(), fits, "{number} in one piece");
            assert_eq!(receive(text.chunks(3)).is_ok(), fits, "{number} in pieces");
        }
        assert!(receive([b"HTTP/1.1 101 Switching\r\n\r\n".as_slice(), last]).is_err());
    }

    #[test]
    fn the_length_of_a_body_is_limited() {
        let mut too_long = ResponseReader::new(LIMIT);
        too_long.receive_buffer().extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 1048577\r\n\r\n");
        assert!(too_long.advance().is_err());
        for head in ["", "transfer-encoding: chunked\r\n"] {
            let mut endless = ResponseReader::new(LIMIT);
            endless.receive_buffer().extend_from_slice(format!("HTTP/1.1 200 OK\r\n{head}\r\n").as_bytes());
            let mut fed = 0;
            while endless.advance().is_ok() {
                fed += 5008;
                endless.receive_buffer().extend_from_slice(b"1388\r\n");
                endless.receive_buffer().extend_from_slice(&[b'x'; 5000]);
                endless.receive_buffer().extend_from_slice(b"\r\n");
                assert!(fed < 2 * LIMIT, "{head}");
            }
            assert!(endless.capacity() < 3 * LIMIT, "{head}");
        }
    }

    #[test]
    fn a_declared_length_allocates_no_memory() {
        let mut reader = ResponseReader::new(MAX_BODY_LEN);
        reader.receive_buffer().extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 536870912\r\n\r\n");
        assert_eq!(reader.advance().unwrap(), None);
        reader.receive_buffer();
        assert!(reader.capacity() < 3 * MAX_READ);
    }

    /// Feeds a response of this length to a reader, as after a request.
    fn receive_length(reader: &mut ResponseReader, length: usize) -> Result<(), ExchangeError> {
        reader.reset(false);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
        for piece in [head.as_bytes(), &vec![b'x'; length]].concat().chunks(MAX_READ) {
            reader.receive_buffer().extend_from_slice(piece);
            if reader.advance()?.is_some() {
                reader.trim();
                return Ok(());
            }
        }
        Err(ExchangeError::Closed)
    }

    #[test]
    fn the_memory_of_large_responses_is_kept_while_it_is_used() {
        let mut reader = ResponseReader::default();
        receive_length(&mut reader, 2 * MAX_KEPT_CAPACITY).unwrap();
        let (capacity, start) = (reader.capacity(), reader.buffer.as_ptr());
        for length in [10, 2 * MAX_KEPT_CAPACITY].repeat(2 * UNUSED_RESPONSES as usize) {
            receive_length(&mut reader, length).unwrap();
            assert_eq!(
                (reader.capacity(), reader.buffer.as_ptr()),
                (capacity, start),
                "a buffer was replaced"
            );
        }
        for _ in 1..UNUSED_RESPONSES {
            receive_length(&mut reader, 10).unwrap();
            assert_eq!(reader.capacity(), capacity);
        }
        receive_length(&mut reader, 10).unwrap();
        assert!(reader.capacity() <= MIN_READ);
        assert!(reader.headers().is_empty());
    }

    #[test]
    fn the_responses_of_all_connections_share_a_limit() {
        let memory = Arc::new(ResponseMemory::new(12 << 20));
        let [mut one, mut other] = [(); 2].map(|()| ResponseReader::sharing(Arc::clone(&memory)));
        one.receive_buffer().extend_from_slice(b"HTTP/1.1 200 OK\r\n\r\n");
        one.receive_buffer().extend_from_slice(&vec![b'x'; 8 << 20]);
        assert_eq!(one.advance().unwrap(), None);
        let error = receive_length(&mut other, 5 << 20).unwrap_err();
        assert!(matches!(error, ExchangeError::Memory { .. }), "{error}");
        // A connection is closed after an error.
        other = ResponseReader::sharing(Arc::clone(&memory));
        receive_length(&mut other, 1 << 20).unwrap();
        // What is decompressed counts too.
        let encoded = gzipped(&vec![0; 5 << 20]);
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", encoded.len());
        other.reset(false);
        other.receive_buffer().extend_from_slice(&[head.as_bytes(), &encoded].concat());
        let response = other.advance().unwrap().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let error = runtime.block_on(other.decompress(response)).unwrap_err();
        assert!(matches!(error, ExchangeError::Memory { .. }), "{error}");
        drop(one);
        receive_length(&mut other, 5 << 20).unwrap();
    }

    #[test]
    fn buffers_are_freed_at_once_if_memory_is_scarce() {
        let memory = Arc::new(ResponseMemory::new(12 << 20));
        let mut reader = ResponseReader::sharing(Arc::clone(&memory));
        receive_length(&mut reader, 8 << 20).unwrap();
        assert!(reader.capacity() <= MIN_READ);
        receive_length(&mut reader, 8 << 20).unwrap();
        // Each of these is below the capacity that is kept otherwise.
        let mut readers: Vec<_> = (0..20).map(|_| ResponseReader::sharing(Arc::clone(&memory))).collect();
        for reader in &mut readers {
            receive_length(reader, 1 << 20).unwrap();
        }
        assert!(readers.iter().filter(|reader| reader.capacity() > MIN_READ).count() < 12);
        receive_length(&mut readers[0], 4 << 20).unwrap();
    }

    #[test]
    fn responses_of_some_kilobytes_on_many_connections_fit_into_the_limit() {
        let memory = Arc::new(ResponseMemory::new(8 << 20));
        let mut readers: Vec<_> = (0..40).map(|_| ResponseReader::sharing(Arc::clone(&memory))).collect();
        for reader in &mut readers {
            // None of them is complete, so no memory can be freed.
            let declared = b"HTTP/1.1 200 OK\r\ncontent-length: 100001\r\n\r\n";
            reader.receive_buffer().extend_from_slice(declared);
            for _ in 0..10 {
                assert_eq!(reader.advance().unwrap(), None);
                reader.receive_buffer().extend_from_slice(&[b'x'; 10_000]);
            }
            assert_eq!(reader.advance().unwrap(), None);
        }
    }

    #[test]
    fn interim_responses_count_too() {
        let memory = Arc::new(ResponseMemory::new(1 << 20));
        let mut reader = ResponseReader::sharing(memory);
        let fill = "y".repeat(60 << 10);
        let interim = format!("HTTP/1.1 103 Early Hints\r\nlink: {fill}\r\n\r\n");
        let error = (0..MAX_INTERIM_RESPONSES).find_map(|_| {
            reader.receive_buffer().extend_from_slice(interim.as_bytes());
            reader.advance().err()
        });
        assert!(matches!(error, Some(ExchangeError::Memory { .. })), "{error:?}");
    }

    fn gzipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn an_error_contains_the_encoding_that_was_not_requested() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\ncontent-length: 2\r\n\r\n{}".as_slice();
        let error = receive([text]).unwrap_err().to_string();
        assert_eq!(error, "the response's content-encoding is \"br\", which was not requested");
        let text = b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n".as_slice();
        let error = receive([text]).unwrap_err().to_string();
        assert_eq!(error, "the response's transfer-encoding is \"gzip, chunked\", which was not requested");
        let empty = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\ncontent-length: 0\r\n\r\n".as_slice();
        assert_eq!(receive([empty]).unwrap(), (200, Vec::new()));
    }
}

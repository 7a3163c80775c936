//! Response heads (RFC 9112): the status, and how the body is framed and encoded.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig};

use super::error::ExchangeError;

/// Number of header lines that is enough for most responses.
const TYPICAL_HEADERS: usize = 64;
/// Maximum number of header lines of a response. Engines send one `warning` line for each deprecated feature that a
/// request uses.
const MAX_HEADERS: usize = 1024;

/// The parts of a response head that the client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead {
    /// HTTP status.
    pub status: u16,
    /// Length of the head in bytes.
    pub head_len: usize,
    /// How the body is framed.
    pub framing: BodyFraming,
    /// How the body is encoded.
    pub encoding: ContentEncoding,
    /// Whether the connection will be closed after this response.
    pub close: bool,
}

/// How the end of a body is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFraming {
    /// The body ends after this number of bytes.
    Length(usize),
    /// The body ends with the last chunk.
    Chunked,
    /// The body ends when the connection is closed.
    UntilClose,
}

/// The encoding of a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContentEncoding {
    /// The body is not encoded.
    #[default]
    Identity,
    /// The body is compressed with gzip, once.
    Gzip,
    /// An encoding that the driver does not decode.
    Unsupported,
}

/// Parses a head. `Ok(None)` means that more bytes are needed. `no_body` is set for the response to HEAD.
///
/// # Errors
///
/// [`ExchangeError`] if this is not a head of HTTP/1.1, or the end of its body is ambiguous.
pub fn parse(bytes: &[u8], no_body: bool) -> Result<Option<ResponseHead>, ExchangeError> {
    let parsed = parse_then(bytes, |head_len, response| interpret(head_len, response, no_body));
    match parsed {
        Ok(head) => head.transpose(),
        Err(httparse::Error::TooManyHeaders) => {
            Err(ExchangeError::Malformed("the response has more than 1024 headers"))
        }
        Err(_) => Err(ExchangeError::Malformed("the response is not HTTP/1.1")),
    }
}

/// Returns the headers of a response whose head [`parse`] has accepted.
pub fn headers(bytes: &[u8]) -> Vec<(String, String)> {
    let owned = |header: &Header<'_>| (header.name.to_owned(), unfold(header.value));
    parse_then(bytes, |_, response| response.headers.iter().map(owned).collect())
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// Returns the value of a header of a response whose head [`parse`] has accepted; several lines are joined by commas.
pub fn header(bytes: &[u8], name: &str) -> String {
    let values: Vec<String> = headers(bytes)
        .into_iter()
        .filter(|(other, _)| other.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .collect();
    values.join(", ")
}

/// Parses a head and returns the result of `read` for its length and content. Returns `None` if the head is incomplete.
/// First tries with space for few headers, because space for the maximum number takes 32 KiB of stack.
fn parse_then<T>(
    bytes: &[u8],
    read: impl Fn(usize, &httparse::Response<'_, '_>) -> T,
) -> Result<Option<T>, httparse::Error> {
    match parse_with_room::<TYPICAL_HEADERS, T>(bytes, &read) {
        Err(httparse::Error::TooManyHeaders) => parse_with_room::<MAX_HEADERS, T>(bytes, &read),
        parsed => parsed,
    }
}

fn parse_with_room<const N: usize, T>(
    bytes: &[u8],
    read: &impl Fn(usize, &httparse::Response<'_, '_>) -> T,
) -> Result<Option<T>, httparse::Error> {
    let mut headers = [const { MaybeUninit::uninit() }; N];
    let mut response = httparse::Response::new(&mut []);
    let mut config = ParserConfig::default();
    // RFC 9112, section 5.2: a user agent replaces a line fold with spaces.
    config.allow_obsolete_multiline_headers_in_responses(true);
    match config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers)? {
        httparse::Status::Complete(length) => Ok(Some(read(length, &response))),
        httparse::Status::Partial => Ok(None),
    }
}

/// The headers that determine framing, encoding and reuse of the connection; several lines of one name are combined.
#[derive(Debug, Default)]
struct FramingHeaders<'a> {
    content_length: ContentLength,
    transfer_encoding: TransferEncoding<'a>,
    content_encoding: ContentEncoding,
    close: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum ContentLength {
    #[default]
    Absent,
    Bytes(u64),
    Invalid(&'static str),
}

#[derive(Debug, Default, Clone, Copy)]
enum TransferEncoding<'a> {
    #[default]
    Absent,
    Chunked,
    Unsupported(&'a [u8]),
}

/// Interprets the status and the headers of a head.
fn interpret(
    head_len: usize,
    response: &httparse::Response<'_, '_>,
    no_body: bool,
) -> Result<ResponseHead, ExchangeError> {
    let status = response.code.unwrap_or(0);
    if status < 100 {
        return Err(ExchangeError::Malformed("the response's status is below 100"));
    }
    // Engines send HTTP/1.1. A gateway that sends HTTP/1.0 opens a connection for every request, which would be
    // measured.
    if response.version != Some(1) {
        return Err(ExchangeError::Malformed("the response is HTTP/1.0, not HTTP/1.1"));
    }
    let mut headers = FramingHeaders::default();
    for header in response.headers.iter() {
        headers.add_line(header);
    }
    let mut close = headers.close;
    // RFC 9112, section 6.3: these responses end after the head, regardless of their headers.
    let framing = if no_body || status < 200 || status == 204 || status == 304 {
        BodyFraming::Length(0)
    } else {
        // RFC 9112, section 6.1: if both headers are present, the transfer encoding takes precedence, but the
        // connection is not reused.
        close |= !matches!(
            (headers.transfer_encoding, headers.content_length),
            (TransferEncoding::Absent, _) | (_, ContentLength::Absent)
        );
        headers.framing()?
    };
    close |= framing == BodyFraming::UntilClose;
    Ok(ResponseHead { status, head_len, framing, encoding: headers.content_encoding, close })
}

impl<'a> FramingHeaders<'a> {
    /// Adds one header line. Compares the length of the name first, because most headers are irrelevant here.
    fn add_line(&mut self, header: &Header<'a>) {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        match header.name.len() {
            10 if is("connection") => self.close |= has_token(header.value, "close"),
            14 if is("content-length") => {
                members(header.value).for_each(|value| self.add_content_length(value));
            }
            16 if is("content-encoding") => {
                members(header.value).for_each(|value| self.add_content_encoding(value));
            }
            17 if is("transfer-encoding") => {
                let chunked = header.value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                self.transfer_encoding = match self.transfer_encoding {
                    TransferEncoding::Absent if chunked => TransferEncoding::Chunked,
                    TransferEncoding::Absent | TransferEncoding::Chunked => {
                        TransferEncoding::Unsupported(header.value)
                    }
                    unsupported @ TransferEncoding::Unsupported(_) => unsupported,
                };
            }
            _ => {}
        }
    }

    /// Reads a `content-length` header. The same length may be repeated (RFC 9112, section 6.3).
    fn add_content_length(&mut self, value: &[u8]) {
        self.content_length = match (self.content_length, parse_digits(value)) {
            (invalid @ ContentLength::Invalid(_), _) => invalid,
            (_, None) => ContentLength::Invalid("the response's content-length is not a number"),
            (ContentLength::Bytes(other), Some(length)) if other != length => {
                ContentLength::Invalid("the response has two different content-lengths")
            }
            (_, Some(length)) => ContentLength::Bytes(length),
        };
    }

    fn add_content_encoding(&mut self, value: &[u8]) {
        let is = |name: &str| value.eq_ignore_ascii_case(name.as_bytes());
        self.content_encoding = match self.content_encoding {
            same if value.is_empty() || is("identity") => same,
            ContentEncoding::Identity if is("gzip") || is("x-gzip") => ContentEncoding::Gzip,
            _ => ContentEncoding::Unsupported,
        };
    }

    fn framing(&self) -> Result<BodyFraming, ExchangeError> {
        match (self.transfer_encoding, self.content_length) {
            (TransferEncoding::Chunked, _) => Ok(BodyFraming::Chunked),
            (TransferEncoding::Unsupported(value), _) => {
                let header = "transfer-encoding";
                Err(ExchangeError::UnexpectedEncoding { header, encoding: unfold(value) })
            }
            (TransferEncoding::Absent, ContentLength::Invalid(reason)) => {
                Err(ExchangeError::Malformed(reason))
            }
            (TransferEncoding::Absent, ContentLength::Bytes(length)) => {
                // A length that does not fit into usize exceeds every limit on a body.
                Ok(BodyFraming::Length(usize::try_from(length).unwrap_or(usize::MAX)))
            }
            (TransferEncoding::Absent, ContentLength::Absent) => Ok(BodyFraming::UntilClose),
        }
    }
}

/// Parses a number that consists only of digits, without a sign.
fn parse_digits(value: &[u8]) -> Option<u64> {
    let digits = value.iter().all(u8::is_ascii_digit).then(|| std::str::from_utf8(value).ok()).flatten();
    digits.and_then(|text| text.parse().ok())
}

/// Returns the members of a comma-separated list, without surrounding whitespace.
fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn has_token(value: &[u8], token: &str) -> bool {
    members(value).any(|member| member.eq_ignore_ascii_case(token.as_bytes()))
}

/// Returns a header value as a single line of text.
fn unfold(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    if text.contains('\n') { text.replace(['\r', '\n'], " ") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> ResponseHead {
        let head = parse(text.as_bytes(), false).unwrap().unwrap();
        assert_eq!(head.head_len, text.len());
        head
    }

    fn framing(text: &str) -> (BodyFraming, bool) {
        let head = head(text);
        (head.framing, head.close)
    }

    /// Returns the framing of an HTTP/1.1 response with these headers.
    fn framed(headers: &str) -> (BodyFraming, bool) {
        framing(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n"))
    }

    #[test]
    fn the_framing_is_determined_by_the_headers() {
        assert_eq!(framed("content-length: 12"), (BodyFraming::Length(12), false));
        assert_eq!(framed("Content-Length:12 \t"), (BodyFraming::Length(12), false));
        assert_eq!(framed("content-length: 0012"), (BodyFraming::Length(12), false));
        assert_eq!(framed("content-length: 5, 5\r\ncontent-length: 5"), (BodyFraming::Length(5), false));
        assert_eq!(framed("content-length:\r\n 12"), (BodyFraming::Length(12), false));
        assert_eq!(framed("transfer-encoding: Chunked "), (BodyFraming::Chunked, false));
        assert_eq!(framed("content-length: 12\r\ntransfer-encoding: chunked"), (BodyFraming::Chunked, true));
        assert_eq!(framed("x: y"), (BodyFraming::UntilClose, true));
        assert_eq!(framed("x: y\r\nconnection: keep-alive"), (BodyFraming::UntilClose, true));
        assert_eq!(framing("HTTP/1.1 204 No Content\r\n\r\n"), (BodyFraming::Length(0), false));
        assert_eq!(framing("HTTP/1.1 200\n\n"), (BodyFraming::UntilClose, true));
        for headers in ["content-length: 12", "content-length: x", "transfer-encoding: gzip"] {
            let text = format!("HTTP/1.1 304 x\r\n{headers}\r\n\r\n");
            assert_eq!(framing(&text), (BodyFraming::Length(0), false), "{text}");
            let text = text.replace("304", "200");
            assert_eq!(
                parse(text.as_bytes(), true).unwrap().unwrap().framing,
                BodyFraming::Length(0),
                "{text}"
            );
        }
    }

    #[test]
    fn a_connection_is_kept_alive_unless_a_header_closes_it() {
        for connection in [
            "connection: x, Close",
            "connection: close\r\nconnection: keep-alive",
            "connection: keep-alive\r\nconnection: close",
            "connection: keep-alive, close",
        ] {
            let headers = format!("content-length: 1\r\n{connection}");
            assert_eq!(framed(&headers), (BodyFraming::Length(1), true), "{connection}");
        }
        assert_eq!(framed("content-length: 1\r\nconnection: closed"), (BodyFraming::Length(1), false));
    }

    #[test]
    fn content_encodings_are_recognized() {
        let encoding = |text: &str| head(&format!("HTTP/1.1 200 OK\r\n{text}\r\n\r\n")).encoding;
        assert_eq!(encoding("x: y"), ContentEncoding::Identity);
        assert_eq!(encoding("content-encoding: identity"), ContentEncoding::Identity);
        assert_eq!(encoding("content-encoding:"), ContentEncoding::Identity);
        assert_eq!(encoding("content-encoding: GZip"), ContentEncoding::Gzip);
        assert_eq!(encoding("content-encoding: identity, x-gzip"), ContentEncoding::Gzip);
        assert_eq!(
            encoding("content-encoding: gzip\r\ncontent-encoding: gzip"),
            ContentEncoding::Unsupported
        );
        assert_eq!(encoding("content-encoding: deflate"), ContentEncoding::Unsupported);
        assert_eq!(header(b"HTTP/1.1 200 OK\r\na: b\r\nA:\r\n c\r\n\r\n", "a"), "b, c");
    }

    #[test]
    fn contradictory_and_invalid_heads_are_rejected() {
        for headers in [
            "content-length: 1\r\ncontent-length: 2",
            "content-length: 1, 2",
            "content-length: 1,",
            "content-length:",
            "content-length: -1",
            "content-length: +1",
            "content-length: 1 1",
            "content-length: 0x1",
            "content-length: 18446744073709551616",
            "transfer-encoding: gzip, chunked",
            "transfer-encoding: chunked, chunked",
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
            "transfer-encoding: chunked;x=y",
            "transfer-encoding: identity",
            "transfer-encoding: gzip\r\ncontent-length: 1",
            "no colon",
            "a b: c",
            "a : b",
            "a\0: b",
            "a: b\rc",
        ] {
            let text = format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n");
            assert!(parse(text.as_bytes(), false).is_err(), "{headers}");
        }
        for text in [
            "SMTP ready\r\n\r\n",
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n",
            "HTTP/1.0 200 OK\r\ncontent-length: 1\r\nconnection: keep-alive\r\n\r\n",
            "HTTP/1.0 503 Service Unavailable\r\n\r\n",
        ] {
            assert!(parse(text.as_bytes(), false).is_err(), "{text}");
        }
        assert!(matches!(parse(b"HTTP/1.1 200 O", false), Ok(None)));
    }

    #[test]
    fn an_engine_may_send_many_warnings() {
        let response =
            |lines: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "warning: 299 old\r\n".repeat(lines));
        for lines in [63, 64, 65, MAX_HEADERS] {
            assert_eq!(framing(&response(lines)), (BodyFraming::UntilClose, true));
            assert_eq!(headers(response(lines).as_bytes()).len(), lines);
        }
        assert!(parse(response(MAX_HEADERS + 1).as_bytes(), false).is_err());
    }
}

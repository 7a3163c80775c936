//! Reply heads (RFC 9112): status, and how the body is framed and coded.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response};

use super::error::ExchangeError;

/// Header lines that replies usually do not exceed.
const USUAL_HEADERS: usize = 64;
/// Most header lines a reply may have: an engine that is asked for many deprecated things warns of each in a line of
/// its own.
const MOST_HEADERS: usize = 1024;

/// What a reply head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHead {
    /// HTTP status.
    pub status: u16,
    /// Bytes of the head.
    pub length: usize,
    /// How the body is framed.
    pub framing: Framing,
    /// How the body is coded.
    pub coding: Coding,
    /// The connection cannot be used again.
    pub close: bool,
}

/// How a body is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes.
    Length(usize),
    /// In chunks.
    Chunked,
    /// Until the connection is closed.
    Close,
}

/// How a body is coded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Coding {
    /// Not at all.
    #[default]
    Plain,
    /// With gzip.
    Gzip,
    /// In a way that cannot be read.
    Unknown,
}

/// Reads a head. `Ok(None)`: more bytes are needed.
///
/// # Errors
///
/// [`ExchangeError`] when this is no head of HTTP/1.1, or one whose body has no certain end.
pub fn parse(bytes: &[u8], bodiless: bool) -> Result<Option<ReplyHead>, ExchangeError> {
    let parsed = look(bytes, |length, reply| read(length, reply, bodiless));
    match parsed {
        Ok(head) => head.transpose(),
        Err(httparse::Error::TooManyHeaders) => {
            Err(ExchangeError::Malformed("the reply has more than 1024 headers"))
        }
        Err(_) => Err(ExchangeError::Malformed("the reply is not HTTP/1.1")),
    }
}

/// The headers of a reply that [`parse`] has accepted.
pub fn headers(bytes: &[u8]) -> Vec<(String, String)> {
    let text = |header: &Header<'_>| (header.name.to_owned(), unfold(header.value));
    look(bytes, |_, reply| reply.headers.iter().map(text).collect()).ok().flatten().unwrap_or_default()
}

/// The value of a header of a reply that [`parse`] has accepted, all its lines together.
pub fn header(bytes: &[u8], name: &str) -> String {
    let values: Vec<String> = headers(bytes)
        .into_iter()
        .filter(|(other, _)| other.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .collect();
    values.join(", ")
}

/// Shows a whole head to `see`; `None`: more bytes are needed. Room for many headers is not made before it is needed.
fn look<T>(bytes: &[u8], see: impl Fn(usize, &Response<'_, '_>) -> T) -> Result<Option<T>, httparse::Error> {
    match look_at::<USUAL_HEADERS, T>(bytes, &see) {
        Err(httparse::Error::TooManyHeaders) => look_at::<MOST_HEADERS, T>(bytes, &see),
        seen => seen,
    }
}

fn look_at<const N: usize, T>(
    bytes: &[u8],
    see: &impl Fn(usize, &Response<'_, '_>) -> T,
) -> Result<Option<T>, httparse::Error> {
    let mut headers = [const { MaybeUninit::uninit() }; N];
    let mut reply = Response::new(&mut []);
    let mut config = ParserConfig::default();
    // RFC 9112, section 5.2: a user agent takes the fold for blanks.
    config.allow_obsolete_multiline_headers_in_responses(true);
    match config.parse_response_with_uninit_headers(&mut reply, bytes, &mut headers)? {
        httparse::Status::Complete(length) => Ok(Some(see(length, &reply))),
        httparse::Status::Partial => Ok(None),
    }
}

/// What the header lines that matter say together.
#[derive(Debug, Default)]
struct Said<'a> {
    length: Length,
    transfer: Transfer<'a>,
    coding: Coding,
    close: bool,
    keep_alive: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum Length {
    #[default]
    Unsaid,
    Bytes(u64),
    Invalid(&'static str),
}

#[derive(Debug, Default, Clone, Copy)]
enum Transfer<'a> {
    #[default]
    Unsaid,
    Chunked,
    Other(&'a [u8]),
}

fn read(length: usize, reply: &Response<'_, '_>, bodiless: bool) -> Result<ReplyHead, ExchangeError> {
    let status = reply.code.unwrap_or(0);
    if status < 100 {
        return Err(ExchangeError::Malformed("the reply's status is below 100"));
    }
    let mut said = Said::default();
    for header in reply.headers.iter() {
        said.hear(header);
    }
    let old = reply.version == Some(0);
    let mut close = said.close || old && !said.keep_alive;
    // RFC 9112, section 6.3: these end with their head, whatever it says.
    let framing = if bodiless || status < 200 || status == 204 || status == 304 {
        Framing::Length(0)
    } else {
        // Whoever says both lengths may mean either: the transfer coding counts, but only this once.
        close |= !matches!((said.transfer, said.length), (Transfer::Unsaid, _) | (_, Length::Unsaid));
        said.framing(old)?
    };
    close |= framing == Framing::Close;
    Ok(ReplyHead { status, length, framing, coding: said.coding, close })
}

impl<'a> Said<'a> {
    /// Names are told apart by their lengths first: most headers say nothing of interest.
    fn hear(&mut self, header: &Header<'a>) {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        match header.name.len() {
            10 if is("connection") => {
                self.close |= has_token(header.value, "close");
                self.keep_alive |= has_token(header.value, "keep-alive");
            }
            14 if is("content-length") => members(header.value).for_each(|one| self.hear_length(one)),
            16 if is("content-encoding") => members(header.value).for_each(|one| self.hear_coding(one)),
            17 if is("transfer-encoding") => {
                let chunked = header.value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                self.transfer = match self.transfer {
                    Transfer::Unsaid if chunked => Transfer::Chunked,
                    Transfer::Unsaid | Transfer::Chunked => Transfer::Other(header.value),
                    other @ Transfer::Other(_) => other,
                };
            }
            _ => {}
        }
    }

    /// RFC 9112, section 6.3: the same length may be said again.
    fn hear_length(&mut self, value: &[u8]) {
        self.length = match (self.length, number(value)) {
            (invalid @ Length::Invalid(_), _) => invalid,
            (_, None) => Length::Invalid("the reply's content-length is no number"),
            (Length::Bytes(other), Some(length)) if other != length => {
                Length::Invalid("the reply has two different content-lengths")
            }
            (_, Some(length)) => Length::Bytes(length),
        };
    }

    fn hear_coding(&mut self, value: &[u8]) {
        let is = |name: &str| value.eq_ignore_ascii_case(name.as_bytes());
        self.coding = match self.coding {
            same if value.is_empty() || is("identity") => same,
            Coding::Plain if is("gzip") || is("x-gzip") => Coding::Gzip,
            _ => Coding::Unknown,
        };
    }

    fn framing(&self, old: bool) -> Result<Framing, ExchangeError> {
        match (self.transfer, self.length) {
            // RFC 9112, section 6.1: whoever speaks 1.0 does not know what that is.
            (Transfer::Chunked | Transfer::Other(_), _) if old => {
                Err(ExchangeError::Malformed("the reply is HTTP/1.0 and has a transfer-encoding"))
            }
            (Transfer::Chunked, _) => Ok(Framing::Chunked),
            (Transfer::Other(value), _) => {
                Err(ExchangeError::Coding { header: "transfer-encoding", coding: unfold(value) })
            }
            (Transfer::Unsaid, Length::Invalid(why)) => Err(ExchangeError::Malformed(why)),
            (Transfer::Unsaid, Length::Bytes(length)) => Ok(Framing::Length(
                // Too long for this machine is too long for a body.
                usize::try_from(length).unwrap_or(usize::MAX),
            )),
            (Transfer::Unsaid, Length::Unsaid) => Ok(Framing::Close),
        }
    }
}

/// Digits alone.
fn number(value: &[u8]) -> Option<u64> {
    let digits = value.iter().all(u8::is_ascii_digit).then(|| std::str::from_utf8(value).ok()).flatten();
    digits.and_then(|text| text.parse().ok())
}

/// The members of a list, without the blanks around them.
fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn has_token(value: &[u8], token: &str) -> bool {
    members(value).any(|part| part.eq_ignore_ascii_case(token.as_bytes()))
}

/// A value in one line.
fn unfold(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    if text.contains('\n') { text.replace(['\r', '\n'], " ") } else { text.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> ReplyHead {
        let head = parse(text.as_bytes(), false).unwrap().unwrap();
        assert_eq!(head.length, text.len());
        head
    }

    fn framing(text: &str) -> (Framing, bool) {
        let head = head(text);
        (head.framing, head.close)
    }

    /// The framing of a reply of HTTP/1.1 with these headers.
    fn framed(headers: &str) -> (Framing, bool) {
        framing(&format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n"))
    }

    #[test]
    fn the_frame_follows_the_headers() {
        assert_eq!(framed("content-length: 12"), (Framing::Length(12), false));
        assert_eq!(framed("Content-Length:12 \t"), (Framing::Length(12), false));
        assert_eq!(framed("content-length: 0012"), (Framing::Length(12), false));
        assert_eq!(framed("content-length: 5, 5\r\ncontent-length: 5"), (Framing::Length(5), false));
        assert_eq!(framed("content-length:\r\n 12"), (Framing::Length(12), false));
        assert_eq!(framed("transfer-encoding: Chunked "), (Framing::Chunked, false));
        assert_eq!(framed("content-length: 12\r\ntransfer-encoding: chunked"), (Framing::Chunked, true));
        assert_eq!(framed("x: y"), (Framing::Close, true));
        assert_eq!(framed("x: y\r\nconnection: keep-alive"), (Framing::Close, true));
        assert_eq!(framing("HTTP/1.1 204 No Content\r\n\r\n"), (Framing::Length(0), false));
        assert_eq!(framing("HTTP/1.1 200\n\n"), (Framing::Close, true));
        for headers in ["content-length: 12", "content-length: x", "transfer-encoding: gzip"] {
            let text = format!("HTTP/1.1 304 x\r\n{headers}\r\n\r\n");
            assert_eq!(framing(&text), (Framing::Length(0), false), "{text}");
            let text = text.replace("304", "200");
            assert_eq!(parse(text.as_bytes(), true).unwrap().unwrap().framing, Framing::Length(0), "{text}");
        }
    }

    #[test]
    fn a_connection_is_kept_unless_somebody_wants_it_closed() {
        let old = "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n";
        assert_eq!(framing(old), (Framing::Length(1), true));
        let kept = "HTTP/1.0 200 OK\r\ncontent-length: 1\r\nconnection: keep-alive\r\n\r\n";
        assert_eq!(framing(kept), (Framing::Length(1), false));
        for connection in [
            "connection: x, Close",
            "connection: close\r\nconnection: keep-alive",
            "connection: keep-alive\r\nconnection: close",
            "connection: keep-alive, close",
        ] {
            let headers = format!("content-length: 1\r\n{connection}");
            assert_eq!(framed(&headers), (Framing::Length(1), true), "{connection}");
        }
        assert_eq!(framed("content-length: 1\r\nconnection: closed"), (Framing::Length(1), false));
    }

    #[test]
    fn codings_are_told_apart() {
        let coding = |text: &str| head(&format!("HTTP/1.1 200 OK\r\n{text}\r\n\r\n")).coding;
        assert_eq!(coding("x: y"), Coding::Plain);
        assert_eq!(coding("content-encoding: identity"), Coding::Plain);
        assert_eq!(coding("content-encoding:"), Coding::Plain);
        assert_eq!(coding("content-encoding: GZip"), Coding::Gzip);
        assert_eq!(coding("content-encoding: identity, x-gzip"), Coding::Gzip);
        assert_eq!(coding("content-encoding: gzip\r\ncontent-encoding: gzip"), Coding::Unknown);
        assert_eq!(coding("content-encoding: deflate"), Coding::Unknown);
        assert_eq!(header(b"HTTP/1.1 200 OK\r\na: b\r\nA:\r\n c\r\n\r\n", "a"), "b, c");
    }

    #[test]
    fn contradictions_and_nonsense_are_refused() {
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
            "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            assert!(parse(text.as_bytes(), false).is_err(), "{text}");
        }
        assert!(matches!(parse(b"HTTP/1.1 200 O", false), Ok(None)));
    }

    #[test]
    fn an_engine_may_warn_often() {
        let reply = |lines: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "warning: 299 old\r\n".repeat(lines));
        for lines in [63, 64, 65, MOST_HEADERS] {
            assert_eq!(framing(&reply(lines)), (Framing::Close, true));
            assert_eq!(headers(reply(lines).as_bytes()).len(), lines);
        }
        assert!(parse(reply(MOST_HEADERS + 1).as_bytes(), false).is_err());
    }
}

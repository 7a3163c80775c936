//! Reply heads (RFC 9112): status and how the body is framed.

/// Most header lines a reply may have.
const MOST_HEADERS: usize = 64;

/// What a reply head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHead {
    /// HTTP status.
    pub status: u16,
    /// Bytes of the head.
    pub length: usize,
    /// How the body is framed.
    pub framing: Framing,
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

/// Reads a head. `Ok(None)`: more bytes are needed. The error is a short description.
pub fn parse(bytes: &[u8], bodiless: bool) -> Result<Option<ReplyHead>, &'static str> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut reply = httparse::Response::new(&mut headers);
    let length = match reply.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err("the reply has more than 64 headers"),
        Err(_) => return Err("the reply is not HTTP/1.1"),
    };
    let status = reply.code.unwrap_or(0);
    let mut head = ReplyHead { status, length, framing: Framing::Close, close: reply.version == Some(0) };
    let mut declared = None;
    for header in reply.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let value = number(header.value).ok_or("the reply's content-length is no number")?;
            if declared.is_some_and(|other| other != value) {
                return Err("the reply has two different content-lengths");
            }
            declared = Some(value);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            // RFC 9112, section 6.3: the transfer coding overrides a length.
            head.framing = if has_token(header.value, "chunked") { Framing::Chunked } else { Framing::Close };
        } else if header.name.eq_ignore_ascii_case("connection") {
            head.close =
                has_token(header.value, "close") || head.close && !has_token(header.value, "keep-alive");
        }
    }
    head.framing = match (bodiless || status == 204 || status == 304 || status < 200, head.framing, declared)
    {
        (true, ..) => Framing::Length(0),
        (false, Framing::Close, Some(length)) => Framing::Length(length),
        (false, framing, _) => framing,
    };
    head.close |= head.framing == Framing::Close;
    Ok(Some(head))
}

/// The headers of a reply that [`parse`] has accepted.
pub fn headers(bytes: &[u8]) -> Vec<(String, String)> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut reply = httparse::Response::new(&mut headers);
    if !matches!(reply.parse(bytes), Ok(httparse::Status::Complete(_))) {
        return Vec::new();
    }
    let text = |header: &httparse::Header| {
        (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned())
    };
    reply.headers.iter().map(text).collect()
}

fn number(value: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(value).ok()?.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn has_token(value: &[u8], token: &str) -> bool {
    value.split(|byte| *byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(text: &str) -> (Framing, bool) {
        let head = parse(text.as_bytes(), false).unwrap().unwrap();
        assert_eq!(head.length, text.len());
        (head.framing, head.close)
    }

    #[test]
    fn the_frame_follows_the_headers() {
        assert_eq!(framing("HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n"), (Framing::Length(12), false));
        assert_eq!(framing("HTTP/1.1 204 No Content\r\n\r\n"), (Framing::Length(0), false));
        assert_eq!(framing("HTTP/1.1 304 x\r\ncontent-length: 12\r\n\r\n"), (Framing::Length(0), false));
        let both = "HTTP/1.1 200 OK\r\ncontent-length: 12\r\ntransfer-encoding: Chunked\r\n\r\n";
        assert_eq!(framing(both), (Framing::Chunked, false));
        assert_eq!(framing("HTTP/1.1 200 OK\r\n\r\n"), (Framing::Close, true));
        assert_eq!(framing("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n"), (Framing::Length(1), true));
        let kept = "HTTP/1.0 200 OK\r\ncontent-length: 1\r\nconnection: keep-alive\r\n\r\n";
        assert_eq!(framing(kept), (Framing::Length(1), false));
        let closed = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: x, Close\r\n\r\n";
        assert_eq!(framing(closed), (Framing::Length(1), true));
    }

    #[test]
    fn a_reply_to_head_has_no_body() {
        let text = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n";
        assert_eq!(parse(text, true).unwrap().unwrap().framing, Framing::Length(0));
    }

    #[test]
    fn contradictions_and_nonsense_are_refused() {
        for text in [
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "SMTP ready\r\n\r\n",
        ] {
            assert!(parse(text.as_bytes(), false).is_err(), "{text}");
        }
        assert_eq!(parse(b"HTTP/1.1 200 O", false), Ok(None));
    }
}

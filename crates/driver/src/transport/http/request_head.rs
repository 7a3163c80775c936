//! Request heads, built once per request template and host and completed with the length of each body.

use std::borrow::Cow;

use pacenote_plan::{Scheme, TargetHost};

/// An error from building a request head.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestHeadError {
    /// A header's name is not one, or its value contains a line break or a control character. The value is not shown,
    /// because it may be secret.
    #[error(
        "the header {0:?} has a line break or a control character, or a character that is not allowed in a name"
    )]
    Header(String),
    /// The header belongs to the framing of the message, which the driver controls.
    #[error("the header {0:?} cannot be set: the driver sets it itself")]
    Framing(String),
    /// The driver can decode none of the encodings that the request accepts.
    #[error("the header accept-encoding is {0:?}: the driver decodes gzip and identity only")]
    Encoding(String),
    /// The request line contains a space or a control character.
    #[error("the request line {0:?} has a space or a control character in its path")]
    RequestLine(String),
}

/// Length of a `content-length` line with 20 digits and the empty line after it, in bytes.
const CONTENT_LENGTH_ROOM: usize = 40;

/// Maximum length of a body that is appended to its head, so that both are written as one slice, in bytes.
const SHORT_BODY: usize = 2048;

/// Headers that a request cannot set.
const RESERVED_HEADERS: [&str; 5] = ["connection", "content-length", "host", "te", "transfer-encoding"];

/// Encodings of responses that the driver decodes.
const SUPPORTED_ENCODINGS: [&str; 3] = ["gzip", "x-gzip", "identity"];

/// A request head in which only the `content-length` changes from request to request.
#[derive(Clone)]
pub struct RequestHead {
    bytes: Vec<u8>,
    /// Length of the part that is the same for all bodies, in bytes.
    fixed_len: usize,
    /// RFC 9110, section 8.6: methods that anticipate a body send `content-length: 0` for an empty one.
    always_sends_length: bool,
    /// Whether the response has no body, because the method is HEAD.
    response_has_no_body: bool,
}

impl std::fmt::Debug for RequestHead {
    /// Omits the headers, which may be secret.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = self.bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
        write!(out, "RequestHead({})", String::from_utf8_lossy(line))
    }
}

impl RequestHead {
    /// Creates a head for `method` and `path` (without the host's path prefix). If several headers have the same name,
    /// the last one is sent. `accept-encoding` is reduced to the encodings that the driver decodes.
    ///
    /// # Errors
    ///
    /// [`RequestHeadError`] if a part of the head cannot be sent unchanged.
    pub fn new<'a>(
        host: &TargetHost,
        method: &str,
        path: &str,
        headers: impl Iterator<Item = &'a (String, String)>,
    ) -> Result<Self, RequestHeadError> {
        let name = authority(&host.host, host.port);
        // RFC 9112, section 3.2.2: requests to a proxy use the absolute form. Requests in a tunnel do not, because the
        // proxy cannot read them.
        let proxy = host.proxy.as_ref().filter(|_| host.scheme == Scheme::Http);
        let origin = proxy.map_or_else(String::new, |_| format!("http://{name}"));
        let line = format!("{method} {origin}{}{path} HTTP/1.1\r\n", host.path);
        if [method, path, host.path.as_str()]
            .iter()
            .any(|part| part.bytes().any(|byte| byte <= b' ' || byte == 127))
        {
            return Err(RequestHeadError::RequestLine(format!("{method} {}{path}", host.path)));
        }
        let mut bytes = line.into_bytes();
        bytes.extend_from_slice(format!("host: {name}\r\nuser-agent: pacenote\r\n").as_bytes());
        let authorization = proxy.and_then(|proxy| proxy.authorization.as_deref());
        let authorization = authorization.map(|value| ("proxy-authorization", value));
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
        let mut merged: Vec<(String, Cow<'_, str>)> = Vec::new();
        for (name, value) in headers.chain(authorization) {
            let is_value = value.bytes().all(|byte| byte >= b' ' && byte != 127 || byte == b'\t');
            if !is_token(name) || !is_value {
                return Err(RequestHeadError::Header(name.to_owned()));
            }
            let name = name.to_ascii_lowercase();
            if RESERVED_HEADERS.contains(&name.as_str()) {
                return Err(RequestHeadError::Framing(name));
            }
            let value =
                if name == "accept-encoding" { supported_encodings(value)?.into() } else { Cow::from(value) };
            merged.retain(|(known, _)| *known != name);
            merged.push((name, value));
        }
        for (name, value) in merged {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let fixed_len = bytes.len();
        // Completing the head does not reallocate it.
        bytes.reserve_exact(CONTENT_LENGTH_ROOM);
        let always_sends_length = matches!(method, "POST" | "PUT" | "PATCH");
        Ok(Self { bytes, fixed_len, always_sends_length, response_has_no_body: method == "HEAD" })
    }

    /// Makes this head a copy of `template` in which every `marker` in the request line is replaced by `value`,
    /// percent-encoded.
    pub fn fill(&mut self, template: &Self, marker: &str, value: &str) {
        self.bytes.clear();
        let source = &template.bytes[..template.fixed_len];
        let line_end = memchr::memchr(b'\r', source).unwrap_or(source.len());
        let mut copied = 0;
        for position in memchr::memmem::find_iter(&source[..line_end], marker) {
            self.bytes.extend_from_slice(&source[copied..position]);
            value.bytes().for_each(|byte| percent_encode(byte, &mut self.bytes));
            copied = position + marker.len();
        }
        self.bytes.extend_from_slice(&source[copied..]);
        self.fixed_len = self.bytes.len();
    }

    /// Completes the head for a body of `length` bytes and returns it. Does not allocate, except after
    /// [`RequestHead::fill`] with a longer value than before.
    pub fn complete(&mut self, length: usize) -> &[u8] {
        self.bytes.truncate(self.fixed_len);
        if length > 0 || self.always_sends_length {
            self.bytes.extend_from_slice(b"content-length: ");
            self.bytes.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            self.bytes.extend_from_slice(b"\r\n");
        }
        self.bytes.extend_from_slice(b"\r\n");
        &self.bytes
    }

    /// Reserves room for a body of `length` bytes, if it is short. Called before the request is timed.
    pub fn reserve(&mut self, length: usize) {
        if length <= SHORT_BODY {
            let needed = self.fixed_len + CONTENT_LENGTH_ROOM + length;
            self.bytes.reserve(needed.saturating_sub(self.bytes.len()));
        }
    }

    /// Completes the head for `body` and returns the whole request as head and body. A short body is copied behind the
    /// head, because writing one slice costs less than gathering two; the second slice is then empty. Does not allocate
    /// after [`RequestHead::reserve`].
    pub fn request_slices<'a>(&'a mut self, body: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        self.complete(body.len());
        if body.len() > SHORT_BODY {
            return (&self.bytes, body);
        }
        self.bytes.extend_from_slice(body);
        (&self.bytes, &[])
    }

    /// Returns whether the response has no body regardless of its headers, as for HEAD.
    #[must_use]
    pub fn response_has_no_body(&self) -> bool {
        self.response_has_no_body
    }
}

/// Returns whether a name is a token (RFC 9110, section 5.6.2). Receivers disagree about any other character in the
/// name of a header: some ignore a tab before the colon.
fn is_token(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_allowed)
}

/// `host:port` as in a URL, with brackets around an IPv6 address.
pub fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Returns the members of an `accept-encoding` header that the driver decodes, with their weights.
fn supported_encodings(accepted: &str) -> Result<String, RequestHeadError> {
    let encoding = |member: &str| member.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let members = || accepted.split(',').map(str::trim).filter(|member| !member.is_empty());
    let is_supported = |member: &&str| SUPPORTED_ENCODINGS.contains(&encoding(member).as_str());
    let supported: Vec<&str> = members().filter(is_supported).collect();
    if supported.is_empty() && members().next().is_some() {
        return Err(RequestHeadError::Encoding(accepted.to_owned()));
    }
    Ok(supported.join(", "))
}

/// Percent-encodes a byte unless it is one of RFC 3986's unreserved characters.
fn percent_encode(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        out.push(byte);
    } else {
        out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use pacenote_plan::TargetProxy;

    use super::*;

    fn host() -> TargetHost {
        TargetHost { scheme: Scheme::Http, host: "::1".into(), port: 9200, path: "/es".into(), proxy: None }
    }

    fn head(path: &str, headers: &[(&str, &str)]) -> Result<RequestHead, RequestHeadError> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        RequestHead::new(&host(), "POST", path, headers.iter())
    }

    #[test]
    fn the_content_length_is_that_of_each_body() {
        let mut head = head("/_bulk", &[("Content-Type", "application/x-ndjson")]).unwrap();
        let text =
            |head: &mut RequestHead, length| String::from_utf8(head.complete(length).to_vec()).unwrap();
        let written = text(&mut head, 12);
        assert!(written.starts_with("POST /es/_bulk HTTP/1.1\r\nhost: [::1]:9200\r\n"), "{written}");
        let end = "content-type: application/x-ndjson\r\ncontent-length: 12\r\n\r\n";
        assert!(written.ends_with(end), "{written}");
        assert!(text(&mut head, 0).ends_with("content-length: 0\r\n\r\n"));
        let mut get = RequestHead::new(&host(), "GET", "/", std::iter::empty()).unwrap();
        assert!(!text(&mut get, 0).contains("content-length"));
    }

    #[test]
    fn a_short_body_is_written_in_one_slice_with_its_head() {
        let mut head = head("/_search", &[]).unwrap();
        for length in [0, 1, SHORT_BODY, SHORT_BODY + 1, 3] {
            let body = vec![b'b'; length];
            let expected = [head.complete(length), &body].concat();
            let (first, second) = head.request_slices(&body);
            assert_eq!(second.is_empty(), length <= SHORT_BODY);
            assert_eq!([first, second].concat(), expected);
        }
    }

    #[test]
    fn a_value_replaces_the_marker_in_the_path_only() {
        let template = head("/_async_search/@ID@?x=@ID@", &[("x-id", "@ID@")]).unwrap();
        let mut filled = template.clone();
        for value in ["Fm=/\r\n", "abc-1"] {
            filled.fill(&template, "@ID@", value);
            let text = String::from_utf8(filled.complete(0).to_vec()).unwrap();
            let encoded = if value == "abc-1" { "abc-1" } else { "Fm%3D%2F%0D%0A" };
            let line = format!("POST /es/_async_search/{encoded}?x={encoded} HTTP/1.1\r\n");
            assert!(text.starts_with(&line), "{text}");
            assert!(text.ends_with("x-id: @ID@\r\ncontent-length: 0\r\n\r\n"), "{text}");
        }
    }

    #[test]
    fn a_request_to_a_proxy_has_the_absolute_form_and_credentials_unless_it_is_tunnelled() {
        let proxy = TargetProxy {
            scheme: Scheme::Http,
            host: "proxy".into(),
            port: 3128,
            authorization: Some("Basic c2VjcmV0".into()),
        };
        let plain = TargetHost { proxy: Some(proxy), ..host() };
        let text = |host: &TargetHost| {
            let mut head = RequestHead::new(host, "GET", "/_search?q=1", std::iter::empty()).unwrap();
            String::from_utf8(head.complete(0).to_vec()).unwrap()
        };
        let written = text(&plain);
        assert!(
            written.starts_with("GET http://[::1]:9200/es/_search?q=1 HTTP/1.1\r\nhost: [::1]:9200\r\n"),
            "{written}"
        );
        assert!(written.contains("\r\nproxy-authorization: Basic c2VjcmV0\r\n"), "{written}");
        let written = text(&TargetHost { scheme: Scheme::Https, ..plain });
        assert!(
            written.starts_with("GET /es/_search?q=1 HTTP/1.1\r\n") && !written.contains("proxy"),
            "{written}"
        );
    }

    #[test]
    fn headers_cannot_break_out_of_their_line_and_secrets_are_not_shown() {
        let error = head("/", &[("authorization", "secret\r\nx: y")]).unwrap_err();
        assert_eq!(error, RequestHeadError::Header("authorization".into()));
        assert!(!error.to_string().contains("secret"));
        let hidden = head("/_search", &[("authorization", "secret")]).unwrap();
        assert_eq!(format!("{hidden:?}"), "RequestHead(POST /es/_search HTTP/1.1)");
        assert!(head("/a b", &[]).is_err());
        for name in ["a b", "", "a:b", "content-length\t", "\thost", "te\u{b}", "é", "a(b"] {
            let error = head("/", &[(name, "c")]).unwrap_err();
            assert_eq!(error, RequestHeadError::Header(name.into()));
        }
        assert!(head("/", &[("x!#$%&'*+-.^_`|~9", "tab\tand é")]).is_ok());
    }

    #[test]
    fn the_last_header_of_a_name_is_sent_and_framing_headers_are_rejected() {
        let mut both = head("/", &[("content-type", "a"), ("x", "1"), ("Content-Type", "b")]).unwrap();
        let text = String::from_utf8(both.complete(0).to_vec()).unwrap();
        assert!(text.contains("x: 1\r\ncontent-type: b\r\n") && !text.contains("content-type: a"), "{text}");
        let error = head("/", &[("Content-Length", "3")]).unwrap_err();
        assert_eq!(error, RequestHeadError::Framing("content-length".into()));
    }

    #[test]
    fn only_supported_encodings_are_requested() {
        for (requested, sent) in [
            ("gzip", "gzip"),
            ("identity", "identity"),
            ("gzip, deflate, br;q=0.5", "gzip"),
            ("X-GZip;q=1, identity;q=0.5, *;q=0", "X-GZip;q=1, identity;q=0.5"),
            ("", ""),
        ] {
            let mut head = head("/", &[("accept-encoding", "gzip"), ("Accept-Encoding", requested)]).unwrap();
            let text = String::from_utf8(head.complete(0).to_vec()).unwrap();
            assert!(text.contains(&format!("\r\naccept-encoding: {sent}\r\n")), "{text}");
        }
        let error = head("/", &[("accept-encoding", "br, zstd")]).unwrap_err();
        assert_eq!(error, RequestHeadError::Encoding("br, zstd".into()));
    }

    #[test]
    fn a_short_body_is_appended_without_an_allocation_once_room_is_reserved() {
        let mut head = head("/_bulk", &[]).unwrap();
        for length in [10, SHORT_BODY, 700, SHORT_BODY + 1] {
            let body = vec![b'x'; length];
            head.reserve(body.len());
            let place = head.bytes.as_ptr();
            let (first, second) = head.request_slices(&body);
            assert_eq!(second.is_empty(), length <= SHORT_BODY);
            assert_eq!(first.as_ptr(), place, "{length} bytes");
        }
    }
}

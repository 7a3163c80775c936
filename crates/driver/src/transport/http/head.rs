//! Request heads, built once per request template and host.

use std::borrow::Cow;

use pacenote_plan::{Scheme, TargetHost};

/// Why a head cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// A header would break out of its line. Its value is not shown, it may be secret.
    #[error("the header {0:?} has a line break or a control character")]
    Header(String),
    /// The header belongs to the framing of the message, which is the driver's.
    #[error("the header {0:?} cannot be set: the driver frames its messages itself")]
    Framing(String),
    /// Replies would come in a coding that nobody can read.
    #[error("the header accept-encoding asks for {0:?}: the driver reads gzip and identity only")]
    Coding(String),
    /// The request line is not one line of printable characters.
    #[error("the request line {0:?} has a blank or a control character in its path")]
    Line(String),
}

/// Bytes of a `content-length` of 20 digits with its line end, and of the empty line.
const LONGEST_LENGTH: usize = 40;

/// A body up to this length is copied behind its head.
const SHORT_BODY: usize = 2048;

/// Headers that a request cannot choose.
const OURS: [&str; 5] = ["connection", "content-length", "host", "te", "transfer-encoding"];

/// Codings of replies that can be read.
const READABLE: [&str; 3] = ["gzip", "x-gzip", "identity"];

/// A request head; only the length of the body changes from request to request.
#[derive(Clone)]
pub struct Head {
    bytes: Vec<u8>,
    fixed: usize,
    /// RFC 9110, section 8.6: methods that anticipate a body say its length even when it is 0.
    announces_body: bool,
    /// A reply to HEAD has no body, whatever its headers say.
    bodiless_reply: bool,
}

impl std::fmt::Debug for Head {
    /// Leaves out the headers, which may be secret.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = self.bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
        write!(out, "Head({})", String::from_utf8_lossy(line))
    }
}

impl Head {
    /// A head for `method` and `path` (without the host's prefix). Of two headers with one name the later counts. Of the
    /// codings a request accepts only those are sent on that the driver reads.
    ///
    /// # Errors
    ///
    /// [`HeadError`] when a part would change the shape of the request.
    pub fn new<'a>(
        host: &TargetHost,
        method: &str,
        path: &str,
        headers: impl Iterator<Item = &'a (String, String)>,
    ) -> Result<Self, HeadError> {
        let name = authority(&host.host, host.port);
        // RFC 9112, section 3.2.2: a proxy is told where the request goes. What goes through a tunnel it does not see.
        let proxy = host.proxy.as_ref().filter(|_| host.scheme == Scheme::Http);
        let origin = proxy.map_or_else(String::new, |_| format!("http://{name}"));
        let line = format!("{method} {origin}{}{path} HTTP/1.1\r\n", host.path);
        if [method, path, host.path.as_str()]
            .iter()
            .any(|part| part.bytes().any(|byte| byte <= b' ' || byte == 127))
        {
            return Err(HeadError::Line(format!("{method} {}{path}", host.path)));
        }
        let mut bytes = line.into_bytes();
        bytes.extend_from_slice(format!("host: {name}\r\nuser-agent: pacenote\r\n").as_bytes());
        let authorization = proxy.and_then(|proxy| proxy.authorization.as_deref());
        let authorization = authorization.map(|value| ("proxy-authorization", value));
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
        let mut chosen: Vec<(String, Cow<'_, str>)> = Vec::new();
        for (name, value) in headers.chain(authorization) {
            let broken = |text: &str| text.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 127);
            if name.is_empty() || broken(name) || name.contains([' ', ':']) || broken(value) {
                return Err(HeadError::Header(name.to_owned()));
            }
            let name = name.to_ascii_lowercase();
            if OURS.contains(&name.as_str()) {
                return Err(HeadError::Framing(name));
            }
            let value = if name == "accept-encoding" { readable(value)?.into() } else { Cow::from(value) };
            chosen.retain(|(known, _)| *known != name);
            chosen.push((name, value));
        }
        for (name, value) in chosen {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let fixed = bytes.len();
        // So that a head that is used only once does not grow on the clock.
        bytes.reserve_exact(LONGEST_LENGTH);
        let announces_body = matches!(method, "POST" | "PUT" | "PATCH");
        Ok(Self { bytes, fixed, announces_body, bodiless_reply: method == "HEAD" })
    }

    /// Becomes `template` with `value`, percent-encoded, wherever its request line says `marker`.
    pub fn fill(&mut self, template: &Self, marker: &str, value: &str) {
        self.bytes.clear();
        let fixed = &template.bytes[..template.fixed];
        let line = memchr::memchr(b'\r', fixed).unwrap_or(fixed.len());
        let mut from = 0;
        for at in memchr::memmem::find_iter(&fixed[..line], marker) {
            self.bytes.extend_from_slice(&fixed[from..at]);
            value.bytes().for_each(|byte| percent_encode(byte, &mut self.bytes));
            from = at + marker.len();
        }
        self.bytes.extend_from_slice(&fixed[from..]);
        self.fixed = self.bytes.len();
    }

    /// The whole head for a body of `length` bytes. Allocates nothing, but for a head that was filled with more
    /// than it ever held.
    pub fn for_body(&mut self, length: usize) -> &[u8] {
        self.bytes.truncate(self.fixed);
        if length > 0 || self.announces_body {
            self.bytes.extend_from_slice(b"content-length: ");
            self.bytes.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            self.bytes.extend_from_slice(b"\r\n");
        }
        self.bytes.extend_from_slice(b"\r\n");
        &self.bytes
    }

    /// The whole request, in at most two pieces. A short body is copied behind the head: writing one piece takes the
    /// system less than gathering two. Allocates nothing once it has held such a body.
    pub fn with_body<'a>(&'a mut self, body: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        self.for_body(body.len());
        if body.len() > SHORT_BODY {
            return (&self.bytes, body);
        }
        self.bytes.extend_from_slice(body);
        (&self.bytes, &[])
    }

    /// Whether the reply has no body whatever its headers say.
    #[must_use]
    pub fn bodiless_reply(&self) -> bool {
        self.bodiless_reply
    }
}

/// Host and port as a URL has them.
pub fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Of the codings that are accepted those that can be read, with their weights.
fn readable(accepted: &str) -> Result<String, HeadError> {
    let coding = |member: &str| member.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let members = || accepted.split(',').map(str::trim).filter(|member| !member.is_empty());
    let kept: Vec<&str> = members().filter(|member| READABLE.contains(&coding(member).as_str())).collect();
    if kept.is_empty() && members().next().is_some() {
        return Err(HeadError::Coding(accepted.to_owned()));
    }
    Ok(kept.join(", "))
}

/// Everything but RFC 3986's unreserved characters is encoded.
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

    fn head(path: &str, headers: &[(&str, &str)]) -> Result<Head, HeadError> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Head::new(&host(), "POST", path, headers.iter())
    }

    #[test]
    fn the_length_is_written_anew_for_every_body() {
        let mut head = head("/_bulk", &[("Content-Type", "application/x-ndjson")]).unwrap();
        let text = |head: &mut Head, length| String::from_utf8(head.for_body(length).to_vec()).unwrap();
        let with = text(&mut head, 12);
        assert!(with.starts_with("POST /es/_bulk HTTP/1.1\r\nhost: [::1]:9200\r\n"), "{with}");
        assert!(with.ends_with("content-type: application/x-ndjson\r\ncontent-length: 12\r\n\r\n"), "{with}");
        assert!(text(&mut head, 0).ends_with("content-length: 0\r\n\r\n"));
        let mut get = Head::new(&host(), "GET", "/", std::iter::empty()).unwrap();
        assert!(!text(&mut get, 0).contains("content-length"));
    }

    #[test]
    fn a_short_body_follows_its_head_in_one_piece() {
        let mut head = head("/_search", &[]).unwrap();
        for length in [0, 1, SHORT_BODY, SHORT_BODY + 1, 3] {
            let body = vec![b'b'; length];
            let expected = [head.for_body(length), &body].concat();
            let (first, second) = head.with_body(&body);
            assert_eq!(second.is_empty(), length <= SHORT_BODY);
            assert_eq!([first, second].concat(), expected);
        }
    }

    #[test]
    fn a_value_goes_where_the_marker_stands_in_the_path_alone() {
        let template = head("/_async_search/@ID@?x=@ID@", &[("x-id", "@ID@")]).unwrap();
        let mut filled = template.clone();
        for value in ["Fm=/\r\n", "abc-1"] {
            filled.fill(&template, "@ID@", value);
            let text = String::from_utf8(filled.for_body(0).to_vec()).unwrap();
            let encoded = if value == "abc-1" { "abc-1" } else { "Fm%3D%2F%0D%0A" };
            let line = format!("POST /es/_async_search/{encoded}?x={encoded} HTTP/1.1\r\n");
            assert!(text.starts_with(&line), "{text}");
            assert!(text.ends_with("x-id: @ID@\r\ncontent-length: 0\r\n\r\n"), "{text}");
        }
    }

    #[test]
    fn a_proxy_is_told_the_whole_way_and_who_asks_unless_it_only_tunnels() {
        let proxy = TargetProxy {
            scheme: Scheme::Http,
            host: "proxy".into(),
            port: 3128,
            authorization: Some("Basic c2VjcmV0".into()),
        };
        let plain = TargetHost { proxy: Some(proxy), ..host() };
        let text = |host: &TargetHost| {
            let mut head = Head::new(host, "GET", "/_search?q=1", std::iter::empty()).unwrap();
            String::from_utf8(head.for_body(0).to_vec()).unwrap()
        };
        let seen = text(&plain);
        assert!(
            seen.starts_with("GET http://[::1]:9200/es/_search?q=1 HTTP/1.1\r\nhost: [::1]:9200\r\n"),
            "{seen}"
        );
        assert!(seen.contains("\r\nproxy-authorization: Basic c2VjcmV0\r\n"), "{seen}");
        let seen = text(&TargetHost { scheme: Scheme::Https, ..plain });
        assert!(seen.starts_with("GET /es/_search?q=1 HTTP/1.1\r\n") && !seen.contains("proxy"), "{seen}");
    }

    #[test]
    fn nothing_can_break_out_of_its_line_and_secrets_stay_hidden() {
        let error = head("/", &[("authorization", "secret\r\nx: y")]).unwrap_err();
        assert_eq!(error, HeadError::Header("authorization".into()));
        assert!(!error.to_string().contains("secret"));
        let hidden = head("/_search", &[("authorization", "secret")]).unwrap();
        assert_eq!(format!("{hidden:?}"), "Head(POST /es/_search HTTP/1.1)");
        assert!(head("/a b", &[]).is_err());
        assert!(head("/", &[("a b", "c")]).is_err());
    }

    #[test]
    fn the_later_header_counts_and_framing_is_ours() {
        let mut both = head("/", &[("content-type", "a"), ("x", "1"), ("Content-Type", "b")]).unwrap();
        let text = String::from_utf8(both.for_body(0).to_vec()).unwrap();
        assert!(text.contains("x: 1\r\ncontent-type: b\r\n") && !text.contains("content-type: a"), "{text}");
        let error = head("/", &[("Content-Length", "3")]).unwrap_err();
        assert_eq!(error, HeadError::Framing("content-length".into()));
    }

    #[test]
    fn only_codings_that_can_be_read_are_asked_for() {
        for (asked, sent) in [
            ("gzip", "gzip"),
            ("identity", "identity"),
            ("gzip, deflate, br;q=0.5", "gzip"),
            ("X-GZip;q=1, identity;q=0.5, *;q=0", "X-GZip;q=1, identity;q=0.5"),
            ("", ""),
        ] {
            let mut head = head("/", &[("accept-encoding", "gzip"), ("Accept-Encoding", asked)]).unwrap();
            let text = String::from_utf8(head.for_body(0).to_vec()).unwrap();
            assert!(text.contains(&format!("\r\naccept-encoding: {sent}\r\n")), "{text}");
        }
        let error = head("/", &[("accept-encoding", "br, zstd")]).unwrap_err();
        assert_eq!(error, HeadError::Coding("br, zstd".into()));
    }
}

//! Chunked bodies, compared with a minimal decoder.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::{ReadResult, read_with_all_splits};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// Decodes according to RFC 9112, section 7.1. Where the RFC leaves limits to the recipient, accepts only usual values:
/// sizes of up to 16 digits, lines of up to 200 bytes, no trailers.
fn decode(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        let end = body.iter().take(200).position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(body[..end].strip_suffix(b"\r")?).ok()?;
        let size = line.split(';').next()?.trim_end_matches([' ', '\t']);
        if line.contains('\r') || size.len() > 16 || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let size = usize::from_str_radix(size, 16).ok()?;
        body = &body[end + 1..];
        if size == 0 {
            return (body == b"\r\n").then_some(text);
        }
        text.extend_from_slice(body.get(..size)?);
        body = body.get(size..)?.strip_prefix(b"\r\n")?;
    }
}

fuzz_target!(|bytes: &[u8]| {
    let result = read_with_all_splits(&[HEAD, bytes].concat(), false);
    if let Some(expected) = decode(bytes) {
        assert!(matches!(&result, ReadResult::Response { body, .. } if *body == expected), "{result:?}");
    }
    if let ReadResult::Response { body, close, .. } = result {
        assert!(!close && body.len() < bytes.len());
    }
});

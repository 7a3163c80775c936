//! Bodies in chunks, beside the plainest reader of them there can be.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::{Seen, receive_anyhow};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// RFC 9112, section 7.1, word for word; of what it leaves to the reader only what is usual: sizes of up to 16 digits,
/// lines of up to 200 bytes, no trailers.
fn read(mut body: &[u8]) -> Option<Vec<u8>> {
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
    let seen = receive_anyhow(&[HEAD, bytes].concat(), false);
    if let Some(expected) = read(bytes) {
        assert!(matches!(&seen, Seen::Reply { body, .. } if *body == expected), "{seen:?}");
    }
    if let Seen::Reply { body, close, .. } = seen {
        assert!(!close && body.len() < bytes.len());
    }
});

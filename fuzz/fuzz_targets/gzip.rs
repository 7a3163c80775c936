//! Bodies compressed with gzip, compared with flate2's own reader.

#![no_main]

use std::io::Read;

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::{MAX_BODY, ReadResult, Split, read};

/// Decodes all members with flate2, or returns `None` if anything follows them or the limit is exceeded.
fn decode(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut decoder = MultiGzDecoder::new(encoded).take(MAX_BODY as u64 + 1);
    decoder.read_to_end(&mut text).ok()?;
    let rest = decoder.into_inner().into_inner();
    (rest.is_empty() && text.len() <= MAX_BODY).then_some(text)
}

/// Wraps deflated data in a valid gzip stream, or returns `None` if the data is invalid. This is needed because random
/// changes to a stream nearly always invalidate its checksum.
fn wrap(data: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut decoder = DeflateDecoder::new(data).take(MAX_BODY as u64 + 1);
    decoder.read_to_end(&mut text).ok()?;
    let rest = decoder.into_inner().into_inner();
    let mut crc = Crc::new();
    crc.update(&text);
    let header: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff";
    let trailer = [crc.sum().to_le_bytes(), crc.amount().to_le_bytes()].concat();
    Some([header, &data[..data.len() - rest.len()], &trailer].concat())
}

fn compare(encoded: &[u8]) {
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", encoded.len());
    let expected = if encoded.is_empty() { Some(Vec::new()) } else { decode(encoded) };
    match read(&[head.as_bytes(), encoded].concat(), false, Split::Whole) {
        ReadResult::Response { body, .. } => assert_eq!(Some(body), expected),
        ReadResult::InvalidBody => assert_eq!(expected, None),
        result => panic!("{result:?}"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    compare(bytes);
    if let Some(wrapped) = wrap(bytes) {
        compare(&wrapped);
    }
});

//! Bodies compressed with gzip, beside a reader that was written by others.

#![no_main]

use std::io::Read;

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use libfuzzer_sys::fuzz_target;
use pacenote_fuzz::{Cut, LONGEST_BODY, Seen, receive};

/// What the other reader makes of it, to the last byte, within the bound.
fn read(coded: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut decoder = MultiGzDecoder::new(coded).take(LONGEST_BODY as u64 + 1);
    decoder.read_to_end(&mut text).ok()?;
    let rest = decoder.into_inner().into_inner();
    (rest.is_empty() && text.len() <= LONGEST_BODY).then_some(text)
}

/// A stream around deflated data as it should be, if they are any: few changes of a stream leave its checksum right.
fn wrap(data: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut decoder = DeflateDecoder::new(data).take(LONGEST_BODY as u64 + 1);
    decoder.read_to_end(&mut text).ok()?;
    let rest = decoder.into_inner().into_inner();
    let mut crc = Crc::new();
    crc.update(&text);
    let header: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff";
    let trailer = [crc.sum().to_le_bytes(), crc.amount().to_le_bytes()].concat();
    Some([header, &data[..data.len() - rest.len()], &trailer].concat())
}

fn compare(coded: &[u8]) {
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", coded.len());
    let expected = if coded.is_empty() { Some(Vec::new()) } else { read(coded) };
    match receive(&[head.as_bytes(), coded].concat(), false, Cut::Whole) {
        Seen::Reply { body, .. } => assert_eq!(Some(body), expected),
        Seen::Coded => assert_eq!(expected, None),
        seen => panic!("{seen:?}"),
    }
}

fuzz_target!(|bytes: &[u8]| {
    compare(bytes);
    if let Some(wrapped) = wrap(bytes) {
        compare(&wrapped);
    }
});

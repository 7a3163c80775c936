//! Fills a buffer from a decoder.

use std::io::{self, Read};

/// Reads until the buffer is full or the stream ends: a single read from a decoder returns only a small piece.
pub(super) fn fill(stream: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

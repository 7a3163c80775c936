//! Decompresses xz.

use std::fmt;
use std::io::{self, BufRead};

use lzma_rust2::{Action, Status, XzStream};

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// Memory for the dictionary of a block, in KiB: `xz -9` needs 64 MiB.
const MOST_MEMORY_KIB: u32 = (64 << 10) + 1024;

/// The decompressed data of one or more streams.
pub(super) struct XzReader<R> {
    input: R,
    stream: XzStream,
    is_at_end: bool,
}

impl<R> fmt::Debug for XzReader<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("XzReader").field("is_at_end", &self.is_at_end).finish_non_exhaustive()
    }
}

impl<R: BufRead> XzReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, stream: XzStream::new_mem_limit(true, MOST_MEMORY_KIB), is_at_end: false }
    }
}

impl<R: BufRead> io::Read for XzReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_at_end && !buffer.is_empty() {
            let input = self.input.fill_buf()?;
            let is_last = input.is_empty();
            let action = if is_last { Action::Finish } else { Action::Run };
            let result = self.stream.process(input, buffer, action)?;
            self.input.consume(result.bytes_consumed);
            self.is_at_end = result.status == Status::StreamEnd;
            if result.bytes_produced > 0 {
                return Ok(result.bytes_produced);
            }
            if is_last && !self.is_at_end {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(0)
    }
}

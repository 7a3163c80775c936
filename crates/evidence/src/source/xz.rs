//! Decompresses xz.

use std::fmt;
use std::io::{self, BufRead};

use lzma_rust2::{Action, Status, XzStream};

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// Memory for the dictionary of a block, in KiB: `xz -9` needs 64 MiB.
const MOST_MEMORY_KIB: u32 = (64 << 10) + 1024;

/// Most bytes of the dictionaries of all blocks, each of which costs as much time as it has bytes. xz makes blocks of three
/// times their dictionary, so that those of 16 GiB have 6 GiB.
const MOST_DICTIONARIES: u64 = 64 << 30;

/// What precedes the size of the dictionary in the header of a block: the id of the filter LZMA2 and the length of its
/// properties. Compressed data has these bytes too, once in 64 KiB, which adds less than 1 MiB on average.
const FILTER: [u8; 2] = [0x21, 1];

/// The decompressed data of one or more streams.
pub(super) struct XzReader<R> {
    input: R,
    stream: XzStream,
    dictionaries: Dictionaries,
    most_dictionaries: u64,
    is_at_end: bool,
}

/// Sums up the dictionaries of the blocks in compressed data. It is not less than that of the blocks.
#[derive(Debug, Default)]
struct Dictionaries {
    bytes: u64,
    /// The last two bytes that were read.
    last: [u8; 2],
}

impl Dictionaries {
    fn read(&mut self, compressed: &[u8]) {
        for byte in compressed {
            if self.last == FILTER {
                self.bytes = self.bytes.saturating_add(dictionary_bytes(*byte));
            }
            self.last = [self.last[1], *byte];
        }
    }
}

/// The code of a dictionary of 64 MiB; the decoder refuses larger ones.
const LARGEST_DICTIONARY: u8 = 28;

/// Returns the bytes of a dictionary by the code of its size (section 5.3.1 of the format), 0 if it is refused.
fn dictionary_bytes(code: u8) -> u64 {
    if code > LARGEST_DICTIONARY { 0 } else { (2 | u64::from(code & 1)) << (code / 2 + 11) }
}

impl<R> fmt::Debug for XzReader<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("XzReader").field("is_at_end", &self.is_at_end).finish_non_exhaustive()
    }
}

impl<R: BufRead> XzReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self::with_limit(input, MOST_DICTIONARIES)
    }

    fn with_limit(input: R, most_dictionaries: u64) -> Self {
        let stream = XzStream::new_mem_limit(true, MOST_MEMORY_KIB);
        Self { input, stream, dictionaries: Dictionaries::default(), most_dictionaries, is_at_end: false }
    }
}

impl<R: BufRead> io::Read for XzReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_at_end && !buffer.is_empty() {
            let input = self.input.fill_buf()?;
            let is_last = input.is_empty();
            let action = if is_last { Action::Finish } else { Action::Run };
            let result = self.stream.process(input, buffer, action)?;
            self.dictionaries.read(&input[..result.bytes_consumed]);
            self.input.consume(result.bytes_consumed);
            if self.dictionaries.bytes > self.most_dictionaries {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "it has too many blocks with large dictionaries",
                ));
            }
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::num::NonZeroU64;

    use lzma_rust2::{XzOptions, XzWriter};

    use super::*;

    fn blocks(text: &[u8], block: u64) -> Vec<u8> {
        let mut options = XzOptions::with_preset(0);
        options.set_block_size(NonZeroU64::new(block));
        let mut writer = XzWriter::new(Vec::new(), options).unwrap();
        writer.write_all(text).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn the_dictionaries_of_all_blocks_are_limited() {
        let stream = blocks(b"[0.1s] a line\n", 1 << 20);
        let text = stream.repeat(110);
        let (limit, mut read) = (100 * (256 << 10), Vec::new());
        let error = XzReader::with_limit(text.as_slice(), limit).read_to_end(&mut read).unwrap_err();
        assert!(error.to_string().contains("too many blocks"), "{error}");
        read.clear();
        XzReader::with_limit(&text[..stream.len() * 100], limit).read_to_end(&mut read).unwrap();
        assert_eq!(read.len(), 100 * 14);
    }

    #[test]
    fn dictionaries_are_found_wherever_the_data_is_divided() {
        let data = [0x21, 1, 22, 0x21, 0x21, 1, 41, 0x21, 1, 0];
        for at in 0..data.len() {
            let mut dictionaries = Dictionaries::default();
            dictionaries.read(&data[..at]);
            dictionaries.read(&data[at..]);
            assert_eq!(dictionaries.bytes, (8 << 20) + 4096);
        }
        assert_eq!(
            (dictionary_bytes(22), dictionary_bytes(28), dictionary_bytes(29)),
            (8 << 20, 64 << 20, 0)
        );
    }
}

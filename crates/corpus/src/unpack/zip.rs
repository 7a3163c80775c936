//! Reads zip archives: the central directory, including that of large archives (zip64), and the data of one member.
//!
//! The `zip` crate is not used because it reads the whole directory into memory. This reader reads it entry by entry.

use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use flate2::Crc;
use memchr::memmem;

use super::archive_file::{ArchiveFile, RangeReader};
use super::members::MemberKind;

/// Size of the end-of-central-directory record without its comment, and of the longest comment, in bytes.
const END_RECORD_SIZE: usize = 22;
const MAX_COMMENT_SIZE: usize = 0xffff;

/// Sizes of the zip64 locator, which precedes that record, of the part of the zip64 record that is read, and of the
/// fixed parts of an entry of the directory and of the header of a member, in bytes.
const LOCATOR_SIZE: usize = 20;
const ZIP64_RECORD_SIZE: u64 = 56;
const ENTRY_SIZE: usize = 46;
const HEADER_SIZE: u64 = 30;

// Compression methods of members (APPNOTE.TXT 4.4.5).
pub(super) const STORED: u16 = 0;
pub(super) const DEFLATE: u16 = 8;
pub(super) const BZIP2: u16 = 12;
pub(super) const ZSTD: u16 = 93;

/// A member, as described by the central directory.
#[derive(Debug)]
pub(super) struct ZipMember {
    pub(super) name: String,
    pub(super) kind: MemberKind,
    pub(super) encrypted: bool,
    pub(super) method: u16,
    crc: u32,
    compressed_size: u64,
    unpacked_size: u64,
    header_offset: u64,
}

/// Iterates over the members of an archive, in the order of its central directory.
pub(super) struct ZipDirectory {
    rest: BufReader<RangeReader>,
}

impl ZipDirectory {
    pub(super) fn of(archive: &Arc<ArchiveFile>) -> io::Result<Self> {
        let tail_size = (LOCATOR_SIZE + END_RECORD_SIZE + MAX_COMMENT_SIZE) as u64;
        let tail = read(archive, archive.size().saturating_sub(tail_size), tail_size.min(archive.size()))?;
        let end = memmem::rfind(&tail, b"PK\x05\x06").ok_or_else(truncated)?;
        if tail.len() - end < END_RECORD_SIZE + usize::from(u16_at(&tail, end + 20)?) {
            return Err(truncated());
        }
        let (mut size, mut start) =
            (u64::from(u32_at(&tail, end + 12)?), u64::from(u32_at(&tail, end + 16)?));
        let locator = end.checked_sub(LOCATOR_SIZE);
        if let Some(locator) = locator.filter(|at| tail[*at..].starts_with(b"PK\x06\x07")) {
            let large = read(archive, u64_at(&tail, locator + 8)?, ZIP64_RECORD_SIZE)?;
            (size, start) = (u64_at(&large, 40)?, u64_at(&large, 48)?);
        }
        let range = range_inside(archive, start, size)?;
        Ok(Self { rest: BufReader::new(RangeReader::new(archive, range)) })
    }

    fn is_at_end(&self) -> bool {
        self.rest.buffer().is_empty() && self.rest.get_ref().is_at_end()
    }

    fn read_bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.rest.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn read_member(&mut self) -> io::Result<ZipMember> {
        let entry = self.read_bytes(ENTRY_SIZE)?;
        if !entry.starts_with(b"PK\x01\x02") {
            return Err(invalid("the directory of the zip archive is invalid"));
        }
        let length = |at| u16_at(&entry, at).map(usize::from);
        let name = self.read_bytes(length(28)?)?;
        let (name, extra) = (String::from_utf8_lossy(&name).into_owned(), self.read_bytes(length(30)?)?);
        let _comment = self.read_bytes(length(32)?)?;
        let mut large = Zip64Values::of(&extra);
        let unpacked_size = large.resolve(u32_at(&entry, 24)?)?;
        let compressed_size = large.resolve(u32_at(&entry, 20)?)?;
        let header_offset = large.resolve(u32_at(&entry, 42)?)?;
        Ok(ZipMember {
            kind: kind_of(u32_at(&entry, 38)? >> 16, &name),
            name,
            encrypted: u16_at(&entry, 8)? & 1 != 0,
            method: u16_at(&entry, 10)?,
            crc: u32_at(&entry, 16)?,
            compressed_size,
            unpacked_size,
            header_offset,
        })
    }
}

impl Iterator for ZipDirectory {
    type Item = io::Result<ZipMember>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.is_at_end()).then(|| self.read_member())
    }
}

impl ZipMember {
    /// Returns where the member's compressed bytes are in the archive.
    pub(super) fn data_range(&self, archive: &ArchiveFile) -> io::Result<Range<u64>> {
        let header = read(archive, self.header_offset, HEADER_SIZE)?;
        if !header.starts_with(b"PK\x03\x04") {
            return Err(invalid("a member does not begin where the directory says"));
        }
        let names = u64::from(u16_at(&header, 26)?) + u64::from(u16_at(&header, 28)?);
        range_inside(archive, self.header_offset + HEADER_SIZE + names, self.compressed_size)
    }

    /// Wraps the decompressed member in a reader that checks its size and CRC.
    pub(super) fn checked<R: Read>(&self, unpacked: R) -> impl Read + use<R> {
        ChecksumReader { unpacked, crc: Crc::new(), expected: (self.unpacked_size, self.crc), bytes_read: 0 }
    }
}

/// The values of a zip64 extra field, in order: sizes and offsets that do not fit into 32 bits.
struct Zip64Values<'a> {
    values: &'a [u8],
}

impl<'a> Zip64Values<'a> {
    fn of(mut extra: &'a [u8]) -> Self {
        while let (Ok(id), Ok(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
            let end = 4 + usize::from(length);
            let Some(values) = extra.get(4..end) else { break };
            if id == 1 {
                return Self { values };
            }
            extra = &extra[end..];
        }
        Self { values: &[] }
    }

    /// Returns the value or, if it is a placeholder, the next zip64 value.
    fn resolve(&mut self, value: u32) -> io::Result<u64> {
        if value != u32::MAX {
            return Ok(u64::from(value));
        }
        let large = u64_at(self.values, 0)?;
        self.values = &self.values[8..];
        Ok(large)
    }
}

struct ChecksumReader<R> {
    unpacked: R,
    crc: Crc,
    /// The size and CRC from the directory.
    expected: (u64, u32),
    bytes_read: u64,
}

impl<R: Read> Read for ChecksumReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.unpacked.read(buffer)?;
        self.crc.update(&buffer[..read]);
        self.bytes_read += read as u64;
        if read == 0 && !buffer.is_empty() && (self.bytes_read, self.crc.sum()) != self.expected {
            return Err(invalid("the checksum of a member is wrong"));
        }
        Ok(read)
    }
}

fn kind_of(mode: u32, name: &str) -> MemberKind {
    match mode & 0o170_000 {
        0o040_000 => MemberKind::Folder,
        0 | 0o100_000 if name.ends_with('/') => MemberKind::Folder,
        0 | 0o100_000 => MemberKind::File,
        0o120_000 => MemberKind::Link,
        _ => MemberKind::Special,
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> io::Result<[u8; N]> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    found.copied().ok_or_else(truncated)
}

fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> io::Result<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// Reads `length` bytes, which must be few.
fn read(archive: &ArchiveFile, start: u64, length: u64) -> io::Result<Vec<u8>> {
    let range = range_inside(archive, start, length)?;
    archive.read_range(range)?.ok_or_else(truncated)
}

/// Returns a range, or an error if the archive ends before it.
fn range_inside(archive: &ArchiveFile, start: u64, length: u64) -> io::Result<Range<u64>> {
    let end = start.checked_add(length).filter(|end| *end <= archive.size());
    end.map(|end| start..end).ok_or_else(truncated)
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn truncated() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the zip archive is truncated")
}

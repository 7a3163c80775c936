//! Reads zip archives: the central directory, including that of large archives (zip64), and the data of one member.
//!
//! The `zip` crate is not used because it reads the whole directory into memory. This reader maps the archive into
//! memory and reads its directory entry by entry.

use std::io::{self, Read};

use flate2::Crc;
use memchr::memmem;

use super::members::MemberKind;

/// Size of the end-of-central-directory record without its comment, and of the longest comment, in bytes.
const END_RECORD_SIZE: usize = 22;
const MAX_COMMENT_SIZE: usize = 0xffff;

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
pub(super) struct ZipDirectory<'a> {
    rest: &'a [u8],
}

impl<'a> ZipDirectory<'a> {
    pub(super) fn of(archive: &'a [u8]) -> io::Result<Self> {
        let tail = archive.len().saturating_sub(END_RECORD_SIZE + MAX_COMMENT_SIZE);
        let end = memmem::rfind(&archive[tail..], b"PK\x05\x06").ok_or_else(truncated)? + tail;
        if archive.len() - end < END_RECORD_SIZE + usize::from(u16_at(archive, end + 20)?) {
            return Err(truncated());
        }
        let (mut size, mut start) =
            (u64::from(u32_at(archive, end + 12)?), u64::from(u32_at(archive, end + 16)?));
        if let Some(locator) = end.checked_sub(20).filter(|at| archive[*at..].starts_with(b"PK\x06\x07")) {
            let large = index(u64_at(archive, locator + 8)?)?;
            (size, start) =
                (u64_at(archive, large.saturating_add(40))?, u64_at(archive, large.saturating_add(48))?);
        }
        let start = index(start)?;
        let rest = archive.get(start..start.saturating_add(index(size)?)).ok_or_else(truncated)?;
        Ok(Self { rest })
    }

    fn read_member(&mut self) -> io::Result<ZipMember> {
        let entry = self.rest;
        if !entry.starts_with(b"PK\x01\x02") {
            return Err(invalid("the directory of the zip archive is invalid"));
        }
        let length = |at| u16_at(entry, at).map(usize::from);
        let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let (extra_at, end) = (46 + name, 46 + name + extra + comment);
        self.rest = entry.get(end..).ok_or_else(truncated)?;
        let name = String::from_utf8_lossy(&entry[46..extra_at]).into_owned();
        let mut large = Zip64Values::of(&entry[extra_at..extra_at + extra]);
        let unpacked_size = large.resolve(u32_at(entry, 24)?)?;
        let compressed_size = large.resolve(u32_at(entry, 20)?)?;
        let header_offset = large.resolve(u32_at(entry, 42)?)?;
        Ok(ZipMember {
            kind: kind_of(u32_at(entry, 38)? >> 16, &name),
            name,
            encrypted: u16_at(entry, 8)? & 1 != 0,
            method: u16_at(entry, 10)?,
            crc: u32_at(entry, 16)?,
            compressed_size,
            unpacked_size,
            header_offset,
        })
    }
}

impl Iterator for ZipDirectory<'_> {
    type Item = io::Result<ZipMember>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.rest.is_empty()).then(|| self.read_member())
    }
}

impl ZipMember {
    /// Returns the offset of the member's compressed bytes, and these bytes.
    pub(super) fn data<'a>(&self, archive: &'a [u8]) -> io::Result<(u64, &'a [u8])> {
        let at = index(self.header_offset)?;
        let header = archive.get(at..).ok_or_else(truncated)?;
        if !header.starts_with(b"PK\x03\x04") {
            return Err(invalid("a member does not begin where the directory says"));
        }
        let start = at + 30 + usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
        let data =
            archive.get(start..start.saturating_add(index(self.compressed_size)?)).ok_or_else(truncated)?;
        Ok((start as u64, data))
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

fn index(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| truncated())
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn truncated() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the zip archive is truncated")
}

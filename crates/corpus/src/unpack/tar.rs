//! Reads tar archives: ustar, with the GNU and pax extensions for long names and large sizes.
//!
//! The `tar` crate is not used because it reads long names and pax headers into memory without a limit. An archive is a
//! stream of unknown size from an untrusted source, and this reader limits everything that it keeps in memory.

use std::io::{self, Read};
use std::mem;

use super::fill::fill;
use super::members::MemberKind;

const BLOCK: usize = 512;

/// Size of the largest accepted long name or pax header, in bytes.
const MAX_HEADER_SIZE: u64 = 1 << 20;

/// A member, whose data follows in the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TarMember {
    pub(super) name: String,
    pub(super) kind: MemberKind,
    pub(super) size: u64,
}

/// What one header of an archive begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TarEntry {
    /// A member.
    Member(TarMember),
    /// An extension, which has been read and describes the next member or the archive.
    Extension,
}

/// A tar archive. Reading returns the data of the current member.
pub(super) struct TarReader<R> {
    source: R,
    /// What the extensions declare for the next member.
    extension: Extension,
    /// Number of bytes of headers, extensions and padding that have been read and not yet been taken.
    overhead: u64,
    /// Number of unread bytes in the current member.
    remaining: u64,
    /// Number of padding bytes after the current member.
    padding: u64,
    /// Number of members returned so far.
    member_count: u64,
}

/// The values that extension headers declare for the next member.
#[derive(Default)]
struct Extension {
    name: Option<String>,
    size: Option<u64>,
    sparse: bool,
}

impl<R: Read> TarReader<R> {
    pub(super) fn new(source: R) -> Self {
        let extension = Extension::default();
        Self { source, extension, overhead: 0, remaining: 0, padding: 0, member_count: 0 }
    }

    /// Reads the next header, or returns `None` at the end of the archive. The data of the previous member must have
    /// been read to its end. An archive may consist of nothing but headers, so the caller counts them and their bytes.
    pub(super) fn next_entry(&mut self) -> io::Result<Option<TarEntry>> {
        let Some(header) = self.read_header()? else { return Ok(None) };
        let size = number(&header[124..136])?;
        match header[156] {
            b'L' => self.extension.name = Some(text(&self.read_extension_data(size)?)),
            b'x' => {
                let records = self.read_extension_data(size)?;
                self.extension.read_records(&records)?;
            }
            b'K' | b'g' => drop(self.read_extension_data(size)?),
            flag => return self.member(&header, flag, size).map(|member| Some(TarEntry::Member(member))),
        }
        Ok(Some(TarEntry::Extension))
    }

    /// Returns the number of bytes of headers, extensions and padding that were read since the last call.
    pub(super) fn take_overhead(&mut self) -> u64 {
        mem::take(&mut self.overhead)
    }

    /// Returns the member that a header and the extensions before it describe.
    fn member(&mut self, header: &[u8; BLOCK], flag: u8, size: u64) -> io::Result<TarMember> {
        let extension = mem::take(&mut self.extension);
        let name = extension.name.unwrap_or_else(|| name_of(header));
        let kind = if extension.sparse { MemberKind::Unknown } else { kind_of(flag, &name) };
        // No data follows a link or a folder, whatever size the header declares.
        let size = if kind == MemberKind::File { extension.size.unwrap_or(size) } else { 0 };
        self.begin_data(size)?;
        self.member_count += 1;
        Ok(TarMember { name, kind, size })
    }

    /// Returns the stream after the last member. Reading it to its end makes the decoder verify the checksum there.
    pub(super) fn into_rest(self) -> R {
        self.source
    }

    fn begin_data(&mut self, size: u64) -> io::Result<()> {
        let end = size.checked_next_multiple_of(BLOCK as u64);
        let end = end.ok_or_else(|| invalid("a tar header declares an impossible size"))?;
        (self.remaining, self.padding) = (size, end - size);
        Ok(())
    }

    /// Reads the next header, or returns `None` at the end of the archive.
    fn read_header(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let padding = usize::try_from(self.padding).unwrap_or(0).min(BLOCK - 1);
        self.overhead += fill(&mut self.source, &mut block[..padding])? as u64;
        self.padding = 0;
        let filled = fill(&mut self.source, &mut block)?;
        self.overhead += filled as u64;
        let empty = filled == 0 || (filled == BLOCK && block == [0; BLOCK]);
        if empty && (filled == BLOCK || self.member_count > 0) {
            return Ok(None);
        }
        if filled < BLOCK {
            return Err(truncated());
        }
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        let field: u64 = block[148..156].iter().map(|byte| u64::from(*byte)).sum();
        if number(&block[148..156])? != sum - field + 8 * u64::from(b' ') {
            return Err(invalid("the checksum of a tar header is wrong"));
        }
        Ok(Some(block))
    }

    /// Reads the data of an extension header.
    fn read_extension_data(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > MAX_HEADER_SIZE {
            return Err(invalid("a tar header is too long"));
        }
        self.begin_data(size)?;
        let mut data = vec![0; usize::try_from(size).unwrap_or(0)];
        self.read_exact(&mut data)?;
        self.overhead += size;
        Ok(data)
    }
}

impl<R: Read> Read for TarReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let limit = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.source.read(&mut buffer[..limit])?;
        if read == 0 && limit > 0 {
            return Err(truncated());
        }
        self.remaining -= read as u64;
        Ok(read)
    }
}

impl Extension {
    /// Reads pax records: length, space, key, `=`, value, newline.
    fn read_records(&mut self, mut records: &[u8]) -> io::Result<()> {
        while !records.is_empty() {
            let blank = memchr::memchr(b' ', records).ok_or_else(pax)?;
            let length: usize = text(&records[..blank]).parse().map_err(|_| pax())?;
            let record = records.get(blank + 1..length.saturating_sub(1)).ok_or_else(pax)?;
            let equals = memchr::memchr(b'=', record).ok_or_else(pax)?;
            let value = text(&record[equals + 1..]);
            match &record[..equals] {
                b"path" => self.name = Some(value),
                b"size" => self.size = Some(value.parse().map_err(|_| pax())?),
                key => self.sparse |= key.starts_with(b"GNU.sparse."),
            }
            records = records.get(length..).ok_or_else(pax)?;
        }
        Ok(())
    }
}

fn pax() -> io::Error {
    invalid("a pax header is invalid")
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn truncated() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the tar archive is truncated")
}

fn kind_of(flag: u8, name: &str) -> MemberKind {
    match flag {
        // Old tar archives have no type for folders: the names of folders end with a slash.
        0 | b'0' if name.ends_with('/') => MemberKind::Folder,
        0 | b'0' | b'7' => MemberKind::File,
        b'1' | b'2' => MemberKind::Link,
        b'3' | b'4' | b'6' => MemberKind::Special,
        b'5' => MemberKind::Folder,
        _ => MemberKind::Unknown,
    }
}

/// Returns the text before the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn name_of(header: &[u8; BLOCK]) -> String {
    let (name, prefix) = (text(&header[..100]), text(&header[345..500]));
    // With the magic number of GNU tar, the prefix field has a different meaning.
    if &header[257..263] == b"ustar\0" && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
}

/// Parses a number, which is either octal digits or, if the highest bit is set, binary.
fn number(field: &[u8]) -> io::Result<u64> {
    let wrong = || invalid("a number in a tar header is invalid");
    if field[0] & 0x80 != 0 {
        let first = u64::from(field[0] & 0x7f);
        let digit = |number: u64, byte: &u8| number.checked_mul(256).map(|number| number | u64::from(*byte));
        return field[1..].iter().try_fold(first, digit).ok_or_else(wrong);
    }
    let digits = text(field);
    let digits = digits.trim();
    if digits.is_empty() { Ok(0) } else { u64::from_str_radix(digits, 8).map_err(|_| wrong()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Returns a header with its checksum, followed by its padded data.
    fn entry(flag: u8, size: &[u8; 12], data: &[u8]) -> Vec<u8> {
        let mut header = [0; BLOCK];
        header[0] = b'a';
        header[124..136].copy_from_slice(size);
        header[148..156].copy_from_slice(b"        ");
        header[156] = flag;
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let mut entry = header.to_vec();
        entry.extend_from_slice(data);
        entry.resize(entry.len().next_multiple_of(BLOCK), 0);
        entry
    }

    fn octal(size: usize) -> [u8; 12] {
        format!("{size:011o}\0").into_bytes().try_into().unwrap()
    }

    fn with_pax(records: &[u8]) -> io::Result<Option<TarEntry>> {
        let archive = [entry(b'x', &octal(records.len()), records), entry(b'0', &octal(0), b"")].concat();
        let mut tar = TarReader::new(&archive[..]);
        assert_eq!(tar.next_entry()?, Some(TarEntry::Extension));
        let before = tar.take_overhead();
        let member = tar.next_entry();
        assert_eq!(before + tar.take_overhead(), archive.len() as u64);
        member
    }

    #[test]
    fn a_pax_header_declares_name_and_size() {
        let member = with_pax(b"11 path=b/c\n9 size=7\n").unwrap_err();
        assert_eq!(member.kind(), io::ErrorKind::InvalidData, "a wrong length was accepted");
        let member = with_pax(b"12 path=b/c\n9 size=7\n").unwrap().unwrap();
        let expected = TarMember { name: "b/c".into(), kind: MemberKind::File, size: 7 };
        assert_eq!(member, TarEntry::Member(expected));
    }

    #[test]
    fn lengths_beyond_the_header_are_rejected() {
        for records in
            ["9 path=a", "99 path=a\n", "0 path=a\n", "1 path=a\n", "18446744073709551615 a=b\n", "3 =\n\n"]
        {
            let error = with_pax(records.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{records:?}: {error}");
        }
        let error = with_pax(b"29 size=18446744073709551615\n").unwrap_err();
        assert!(error.to_string().contains("an impossible size"), "{error}");
        let mut largest = [0xff; 12];
        largest[0] = 0x80;
        largest[1..4].fill(0);
        let error = TarReader::new(&entry(b'0', &largest, b"")[..]).next_entry().unwrap_err();
        assert!(error.to_string().contains("an impossible size"), "{error}");
    }
}

//! Reading tar: ustar with the extensions of GNU and pax for long names and large sizes.
//!
//! Our own, since members of a tar pass through as a stream of unknown size: everything that is kept in memory is
//! bounded here.

use std::io::{self, Read};

use super::fill::fill;
use super::members::Kind;

const BLOCK: usize = 512;

/// Largest long name or pax header that is accepted.
const MOST_META: u64 = 1 << 20;

/// A member whose data comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) size: u64,
}

/// A tar archive; reading reads the data of the current member.
pub(super) struct Tar<R> {
    source: R,
    /// Bytes left of the current member, and of the padding after it.
    left: u64,
    padding: u64,
    members: u64,
}

/// What extension headers say about the next member.
#[derive(Default)]
struct Extension {
    name: Option<String>,
    size: Option<u64>,
    sparse: bool,
}

impl<R: Read> Tar<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, left: 0, padding: 0, members: 0 }
    }

    /// The next member; the data of the one before must have been read to its end.
    pub(super) fn next_member(&mut self) -> io::Result<Option<Member>> {
        let mut extension = Extension::default();
        loop {
            let Some(header) = self.header()? else { return Ok(None) };
            let size = number(&header[124..136])?;
            match header[156] {
                b'L' => extension.name = Some(text(&self.meta(size)?)),
                b'x' => extension.read(&self.meta(size)?)?,
                b'K' | b'g' => drop(self.meta(size)?),
                flag => {
                    let name = extension.name.unwrap_or_else(|| name_of(&header));
                    let kind = if extension.sparse { Kind::Unknown } else { kind_of(flag, &name) };
                    // Of links and folders the size says nothing about data that follows.
                    let size = if kind == Kind::File { extension.size.unwrap_or(size) } else { 0 };
                    self.begin(size)?;
                    self.members += 1;
                    return Ok(Some(Member { name, kind, size }));
                }
            }
        }
    }

    /// Reads what is left behind the last member, so that a checksum at the end of the stream is looked at.
    pub(super) fn into_rest(self) -> R {
        self.source
    }

    fn begin(&mut self, size: u64) -> io::Result<()> {
        let end = size.checked_next_multiple_of(BLOCK as u64);
        let end = end.ok_or_else(|| broken("a tar header says a size that no file has"))?;
        (self.left, self.padding) = (size, end - size);
        Ok(())
    }

    /// The next header; `None` at the end of the archive.
    fn header(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let padding = usize::try_from(self.padding).unwrap_or(0).min(BLOCK - 1);
        fill(&mut self.source, &mut block[..padding])?;
        self.padding = 0;
        let filled = fill(&mut self.source, &mut block)?;
        let empty = filled == 0 || (filled == BLOCK && block == [0; BLOCK]);
        if empty && (filled == BLOCK || self.members > 0) {
            return Ok(None);
        }
        if filled < BLOCK {
            return Err(cut());
        }
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        let field: u64 = block[148..156].iter().map(|byte| u64::from(*byte)).sum();
        if number(&block[148..156])? != sum - field + 8 * u64::from(b' ') {
            return Err(broken("the checksum of a tar header is wrong"));
        }
        Ok(Some(block))
    }

    /// The data of an extension header.
    fn meta(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > MOST_META {
            return Err(broken("a tar header is too long"));
        }
        self.begin(size)?;
        let mut data = vec![0; usize::try_from(size).unwrap_or(0)];
        self.read_exact(&mut data)?;
        Ok(data)
    }
}

impl<R: Read> Read for Tar<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.source.read(&mut buffer[..most])?;
        if read == 0 && most > 0 {
            return Err(cut());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

impl Extension {
    /// Reads pax records: length, blank, key, `=`, value, newline.
    fn read(&mut self, mut records: &[u8]) -> io::Result<()> {
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
    broken("a pax header is not understood")
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the tar archive ends in the middle")
}

fn kind_of(flag: u8, name: &str) -> Kind {
    match flag {
        // Before there were folders, a name that ends with a slash was one.
        0 | b'0' if name.ends_with('/') => Kind::Folder,
        0 | b'0' | b'7' => Kind::File,
        b'1' | b'2' => Kind::Link,
        b'3' | b'4' | b'6' => Kind::Special,
        b'5' => Kind::Folder,
        _ => Kind::Unknown,
    }
}

/// Up to the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn name_of(header: &[u8; BLOCK]) -> String {
    let (name, prefix) = (text(&header[..100]), text(&header[345..500]));
    // Where GNU's magic stands the prefix means something else.
    if &header[257..263] == b"ustar\0" && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
}

/// Octal digits, or, if the highest bit is set, a binary number.
fn number(field: &[u8]) -> io::Result<u64> {
    let wrong = || broken("a number in a tar header is not understood");
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

    /// A header with its checksum, and its data padded.
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

    fn with_pax(records: &[u8]) -> io::Result<Option<Member>> {
        let archive = [entry(b'x', &octal(records.len()), records), entry(b'0', &octal(0), b"")].concat();
        Tar::new(&archive[..]).next_member()
    }

    #[test]
    fn a_pax_header_says_name_and_size() {
        let member = with_pax(b"11 path=b/c\n9 size=7\n").unwrap_err();
        assert_eq!(member.kind(), io::ErrorKind::InvalidData, "a wrong length");
        let member = with_pax(b"12 path=b/c\n9 size=7\n").unwrap().unwrap();
        assert_eq!(member, Member { name: "b/c".into(), kind: Kind::File, size: 7 });
    }

    #[test]
    fn lengths_that_lead_out_of_the_header_are_refused() {
        for records in
            ["9 path=a", "99 path=a\n", "0 path=a\n", "1 path=a\n", "18446744073709551615 a=b\n", "3 =\n\n"]
        {
            let error = with_pax(records.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{records:?}: {error}");
        }
        let error = with_pax(b"29 size=18446744073709551615\n").unwrap_err();
        assert!(error.to_string().contains("a size that no file has"), "{error}");
        let mut largest = [0xff; 12];
        largest[0] = 0x80;
        largest[1..4].fill(0);
        let error = Tar::new(&entry(b'0', &largest, b"")[..]).next_member().unwrap_err();
        assert!(error.to_string().contains("a size that no file has"), "{error}");
    }
}

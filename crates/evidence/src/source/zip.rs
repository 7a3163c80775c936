//! The only file in a zip archive.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use memchr::memmem;

/// The first bytes of an archive with a member.
pub(super) const MAGIC: &[u8] = b"PK\x03\x04";

/// Sizes in bytes of the record at the end without its comment, of the longest comment, and of the fixed parts of an entry
/// of the directory and of the header of a member.
const END: usize = 22;
const MOST_COMMENT: u64 = 0xffff;
const ENTRY: usize = 46;
const HEADER: usize = 30;

/// Bytes of the directory that are read: those of some thousands of members.
const MOST_DIRECTORY: u64 = 1 << 20;

// Compression methods of members (APPNOTE.TXT 4.4.5).
const STORED: u16 = 0;
const DEFLATE: u16 = 8;

/// A member, as the directory describes it.
#[derive(Debug, Clone, Copy)]
struct Member {
    flags: u16,
    method: u16,
    crc: u32,
    compressed_bytes: u32,
    header_at: u32,
}

/// The unpacked data of a member.
#[derive(Debug)]
pub(super) struct ZipReader {
    data: Data,
    expected_crc: u32,
    crc: Crc,
}

#[derive(Debug)]
enum Data {
    Stored(io::Take<File>),
    Deflate(Box<DeflateDecoder<io::Take<File>>>),
}

impl ZipReader {
    /// Opens the only file of an archive.
    ///
    /// # Errors
    ///
    /// Those of the system, and `InvalidData` if the archive is damaged, has not exactly one file, or one that is encrypted or
    /// packed in another way.
    pub(super) fn open(mut file: File) -> io::Result<Self> {
        let member = only_member(&directory(&mut file)?)?;
        if member.flags & 1 != 0 {
            return Err(invalid("the archive is encrypted; unpack it, and name its files"));
        }
        let mut header = [0; HEADER];
        file.seek(SeekFrom::Start(u64::from(member.header_at)))?;
        file.read_exact(&mut header).map_err(|_| damaged())?;
        let names = u64::from(u16_at(&header, 26)?) + u64::from(u16_at(&header, 28)?);
        let at = (u64::from(member.header_at) + HEADER as u64).saturating_add(names);
        file.seek(SeekFrom::Start(at))?;
        let packed = file.take(u64::from(member.compressed_bytes));
        let data = match member.method {
            STORED => Data::Stored(packed),
            DEFLATE => Data::Deflate(Box::new(DeflateDecoder::new(packed))),
            _ => {
                return Err(invalid("the archive is not packed with deflate; unpack it, and name its files"));
            }
        };
        Ok(Self { data, expected_crc: member.crc, crc: Crc::new() })
    }
}

impl Read for ZipReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.data {
            Data::Stored(data) => data.read(buffer)?,
            Data::Deflate(data) => data.read(buffer)?,
        };
        if read == 0 && !buffer.is_empty() && self.crc.sum() != self.expected_crc {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "its checksum differs"));
        }
        self.crc.update(&buffer[..read]);
        Ok(read)
    }
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn damaged() -> io::Error {
    invalid("the archive is cut off or damaged; pack it again")
}

/// Reads the directory of an archive, which is at its end.
fn directory(file: &mut File) -> io::Result<Vec<u8>> {
    let size = file.seek(SeekFrom::End(0))?;
    let start = size.saturating_sub(END as u64 + MOST_COMMENT);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.by_ref().take(END as u64 + MOST_COMMENT).read_to_end(&mut tail)?;
    let end = memmem::rfind(&tail, b"PK\x05\x06").ok_or_else(damaged)?;
    let (length, at) = (u32_at(&tail, end + 12)?, u32_at(&tail, end + 16)?);
    if u64::from(length) > MOST_DIRECTORY {
        return Err(invalid("the archive has too many files; unpack it, and name those of the log"));
    }
    let mut directory = vec![0; length as usize];
    file.seek(SeekFrom::Start(u64::from(at)))?;
    file.read_exact(&mut directory).map_err(|_| damaged())?;
    Ok(directory)
}

/// Returns the only file of a directory, without folders, hidden files and what macOS adds.
fn only_member(directory: &[u8]) -> io::Result<Member> {
    let mut rest = directory;
    let mut only = None;
    while rest.starts_with(b"PK\x01\x02") {
        let lengths = [u16_at(rest, 28)?, u16_at(rest, 30)?, u16_at(rest, 32)?].map(usize::from);
        let name = rest.get(ENTRY..ENTRY + lengths[0]).ok_or_else(damaged)?;
        let base = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_file = !base.is_empty() && !base.starts_with(b".") && !name.starts_with(b"__MACOSX/");
        if is_file {
            let member = Member {
                flags: u16_at(rest, 8)?,
                method: u16_at(rest, 10)?,
                crc: u32_at(rest, 16)?,
                compressed_bytes: u32_at(rest, 20)?,
                header_at: u32_at(rest, 42)?,
            };
            if only.replace(member).is_some() {
                return Err(invalid("the archive has several files; unpack it, and name those of the log"));
            }
        }
        rest = rest.get(ENTRY + lengths.iter().sum::<usize>()..).ok_or_else(damaged)?;
    }
    let member = only.ok_or_else(|| invalid("the archive has no file; pack the log again"))?;
    if member.compressed_bytes == u32::MAX || member.header_at == u32::MAX {
        return Err(invalid("the archive is larger than 4 GiB; unpack it, and name its files"));
    }
    Ok(member)
}

fn u16_at(bytes: &[u8], at: usize) -> io::Result<u16> {
    bytes.get(at..at + 2).and_then(|two| two.try_into().ok()).map(u16::from_le_bytes).ok_or_else(damaged)
}

fn u32_at(bytes: &[u8], at: usize) -> io::Result<u32> {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes).ok_or_else(damaged)
}

//! A file as a stream of bytes: plain or compressed, complete or cut off, in UTF-8 or UTF-16.
//!
//! | file | contains |
//! | --- | --- |
//! | `packing` | tells which packing of a file is not read, such as tar |
//! | `utf16` | converts UTF-16 to UTF-8 |
//! | `xz` | decompresses xz |
//! | `zip` | the only file in a zip archive |

mod packing;
mod utf16;
mod xz;
mod zip;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::error::EvidenceError;
use packing::{HEAD, reason_against};
use utf16::Utf16;
use xz::XzReader;
use zip::ZipReader;

/// Size of the buffer for compressed data, and of that for UTF-16, in bytes.
const BUFFER: usize = 64 << 10;

/// Most bytes that are read of a file, after decompression: such a file takes about a minute.
const MAX_BYTES: u64 = 16 << 30;

/// Compressed data may expand to this many times its size, and to [`FREE_BYTES`] in any case. Logs and recordings become
/// five to fifty times as large; a gzip file can become a thousand times as large, and an xz file seven thousand times.
const MAX_EXPANSION: u64 = 200;

/// Bytes to which any compressed data may expand.
const FREE_BYTES: u64 = 64 << 20;

/// What is wrong with xz data whose dictionary does not fit into the memory that it may take.
const LARGE_DICTIONARY: &str = "the compressed data needs a dictionary of more than 64 MiB; compress it with `xz -9` or less, or not at all";

/// Flag of Linux with which a pipe is opened without waiting for a writer; it has no meaning for files.
const O_NONBLOCK: i32 = 0o4000;

/// The first bytes of gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// The byte order mark of UTF-8.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// An open file that is read from its beginning to its end. It is decompressed if it begins as gzip, xz or a zip archive with
/// one file does, and converted to UTF-8 if its content begins with the mark of UTF-16.
///
/// Compressed data that is damaged or ends too early is read as far as possible: the stream then ends, and
/// [`damage`](Self::damage) gives the reason. So it does after 16 GiB, and if compressed data expands so much that it is not
/// that of a log or recording.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    stream: Stream,
    /// Bytes that may still be read.
    left: u64,
    damage: Option<String>,
    /// The converter of a text in UTF-16.
    utf16: Option<Utf16>,
    /// What was read of the stream and converted, but not passed on, from `start` on.
    ready: Vec<u8>,
    start: usize,
}

#[derive(Debug)]
enum Stream {
    Plain(File),
    // The decoders are large.
    Gzip(Box<MultiGzDecoder<BufReader<File>>>),
    Xz(Box<XzReader<BufReader<File>>>),
    Zip(Box<ZipReader>),
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// [`EvidenceError::Read`]; [`EvidenceError::NotAFile`] for folders, pipes and devices; [`EvidenceError::Unrecognized`] for
    /// archives that do not contain one file, and for files that are packed in another way.
    pub fn open(path: &Path) -> Result<Self, EvidenceError> {
        let failed = |cause| EvidenceError::read(path, cause);
        // Opening a pipe would wait for a writer.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(EvidenceError::NotAFile { path: path.to_path_buf() });
        }
        let mut file = File::options().read(true).custom_flags(O_NONBLOCK).open(path).map_err(failed)?;
        // The path may have changed.
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(EvidenceError::NotAFile { path: path.to_path_buf() });
        }
        let mut head = Vec::new();
        file.by_ref().take(xz::MAGIC.len() as u64).read_to_end(&mut head).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let stream = Stream::of(&head, file).map_err(|cause| match cause.kind() {
            io::ErrorKind::InvalidData => EvidenceError::unrecognized(path, cause.to_string()),
            _ => failed(cause),
        })?;
        let left = most_bytes(metadata.len(), !matches!(stream, Stream::Plain(_)));
        let (path, ready) = (path.to_path_buf(), Vec::new());
        let mut source = Self { path, stream, left, damage: None, utf16: None, ready, start: 0 };
        source.read_head()?;
        Ok(source)
    }

    /// Reads the beginning of the content: the byte order mark, if there is one, and whether it is packed once more.
    fn read_head(&mut self) -> Result<(), EvidenceError> {
        let mut head = vec![0; HEAD];
        let length = self.fill(&mut head)?;
        head.truncate(length);
        if let Some(reason) = reason_against(&head) {
            return Err(EvidenceError::unrecognized(&self.path, reason));
        }
        self.utf16 = Utf16::of(&head);
        match &mut self.utf16 {
            Some(utf16) => utf16.convert(&head[2..], &mut self.ready),
            None => self.ready = head.strip_prefix(UTF8_MARK).unwrap_or(&head).to_vec(),
        }
        Ok(())
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns why not all of the file was read, as the end of a sentence, or `None` if all of it was.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Reads until the buffer is full or the stream ends, and returns the number of bytes.
    ///
    /// # Errors
    ///
    /// [`EvidenceError::Read`].
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, EvidenceError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(EvidenceError::read(&self.path, error)),
            }
        }
        Ok(filled)
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let ready = &self.ready[self.start..];
            if !ready.is_empty() {
                let length = ready.len().min(buffer.len());
                buffer[..length].copy_from_slice(&ready[..length]);
                self.start += length;
                return Ok(length);
            }
            if self.utf16.is_none() {
                return self.read_stream(buffer);
            }
            let mut units = vec![0; BUFFER];
            let length = self.read_stream(&mut units)?;
            if length == 0 {
                return Ok(0);
            }
            self.ready.clear();
            self.start = 0;
            if let Some(utf16) = &mut self.utf16 {
                utf16.convert(&units[..length], &mut self.ready);
            }
        }
    }
}

impl Source {
    /// Reads of the stream, as it was compressed.
    fn read_stream(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.damage.is_some() {
            return Ok(0);
        }
        let read = match self.stream.read(buffer) {
            Err(error) if !matches!(self.stream, Stream::Plain(_)) && is_damage(&error) => {
                self.damage = Some(match error.kind() {
                    io::ErrorKind::OutOfMemory => LARGE_DICTIONARY.to_owned(),
                    _ => format!("the compressed data is cut off or damaged: {error}"),
                });
                0
            }
            read => read?,
        };
        self.left = self.left.checked_sub(read as u64).unwrap_or_else(|| {
            self.damage = Some(self.limit());
            0
        });
        Ok(if self.damage.is_some() { 0 } else { read })
    }

    /// Returns the limit that was reached.
    fn limit(&self) -> String {
        match self.stream {
            Stream::Plain(_) => format!("only the first {} GiB were read", MAX_BYTES >> 30),
            _ => format!(
                "the compressed data expands to more than {MAX_EXPANSION} times its size or {} GiB, which that of no log \
                 or recording does; the rest was not read",
                MAX_BYTES >> 30
            ),
        }
    }
}

impl Stream {
    /// Returns the stream of a file that begins with `head`.
    fn of(head: &[u8], file: File) -> io::Result<Self> {
        let buffered = |file| BufReader::with_capacity(BUFFER, file);
        Ok(if head.starts_with(GZIP) {
            Self::Gzip(Box::new(MultiGzDecoder::new(buffered(file))))
        } else if head == xz::MAGIC {
            Self::Xz(Box::new(XzReader::new(buffered(file))))
        } else if head.starts_with(zip::MAGIC) {
            Self::Zip(Box::new(ZipReader::open(file)?))
        } else {
            Self::Plain(file)
        })
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Xz(decoder) => decoder.read(buffer),
            Self::Zip(decoder) => decoder.read(buffer),
        }
    }
}

/// Returns how many bytes are read of a file of some size.
fn most_bytes(size: u64, is_compressed: bool) -> u64 {
    if is_compressed { size.saturating_mul(MAX_EXPANSION).clamp(FREE_BYTES, MAX_BYTES) } else { MAX_BYTES }
}

/// Returns whether the decoder reports wrong data, and not the system a failed read. The one of xz reports a dictionary that
/// needs too much memory.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof
            | io::ErrorKind::InvalidData
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::OutOfMemory
            | io::ErrorKind::Unsupported
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns the content of a file with these bytes, and whether it is damaged.
    fn content(bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut source = Source::open(file.path()).unwrap();
        let mut text = Vec::new();
        source.read_to_end(&mut text).unwrap();
        (text, source.damage().is_some())
    }

    #[test]
    fn plain_and_compressed_files_have_the_same_content() {
        let text = b"one line\n".repeat(100_000);
        let members = [gzip(b"first "), gzip(b"second")].concat();
        for (bytes, expected) in [
            (text.clone(), text.as_slice()),
            (gzip(&text), &text),
            (members, b"first second"),
            (Vec::new(), b""),
            (b"\x1f".to_vec(), b"\x1f"),
        ] {
            assert_eq!(content(&bytes), (expected.to_vec(), false));
        }
    }

    #[test]
    fn what_is_packed_in_another_way_is_refused_with_what_to_do() {
        let mut tar = vec![b'x'; 1024];
        tar[257..262].copy_from_slice(b"ustar");
        for (bytes, expected) in [
            (tar.clone(), "tar"),
            (gzip(&tar), "tar"),
            (b"BZh91AY&SY".to_vec(), "bunzip2"),
            (b"\x28\xb5\x2f\xfd".to_vec(), "zstd -d"),
            (b"\x04\x22\x4d\x18".to_vec(), "lz4 -d"),
        ] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&bytes).unwrap();
            let reason = Source::open(file.path()).unwrap_err().to_string();
            assert!(reason.contains(expected), "{reason}");
        }
        assert_eq!(content(&tar[..261]), (tar[..261].to_vec(), false));
    }

    #[test]
    fn what_precedes_damage_is_read() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let whole = gzip(&text);
        let (read, damaged) = content(&whole[..whole.len() / 2]);
        assert!(damaged && read.len() > 1000 && text.starts_with(&read));
        let mut changed = whole.clone();
        changed[whole.len() / 2..].fill(0xff);
        let (read, damaged) = content(&changed);
        assert!(damaged && !read.is_empty());
        let (read, damaged) = content(&[whole.as_slice(), b"no gzip"].concat());
        assert!(damaged && read == text);
    }

    #[test]
    fn data_that_expands_without_end_is_read_in_part() {
        for (size, expected) in [(1, FREE_BYTES), (1 << 20, 200 << 20), (1 << 40, MAX_BYTES)] {
            assert_eq!(most_bytes(size, true), expected);
            assert_eq!(most_bytes(size, false), MAX_BYTES);
        }
        let text = b"one line\n".repeat(10_000);
        for (bytes, limit) in [(gzip(&text), "200 times"), (text.clone(), "16 GiB")] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&bytes).unwrap();
            let mut source = Source::open(file.path()).unwrap();
            source.left = 79_997;
            let mut buffer = vec![0; 70_000];
            assert_eq!(source.fill(&mut buffer).unwrap(), 70_000);
            assert_eq!((source.fill(&mut buffer).unwrap(), source.read(&mut buffer).unwrap()), (0, 0));
            assert!(source.damage().unwrap().contains(limit));
        }
    }

    #[test]
    fn only_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Source::open(folder.path()), Err(EvidenceError::NotAFile { .. })));
        assert!(matches!(Source::open(&folder.path().join("none")), Err(EvidenceError::Read { .. })));
    }
}

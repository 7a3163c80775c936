//! A file as a stream of bytes: plain or compressed with gzip, complete or cut off.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use crate::error::EvidenceError;

/// Size of the buffer for compressed data, in bytes.
const BUFFER: usize = 64 << 10;

/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An open file that is read from its beginning to its end, and decompressed if it begins as gzip does.
///
/// Compressed data that is damaged or ends too early is read as far as possible: the stream then ends, and
/// [`damage`](Self::damage) gives the reason.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    stream: Stream,
    damage: Option<String>,
}

/// The first bytes of a file, which have been read, and the rest.
type Plain = io::Chain<io::Cursor<Vec<u8>>, File>;

#[derive(Debug)]
enum Stream {
    Plain(Plain),
    // The decoder is large.
    Gzip(Box<MultiGzDecoder<BufReader<Plain>>>),
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// [`EvidenceError::Read`], and [`EvidenceError::NotAFile`] for folders, pipes and devices.
    pub fn open(path: &Path) -> Result<Self, EvidenceError> {
        let failed = |cause| EvidenceError::read(path, cause);
        // Opening a pipe would wait for a writer.
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(EvidenceError::NotAFile { path: path.to_path_buf() });
        }
        let mut file = File::open(path).map_err(failed)?;
        let mut head = Vec::new();
        file.by_ref().take(GZIP.len() as u64).read_to_end(&mut head).map_err(failed)?;
        let is_gzip = head == GZIP;
        let plain = io::Cursor::new(head).chain(file);
        let stream = if is_gzip {
            Stream::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, plain))))
        } else {
            Stream::Plain(plain)
        };
        Ok(Self { path: path.to_path_buf(), stream, damage: None })
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns why compressed data ended before its end, or `None` if all of it was read.
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
        if self.damage.is_some() {
            return Ok(0);
        }
        match &mut self.stream {
            Stream::Plain(plain) => plain.read(buffer),
            Stream::Gzip(decoder) => match decoder.read(buffer) {
                Err(error) if is_damage(&error) => {
                    self.damage = Some(error.to_string());
                    Ok(0)
                }
                read => read,
            },
        }
    }
}

/// Returns whether the decoder reports wrong data, and not the system a failed read.
fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
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
    fn only_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Source::open(folder.path()), Err(EvidenceError::NotAFile { .. })));
        assert!(matches!(Source::open(&folder.path().join("none")), Err(EvidenceError::Read { .. })));
    }
}

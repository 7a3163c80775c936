//! An archive that is read at any offset.
//!
//! It is never mapped into memory: if another process truncates it, a read returns an error, whereas access to a
//! mapping would kill Pacenote.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

/// An open archive. Its content must not change while it is unpacked; threads share it as an `Arc<ArchiveFile>`.
#[derive(Debug)]
pub(super) struct ArchiveFile {
    file: File,
    opened: Metadata,
}

impl ArchiveFile {
    /// Opens an archive for reading.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let opened = file.metadata()?;
        Ok(Self { file, opened })
    }

    /// Returns the size of the archive in bytes when it was opened.
    pub(super) fn size(&self) -> u64 {
        self.opened.len()
    }

    /// Reads bytes into `buffer` and returns their number, which is 0 only at the end of the archive.
    ///
    /// # Errors
    ///
    /// An error if the archive has become shorter since it was opened.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.size().saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = left.min(buffer.len());
        if length == 0 {
            return Ok(0);
        }
        loop {
            match self.file.read_at(&mut buffer[..length], offset) {
                Ok(0) => return Err(changed()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// Returns the bytes of a range, or `None` if the archive ends before it.
    pub(super) fn read_range(&self, range: Range<u64>) -> io::Result<Option<Vec<u8>>> {
        if range.end > self.size() {
            return Ok(None);
        }
        let mut bytes = vec![0; usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0)];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += self.read_at(&mut bytes[filled..], range.start + filled as u64)?;
        }
        Ok(Some(bytes))
    }

    /// Returns an error if the archive was changed since it was opened.
    pub(super) fn check_unchanged(&self) -> io::Result<()> {
        let state = |status: &Metadata| (status.len(), status.mtime(), status.mtime_nsec());
        if state(&self.file.metadata()?) == state(&self.opened) { Ok(()) } else { Err(changed()) }
    }
}

/// Reads a range of an archive from its beginning to its end.
#[derive(Debug)]
pub(super) struct RangeReader {
    archive: Arc<ArchiveFile>,
    rest: Range<u64>,
}

impl RangeReader {
    /// Creates a reader of a range, which must be inside the archive.
    pub(super) fn new(archive: &Arc<ArchiveFile>, range: Range<u64>) -> Self {
        Self { archive: Arc::clone(archive), rest: range }
    }

    /// Returns whether all bytes have been read.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

impl Read for RangeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.rest.end.saturating_sub(self.rest.start)).unwrap_or(usize::MAX);
        let length = left.min(buffer.len());
        let read = self.archive.read_at(&mut buffer[..length], self.rest.start)?;
        self.rest.start += read as u64;
        Ok(read)
    }
}

fn changed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it was changed while it was read")
}

//! An ndjson file with quick access to any line.
//!
//! The file is read with `pread` and never mapped into memory: if another process truncates it, a read returns an
//! error, whereas access to a mapping would kill the driver.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use crate::byte_source::{ByteSource, to_usize};
use crate::error::CorpusError;
use crate::offsets::OffsetTable;

/// Shortest read that counts as a wait for the disk on a file system that does not report such waits.
const MIN_WAIT: Duration = Duration::from_millis(1);

/// A data file with the offset of every 50,000th line.
///
/// Its content must not change; threads share it as an `Arc<LineFile>`.
#[derive(Debug)]
pub struct LineFile {
    content: FileContent,
    table: OffsetTable,
}

/// Waits of a thread for the disk while it read files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskWaits {
    /// Number of reads whose bytes were not in the page cache.
    pub count: u64,
    /// Their total duration in nanoseconds.
    pub total_ns: u64,
    /// Duration of the longest one in nanoseconds.
    pub longest_ns: u64,
    /// The file of the longest one; `None` without waits.
    pub path: Option<PathBuf>,
}

thread_local! {
    static DISK_WAITS: RefCell<DiskWaits> = RefCell::default();
}

/// Returns the waits of the calling thread for the disk since the last call.
pub fn take_disk_waits() -> DiskWaits {
    DISK_WAITS.with(RefCell::take)
}

impl DiskWaits {
    fn add(&mut self, waited: Duration, path: &Path) {
        let waited_ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(waited_ns);
        if self.path.is_none() || waited_ns > self.longest_ns {
            self.longest_ns = waited_ns;
            self.path = Some(path.to_path_buf());
        }
    }
}

/// The bytes of an open file.
#[derive(Debug)]
struct FileContent {
    path: PathBuf,
    file: File,
    /// Size of the file when it was opened, in bytes.
    size: u64,
    /// Whether the kernel reports that a read would wait for the disk.
    reports_waits: AtomicBool,
}

impl LineFile {
    /// Opens a file and loads its offset table from `<path>.offset` if the table is not older than the data and matches
    /// it. Otherwise reads the file once to build the table, and stores the table if the folder is writable.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Read`] if the file cannot be opened or read; [`CorpusError::Changed`] if it becomes shorter
    /// meanwhile.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CorpusError> {
        let path = path.as_ref();
        let content = FileContent::open(path)?;
        let table = if let Some(table) = OffsetTable::load(path, &content)? {
            table
        } else {
            let table = OffsetTable::scan(&content)?;
            let _read_only_folders_are_fine = table.store(path);
            table
        };
        Ok(Self { content, table })
    }

    /// Returns the path that was passed to [`LineFile::open`].
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.content.path
    }

    /// Returns the size of the file in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.content.size
    }

    /// Returns whether the file is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.content.size == 0
    }

    /// Returns the number of lines. A last line without a newline counts; blank lines at the end of the file do not.
    #[must_use]
    pub fn line_count(&self) -> u64 {
        self.table.line_count()
    }

    /// Returns the byte offset at which `line` (from 0) starts. For `line == line_count()`, this is the end of the last
    /// line; for later lines, it is `None`. Reads at most 50,000 lines.
    ///
    /// # Errors
    ///
    /// The errors from [`LineFile::open`].
    pub fn line_start(&self, line: u64) -> Result<Option<u64>, CorpusError> {
        if line > self.line_count() {
            return Ok(None);
        }
        let nearest = self.table.nearest(line);
        let (mut lines_left, mut start) = (line - nearest.line, nearest.offset);
        if lines_left == 0 {
            return Ok(Some(start));
        }
        self.content.visit(nearest.offset, self.content.size, |piece| {
            for newline in memchr::memchr_iter(b'\n', piece) {
                lines_left -= 1;
                if lines_left == 0 {
                    start += newline as u64 + 1;
                    return false;
                }
            }
            start += piece.len() as u64;
            true
        })?;
        Ok((lines_left == 0).then_some(start))
    }

    /// Returns the offset of the first byte after the last line.
    pub(crate) fn end_offset(&self) -> u64 {
        self.table.end_offset()
    }

    /// Returns the mean length of a line in bytes, newline included, rounded up.
    pub(crate) fn mean_line(&self) -> usize {
        to_usize(self.end_offset() / self.line_count().max(1) + 1)
    }

    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    ///
    /// The errors from [`LineFile::open`].
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), CorpusError> {
        self.content.read_exact_at(buffer, offset)
    }

    /// Creates the error for a file that does not have enough lines.
    pub(crate) fn lines_are_missing(&self) -> CorpusError {
        self.content.changed(self.end_offset())
    }

    /// Has the kernel read `length` bytes from `offset` into the page cache.
    pub(crate) fn read_ahead(&self, offset: u64, length: NonZeroU64) {
        // The kernel may ignore the advice.
        let _ = fadvise(&self.content.file, offset, Some(length), Advice::WillNeed);
    }
}

impl FileContent {
    fn open(path: &Path) -> Result<Self, CorpusError> {
        let file = File::open(path).map_err(|cause| CorpusError::read(path, cause))?;
        let size = file.metadata().map_err(|cause| CorpusError::read(path, cause))?.len();
        Ok(Self { path: path.to_path_buf(), file, size, reports_waits: AtomicBool::new(true) })
    }

    /// Creates the error for a file that has no bytes, or not enough lines, at `end`.
    fn changed(&self, end: u64) -> CorpusError {
        CorpusError::Changed { path: self.path.clone(), end, expected: self.size }
    }

    /// Reads bytes into `buffer`, which must not be empty, and returns their number.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, CorpusError> {
        if self.reports_waits.load(Ordering::Relaxed) {
            let mut slices = [IoSliceMut::new(&mut *buffer)];
            match preadv2(&self.file, &mut slices, offset, ReadWriteFlags::NOWAIT) {
                Ok(read @ 1..) => return Ok(read),
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    self.reports_waits.store(false, Ordering::Relaxed);
                }
                // The next read waits for the bytes, or returns the error.
                Ok(0) | Err(_) => {}
            }
        }
        self.read_and_wait(buffer, offset)
    }

    #[cold]
    fn read_and_wait(&self, buffer: &mut [u8], offset: u64) -> Result<usize, CorpusError> {
        let began = Instant::now();
        let read = loop {
            match self.file.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|cause| CorpusError::read(&self.path, cause))?,
            }
        };
        let waited = began.elapsed();
        if read > 0 && (self.reports_waits.load(Ordering::Relaxed) || waited >= MIN_WAIT) {
            DISK_WAITS.with_borrow_mut(|waits| waits.add(waited, &self.path));
        }
        Ok(read)
    }
}

impl ByteSource for FileContent {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> Result<(), CorpusError> {
        while !buffer.is_empty() {
            let read = self.read_at(buffer, offset)?;
            if read == 0 {
                return Err(self.changed(offset));
            }
            buffer = &mut buffer[read..];
            offset += read as u64;
        }
        Ok(())
    }
}

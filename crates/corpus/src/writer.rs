//! Writes a data file under a temporary name in its final folder until it is complete. Lines are counted while they are
//! written, and the free space is checked so that a corpus never fills the disk.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::error::CorpusError;
use crate::offsets::{LineCounter, OffsetTable};
use crate::temporary::{create_beside, folder_of};

/// Number of bytes that stay free on the file system, so that an engine on the same disk can continue to write its
/// logs.
const KEEP_FREE: u64 = 64 << 20;

/// Number of bytes written between two checks of the free space.
const CHECK_EVERY: u64 = 16 << 20;

/// Number of bytes between two progress reports: about a hundred reports per second on a fast disk.
pub(crate) const REPORT_EVERY: u64 = 8 << 20;

/// A function that returns the number of free bytes on a folder's file system.
pub(crate) type FreeSpace = fn(&Path) -> io::Result<u64>;

/// Returns the number of bytes that an ordinary user can still write to the file system of `folder`.
pub(crate) fn free_space(folder: &Path) -> io::Result<u64> {
    let stats = rustix::fs::statvfs(folder)?;
    Ok(stats.f_bavail.saturating_mul(stats.f_frsize))
}

/// Writes a data file. Dropping the writer removes the file.
pub(crate) struct CorpusWriter {
    target: PathBuf,
    temp: NamedTempFile,
    counter: LineCounter,
    free_space: FreeSpace,
    check_at: u64,
}

impl CorpusWriter {
    pub(crate) fn create(target: &Path, free_space: FreeSpace) -> Result<Self, CorpusError> {
        let temp = create_beside(target).map_err(|cause| CorpusError::write(target, cause))?;
        let counter = LineCounter::default();
        Ok(Self { target: target.to_path_buf(), temp, counter, free_space, check_at: 0 })
    }

    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    pub(crate) fn file(&self) -> &File {
        self.temp.as_file()
    }

    pub(crate) fn bytes_written(&self) -> u64 {
        self.counter.byte_count()
    }

    /// Complete lines so far.
    pub(crate) fn newline_count(&self) -> u64 {
        self.counter.newline_count()
    }

    /// Appends data. There is no buffer, so callers should write large pieces.
    pub(crate) fn write(&mut self, data: &[u8]) -> Result<(), CorpusError> {
        if self.bytes_written() >= self.check_at {
            self.check_disk()?;
            self.check_at = self.bytes_written() + CHECK_EVERY;
        }
        self.temp.as_file_mut().write_all(data).map_err(|cause| CorpusError::write(&self.target, cause))?;
        self.counter.update(data);
        Ok(())
    }

    fn check_disk(&self) -> Result<(), CorpusError> {
        let free = (self.free_space)(folder_of(&self.target))
            .map_err(|cause| CorpusError::write(&self.target, cause))?;
        let keep = KEEP_FREE + CHECK_EVERY;
        if free < keep {
            return Err(CorpusError::DiskFull { path: self.target.clone(), free, keep });
        }
        Ok(())
    }

    /// Syncs the data to the disk. The file keeps its temporary name.
    pub(crate) fn sync(self) -> Result<SyncedFile, CorpusError> {
        self.temp.as_file().sync_all().map_err(|cause| CorpusError::write(&self.target, cause))?;
        Ok(SyncedFile { target: self.target, temp: self.temp.into_temp_path(), table: self.counter.finish() })
    }
}

/// A complete file under its temporary name. Dropping it removes the file.
pub(crate) struct SyncedFile {
    target: PathBuf,
    temp: TempPath,
    table: OffsetTable,
}

impl SyncedFile {
    pub(crate) fn line_count(&self) -> u64 {
        self.table.line_count()
    }

    /// Renames the file to its final name, replacing an older file, and writes its offset table.
    pub(crate) fn persist(self) -> Result<PathBuf, CorpusError> {
        // The old table is removed first, because it must never describe the new data.
        let _absent = fs::remove_file(OffsetTable::path_of(&self.target));
        let target = self.target;
        self.temp.persist(&target).map_err(|failed| CorpusError::write(&target, failed.error))?;
        // A missing table is rebuilt when the file is opened; if the rename is lost, the file is missing.
        let _rebuilt_on_open = self.table.store(&target);
        let _best_effort = File::open(folder_of(&target)).and_then(|folder| folder.sync_all());
        Ok(target)
    }
}

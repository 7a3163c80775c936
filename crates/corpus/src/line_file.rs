//! A memory-mapped ndjson file with quick access to any line.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap};

use crate::error::CorpusError;
use crate::offsets::OffsetTable;

/// A data file with the offset of every 50,000th line. It is memory-mapped, so the page cache holds the only copy.
///
/// The file is immutable; threads share it as an `Arc<LineFile>`.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    map: Mmap,
    table: OffsetTable,
}

impl LineFile {
    /// Maps a file and loads its offset table from `<path>.offset` if the table is not older than the data and matches
    /// it. Otherwise reads the file once to build the table, and stores the table if the folder is writable.
    ///
    /// # Errors
    ///
    /// [`CorpusError::Read`] if the file cannot be opened or mapped.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CorpusError> {
        let path = path.as_ref();
        let map = map(path)?;
        let table = if let Some(table) = OffsetTable::load(path, &map) {
            table
        } else {
            hint(&map, Advice::Sequential);
            let table = OffsetTable::scan(&map);
            hint(&map, Advice::Normal);
            let _read_only_folders_are_fine = table.store(path);
            table
        };
        Ok(Self { path: path.to_path_buf(), map, table })
    }

    /// Returns the path that was passed to [`LineFile::open`].
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size of the file in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.map.len() as u64
    }

    /// Returns whether the file is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Returns the content of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Returns the number of lines. A last line without a newline counts; blank lines at the end of the file do not.
    #[must_use]
    pub fn line_count(&self) -> u64 {
        self.table.line_count()
    }

    /// Returns the byte offset at which `line` (from 0) starts. For `line == line_count()`, this is the end of the last
    /// line; for later lines, it is `None`. Scans at most 50,000 lines.
    #[must_use]
    pub fn line_start(&self, line: u64) -> Option<u64> {
        if line > self.line_count() {
            return None;
        }
        let nearest = self.table.nearest(line);
        let Some(ahead) = (line - nearest.line).checked_sub(1) else { return Some(nearest.offset) };
        let rest = self.map.get(usize::try_from(nearest.offset).ok()?..)?;
        let newline = memchr::memchr_iter(b'\n', rest).nth(usize::try_from(ahead).ok()?)?;
        Some(nearest.offset + newline as u64 + 1)
    }

    /// Returns `lines` lines from `first_line` (from 0) on, newlines included, or fewer at the end of the file.
    #[must_use]
    pub fn slice(&self, first_line: u64, lines: u64) -> &[u8] {
        let last = first_line.saturating_add(lines).min(self.line_count());
        let start = self.line_start(first_line.min(last)).unwrap_or_default();
        let end = self.line_start(last).unwrap_or_default();
        &self.map[Self::range(start, end)]
    }

    /// Returns the offset of the first byte after the last line.
    pub(crate) fn end_offset(&self) -> u64 {
        self.table.end_offset()
    }

    /// Advises the kernel that the file will be read sequentially, which makes it read further ahead.
    pub fn advise_sequential(&self) {
        hint(&self.map, Advice::Sequential);
    }

    /// Converts file offsets to a range in the map, where they always fit the address space.
    fn range(start: u64, end: u64) -> Range<usize> {
        usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX)
    }
}

fn hint(map: &Mmap, advice: Advice) {
    if !map.is_empty() {
        // The kernel may ignore the hint.
        let _hint = map.advise(advice);
    }
}

/// Maps a file into memory for reading.
#[allow(unsafe_code)]
pub(crate) fn map(path: &Path) -> Result<Mmap, CorpusError> {
    let file = File::open(path).map_err(|cause| CorpusError::read(path, cause))?;
    // SAFETY: the behaviour is undefined if another process changes the file while it is mapped. Pacenote writes a
    // corpus under a temporary name and renames it (`writer`), so it may replace a mapped file but never changes one in
    // place. The content is used only as opaque bytes, never as text or as structures with invariants.
    unsafe { Mmap::map(&file) }.map_err(|cause| CorpusError::read(path, cause))
}

//! A memory-mapped ndjson file with quick access to any line.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap};

use crate::error::CorpusError;
use crate::offsets::OffsetTable;

/// A memory-mapped data file, so that the page cache is the only copy, with the offset of every 50,000th line.
///
/// Immutable; threads share it as `Arc<LineFile>`.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    map: Mmap,
    table: OffsetTable,
}

impl LineFile {
    /// Maps a file and loads its offset table from `<path>.offset`, if the table is not older than the data and matches
    /// it. Otherwise reads the file once to build the table and stores it, if the folder is writable.
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

    /// The path given to [`LineFile::open`].
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size of the file in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.map.len() as u64
    }

    /// Whether the file has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The whole file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Number of lines. A last line without a newline counts; blank lines at the end of the file do not.
    #[must_use]
    pub fn line_count(&self) -> u64 {
        self.table.line_count()
    }

    /// Byte offset of the start of `line`, from 0; for `line == line_count()` the end of the last line; `None` for
    /// later lines. Scans at most 50,000 lines.
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

    /// The bytes of `lines` lines from `first_line` (from 0), newlines included; fewer at the end of the file.
    #[must_use]
    pub fn slice(&self, first_line: u64, lines: u64) -> &[u8] {
        let last = first_line.saturating_add(lines).min(self.line_count());
        let start = self.line_start(first_line.min(last)).unwrap_or_default();
        let end = self.line_start(last).unwrap_or_default();
        &self.map[Self::range(start, end)]
    }

    /// Offset of the first byte after the last line.
    pub(crate) fn end_offset(&self) -> u64 {
        self.table.end_offset()
    }

    /// Advises the kernel that the file is read sequentially, so that it reads further ahead.
    pub fn advise_sequential(&self) {
        hint(&self.map, Advice::Sequential);
    }

    /// Converts a range of offsets in the map, which always fit the address space.
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

/// Maps a file for reading.
#[allow(unsafe_code)]
pub(crate) fn map(path: &Path) -> Result<Mmap, CorpusError> {
    let file = File::open(path).map_err(|cause| CorpusError::read(path, cause))?;
    // SAFETY: the behaviour is undefined if another process changes the file while it is mapped. This program writes
    // corpora under a temporary name and renames them (`writer`), so it replaces mapped files and never changes them in
    // place. The bytes are used as opaque bytes only, never as text or structures with invariants.
    unsafe { Mmap::map(&file) }.map_err(|cause| CorpusError::read(path, cause))
}

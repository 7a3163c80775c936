//! A mapped ndjson file that finds any of its lines quickly.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Advice, Mmap};

use crate::error::CorpusError;
use crate::offsets::OffsetTable;

/// A data file in memory (by map, so that the page cache is the only copy), with the start of every 50,000th line.
///
/// Shared between threads as `Arc<LineFile>`; nothing in it changes after opening.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    map: Mmap,
    table: OffsetTable,
}

impl LineFile {
    /// Maps `path` and learns where its lines are: from the side file `<path>.offset` if that is not older than the
    /// data and agrees with it, else by reading the file once, after which the side file is written (where the
    /// folder allows it; without it the next opening reads the data again).
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

    /// The file's name, as given to [`LineFile::open`].
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

    /// Number of lines. A last line without newline counts; blank lines at the very end do not.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.table.lines()
    }

    /// Byte offset at which `line` (from 0) starts; for `line == lines()` that is where the last line ends. `None`
    /// beyond. Costs a scan of 50,000 lines at most.
    #[must_use]
    pub fn line_start(&self, line: u64) -> Option<u64> {
        if line > self.lines() {
            return None;
        }
        let (known, start) = self.table.nearest(line);
        let Some(ahead) = (line - known).checked_sub(1) else { return Some(start) };
        let rest = self.map.get(usize::try_from(start).ok()?..)?;
        let newline = memchr::memchr_iter(b'\n', rest).nth(usize::try_from(ahead).ok()?)?;
        Some(start + newline as u64 + 1)
    }

    /// The bytes of `lines` lines from `first_line` (from 0), newlines included. What lies beyond the last line is
    /// left out, so the slice may be shorter or empty.
    #[must_use]
    pub fn slice(&self, first_line: u64, lines: u64) -> &[u8] {
        let last = first_line.saturating_add(lines).min(self.lines());
        let start = self.line_start(first_line.min(last)).unwrap_or_default();
        let end = self.line_start(last).unwrap_or_default();
        &self.map[Self::range(start, end)]
    }

    /// First byte after the last line.
    pub(crate) fn end(&self) -> u64 {
        self.table.end()
    }

    /// Tells the system that the file will be read from front to back: more read-ahead. Only a hint.
    pub fn advise_sequential(&self) {
        hint(&self.map, Advice::Sequential);
    }

    /// Asks the system to bring these bytes (not lines) into memory. Only a hint; a range beyond the file is cut.
    pub fn advise_willneed(&self, bytes: Range<u64>) {
        let bytes = Self::range(bytes.start.min(self.len()), bytes.end.min(self.len()));
        if !bytes.is_empty() {
            // Nothing depends on the hint being taken.
            let _hint = self.map.advise_range(Advice::WillNeed, bytes.start, bytes.len());
        }
    }

    /// Offsets inside the map always fit the address space.
    fn range(start: u64, end: u64) -> Range<usize> {
        usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX)
    }
}

fn hint(map: &Mmap, advice: Advice) {
    if !map.is_empty() {
        // Nothing depends on the hint being taken.
        let _hint = map.advise(advice);
    }
}

/// Maps a file for reading.
#[allow(unsafe_code)]
pub(crate) fn map(path: &Path) -> Result<Mmap, CorpusError> {
    let file = File::open(path).map_err(|cause| CorpusError::read(path, cause))?;
    // SAFETY: a map is undefined if another process changes the file under it. Corpora are written under a temporary
    // name and renamed (`output`), so a mapped file is replaced, never changed in place, by this program; the bytes
    // are only ever used as opaque bytes, never as text or structures whose validity could break.
    unsafe { Mmap::map(&file) }.map_err(|cause| CorpusError::read(path, cause))
}

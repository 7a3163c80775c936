//! Maps an archive into memory.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;

use crate::error::CorpusError;

/// Maps a file into memory for reading.
///
/// # Errors
///
/// [`CorpusError::Read`] if the file cannot be opened or mapped.
#[allow(unsafe_code)]
pub fn map(path: &Path) -> Result<Mmap, CorpusError> {
    let file = File::open(path).map_err(|cause| CorpusError::read(path, cause))?;
    // SAFETY: the behaviour is undefined if another process changes the file while it is mapped. Pacenote writes a
    // downloaded archive under a temporary name and renames it, so it may replace a mapped file but never changes one in
    // place. The content is used only as opaque bytes, never as text or as structures with invariants. Archives are
    // read only before a race; the data files that a race reads are not mapped.
    unsafe { Mmap::map(&file) }.map_err(|cause| CorpusError::read(path, cause))
}

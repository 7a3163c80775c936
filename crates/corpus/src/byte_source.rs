//! Data that is read at any offset, such as an open file.

use crate::error::CorpusError;

/// Bytes that can be read at any offset.
pub(crate) trait ByteSource {
    /// Returns the number of bytes.
    fn size(&self) -> u64;

    /// Fills `buffer` with the bytes at `offset`.
    ///
    /// # Errors
    ///
    /// If the bytes cannot be read or the file has fewer bytes than when it was opened.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), CorpusError>;

    /// Calls `visit` with the bytes from `offset` to `end`, in pieces, until it returns `false`.
    ///
    /// # Errors
    ///
    /// The errors from [`ByteSource::read_exact_at`].
    fn visit(
        &self,
        mut offset: u64,
        end: u64,
        mut visit: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), CorpusError> {
        /// Number of bytes per read.
        const PIECE: u64 = 256 << 10;
        let mut buffer = vec![0; to_usize(end.saturating_sub(offset).min(PIECE))];
        while offset < end {
            let piece = &mut buffer[..to_usize((end - offset).min(PIECE))];
            self.read_exact_at(piece, offset)?;
            if !visit(piece) {
                break;
            }
            offset += piece.len() as u64;
        }
        Ok(())
    }
}

/// Converts an offset or length to an index; those of parts that fit into memory always fit.
pub(crate) fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

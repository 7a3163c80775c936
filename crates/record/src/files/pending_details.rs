//! The details of the samples of the next row group.

use parquet::data_type::ByteArray;

/// Length of the details of a row group, in bytes, from which on it is written before it has all its rows. Details of a
/// single row may be longer.
pub const ROW_GROUP_DETAILS: usize = 16 << 20;

/// The details of the samples of a row group.
#[derive(Debug, Default)]
pub struct PendingDetails {
    /// Positions of the rows that have details, ascending.
    rows: Vec<usize>,
    /// Their details.
    pub texts: Vec<ByteArray>,
    /// Length of all details, in bytes.
    bytes: usize,
}

impl PendingDetails {
    /// Adds the details of a row, which follows the rows of those before.
    pub fn add(&mut self, row: usize, text: String) {
        self.rows.push(row);
        self.bytes += text.len();
        self.texts.push(ByteArray::from(text.into_bytes()));
    }

    /// Returns whether they are enough for a row group.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes >= ROW_GROUP_DETAILS
    }

    /// Returns whether they would be too many for a row group with further ones of this length.
    #[must_use]
    pub fn is_full_with(&self, bytes: usize) -> bool {
        self.bytes > 0 && self.bytes + bytes > ROW_GROUP_DETAILS
    }

    /// Returns the definition levels of the column, which has this number of rows.
    #[must_use]
    pub fn levels(&self, row_count: usize) -> Vec<i16> {
        let mut levels = vec![0; row_count];
        for row in &self.rows {
            levels[*row] = 1;
        }
        levels
    }
}

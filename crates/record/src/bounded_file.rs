//! Opens Parquet files of a race within limits: such a file may come from someone else, and a few kilobytes of it can
//! stand for billions of rows.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::column_reader::ReadError;
use crate::files::durable;
use crate::page_headers::{PageHeader, check_schema};

/// Rows of a file that are never too many for its size.
const ALWAYS_ROWS: u64 = 1 << 20;
/// Rows of a row group; those that Pacenote writes have about half as many.
pub const GROUP_ROWS: u64 = 1 << 18;
/// Bytes of the pages of a row group without compression; those that Pacenote writes have a quarter of them.
pub const GROUP_BYTES: u64 = 128 << 20;
/// Bytes of a dictionary, whose values are all kept in memory; those that Pacenote writes have 1 MiB.
pub const DICTIONARY_BYTES: u64 = 8 << 20;
/// Values of a dictionary, for each of which memory is reserved: as many as a row group has rows.
const DICTIONARY_VALUES: u64 = GROUP_ROWS;
/// Bytes that are read for the header of a page: first so many, then more if it is longer.
const HEADER_BYTES: [usize; 3] = [512, 64 << 10, 16 << 20];

/// Bytes after a footer: its length, of four bytes, and [`MAGIC`].
const FOOTER_END: u64 = 8;

/// What ends a file that has a footer.
const MAGIC: [u8; 4] = *b"PAR1";

/// How many rows a file may have.
#[derive(Debug, Clone, Copy)]
pub struct RowLimit {
    /// In all.
    pub rows: u64,
    /// For each byte of a file with many rows.
    pub per_byte: u64,
}

/// Rows of `samples.parquet`: a week of 50,000 operations per second. Those that Pacenote writes have less than one for
/// each byte.
pub const SAMPLE_ROWS: RowLimit = RowLimit { rows: 1 << 35, per_byte: 16 };
/// Rows of `series.parquet`: a week in which operations of 13 kinds end in every second. Those that Pacenote writes have
/// less than one for each byte.
pub const SERIES_ROWS: RowLimit = RowLimit { rows: 1 << 23, per_byte: 16 };
/// Rows of `telemetry.parquet`: 77 days of 161 values per second, as of one node, or 15 hours of 500 nodes. Values that
/// never change have up to 17 for each byte.
pub const TELEMETRY_ROWS: RowLimit = RowLimit { rows: 1 << 30, per_byte: 40 };

/// A Parquet file whose row groups are read one after the other.
pub struct BoundedFile {
    reader: SerializedFileReader<File>,
    file: File,
}

impl BoundedFile {
    /// Opens a file that may have so many rows. Nothing but its footer is read.
    ///
    /// # Errors
    ///
    /// An error if the file does not exist, cannot be read, is damaged or has too many rows.
    pub fn open(path: &Path, most: RowLimit) -> Result<Self, ReadError> {
        let file = durable::open_regular(path)?;
        let bytes = file.metadata()?.len();
        check_footer(&file)?;
        let reader = SerializedFileReader::new(file.try_clone()?)?;
        let opened = Self { reader, file };
        let rows = opened.checked_rows()?;
        if rows > most.rows {
            return Err(ReadError::TooLarge(format!("has {rows} rows; at most {} are read", most.rows)));
        }
        if rows > ALWAYS_ROWS && rows / most.per_byte > bytes {
            return Err(ReadError::TooLarge(format!("has {rows} rows in only {bytes} bytes")));
        }
        Ok(opened)
    }

    /// Returns the number of rows.
    ///
    /// # Errors
    ///
    /// An error if the metadata of the file is damaged.
    pub fn checked_rows(&self) -> Result<u64, ReadError> {
        let metadata = self.reader.metadata();
        let mut total = 0_u64;
        for group in metadata.row_groups() {
            let rows = u64::try_from(group.num_rows()).ok().filter(|rows| *rows <= GROUP_ROWS);
            let rows = rows.ok_or_else(|| {
                let rows = group.num_rows();
                ReadError::TooLarge(format!("has a row group of {rows} rows; at most {GROUP_ROWS} are read"))
            })?;
            total = total.saturating_add(rows);
        }
        Ok(total)
    }

    /// Returns the text in the footer under a key; `None` if there is none.
    #[must_use]
    pub fn footer_text(&self, key: &str) -> Option<&str> {
        let entries = self.reader.metadata().file_metadata().key_value_metadata();
        entries.into_iter().flatten().find(|entry| entry.key == key)?.value.as_deref()
    }

    /// Returns the number of row groups.
    #[must_use]
    pub fn row_groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// Opens a row group, after the headers of its pages have said that it is not too large.
    ///
    /// # Errors
    ///
    /// An error if it is damaged or too large.
    pub fn row_group(&self, number: usize) -> Result<Box<dyn RowGroupReader + '_>, ReadError> {
        let mut bytes = 0_u64;
        for column in self.reader.metadata().row_group(number).columns() {
            bytes = bytes.saturating_add(self.column_bytes(column)?);
            if bytes > GROUP_BYTES {
                return Err(ReadError::TooLarge(format!(
                    "has a row group with more than {GROUP_BYTES} bytes, which is not read"
                )));
            }
        }
        Ok(self.reader.get_row_group(number)?)
    }

    /// Returns the size of the pages of a column without compression.
    fn column_bytes(&self, column: &ColumnChunkMetaData) -> Result<u64, ReadError> {
        let (mut at, length) = column.byte_range();
        let end = at.saturating_add(length);
        let mut bytes = 0_u64;
        while at < end {
            let page = self.page_header(at, end)?;
            check_page(&page)?;
            bytes = bytes.saturating_add(page.uncompressed_bytes);
            at = at.saturating_add(page.header_bytes).saturating_add(page.stored_bytes);
        }
        // The library reserves memory for what a page states to have in the file.
        if at > self.file.metadata()?.len() {
            return Err(cut_off());
        }
        Ok(bytes)
    }

    fn page_header(&self, at: u64, end: u64) -> Result<PageHeader, ReadError> {
        for most in HEADER_BYTES {
            let length = usize::try_from(end - at).unwrap_or(most).min(most);
            let mut buffer = vec![0; length];
            let read = read_at(&self.file, &mut buffer, at)?;
            if let Some(header) = PageHeader::parse(&buffer[..read])? {
                return Ok(header);
            }
            if read < most {
                break;
            }
        }
        Err(cut_off())
    }
}

/// Checks that the library can decode a page in the memory that its header states.
fn check_page(page: &PageHeader) -> Result<(), ReadError> {
    if let Some(encoding) = page.unread_encoding {
        return Err(ReadError::TooLarge(format!(
            "has a page in Parquet's encoding {encoding}; only plain values, dictionaries, run lengths and \
             differences of integers are read"
        )));
    }
    let PageHeader { uncompressed_bytes: bytes, values, .. } = *page;
    if page.is_dictionary && (bytes > DICTIONARY_BYTES || values > DICTIONARY_VALUES) {
        return Err(ReadError::TooLarge(format!(
            "has a dictionary of {values} values and {bytes} bytes, which is not read"
        )));
    }
    Ok(())
}

fn cut_off() -> ReadError {
    ReadError::Damaged("a page is cut off".into())
}

/// Checks the schema in the footer of a file before the Parquet library reads it, which calls itself for each level. A
/// file without a footer is left to the library.
///
/// # Errors
///
/// An error if the file cannot be read, or if the schema has more columns and groups than are read.
pub fn check_footer(file: &File) -> Result<(), ReadError> {
    let size = file.metadata()?.len();
    let Some(end) = size.checked_sub(FOOTER_END) else { return Ok(()) };
    let (mut length, mut magic) = ([0; 4], [0; 4]);
    read_at(file, &mut length, end)?;
    read_at(file, &mut magic, end + 4)?;
    // Without it, as in the file of a race that was killed, the length is any number, and can be that of gigabytes.
    if magic != MAGIC {
        return Ok(());
    }
    let length = u32::from_le_bytes(length);
    let Some(begin) = end.checked_sub(u64::from(length)) else { return Ok(()) };
    let mut footer = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    let read = read_at(file, &mut footer, begin)?;
    check_schema(&footer[..read])
}

/// Reads as many bytes as there are, and returns their number.
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], at.saturating_add(read as u64))? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

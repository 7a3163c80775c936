//! Reads columns of Parquet files that may be damaged.

use std::io::{self, ErrorKind};
use std::thread;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::RowGroupReader;
use parquet::file::statistics::Statistics;

use crate::error::RecordError;

/// Name of the threads that read a file. A panic of the Parquet library in one of them is a damaged file.
pub const SERIES_READER: &str = "pacenote-series";

/// Number of slices in which a part of a row group is read.
const SLICES: usize = 64;

/// Bytes of the values of one column in a row group: the largest that Pacenote writes, those of telemetry, have three
/// quarters of them; the details of a single operation may have all.
pub const MOST_COLUMN_BYTES: usize = 64 << 20;

/// Why a file could not be read; the end of a sentence about it.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such file.
    #[error("does not exist")]
    Missing,
    /// The operating system does not let it be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It has more than is read.
    #[error("{0}")]
    TooLarge(String),
    /// It is not what Pacenote has written.
    #[error("is damaged: {0}")]
    Damaged(String),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::NotFound { Self::Missing } else { Self::Unreadable(error) }
    }
}

impl From<ParquetError> for ReadError {
    fn from(error: ParquetError) -> Self {
        Self::Damaged(error.to_string().replace('\n', " "))
    }
}

impl From<RecordError> for ReadError {
    fn from(error: RecordError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// Reads on a thread of its own, because the Parquet library panics for some damaged files.
///
/// # Errors
///
/// The error of `read`, or that it panicked.
pub fn apart<T: Send>(read: impl FnOnce() -> Result<T, ReadError> + Send) -> Result<T, ReadError> {
    thread::scope(|scope| {
        let reader = thread::Builder::new().name(SERIES_READER.into()).spawn_scoped(scope, read)?;
        reader.join().unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
            Err(ReadError::Damaged(format!("reading it failed: {}", text.replace('\n', " "))))
        })
    })
}

/// The rows of a row group that are read.
pub struct Rows<'a> {
    row_group: &'a dyn RowGroupReader,
    slices: Vec<Slice>,
    count: usize,
}

/// Rows that follow one another.
#[derive(Clone, Copy)]
struct Slice {
    /// Number of rows before it that are not read, since the slice before.
    skipped: usize,
    /// Number of rows that are read.
    count: usize,
}

impl<'a> Rows<'a> {
    /// All rows.
    ///
    /// # Errors
    ///
    /// An error if the metadata of the file is damaged.
    pub fn all(row_group: &'a dyn RowGroupReader) -> Result<Self, ReadError> {
        let rows = row_count(row_group)?;
        Ok(Self { row_group, slices: vec![Slice { skipped: 0, count: rows }], count: rows })
    }

    /// About so many rows, in up to [`SLICES`] slices that are spread evenly over the row group; all if there are no
    /// more.
    ///
    /// # Errors
    ///
    /// An error if the metadata of the file is damaged.
    pub fn spread(row_group: &'a dyn RowGroupReader, count: usize) -> Result<Self, ReadError> {
        let rows = row_count(row_group)?;
        if rows <= count {
            return Self::all(row_group);
        }
        let length = count.div_ceil(SLICES).max(1);
        let slices = (count / length).max(1);
        let skipped = rows / slices - length;
        let slices = vec![Slice { skipped, count: length }; slices];
        Ok(Self { row_group, count: slices.iter().map(|slice| slice.count).sum(), slices })
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the values of a column, `None` where a value is null.
    ///
    /// # Errors
    ///
    /// An error if there is no such column, or if it is damaged.
    pub fn byte_arrays(&self, name: &str) -> Result<Vec<Option<ByteArray>>, ReadError> {
        let (reader, level) = column(self.row_group, name)?;
        let ColumnReader::ByteArrayColumnReader(reader) = reader else { return Err(wrong_type(name)) };
        let values = self.read_optional(reader, level, name)?;
        // Values are parts of their page or dictionary here, as of all encodings in which pages are opened, but not
        // where they are converted to texts.
        check_bytes(name, values.iter().flatten().map(ByteArray::len).sum())?;
        Ok(values)
    }

    /// Returns the values of a column of numbers, `None` where a value is null.
    ///
    /// # Errors
    ///
    /// An error if there is no such column, or if it is damaged.
    pub fn doubles(&self, name: &str) -> Result<Vec<Option<f64>>, ReadError> {
        let (reader, level) = column(self.row_group, name)?;
        let ColumnReader::DoubleColumnReader(reader) = reader else { return Err(wrong_type(name)) };
        self.read_optional(reader, level, name)
    }

    /// Returns the values of a column of integers, which has no nulls.
    ///
    /// # Errors
    ///
    /// An error if there is no such column, or if it is damaged.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>, ReadError> {
        let (ColumnReader::Int64ColumnReader(reader), 0) = column(self.row_group, name)? else {
            return Err(wrong_type(name));
        };
        self.read(reader, name)
    }

    /// Returns the values of a column of unsigned integers of 32 bits, which has no nulls.
    ///
    /// # Errors
    ///
    /// An error if there is no such column, or if it is damaged.
    pub fn unsigned_integers(&self, name: &str) -> Result<Vec<u32>, ReadError> {
        let (ColumnReader::Int32ColumnReader(reader), 0) = column(self.row_group, name)? else {
            return Err(wrong_type(name));
        };
        Ok(self.read(reader, name)?.into_iter().map(i32::cast_unsigned).collect())
    }

    /// Returns the values of a column of booleans, which has no nulls.
    ///
    /// # Errors
    ///
    /// An error if there is no such column, or if it is damaged.
    pub fn booleans(&self, name: &str) -> Result<Vec<bool>, ReadError> {
        let (ColumnReader::BoolColumnReader(reader), 0) = column(self.row_group, name)? else {
            return Err(wrong_type(name));
        };
        self.read(reader, name)
    }

    /// Returns a column of texts.
    ///
    /// # Errors
    ///
    /// An error if there is no such column, or if it is damaged.
    pub fn texts(&self, name: &str) -> Result<TextColumn, ReadError> {
        let metadata = self.row_group.metadata();
        let column = metadata.columns().iter().find(|column| column.column_descr().name() == name);
        match column.and_then(only_text) {
            Some(text) => Ok(TextColumn::Constant(text)),
            None => Ok(TextColumn::PerRow(self.byte_arrays(name)?)),
        }
    }

    fn read<T: DataType>(&self, mut reader: ColumnReaderImpl<T>, name: &str) -> Result<Vec<T::T>, ReadError> {
        let mut values = Vec::new();
        for slice in &self.slices {
            check_rows(name, reader.skip_records(slice.skipped)?, slice.skipped)?;
            let (read, ..) = reader.read_records(slice.count, None, None, &mut values)?;
            check_rows(name, read, slice.count)?;
        }
        Ok(values)
    }

    fn read_optional<T: DataType>(
        &self,
        mut reader: ColumnReaderImpl<T>,
        level: i16,
        name: &str,
    ) -> Result<Vec<Option<T::T>>, ReadError> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        for slice in &self.slices {
            check_rows(name, reader.skip_records(slice.skipped)?, slice.skipped)?;
            let null_levels = (level > 0).then_some(&mut levels);
            let (read, ..) = reader.read_records(slice.count, null_levels, None, &mut values)?;
            check_rows(name, read, slice.count)?;
        }
        Ok(with_nulls(values, &levels, level))
    }
}

fn row_count(row_group: &dyn RowGroupReader) -> Result<usize, ReadError> {
    usize::try_from(row_group.metadata().num_rows()).map_err(|error| ReadError::Damaged(error.to_string()))
}

/// Returns the reader of a column, and the highest definition level of its values.
fn column(row_group: &dyn RowGroupReader, name: &str) -> Result<(ColumnReader, i16), ReadError> {
    let schema = row_group.metadata().schema_descr();
    let index = schema.columns().iter().position(|column| column.name() == name);
    let index = index.ok_or_else(|| ReadError::Damaged(format!("there is no column {name}")))?;
    Ok((row_group.get_column_reader(index)?, schema.column(index).max_def_level()))
}

/// A column of texts. If all rows have the same one, as the metadata of the file says, they are not read.
#[derive(Debug)]
pub enum TextColumn {
    /// The text of all rows.
    Constant(ByteArray),
    /// The texts of the rows, `None` for null.
    PerRow(Vec<Option<ByteArray>>),
}

impl TextColumn {
    /// Returns the text of a row, which is empty for null. The row must exist.
    #[must_use]
    pub fn get(&self, row: usize) -> &[u8] {
        match self {
            Self::Constant(text) => text.data(),
            Self::PerRow(texts) => texts[row].as_ref().map_or(&[], ByteArray::data),
        }
    }
}

/// Returns the text of all rows of a column, if its metadata says that they have the same.
fn only_text(column: &ColumnChunkMetaData) -> Option<ByteArray> {
    let Some(Statistics::ByteArray(texts)) = column.statistics() else { return None };
    let is_exact = texts.min_is_exact() && texts.max_is_exact() && texts.null_count_opt() == Some(0);
    let (least, greatest) = (texts.min_opt()?, texts.max_opt()?);
    (is_exact && least == greatest).then(|| least.clone())
}

/// A column of texts of which only some rows are read.
pub struct TextReader {
    name: String,
    level: i16,
    reader: ColumnReaderImpl<ByteArrayType>,
    values: Vec<ByteArray>,
    levels: Vec<i16>,
    /// Bytes of the texts that were returned.
    bytes: usize,
}

impl TextReader {
    /// Opens a column.
    ///
    /// # Errors
    ///
    /// An error if there is no such column.
    pub fn open(row_group: &dyn RowGroupReader, name: &str) -> Result<Self, ReadError> {
        let (reader, level) = column(row_group, name)?;
        let ColumnReader::ByteArrayColumnReader(reader) = reader else { return Err(wrong_type(name)) };
        Ok(Self { name: name.to_owned(), level, reader, values: Vec::new(), levels: Vec::new(), bytes: 0 })
    }

    /// Returns the text of the next row, which is empty for null.
    ///
    /// # Errors
    ///
    /// An error if there is no further row, if it is damaged, or if the texts that were read are too long together.
    pub fn next(&mut self) -> Result<ByteArray, ReadError> {
        self.values.clear();
        self.levels.clear();
        let levels = (self.level > 0).then_some(&mut self.levels);
        let (read, ..) = self.reader.read_records(1, levels, None, &mut self.values)?;
        check_rows(&self.name, read, 1)?;
        let text = self.values.pop().unwrap_or_else(|| ByteArray::from(""));
        self.bytes = self.bytes.saturating_add(text.len());
        check_bytes(&self.name, self.bytes)?;
        Ok(text)
    }

    /// Skips rows.
    ///
    /// # Errors
    ///
    /// An error if there are fewer rows, or if they are damaged.
    pub fn skip(&mut self, rows: usize) -> Result<(), ReadError> {
        check_rows(&self.name, self.reader.skip_records(rows)?, rows)
    }
}

fn with_nulls<T>(values: Vec<T>, levels: &[i16], level: i16) -> Vec<Option<T>> {
    if level == 0 {
        return values.into_iter().map(Some).collect();
    }
    let mut values = values.into_iter();
    levels.iter().map(|own| if *own == level { values.next() } else { None }).collect()
}

fn wrong_type(name: &str) -> ReadError {
    ReadError::Damaged(format!("column {name} has another type"))
}

fn check_bytes(name: &str, bytes: usize) -> Result<(), ReadError> {
    if bytes <= MOST_COLUMN_BYTES {
        return Ok(());
    }
    Err(ReadError::TooLarge(format!(
        "has {bytes} bytes in column {name} of one row group; at most {MOST_COLUMN_BYTES} are read"
    )))
}

fn check_rows(name: &str, read: usize, rows: usize) -> Result<(), ReadError> {
    if read == rows {
        return Ok(());
    }
    Err(ReadError::Damaged(format!("column {name} has {read} of {rows} rows")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_a_reader_is_a_damaged_file_with_its_message() {
        let rows = |count: usize| format!("{count}\nrows");
        let failed = apart::<()>(|| panic!("{}", rows(3))).unwrap_err();
        assert_eq!(failed.to_string(), "is damaged: reading it failed: 3 rows");
        let failed = apart::<()>(|| panic!("out of bounds")).unwrap_err();
        assert_eq!(failed.to_string(), "is damaged: reading it failed: out of bounds");
    }
}

//! A Parquet file with any columns, for the exported results of races.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use crate::error::RecordError;
use crate::files::columns;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// Name of the column: letters, digits and underscores.
    pub name: String,
    /// What its values are.
    pub kind: ColumnKind,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text.
    Text,
    /// Floating-point numbers.
    Number,
    /// True or false.
    Flag,
    /// Instants in milliseconds since 1970, in UTC.
    Time,
}

impl ColumnKind {
    /// Returns the kind with a name: `text`, `number`, `flag` or `time`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "number" => Some(Self::Number),
            "flag" => Some(Self::Flag),
            "time" => Some(Self::Time),
            _ => None,
        }
    }

    /// Returns the type of a column in the schema of the file.
    fn parquet_type(self, name: &str) -> String {
        match self {
            Self::Text => format!("optional binary {name} (STRING);"),
            Self::Number => format!("optional double {name};"),
            Self::Flag => format!("optional boolean {name};"),
            Self::Time => format!("optional int64 {name} (TIMESTAMP(MILLIS,true));"),
        }
    }
}

/// The values of one column, one per row; `None` where a row has none.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// Values of [`ColumnKind::Text`].
    Texts(Vec<Option<String>>),
    /// Values of [`ColumnKind::Number`].
    Numbers(Vec<Option<f64>>),
    /// Values of [`ColumnKind::Flag`].
    Flags(Vec<Option<bool>>),
    /// Values of [`ColumnKind::Time`].
    Times(Vec<Option<i64>>),
}

/// A Parquet file that is being written. The caller replaces the file that it is to become.
#[derive(Debug)]
pub struct TableFile {
    path: PathBuf,
    columns: Vec<TableColumn>,
    writer: SerializedFileWriter<File>,
}

impl TableFile {
    /// Creates the file, or truncates the existing one.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be created, or if a name is not one of a column.
    pub fn create(path: &Path, columns: Vec<TableColumn>) -> Result<Self, RecordError> {
        let types: Vec<String> =
            columns.iter().map(|column| column.kind.parquet_type(&column.name)).collect();
        let schema = format!("message table {{ {} }}", types.join(" "));
        let file = File::options().write(true).create(true).truncate(true).open(path);
        let file = file.map_err(|source| RecordError::file(path, source))?;
        let writer = columns::begin(file, &schema, columns::properties().build());
        let writer = writer.map_err(|source| RecordError::parquet(path, source))?;
        Ok(Self { path: path.to_owned(), columns, writer })
    }

    /// Appends rows as one row group, given by column.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be written, or if the values are not those of its columns.
    pub fn write(&mut self, values: &[ColumnValues]) -> Result<(), RecordError> {
        if values.len() != self.columns.len() {
            let problem = format!("{} columns are given, not {}", values.len(), self.columns.len());
            return Err(RecordError::file(&self.path, io::Error::other(problem)));
        }
        let written = self.write_row_group(values);
        written.map_err(|source| RecordError::parquet(&self.path, source))
    }

    fn write_row_group(&mut self, values: &[ColumnValues]) -> Result<(), ParquetError> {
        let mut row_group = self.writer.next_row_group()?;
        for (column, values) in self.columns.iter().zip(values) {
            let name = &column.name;
            match values {
                ColumnValues::Texts(texts) => {
                    let bytes = |text: &String| ByteArray::from(text.as_str());
                    write_column::<ByteArrayType, _>(&mut row_group, name, texts, bytes)?;
                }
                ColumnValues::Numbers(numbers) => {
                    write_column::<DoubleType, _>(&mut row_group, name, numbers, |number| *number)?;
                }
                ColumnValues::Flags(flags) => {
                    write_column::<BoolType, _>(&mut row_group, name, flags, |flag| *flag)?;
                }
                ColumnValues::Times(times) => {
                    write_column::<Int64Type, _>(&mut row_group, name, times, |time| *time)?;
                }
            }
        }
        row_group.close()?;
        Ok(())
    }

    /// Completes the file, which is then on disk.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be written.
    pub fn close(self) -> Result<(), RecordError> {
        let file = self.writer.into_inner().map_err(|source| RecordError::parquet(&self.path, source))?;
        match file.sync_all() {
            // A pipe or a device cannot be synced.
            Err(source) if source.kind() != io::ErrorKind::InvalidInput => {
                Err(RecordError::file(&self.path, source))
            }
            _ => Ok(()),
        }
    }
}

fn write_column<T: DataType, V>(
    row_group: &mut SerializedRowGroupWriter<'_, File>,
    name: &str,
    values: &[Option<V>],
    converted: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.iter().flatten().map(converted).collect();
    columns::write::<T, _>(row_group, name, &present, Some(&levels))
}

//! Writing whole columns with Parquet's low-level interface, which spares the Arrow crates.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::RecordError;

/// A row group that is being written.
pub type Group<'a> = SerializedRowGroupWriter<'a, File>;

/// The settings every file of ours has.
pub fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by("pacenote".into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
}

/// Creates a file with the given schema.
pub fn create(
    path: &Path,
    schema: &str,
    properties: WriterProperties,
) -> Result<SerializedFileWriter<File>, RecordError> {
    let file = File::create(path).map_err(|source| RecordError::file(path, source))?;
    let schema = parse_message_type(schema).map_err(|source| RecordError::parquet(path, source))?;
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
        .map_err(|source| RecordError::parquet(path, source))
}

/// Writes the next column; `levels` are the definition levels of an optional one.
pub fn write<T: DataType>(
    group: &mut Group,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns than are written".into());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

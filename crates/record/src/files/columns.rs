//! Writes whole columns with Parquet's low-level interface, which needs no Arrow crates.
//!
//! Columns with few distinct values are encoded here: [`write_dictionary`] receives each row's value as an index,
//! whereas the library would hash and compare its text for every row. `docs/decisions/006-own-dictionary-pages.md`
//! contains the measurement.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{
    SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use crate::bounded_file::check_footer;

/// The name of the program that writes the files, for their footers.
pub const CREATED_BY: &str = "pacenote";

/// Returns the settings of all files.
pub fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(CREATED_BY.into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        // Statistics are per row group, because page statistics stay in memory until the file is complete.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
}

/// Begins a file with the given schema.
pub fn begin<W: Write + Send>(
    file: W,
    schema: &str,
    properties: WriterProperties,
) -> Result<SerializedFileWriter<W>, ParquetError> {
    SerializedFileWriter::new(file, Arc::new(parse_message_type(schema)?), Arc::new(properties))
}

/// Returns the number of rows if the file has a footer.
pub fn rows_if_complete(file: &File) -> Option<u64> {
    check_footer(file).ok()?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(file).ok()?;
    u64::try_from(metadata.file_metadata().num_rows()).ok()
}

/// Writes a column, which must be the next one in the schema; `levels` contains the definition levels of an optional
/// column.
pub fn write<T: DataType, W: Write + Send>(
    row_group: &mut SerializedRowGroupWriter<'_, W>,
    name: &str,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General(format!("the schema has no column {name}"));
    let mut column = row_group.next_column()?.ok_or_else(missing)?;
    let writer = column.typed::<T>();
    check_name(writer.get_descriptor(), name)?;
    writer.write_batch(values, levels, None)?;
    column.close()
}

/// Checks that the schema's next column is the one to be written.
pub fn check_name(column: &ColumnDescriptor, name: &str) -> Result<(), ParquetError> {
    if column.name() == name {
        return Ok(());
    }
    Err(ParquetError::General(format!(
        "column {name} is written, but the next column of the schema is {}",
        column.name()
    )))
}

/// Writes the next column as a dictionary page with `values`, each in plain encoding, and a data page with the index of
/// each row's value. `statistics` are those of the column, if they are known.
pub fn write_dictionary<W: Write + Send>(
    row_group: &mut SerializedRowGroupWriter<'_, W>,
    column: ColumnDescPtr,
    values: &[Vec<u8>],
    indexes: &[u8],
    statistics: Option<Statistics>,
) -> Result<(), ParquetError> {
    let count =
        |length: usize| u32::try_from(length).map_err(|_| ParquetError::General("a page is too long".into()));
    let (dictionary, data) = (values.concat(), encode_indexes(indexes, values.len()));
    let (dictionary_size, data_size) = (dictionary.len(), data.len());
    let dictionary = Page::DictionaryPage {
        buf: dictionary.into(),
        num_values: count(values.len())?,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    };
    let data = Page::DataPage {
        buf: data.into(),
        num_values: count(indexes.len())?,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let mut chunk = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut chunk);
    let dictionary = pages.write_page(CompressedPage::new(dictionary, dictionary_size))?;
    let data = pages.write_page(CompressedPage::new(data, data_size))?;
    chunk.flush()?;
    let chunk = Bytes::from(chunk.into_inner()?);
    let size = i64::try_from(dictionary.uncompressed_size + data.uncompressed_size)?;
    let metadata = ColumnChunkMetaData::builder(column)
        .set_compression(Compression::UNCOMPRESSED)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
        .set_total_compressed_size(size)
        .set_total_uncompressed_size(size)
        .set_num_values(i64::try_from(indexes.len())?)
        .set_dictionary_page_offset(Some(i64::try_from(dictionary.offset)?))
        .set_data_page_offset(i64::try_from(data.offset)?);
    let metadata = match statistics {
        Some(statistics) => metadata.set_statistics(statistics),
        None => metadata,
    };
    let metadata = metadata.build()?;
    let (bytes_written, rows_written) = (chunk.len() as u64, indexes.len() as u64);
    let close = ColumnCloseResult {
        bytes_written,
        rows_written,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    row_group.append_column(&chunk, close)
}

/// Encodes indexes in Parquet's hybrid of run lengths and packed bits, after a byte with their width: as one run if all
/// are equal, otherwise as one bit-packed run, lowest bit first.
fn encode_indexes(indexes: &[u8], values: usize) -> Vec<u8> {
    let width = (1..8_u8).find(|width| values <= 1 << width).unwrap_or(8);
    let mut out = vec![width];
    if indexes.iter().all(|index| *index == indexes[0]) {
        varint(indexes.len() << 1, &mut out);
        out.extend(indexes.first());
        return out;
    }
    varint((indexes.len().div_ceil(8) << 1) | 1, &mut out);
    for eight in indexes.chunks(8) {
        let bits = eight.iter().rev().fold(0_u64, |bits, index| (bits << width) | u64::from(*index));
        out.extend_from_slice(&bits.to_le_bytes()[..usize::from(width)]);
    }
    out
}

/// Appends a number in LEB128.
fn varint(mut number: usize, out: &mut Vec<u8>) {
    loop {
        let low = number.to_le_bytes()[0] & 0x7f;
        number >>= 7;
        if number == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

/// Encodes text in plain encoding.
pub fn plain_text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes(), text.as_bytes()].concat()
}

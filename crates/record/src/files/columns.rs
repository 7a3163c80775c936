//! Writing whole columns with Parquet's low-level interface, which spares the Arrow crates.
//!
//! Columns of few different values are encoded here: [`write_few`] knows each row's value by a number, where the library
//! would compare and hash its text, row by row, and take most of what a sample costs.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{
    SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite,
};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnDescPtr;

use crate::error::RecordError;

/// The program, as every file of ours names it.
pub const CREATED_BY: &str = "pacenote";

/// A row group that is being written.
pub type Group<'a> = SerializedRowGroupWriter<'a, File>;

/// The settings every file of ours has.
pub fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(CREATED_BY.into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        // Per row group, not per page: what is known of pages stays in memory until the file is complete.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
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

/// Writes the next column, of few different values: `values` in plain encoding, and for each row which of them it has.
pub fn write_few(
    group: &mut Group,
    column: ColumnDescPtr,
    values: &[Vec<u8>],
    rows: &[u8],
) -> Result<(), ParquetError> {
    let count = |length: usize| u32::try_from(length).map_err(|_| ParquetError::General("too long".into()));
    let (dictionary, numbers) = (values.concat(), number_rows(rows, values.len()));
    let sizes = [dictionary.len(), numbers.len()];
    let dictionary = Page::DictionaryPage {
        buf: dictionary.into(),
        num_values: count(values.len())?,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    };
    let data = Page::DataPage {
        buf: numbers.into(),
        num_values: count(rows.len())?,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let mut chunk = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut chunk);
    let first = pages.write_page(CompressedPage::new(dictionary, sizes[0]))?;
    let second = pages.write_page(CompressedPage::new(data, sizes[1]))?;
    chunk.flush()?;
    let chunk = Bytes::from(chunk.into_inner()?);
    let size = i64::try_from(first.uncompressed_size + second.uncompressed_size)?;
    let metadata = ColumnChunkMetaData::builder(column)
        .set_compression(Compression::UNCOMPRESSED)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
        .set_total_compressed_size(size)
        .set_total_uncompressed_size(size)
        .set_num_values(i64::try_from(rows.len())?)
        .set_dictionary_page_offset(Some(i64::try_from(first.offset)?))
        .set_data_page_offset(i64::try_from(second.offset)?)
        .build()?;
    let (bytes_written, rows_written) = (chunk.len() as u64, rows.len() as u64);
    let close = ColumnCloseResult {
        bytes_written,
        rows_written,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    group.append_column(&chunk, close)
}

/// The numbers of rows as Parquet's hybrid of runs and packed bits, the width first: one run if all are equal, else one
/// stretch of packed bits, lowest first.
fn number_rows(rows: &[u8], values: usize) -> Vec<u8> {
    let width = (1..8_u8).find(|width| values <= 1 << width).unwrap_or(8);
    let mut out = vec![width];
    if rows.iter().all(|row| *row == rows[0]) {
        varint(rows.len() << 1, &mut out);
        out.extend(rows.first());
        return out;
    }
    varint((rows.len().div_ceil(8) << 1) | 1, &mut out);
    for eight in rows.chunks(8) {
        let bits = eight.iter().rev().fold(0_u64, |bits, row| (bits << width) | u64::from(*row));
        out.extend_from_slice(&bits.to_le_bytes()[..usize::from(width)]);
    }
    out
}

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

/// A text in plain encoding.
pub fn plain(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    [&length.to_le_bytes(), text.as_bytes()].concat()
}

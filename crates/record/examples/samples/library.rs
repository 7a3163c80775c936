//! Writes the same samples with the Parquet library alone, for comparison.

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use pacenote_record::Sample;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

type Writer = SerializedFileWriter<File>;
type Failure = Box<dyn Error>;
/// Writes samples into a folder.
pub type Write = fn(&Path, &[Sample]) -> Result<(), Failure>;

const ROW_GROUP: usize = 131_072;
const SCHEMA: &str = "message samples {
    required binary task (STRING); required binary operation (STRING); required binary operation_type (STRING);
    required boolean part; required int32 client (INTEGER(32, false)); required int32 driver (INTEGER(32, false));
    required binary sample_type (STRING); required int64 due_ns; required int64 sent_ns; required int64 done_ns;
    required int64 processing_ns; required int64 weight; required binary unit (STRING); required boolean success;
    required int32 status (INTEGER(16, false)); required binary error_class (STRING); required int64 took_ms;
    required int64 bytes_out; required int64 bytes_in; optional binary details (STRING);
}";
const DELTA: [&str; 8] =
    ["client", "due_ns", "sent_ns", "done_ns", "processing_ns", "took_ms", "bytes_out", "bytes_in"];

/// Writes one file, one row group at a time. If the process is killed, the file cannot be read.
pub fn write_row_groups(folder: &Path, samples: &[Sample]) -> Result<(), Failure> {
    let mut writer = create(&folder.join("samples.parquet"))?;
    for rows in samples.chunks(ROW_GROUP) {
        write_rows(&mut writer, rows)?;
    }
    writer.close()?;
    Ok(())
}

/// Writes a complete file per row group, and concatenates the files at the end. If the process is killed, the complete
/// files can be read.
pub fn write_rolling_files(folder: &Path, samples: &[Sample]) -> Result<(), Failure> {
    let mut parts = Vec::new();
    for (number, rows) in samples.chunks(ROW_GROUP).enumerate() {
        let part = folder.join(format!("samples-{number}.parquet"));
        let mut writer = create(&part)?;
        write_rows(&mut writer, rows)?;
        writer.close()?;
        parts.push(part);
    }
    let mut whole = create(&folder.join("samples.parquet"))?;
    for part in parts {
        let file = File::open(&part)?;
        let reader = SerializedFileReader::new(file.try_clone()?)?;
        let row_group = reader.metadata().row_group(0);
        let mut target = whole.next_row_group()?;
        for metadata in row_group.columns() {
            let close = ColumnCloseResult {
                bytes_written: metadata.compressed_size().cast_unsigned(),
                rows_written: row_group.num_rows().cast_unsigned(),
                metadata: metadata.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            target.append_column(&file, close)?;
        }
        target.close()?;
        fs::remove_file(&part)?;
    }
    whole.close()?;
    Ok(())
}

/// Creates a writer with the settings of the recorder.
fn create(path: &Path) -> Result<Writer, Failure> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in DELTA {
        let column = ColumnPath::from(column);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    Ok(SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties.build()))?)
}

fn write_rows(writer: &mut Writer, rows: &[Sample]) -> Result<(), Failure> {
    let mut group = writer.next_row_group()?;
    let text = ByteArray::from;
    column::<ByteArrayType>(&mut group, rows, |_| text("term"))?;
    column::<ByteArrayType>(&mut group, rows, |_| text("term"))?;
    column::<ByteArrayType>(&mut group, rows, |_| text("search"))?;
    column::<BoolType>(&mut group, rows, |row| row.sub_operation.is_some())?;
    column::<Int32Type>(&mut group, rows, |row| row.client_number.cast_signed())?;
    column::<Int32Type>(&mut group, rows, |_| 0)?;
    column::<ByteArrayType>(&mut group, rows, |row| text(row.sample_type.name()))?;
    column::<Int64Type>(&mut group, rows, |row| row.times.due_ns.cast_signed())?;
    column::<Int64Type>(&mut group, rows, |row| row.times.service_start_ns.cast_signed())?;
    column::<Int64Type>(&mut group, rows, |row| row.times.done_ns.cast_signed())?;
    column::<Int64Type>(&mut group, rows, |row| row.times.processing_ns.cast_signed())?;
    column::<Int64Type>(&mut group, rows, |row| row.result.weight.cast_signed())?;
    column::<ByteArrayType>(&mut group, rows, |_| text("ops"))?;
    column::<BoolType>(&mut group, rows, Sample::is_success)?;
    column::<Int32Type>(&mut group, rows, |row| i32::from(row.result.status))?;
    column::<ByteArrayType>(&mut group, rows, |row| text(row.result.error_class.name()))?;
    column::<Int64Type>(&mut group, rows, |row| row.result.took_ms)?;
    column::<Int64Type>(&mut group, rows, |row| row.traffic.bytes_out.cast_signed())?;
    column::<Int64Type>(&mut group, rows, |row| row.traffic.bytes_in.cast_signed())?;
    let mut details = group.next_column()?.ok_or("the schema has too few columns")?;
    details.typed::<ByteArrayType>().write_batch(&[], Some(&vec![0; rows.len()]), None)?;
    details.close()?;
    group.close()?;
    Ok(())
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    rows: &[Sample],
    value: impl Fn(&Sample) -> T::T,
) -> Result<(), Failure> {
    let values: Vec<T::T> = rows.iter().map(value).collect();
    let mut column = group.next_column()?.ok_or("the schema has too few columns")?;
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()?;
    Ok(())
}

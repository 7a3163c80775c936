//! `samples.parquet`: one row per operation, and one per sub-operation.
//!
//! A Parquet file ends with a footer that locates its row groups; without it the file cannot be read. So that a killed
//! process leaves all complete row groups readable, each is also entered in `samples.directory` once it is written. When
//! the race ends the directory is removed; [`complete_samples`] completes the file of a race that was killed or whose
//! disk was full. `docs/decisions/006-own-dictionary-pages.md` says why this is not left to the library.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parquet::basic::Encoding;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, ColumnPath};
use serde::{Deserialize, Serialize};

use crate::catalog::{Catalog, OperationNames};
use crate::error::RecordError;
use crate::files::columns::{self, Group, plain_text, write, write_dictionary};
use crate::sample::Sample;

const PARQUET: &str = "samples.parquet";
const DIRECTORY: &str = "samples.directory";
/// Rows of a row group; they are gathered in memory, some 20 MB.
const ROW_GROUP: usize = 131_072;

const SCHEMA: &str = "message samples {
    required binary task (STRING);
    required binary operation (STRING);
    required binary operation_type (STRING);
    required boolean part;
    required int32 client (INTEGER(32, false));
    required int32 driver (INTEGER(32, false));
    required binary sample_type (STRING);
    required int64 due_ns;
    required int64 sent_ns;
    required int64 done_ns;
    required int64 processing_ns;
    required int64 weight;
    required binary unit (STRING);
    required boolean success;
    required int32 status (INTEGER(16, false));
    required binary error_class (STRING);
    required int64 took_ms;
    required int64 bytes_out;
    required int64 bytes_in;
}";

/// The columns whose differences are smaller than their values.
const DELTA: [&str; 8] =
    ["client", "due_ns", "sent_ns", "done_ns", "processing_ns", "took_ms", "bytes_out", "bytes_in"];

/// A row group, as a line of the directory.
#[derive(Debug, Serialize, Deserialize)]
struct DirectoryEntry {
    /// Offset of its end in the file.
    end: u64,
    /// The footer of a file with only this row group, base64.
    footer: String,
}

/// The file while the race runs.
#[derive(Debug)]
pub struct SamplesFile {
    folder: PathBuf,
    writer: SerializedFileWriter<File>,
    directory: File,
    /// Samples gathered for the next row group.
    rows: Vec<Sample>,
    /// Rows in the file.
    written: u64,
    /// Whether the last row group was written to its end.
    intact: bool,
}

impl SamplesFile {
    /// Creates the file, and its directory beside it.
    pub fn create(folder: &Path) -> Result<Self, RecordError> {
        let writer = create(&folder.join(PARQUET))?;
        let path = folder.join(DIRECTORY);
        let directory = File::create(&path).map_err(|source| RecordError::file(&path, source))?;
        Ok(Self { folder: folder.to_owned(), writer, directory, rows: Vec::new(), written: 0, intact: true })
    }

    /// Adds samples; writes a row group when there are enough.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn append(&mut self, samples: &[Sample], catalog: &Catalog) -> Result<(), RecordError> {
        self.rows.extend_from_slice(samples);
        if self.rows.len() >= ROW_GROUP { self.flush(catalog) } else { Ok(()) }
    }

    /// Writes the samples gathered so far as a row group, and enters it in the directory.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn flush(&mut self, catalog: &Catalog) -> Result<(), RecordError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        // A row group that was begun and failed cannot be continued.
        self.intact = false;
        let result = write_rows(&mut self.writer, &self.rows, catalog);
        let rows = self.rows.len() as u64;
        self.rows.clear();
        let result = result.and_then(|()| self.writer.flush().map_err(ParquetError::from));
        result.map_err(|source| RecordError::parquet(&self.folder.join(PARQUET), source))?;
        self.append_to_directory()?;
        self.written += rows;
        self.intact = true;
        Ok(())
    }

    fn append_to_directory(&mut self) -> Result<(), RecordError> {
        let path = self.folder.join(DIRECTORY);
        let Some(group) = self.writer.flushed_row_groups().last() else { return Ok(()) };
        let mut footer = Vec::new();
        write_footer(&mut footer, vec![group.clone()])
            .map_err(|source| RecordError::parquet(&path, source))?;
        let entry = DirectoryEntry { end: self.writer.bytes_written() as u64, footer: BASE64.encode(footer) };
        let line = serde_json::to_string(&entry).map_err(RecordError::Json)? + "\n";
        self.directory.write_all(line.as_bytes()).map_err(|source| RecordError::file(&path, source))
    }

    /// Completes the file, even one that could not be written to its end; returns the number of its rows.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn close(mut self, catalog: &Catalog) -> Result<u64, RecordError> {
        if self.intact {
            self.flush(catalog)?;
        }
        let Self { folder, writer, written, intact, .. } = self;
        // Dropping the writer writes nothing.
        let close = |writer: SerializedFileWriter<File>| writer.close().is_ok();
        if Some(writer).filter(|_| intact).is_some_and(close) {
            let path = folder.join(DIRECTORY);
            fs::remove_file(&path).map_err(|source| RecordError::file(&path, source))?;
            return Ok(written);
        }
        complete_samples(&folder).map(|rows| rows.unwrap_or(written))
    }
}

fn create(path: &Path) -> Result<SerializedFileWriter<File>, RecordError> {
    let mut properties = columns::properties();
    for column in DELTA {
        let column = ColumnPath::from(column);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    columns::create(path, SCHEMA, properties.build())
}

/// Completes the file of a race that was killed: cuts off what follows its last complete row group, and writes the
/// footer from the directory. Returns the number of rows, `None` when the file is complete already.
///
/// # Errors
///
/// When a file cannot be read or written.
pub fn complete_samples(folder: &Path) -> Result<Option<u64>, RecordError> {
    let (path, directory) = (folder.join(PARQUET), folder.join(DIRECTORY));
    let lines = match File::open(&directory) {
        Ok(file) => BufReader::new(file).split(b'\n'),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RecordError::file(&directory, source)),
    };
    let io_error = |source| RecordError::file(&path, source);
    let parquet_error = |source| RecordError::parquet(&path, source);
    let mut file = File::options().write(true).open(&path).map_err(io_error)?;
    let length = file.metadata().map_err(io_error)?.len();
    let (mut groups, mut end) = (Vec::new(), 0);
    for line in lines {
        let line = line.map_err(|source| RecordError::file(&directory, source))?;
        // An incomplete line, or a row group that did not reach the disk, is the last one.
        let Ok(entry) = serde_json::from_slice::<DirectoryEntry>(&line) else { break };
        if entry.end > length {
            break;
        }
        groups.extend(read_footer(&entry.footer).map_err(parquet_error)?);
        end = entry.end;
    }
    let rows = groups.iter().map(|group| group.num_rows().cast_unsigned()).sum();
    if groups.is_empty() {
        drop(file);
        create(&path)?.close().map_err(parquet_error)?;
    } else {
        file.set_len(end).map_err(io_error)?;
        file.seek(SeekFrom::End(0)).map_err(io_error)?;
        write_footer(&mut file, groups).map_err(parquet_error)?;
    }
    fs::remove_file(&directory).map_err(|source| RecordError::file(&directory, source))?;
    Ok(Some(rows))
}

/// Writes the footer of a file with these row groups.
fn write_footer(out: impl Write, groups: Vec<RowGroupMetaData>) -> Result<(), ParquetError> {
    let schema = groups.first().map(RowGroupMetaData::schema_descr_ptr);
    let schema = schema.ok_or_else(|| ParquetError::General("no row groups".into()))?;
    let rows = groups.iter().map(RowGroupMetaData::num_rows).sum();
    let file = FileMetaData::new(1, rows, Some(columns::CREATED_BY.into()), None, schema, None);
    let metadata = ParquetMetaDataBuilder::new(file).set_row_groups(groups).build();
    ParquetMetaDataWriter::new(out, &metadata).finish()
}

/// The row groups of a footer that [`write_footer`] wrote.
fn read_footer(text: &str) -> Result<Vec<RowGroupMetaData>, ParquetError> {
    let not_base64 = |_| ParquetError::General("its directory is not base64".into());
    let footer = BASE64.decode(text).map_err(not_base64)?;
    // Without the length and the magic number behind it.
    let thrift = &footer[..footer.len().saturating_sub(8)];
    Ok(ParquetMetaDataReader::decode_metadata(thrift)?.row_groups().to_vec())
}

fn write_rows(
    writer: &mut SerializedFileWriter<File>,
    rows: &[Sample],
    catalog: &Catalog,
) -> Result<(), ParquetError> {
    let schema = writer.schema_descr().columns().to_vec();
    let names = |row: &Sample| -> OperationNames<'_> { catalog.names(row.task_index, row.sub_operation) };
    let operation = |row: &Sample| (row.task_index, row.sub_operation);
    let mut group = RowGroup { group: writer.next_row_group()?, schema: schema.iter(), rows };
    group.text(|row| row.task_index, |row| names(row).task)?;
    group.text(operation, |row| names(row).operation)?;
    group.text(operation, |row| names(row).operation_type)?;
    group.bool(|row| row.sub_operation.is_some())?;
    group.int32(|row| row.client.cast_signed())?;
    group.dictionary(|_| (), |_| vec![0; 4])?;
    group.text(|row| row.sample_type.index(), |row| row.sample_type.name())?;
    group.int64(|row| row.times.due_ns.cast_signed())?;
    group.int64(|row| row.times.sent_ns.cast_signed())?;
    group.int64(|row| row.times.done_ns.cast_signed())?;
    group.int64(|row| row.times.processing_ns.cast_signed())?;
    group.int64(|row| row.result.weight.cast_signed())?;
    group.text(|row| row.task_index, |row| &catalog.tasks[row.task_index as usize].unit)?;
    group.bool(Sample::is_success)?;
    group.int32(|row| i32::from(row.result.status))?;
    group.text(|row| row.result.error_class, |row| row.result.error_class.name())?;
    group.int64(|row| row.result.took_ms)?;
    group.int64(|row| row.traffic.bytes_out.cast_signed())?;
    group.int64(|row| row.traffic.bytes_in.cast_signed())?;
    group.group.close()?;
    Ok(())
}

/// A row group that is written column by column. Parquet's integers are signed; no race lasts the 292 years after which
/// nanoseconds would overflow.
struct RowGroup<'a, 'b> {
    group: Group<'a>,
    /// The columns that are not written yet.
    schema: std::slice::Iter<'b, ColumnDescPtr>,
    rows: &'b [Sample],
}

impl RowGroup<'_, '_> {
    fn column(&mut self) -> Result<ColumnDescPtr, ParquetError> {
        let missing = || ParquetError::General("the schema has fewer columns than are written".into());
        self.schema.next().cloned().ok_or_else(missing)
    }

    fn bool(&mut self, value: impl Fn(&Sample) -> bool) -> Result<(), ParquetError> {
        self.column()?;
        write::<BoolType>(&mut self.group, &self.rows.iter().map(value).collect::<Vec<_>>(), None)
    }

    fn int32(&mut self, value: impl Fn(&Sample) -> i32) -> Result<(), ParquetError> {
        self.column()?;
        write::<Int32Type>(&mut self.group, &self.rows.iter().map(value).collect::<Vec<_>>(), None)
    }

    fn int64(&mut self, value: impl Fn(&Sample) -> i64) -> Result<(), ParquetError> {
        self.column()?;
        write::<Int64Type>(&mut self.group, &self.rows.iter().map(value).collect::<Vec<_>>(), None)
    }

    /// Writes a text column; rows with equal keys have equal texts.
    fn text<'c, K: PartialEq>(
        &mut self,
        key: impl Fn(&Sample) -> K,
        value: impl Fn(&Sample) -> &'c str,
    ) -> Result<(), ParquetError> {
        if self.dictionary(key, |row| plain_text(value(row)))? {
            return Ok(());
        }
        let texts: Vec<_> = self.rows.iter().map(|row| ByteArray::from(value(row))).collect();
        write::<ByteArrayType>(&mut self.group, &texts, None)
    }

    /// Writes the next column if it has at most 256 different values; returns whether it did.
    fn dictionary<K: PartialEq>(
        &mut self,
        key: impl Fn(&Sample) -> K,
        value: impl Fn(&Sample) -> Vec<u8>,
    ) -> Result<bool, ParquetError> {
        let column = self.column()?;
        let (mut keys, mut values, mut indexes) =
            (Vec::new(), Vec::new(), Vec::with_capacity(self.rows.len()));
        let mut last = 0;
        for row in self.rows {
            let key = key(row);
            if keys.get(last) != Some(&key) {
                last = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                    keys.push(key);
                    values.push(value(row));
                    keys.len() - 1
                });
            }
            let Ok(index) = u8::try_from(last) else { return Ok(false) };
            indexes.push(index);
        }
        write_dictionary(&mut self.group, column, &values, &indexes).map(|()| true)
    }
}

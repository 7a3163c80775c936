//! `samples.parquet`: one row per operation, and one per operation within it.
//!
//! Parquet says at the end of a file where its row groups are; without that end it cannot be read. So that whatever kills
//! the process leaves every row group readable, each is also entered in `samples.directory` once it is written. When the
//! race ends the directory goes; [`restore`] completes the file of a race that was killed, or whose disk was full.

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

use crate::catalog::Names;
use crate::error::RecordError;
use crate::files::columns::{self, Group, plain, write, write_few};
use crate::sample::Sample;

const PARQUET: &str = "samples.parquet";
const DIRECTORY: &str = "samples.directory";
/// Rows gathered before they are written; bounds memory to some 15 MB.
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

/// The columns that grow or vary, where differences are smaller than values.
const DELTA: [&str; 8] =
    ["client", "due_ns", "sent_ns", "done_ns", "processing_ns", "took_ms", "bytes_out", "bytes_in"];

/// What a row group is, as a line of the directory.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// Where it ends in the file.
    end: u64,
    /// The footer of a file that has this row group alone, base64.
    footer: String,
}

/// The file while the race runs.
#[derive(Debug)]
pub struct SamplesFile {
    folder: PathBuf,
    writer: SerializedFileWriter<File>,
    directory: File,
    rows: Vec<Sample>,
    written: u64,
    whole: bool,
}

impl SamplesFile {
    /// Creates the file, and its directory beside it.
    pub fn create(folder: &Path) -> Result<Self, RecordError> {
        let writer = create(&folder.join(PARQUET))?;
        let path = folder.join(DIRECTORY);
        let directory = File::create(&path).map_err(|source| RecordError::file(&path, source))?;
        Ok(Self { folder: folder.to_owned(), writer, directory, rows: Vec::new(), written: 0, whole: true })
    }

    /// Adds samples; writes them when enough are there.
    pub fn append(&mut self, samples: &[Sample], names: &Names) -> Result<(), RecordError> {
        self.rows.extend_from_slice(samples);
        if self.rows.len() >= ROW_GROUP { self.flush(names) } else { Ok(()) }
    }

    /// Writes what was gathered, and says so in the directory.
    pub fn flush(&mut self, names: &Names) -> Result<(), RecordError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        // Until it is: a row group that was begun cannot be continued.
        self.whole = false;
        let result = write_rows(&mut self.writer, &self.rows, names);
        let rows = self.rows.len() as u64;
        self.rows.clear();
        let result = result.and_then(|()| self.writer.flush().map_err(ParquetError::from));
        result.map_err(|source| RecordError::parquet(&self.folder.join(PARQUET), source))?;
        self.enter()?;
        self.written += rows;
        self.whole = true;
        Ok(())
    }

    fn enter(&mut self) -> Result<(), RecordError> {
        let path = self.folder.join(DIRECTORY);
        let Some(group) = self.writer.flushed_row_groups().last() else { return Ok(()) };
        let mut footer = Vec::new();
        write_footer(&mut footer, vec![group.clone()])
            .map_err(|source| RecordError::parquet(&path, source))?;
        let entry = Entry { end: self.writer.bytes_written() as u64, footer: BASE64.encode(footer) };
        let line = serde_json::to_string(&entry).map_err(|_| RecordError::Histogram("encoded"))? + "\n";
        self.directory.write_all(line.as_bytes()).map_err(|source| RecordError::file(&path, source))
    }

    /// Completes the file, also one that could not be written to its end; returns the number of its rows.
    pub fn close(mut self, names: &Names) -> Result<u64, RecordError> {
        if self.whole {
            self.flush(names)?;
        }
        let Self { folder, writer, written, whole, .. } = self;
        // Either way nothing more is written once it is gone.
        let complete = |writer: SerializedFileWriter<File>| writer.close().is_ok();
        let completed = Some(writer).filter(|_| whole).is_some_and(complete);
        if completed {
            let path = folder.join(DIRECTORY);
            fs::remove_file(&path).map_err(|source| RecordError::file(&path, source))?;
            return Ok(written);
        }
        restore(&folder).map(|rows| rows.unwrap_or(written))
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

/// Completes the file of a race that was killed: what follows its last whole row group is cut off, and the footer is made
/// of the directory. Returns the number of rows, `None` when the file is complete already.
pub fn restore(folder: &Path) -> Result<Option<u64>, RecordError> {
    let (path, directory) = (folder.join(PARQUET), folder.join(DIRECTORY));
    let lines = match File::open(&directory) {
        Ok(file) => BufReader::new(file).split(b'\n'),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RecordError::file(&directory, source)),
    };
    let wrong = |source| RecordError::file(&path, source);
    let unreadable = |source| RecordError::parquet(&path, source);
    let mut file = File::options().write(true).open(&path).map_err(wrong)?;
    let length = file.metadata().map_err(wrong)?.len();
    let (mut groups, mut end) = (Vec::new(), 0);
    for line in lines {
        let line = line.map_err(|source| RecordError::file(&directory, source))?;
        // A torn line, or a row group that did not reach the disk: nothing follows it.
        let Ok(entry) = serde_json::from_slice::<Entry>(&line) else { break };
        if entry.end > length {
            break;
        }
        groups.extend(read_footer(&entry.footer).map_err(unreadable)?);
        end = entry.end;
    }
    let rows = groups.iter().map(|group| group.num_rows().cast_unsigned()).sum();
    if groups.is_empty() {
        drop(file);
        create(&path)?.close().map_err(unreadable)?;
    } else {
        file.set_len(end).map_err(wrong)?;
        file.seek(SeekFrom::End(0)).map_err(wrong)?;
        write_footer(&mut file, groups).map_err(unreadable)?;
    }
    fs::remove_file(&directory).map_err(|source| RecordError::file(&directory, source))?;
    Ok(Some(rows))
}

/// Writes what stands at the end of a file of these row groups.
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
    let wrong = |_| ParquetError::General("its directory is no base64".into());
    let footer = BASE64.decode(text).map_err(wrong)?;
    // Its length and the format's name stand behind it.
    let thrift = &footer[..footer.len().saturating_sub(8)];
    Ok(ParquetMetaDataReader::decode_metadata(thrift)?.row_groups().to_vec())
}

fn write_rows(
    writer: &mut SerializedFileWriter<File>,
    rows: &[Sample],
    names: &Names,
) -> Result<(), ParquetError> {
    let schema = writer.schema_descr().columns().to_vec();
    let (tasks, parts) = (&names.tasks, &names.parts);
    let task = |row: &Sample| &tasks[row.task as usize];
    let part = |row: &Sample| row.part.checked_sub(1).map(|part| &parts[part as usize]);
    let mut group = Columns { group: writer.next_row_group()?, schema: schema.iter(), rows };
    group.text(|row| row.task, |row| &task(row).task)?;
    group.text(
        |row| (row.task, row.part),
        |row| part(row).map_or(&task(row).operation, |part| &part.operation),
    )?;
    group.text(
        |row| (row.task, row.part),
        |row| part(row).map_or(&task(row).operation_type, |part| &part.operation_type),
    )?;
    group.flag(|row| row.part > 0)?;
    group.small(|row| row.client.cast_signed())?;
    group.few(|_| (), |_| vec![0; 4])?;
    group.text(|row| row.sample_type.index(), |row| row.sample_type.name())?;
    group.number(|row| row.due_ns.cast_signed())?;
    group.number(|row| row.sent_ns.cast_signed())?;
    group.number(|row| row.done_ns.cast_signed())?;
    group.number(|row| row.processing_ns.cast_signed())?;
    group.number(|row| row.weight.cast_signed())?;
    group.text(|row| row.task, |row| &task(row).unit)?;
    group.flag(|row| row.success)?;
    group.small(|row| i32::from(row.status))?;
    group.text(|row| row.error_class, |row| row.error_class.name())?;
    group.number(|row| row.took_ms)?;
    group.number(|row| row.bytes_out.cast_signed())?;
    group.number(|row| row.bytes_in.cast_signed())?;
    group.group.close()?;
    Ok(())
}

/// A row group that is written column by column. Numbers are Parquet's signed ones; no race lasts the 292 years after
/// which they would wrap.
struct Columns<'a, 'b> {
    group: Group<'a>,
    schema: std::slice::Iter<'b, ColumnDescPtr>,
    rows: &'b [Sample],
}

impl Columns<'_, '_> {
    fn column(&mut self) -> Result<ColumnDescPtr, ParquetError> {
        let missing = || ParquetError::General("the schema has fewer columns than are written".into());
        self.schema.next().cloned().ok_or_else(missing)
    }

    fn flag(&mut self, value: impl Fn(&Sample) -> bool) -> Result<(), ParquetError> {
        self.column()?;
        write::<BoolType>(&mut self.group, &self.rows.iter().map(value).collect::<Vec<_>>(), None)
    }

    fn small(&mut self, value: impl Fn(&Sample) -> i32) -> Result<(), ParquetError> {
        self.column()?;
        write::<Int32Type>(&mut self.group, &self.rows.iter().map(value).collect::<Vec<_>>(), None)
    }

    fn number(&mut self, value: impl Fn(&Sample) -> i64) -> Result<(), ParquetError> {
        self.column()?;
        write::<Int64Type>(&mut self.group, &self.rows.iter().map(value).collect::<Vec<_>>(), None)
    }

    /// Rows of one key have one text.
    fn text<'c, K: PartialEq>(
        &mut self,
        key: impl Fn(&Sample) -> K,
        value: impl Fn(&Sample) -> &'c str,
    ) -> Result<(), ParquetError> {
        if self.few(key, |row| plain(value(row)))? {
            return Ok(());
        }
        let texts: Vec<_> = self.rows.iter().map(|row| ByteArray::from(value(row))).collect();
        write::<ByteArrayType>(&mut self.group, &texts, None)
    }

    /// Writes the next column if it has few different values; says whether.
    fn few<K: PartialEq>(
        &mut self,
        key: impl Fn(&Sample) -> K,
        value: impl Fn(&Sample) -> Vec<u8>,
    ) -> Result<bool, ParquetError> {
        let column = self.column()?;
        let (mut keys, mut values, mut numbers) =
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
            let Ok(number) = u8::try_from(last) else { return Ok(false) };
            numbers.push(number);
        }
        write_few(&mut self.group, column, &values, &numbers).map(|()| true)
    }
}

//! `series.parquet`: one row per task, operation, second and sample type; rows of one
//! second add up.
//!
//! While the race runs the rows go to `series.jsonl`, a line each, so that whatever kills the process leaves every
//! finished second readable. When the race ends, or is found to have been killed, the journal becomes the Parquet file.

use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use serde::{Deserialize, Serialize};

use crate::error::RecordError;
use crate::files::columns::{self, Group, write};
use crate::histogram::Latencies;
use crate::window::Window;

const JOURNAL: &str = "series.jsonl";
const PARQUET: &str = "series.parquet";
/// Bytes of the journal that make a row group; a row holds up to four encoded histograms of some kB.
const ROW_GROUP: usize = 4 << 20;

const SCHEMA: &str = "message series {
    required binary task (STRING);
    required binary operation (STRING);
    required boolean part;
    required int32 driver (INTEGER(32, false));
    required int64 second;
    required binary sample_type (STRING);
    required int64 operations;
    required int64 requests;
    required int64 errors;
    required int64 weight;
    required int64 failed_weight;
    required int64 bytes_out;
    required int64 bytes_in;
    required binary service_time;
    optional binary latency;
    optional binary lateness;
    optional binary failed_service_time;
}";

/// One line of the journal, one row of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    task: String,
    operation: String,
    part: bool,
    driver: u32,
    second: u64,
    sample_type: String,
    operations: u64,
    requests: u64,
    errors: u64,
    weight: u64,
    failed_weight: u64,
    bytes_out: u64,
    bytes_in: u64,
    service_time: String,
    latency: Option<String>,
    lateness: Option<String>,
    failed_service_time: Option<String>,
}

impl Row {
    fn of(names: (&str, &str, bool), window: &Window) -> Result<Self, RecordError> {
        let (task, operation, part) = names;
        let optional =
            |latencies: &Option<Latencies>| latencies.as_ref().map(Latencies::encode_text).transpose();
        let counts = &window.counts;
        Ok(Self {
            task: task.to_owned(),
            operation: operation.to_owned(),
            part,
            driver: 0,
            second: window.second,
            sample_type: window.sample_type.name().to_owned(),
            operations: counts.operations,
            requests: counts.requests,
            errors: counts.errors,
            weight: counts.weight,
            failed_weight: counts.failed_weight,
            bytes_out: counts.bytes_out,
            bytes_in: counts.bytes_in,
            service_time: window.service.encode_text()?,
            latency: optional(&window.latency)?,
            lateness: optional(&window.lateness)?,
            failed_service_time: optional(&window.failed)?,
        })
    }
}

/// The journal while the race runs.
#[derive(Debug)]
pub struct SeriesFile {
    folder: PathBuf,
    journal: BufWriter<File>,
}

impl SeriesFile {
    /// Creates the journal.
    pub fn create(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join(JOURNAL);
        let journal = File::create(&path).map_err(|source| RecordError::file(&path, source))?;
        // Held until the race ends, however it ends: tells a running race from one that was killed. A file system
        // without locks loses only that.
        let _ = journal.try_lock();
        Ok(Self { folder: folder.to_owned(), journal: BufWriter::new(journal) })
    }

    /// Appends a line of the journal and hands it to the kernel.
    pub fn append(&mut self, line: &str) -> Result<(), RecordError> {
        let path = self.folder.join(JOURNAL);
        let wrong = |source| RecordError::file(&path, source);
        writeln!(self.journal, "{line}").map_err(wrong)?;
        self.journal.flush().map_err(wrong)
    }

    /// Turns the journal into `series.parquet`.
    pub fn close(self) -> Result<(), RecordError> {
        let Self { folder, mut journal } = self;
        journal.flush().map_err(|source| RecordError::file(&folder.join(JOURNAL), source))?;
        complete(&folder).map(|_| ())
    }
}

/// A finished second as a line of the journal; `names` are those of task and operation, and whether it is one within the
/// task's own.
pub fn line(names: (&str, &str, bool), window: &Window) -> Result<String, RecordError> {
    serde_json::to_string(&Row::of(names, window)?).map_err(|_| RecordError::Histogram("encoded"))
}

/// The journal of a race, as others see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    /// There is none: the series is complete.
    Gone,
    /// The race runs.
    Held,
    /// The race runs no longer.
    Left,
}

/// What became of the journal in a folder.
pub fn journal(folder: &Path) -> Result<Journal, RecordError> {
    let journal = folder.join(JOURNAL);
    let open = match File::open(&journal) {
        Ok(open) => open,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Journal::Gone),
        Err(source) => return Err(RecordError::file(&journal, source)),
    };
    let held = matches!(open.try_lock(), Err(TryLockError::WouldBlock));
    Ok(if held { Journal::Held } else { Journal::Left })
}

/// Makes the Parquet file of a journal and removes the journal; returns the number of rows. A torn last line is left out.
/// When the file cannot be written the journal stays.
pub fn complete(folder: &Path) -> Result<u64, RecordError> {
    let (journal, target) = (folder.join(JOURNAL), folder.join(PARQUET));
    let part = folder.join(format!("{PARQUET}.part"));
    let rows = convert(&journal, &part).inspect_err(|_| {
        // It may be what fills the disk.
        let _ = fs::remove_file(&part);
    })?;
    fs::rename(&part, &target).map_err(|source| RecordError::file(&target, source))?;
    fs::remove_file(&journal).map_err(|source| RecordError::file(&journal, source))?;
    Ok(rows)
}

fn convert(journal: &Path, part: &Path) -> Result<u64, RecordError> {
    let parquet_error = |source| RecordError::parquet(part, source);
    let lines = BufReader::new(File::open(journal).map_err(|source| RecordError::file(journal, source))?)
        .split(b'\n');
    let mut writer = columns::create(part, SCHEMA, columns::properties().build())?;
    let (mut rows, mut bytes, mut written) = (Vec::new(), 0, 0);
    for line in lines {
        let line = line.map_err(|source| RecordError::file(journal, source))?;
        // Only the last line can be torn, and nothing follows it.
        let Ok(row) = serde_json::from_slice::<Row>(&line) else { break };
        rows.push(row);
        bytes += line.len();
        if bytes >= ROW_GROUP {
            bytes = 0;
            written += flush(&mut writer, &mut rows).map_err(parquet_error)?;
        }
    }
    written += flush(&mut writer, &mut rows).map_err(parquet_error)?;
    writer.close().map_err(parquet_error)?;
    Ok(written)
}

fn flush(writer: &mut SerializedFileWriter<File>, rows: &mut Vec<Row>) -> Result<u64, ParquetError> {
    if rows.is_empty() {
        return Ok(0);
    }
    let mut group = writer.next_row_group()?;
    let text =
        |value: fn(&Row) -> &str| rows.iter().map(|row| ByteArray::from(value(row))).collect::<Vec<_>>();
    write::<ByteArrayType>(&mut group, &text(|row| &row.task), None)?;
    write::<ByteArrayType>(&mut group, &text(|row| &row.operation), None)?;
    write::<BoolType>(&mut group, &rows.iter().map(|row| row.part).collect::<Vec<_>>(), None)?;
    write::<Int32Type>(
        &mut group,
        &rows.iter().map(|row| row.driver.cast_signed()).collect::<Vec<_>>(),
        None,
    )?;
    write::<Int64Type>(
        &mut group,
        &rows.iter().map(|row| row.second.cast_signed()).collect::<Vec<_>>(),
        None,
    )?;
    write::<ByteArrayType>(&mut group, &text(|row| &row.sample_type), None)?;
    let numbers: [fn(&Row) -> u64; 7] = [
        |row| row.operations,
        |row| row.requests,
        |row| row.errors,
        |row| row.weight,
        |row| row.failed_weight,
        |row| row.bytes_out,
        |row| row.bytes_in,
    ];
    for number in numbers {
        write::<Int64Type>(
            &mut group,
            &rows.iter().map(|row| number(row).cast_signed()).collect::<Vec<_>>(),
            None,
        )?;
    }
    let service: Result<Vec<ByteArray>, ParquetError> =
        rows.iter().map(|row| blob(&row.service_time)).collect();
    write::<ByteArrayType>(&mut group, &service?, None)?;
    optional(&mut group, rows, |row| row.latency.as_deref())?;
    optional(&mut group, rows, |row| row.lateness.as_deref())?;
    optional(&mut group, rows, |row| row.failed_service_time.as_deref())?;
    group.close()?;
    let written = rows.len() as u64;
    rows.clear();
    Ok(written)
}

fn optional(group: &mut Group, rows: &[Row], value: fn(&Row) -> Option<&str>) -> Result<(), ParquetError> {
    let levels: Vec<i16> = rows.iter().map(|row| i16::from(value(row).is_some())).collect();
    let blobs: Result<Vec<ByteArray>, ParquetError> = rows.iter().filter_map(value).map(blob).collect();
    write::<ByteArrayType>(group, &blobs?, Some(&levels))
}

fn blob(text: &str) -> Result<ByteArray, ParquetError> {
    let bytes = Latencies::decode_text_to_bytes(text);
    bytes.map(ByteArray::from).map_err(|error| ParquetError::General(error.to_string()))
}

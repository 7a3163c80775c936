//! `series.parquet`: one row per task, operation, second and sample type. The rows of one second add up.
//!
//! While the race runs, the rows are appended to a journal, `series.jsonl`, so that all finished seconds can be read
//! even if the process is killed. When the race ends, or is found to have been killed, the journal is converted to the
//! Parquet file.

use std::fs::{File, TryLockError};
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use serde::{Deserialize, Serialize};

use crate::catalog::OperationNames;
use crate::error::RecordError;
use crate::files::columns::{self, write};
use crate::files::durable::{self, MAX_LINE_BYTES, OutputFile};
use crate::files::losses::add_losses;
use crate::histogram::DurationHistogram;
use crate::merged_histogram::HistogramDecoder;
use crate::operation_stats::SecondStats;

const JOURNAL: &str = "series.jsonl";
const PARQUET: &str = "series.parquet";
/// Number of journal bytes that become a row group; a row contains up to four encoded histograms of a few kB each.
pub const ROW_GROUP_BYTES: usize = 4 << 20;

/// The columns. `part` is whether the row is about a sub-operation; `driver` is the number of the load generator, which
/// is always 0 today.
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

/// A line of the journal, which becomes a row of the file. Its serialized fields are the columns.
#[derive(Debug, Serialize, Deserialize)]
struct SeriesRow {
    task: String,
    operation: String,
    #[serde(rename = "part")]
    is_sub_operation: bool,
    driver: u32,
    #[serde(rename = "second")]
    second_index: u64,
    sample_type: String,
    #[serde(rename = "operations")]
    ended: u64,
    requests: u64,
    #[serde(rename = "errors")]
    failed: u64,
    weight: u64,
    failed_weight: u64,
    bytes_out: u64,
    bytes_in: u64,
    service_time: String,
    latency: Option<String>,
    lateness: Option<String>,
    failed_service_time: Option<String>,
}

impl SeriesRow {
    fn of(names: OperationNames<'_>, second: &SecondStats) -> Result<Self, RecordError> {
        let optional = |histogram: &Option<DurationHistogram>| {
            histogram.as_ref().map(DurationHistogram::encode_base64).transpose()
        };
        let counts = &second.stats.counts;
        Ok(Self {
            task: names.task.to_owned(),
            operation: names.operation.to_owned(),
            is_sub_operation: names.is_sub_operation,
            driver: 0,
            second_index: second.second_index,
            sample_type: second.sample_type.name().to_owned(),
            ended: counts.ended,
            requests: counts.requests,
            failed: counts.failed,
            weight: counts.weight,
            failed_weight: counts.failed_weight,
            bytes_out: counts.bytes_out,
            bytes_in: counts.bytes_in,
            service_time: second.stats.service_time.encode_base64()?,
            latency: optional(&second.stats.latency)?,
            lateness: optional(&second.stats.lateness)?,
            failed_service_time: optional(&second.stats.failed_service_time)?,
        })
    }
}

impl SeriesRow {
    /// Returns whether its histograms can be decoded.
    fn is_intact(&self, decoder: &mut HistogramDecoder) -> bool {
        let optional = [&self.latency, &self.lateness, &self.failed_service_time];
        let mut histograms = optional.into_iter().flatten().chain([&self.service_time]);
        histograms.all(|text| {
            DurationHistogram::decode_base64(text).and_then(|encoded| decoder.check(&encoded)).is_ok()
        })
    }
}

/// The journal of a running race.
#[derive(Debug)]
pub struct SeriesFile {
    folder: PathBuf,
    journal: BufWriter<OutputFile>,
    /// Lines that are in the file.
    lines: u64,
}

impl SeriesFile {
    /// Creates the journal and locks it.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be created or locked.
    pub fn create(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join(JOURNAL);
        let journal = OutputFile::create(&path).map_err(|source| RecordError::file(&path, source))?;
        // The lock is held until the race ends, even if it is killed, and distinguishes a running race from one that
        // was killed. On a file system without locks, only this distinction is lost.
        journal.lock().map_err(|source| RecordError::file(&path, source))?;
        Ok(Self { folder: folder.to_owned(), journal: BufWriter::new(journal), lines: 0 })
    }

    /// Appends a line to the journal and writes it to the file at once.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be written.
    pub fn append(&mut self, line: &str) -> Result<(), RecordError> {
        let path = self.folder.join(JOURNAL);
        let io_error = |source| RecordError::file(&path, source);
        writeln!(self.journal, "{line}").map_err(io_error)?;
        self.journal.flush().map_err(io_error)?;
        self.lines += 1;
        Ok(())
    }

    /// Converts the journal to `series.parquet`.
    ///
    /// # Errors
    ///
    /// An error if a file cannot be read or written, or if the journal was changed meanwhile; what can be read of it is
    /// then converted.
    pub fn close(self) -> Result<(), RecordError> {
        let Self { folder, mut journal, lines } = self;
        let path = folder.join(JOURNAL);
        let error = |source| RecordError::file(&path, source);
        journal.flush().and_then(|()| journal.get_ref().check_name(&path)).map_err(error)?;
        let content = journal.get_ref().check_content(&path);
        let rows = complete_series(&folder, Some(lines))?;
        content.map_err(|problem| {
            error(io::Error::other(format!("{problem}; {rows} of {lines} lines are in {PARQUET}")))
        })
    }
}

/// Formats a finished second as a line of the journal.
///
/// # Errors
///
/// An error if a histogram cannot be encoded.
pub fn journal_line(names: OperationNames<'_>, second: &SecondStats) -> Result<String, RecordError> {
    serde_json::to_string(&SeriesRow::of(names, second)?).map_err(RecordError::Json)
}

/// The state of a race's journal, as seen by another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalState {
    /// There is no journal: the series is complete.
    Absent,
    /// The race is running, or another process completes its files.
    Locked,
    /// The race was killed.
    Abandoned,
}

/// Returns the state of the journal in a folder, and an abandoned journal, which is locked until it is dropped.
///
/// # Errors
///
/// An error if the journal cannot be opened.
pub fn open_journal(folder: &Path) -> Result<(JournalState, Option<File>), RecordError> {
    let journal = folder.join(JOURNAL);
    let file = match durable::open_regular(&journal) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((JournalState::Absent, None)),
        Err(source) => return Err(RecordError::file(&journal, source)),
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok((JournalState::Locked, None)),
        _ => Ok((JournalState::Abandoned, Some(file))),
    }
}

/// Converts the journal to the Parquet file, removes the journal, and returns the number of rows. An incomplete last
/// line is left out, and so are damaged lines; the journal is then kept under another name. A complete file with at least as many rows remains, as after a copy of a
/// running race over which the finished race was copied. If the journal does not have all rows of the file, or lacks
/// some of the `expected_lines` that were appended to it, it is kept under another name. If the file cannot be written,
/// the journal is kept.
///
/// # Errors
///
/// An error if a file cannot be read or written.
pub fn complete_series(folder: &Path, expected_lines: Option<u64>) -> Result<u64, RecordError> {
    let (journal, target) = (folder.join(JOURNAL), folder.join(PARQUET));
    let journal_error = |source| RecordError::file(&journal, source);
    if !journal.try_exists().map_err(journal_error)? {
        // Another process has completed the series since the journal was opened.
        return Ok(0);
    }
    let complete_rows = durable::open_regular(&target).ok().and_then(|file| columns::rows_if_complete(&file));
    let present = complete_rows.map(|rows| count_lines(&journal).map(|lines| (rows, lines))).transpose();
    let (rows, lines) = match present.map_err(journal_error)? {
        Some((rows, lines)) if rows >= lines.readable => (rows, lines),
        _ => {
            let converted = durable::replace(&target, |file| convert(&journal, file));
            let lines = converted.map_err(|source| RecordError::file(&target, source))?;
            (lines.readable, lines)
        }
    };
    let losses = [lines.loss(rows, expected_lines), lines.cut()].into_iter().flatten();
    let kept = |loss| format!("{loss}; the journal is kept as {JOURNAL}{}", durable::DAMAGED);
    let losses: Vec<_> = losses.map(kept).collect();
    let ended = if losses.is_empty() {
        durable::remove(&journal)
    } else {
        add_losses(folder, &losses).and_then(|()| durable::set_aside(&journal))
    };
    ended.map(|()| rows).map_err(journal_error)
}

/// The complete lines of a journal.
#[derive(Debug, Clone, Copy, Default)]
struct JournalLines {
    /// Lines that are rows.
    readable: u64,
    /// Lines that are not.
    damaged: u64,
    /// Bytes of the damaged lines.
    damaged_bytes: u64,
    /// Bytes of the last line, if it has no end.
    incomplete_bytes: u64,
}

impl JournalLines {
    /// Returns the row of a line, counted, or `None` if the line is damaged.
    fn parse(&mut self, line: &[u8], decoder: &mut HistogramDecoder) -> Option<SeriesRow> {
        let row = serde_json::from_slice::<SeriesRow>(line).ok().filter(|row| row.is_intact(decoder));
        self.readable += u64::from(row.is_some());
        if row.is_none() {
            self.damaged += 1;
            self.damaged_bytes += line.len() as u64;
        }
        row
    }

    /// Returns what the journal lacks of the rows of the file and of the lines that were appended to it.
    fn loss(&self, rows: u64, expected_lines: Option<u64>) -> Option<String> {
        let Self { readable, damaged, damaged_bytes, .. } = self;
        match expected_lines {
            Some(expected) if rows < expected => {
                return Some(format!("only {rows} of {expected} lines of {JOURNAL} are in {PARQUET}"));
            }
            _ if *readable < rows => {
                return Some(format!(
                    "{JOURNAL} has {readable} of the {rows} rows of {PARQUET}, which is kept"
                ));
            }
            _ => {}
        }
        let lines = if *damaged == 1 { "line" } else { "lines" };
        let are = if *damaged == 1 { "is" } else { "are" };
        (*damaged > 0).then(|| {
            format!("{damaged} damaged {lines} of {JOURNAL} ({damaged_bytes} bytes) {are} not in {PARQUET}")
        })
    }

    /// Returns what the file lacks because the race was killed while it wrote a line.
    fn cut(&self) -> Option<String> {
        (self.incomplete_bytes > 0).then(|| {
            format!(
                "the incomplete last line of {JOURNAL} ({} bytes) is not in {PARQUET}",
                self.incomplete_bytes
            )
        })
    }
}

fn count_lines(journal: &Path) -> io::Result<JournalLines> {
    read_lines(journal, |_, _| Ok(()))
}

/// Passes each readable line of a journal, as a row with its length, to `receive`. Only the last line can be
/// incomplete: without its end, it is left out, and its bytes are counted.
fn read_lines(
    journal: &Path,
    mut receive: impl FnMut(SeriesRow, usize) -> io::Result<()>,
) -> io::Result<JournalLines> {
    let mut reader = BufReader::new(durable::open_regular(journal)?);
    let (mut line, mut lines) = (Vec::new(), JournalLines::default());
    let mut decoder = HistogramDecoder::new();
    loop {
        let length = durable::read_line(&mut reader, &mut line)?;
        if line.last() != Some(&b'\n') && length < MAX_LINE_BYTES {
            lines.incomplete_bytes = length as u64;
            return Ok(lines);
        }
        if let Some(row) = lines.parse(&line, &mut decoder) {
            receive(row, length)?;
        }
    }
}

fn convert(journal: &Path, target: OutputFile) -> io::Result<(OutputFile, JournalLines)> {
    let mut writer = columns::begin(target, SCHEMA, columns::properties().build())?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    let lines = read_lines(journal, |row, length| {
        rows.push(row);
        bytes += length;
        if bytes >= ROW_GROUP_BYTES {
            bytes = 0;
            write_row_group(&mut writer, &mut rows)?;
        }
        Ok(())
    })?;
    write_row_group(&mut writer, &mut rows)?;
    Ok((writer.into_inner()?, lines))
}

fn write_row_group(
    writer: &mut SerializedFileWriter<OutputFile>,
    rows: &mut Vec<SeriesRow>,
) -> Result<(), ParquetError> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut row_group = writer.next_row_group()?;
    let text = |value: fn(&SeriesRow) -> &str| {
        rows.iter().map(|row| ByteArray::from(value(row))).collect::<Vec<_>>()
    };
    write::<ByteArrayType, _>(&mut row_group, "task", &text(|row| &row.task), None)?;
    write::<ByteArrayType, _>(&mut row_group, "operation", &text(|row| &row.operation), None)?;
    let is_sub_operation: Vec<bool> = rows.iter().map(|row| row.is_sub_operation).collect();
    write::<BoolType, _>(&mut row_group, "part", &is_sub_operation, None)?;
    let drivers: Vec<i32> = rows.iter().map(|row| row.driver.cast_signed()).collect();
    write::<Int32Type, _>(&mut row_group, "driver", &drivers, None)?;
    write_int64(&mut row_group, "second", rows, |row| row.second_index)?;
    write::<ByteArrayType, _>(&mut row_group, "sample_type", &text(|row| &row.sample_type), None)?;
    write_int64(&mut row_group, "operations", rows, |row| row.ended)?;
    write_int64(&mut row_group, "requests", rows, |row| row.requests)?;
    write_int64(&mut row_group, "errors", rows, |row| row.failed)?;
    write_int64(&mut row_group, "weight", rows, |row| row.weight)?;
    write_int64(&mut row_group, "failed_weight", rows, |row| row.failed_weight)?;
    write_int64(&mut row_group, "bytes_out", rows, |row| row.bytes_out)?;
    write_int64(&mut row_group, "bytes_in", rows, |row| row.bytes_in)?;
    let service_times: Result<Vec<ByteArray>, ParquetError> =
        rows.iter().map(|row| histogram(&row.service_time)).collect();
    write::<ByteArrayType, _>(&mut row_group, "service_time", &service_times?, None)?;
    write_histograms(&mut row_group, "latency", rows, |row| row.latency.as_deref())?;
    write_histograms(&mut row_group, "lateness", rows, |row| row.lateness.as_deref())?;
    write_histograms(&mut row_group, "failed_service_time", rows, |row| row.failed_service_time.as_deref())?;
    row_group.close()?;
    rows.clear();
    Ok(())
}

fn write_int64(
    row_group: &mut SerializedRowGroupWriter<'_, OutputFile>,
    name: &str,
    rows: &[SeriesRow],
    value: fn(&SeriesRow) -> u64,
) -> Result<(), ParquetError> {
    let values: Vec<i64> = rows.iter().map(|row| value(row).cast_signed()).collect();
    write::<Int64Type, _>(row_group, name, &values, None)
}

/// Writes an optional column of histograms.
fn write_histograms(
    row_group: &mut SerializedRowGroupWriter<'_, OutputFile>,
    name: &str,
    rows: &[SeriesRow],
    value: fn(&SeriesRow) -> Option<&str>,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = rows.iter().map(|row| i16::from(value(row).is_some())).collect();
    let histograms: Result<Vec<ByteArray>, ParquetError> =
        rows.iter().filter_map(value).map(histogram).collect();
    write::<ByteArrayType, _>(row_group, name, &histograms?, Some(&levels))
}

/// Converts a histogram of an intact row to a value of its column.
fn histogram(text: &str) -> Result<ByteArray, ParquetError> {
    let bytes = DurationHistogram::decode_base64(text);
    bytes.map(ByteArray::from).map_err(|error| ParquetError::General(error.to_string()))
}

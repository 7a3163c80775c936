//! `samples.parquet`: one row per operation, and one per sub-operation.
//!
//! A Parquet file ends with a footer that locates its row groups and without which it cannot be read. To keep all
//! complete row groups readable even if the process is killed, each row group is also added to the row group index,
//! `samples.directory`, after it has been written. When the race ends, the index is removed.
//! [`super::samples_recovery`] completes the file of a race that was killed or whose disk was full.
//! `docs/decisions/006-own-dictionary-pages.md` explains why the Parquet library is not used for this.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnDescPtr;

use crate::buffers::{LostSamples, MissingSamples};
use crate::catalog::{Catalog, OperationNames};
use crate::details::SampleBatch;
use crate::error::RecordError;
use crate::files::columns::{check_name, plain_text, write, write_dictionary};
use crate::files::durable::{self, OutputFile};
use crate::files::pending_details::PendingDetails;
use crate::files::row_group_index::{FOOTER_BEGIN, line_begin, line_end};
use crate::files::samples_recovery::{FooterPlacement, complete_samples};
use crate::files::samples_schema::{
    DETAILS, PARQUET, ROW_GROUP_INDEX, ROW_GROUP_NAMES, ROW_GROUP_ROWS, begin,
};
use crate::sample::Sample;

/// Age of the first collected sample at which the first row group is written that has neither all its rows nor all its
/// details, so that a kill loses little of a slow task.
const FIRST_AGE: Duration = Duration::from_secs(10);
/// By how much this age grows with each such row group. A day has about 1,220 of them instead of 8,640, because each
/// takes about 8 kB until the race ends.
const AGE_GROWTH: Duration = Duration::from_millis(100);

/// The samples file of a running race.
#[derive(Debug)]
pub struct SamplesFile {
    folder: PathBuf,
    writer: SerializedFileWriter<OutputFile>,
    row_group_index: OutputFile,
    /// The samples collected for the next row group.
    pending_samples: Vec<Sample>,
    /// Their details.
    pending_details: PendingDetails,
    /// Length of their names, in bytes.
    pending_names: usize,
    /// When the first of them was seen.
    pending_since: Option<Instant>,
    /// Number of row groups that were written because of the age of their samples.
    aged_groups: u32,
    /// Number of rows in the file.
    rows_written: u64,
    /// The samples in the file, by the position of their task in the plan. They are lost if the file is removed.
    written: BTreeMap<u32, SampleRange>,
    /// The samples that were not written because a write had failed.
    lost: LostSamples,
    /// Whether the last row group was written completely.
    intact: bool,
}

/// Samples of one task.
#[derive(Debug)]
struct SampleRange {
    /// Number of the samples.
    count: u64,
    /// When the operation of the first of them ended, in nanoseconds since the task began.
    from_ns: u64,
}

/// The samples file of a race that has ended.
#[derive(Debug)]
pub struct ClosedSamples {
    /// Number of rows in the file.
    pub rows: u64,
    /// The samples that are not in the file because it could not be written.
    pub lost: LostSamples,
    /// The error that a row group could not be written, or the file could not be completed.
    pub error: Option<RecordError>,
}

impl SamplesFile {
    /// Creates the file and its row group index.
    pub fn create(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join(PARQUET);
        let file = OutputFile::create(&path).map_err(|source| RecordError::file(&path, source))?;
        let writer = begin(file).map_err(|source| RecordError::parquet(&path, source))?;
        let path = folder.join(ROW_GROUP_INDEX);
        let row_group_index = OutputFile::create(&path).map_err(|source| RecordError::file(&path, source))?;
        row_group_index.lock().map_err(|source| RecordError::file(&path, source))?;
        Ok(Self {
            folder: folder.to_owned(),
            writer,
            row_group_index,
            pending_samples: Vec::new(),
            pending_details: PendingDetails::default(),
            pending_names: 0,
            pending_since: None,
            aged_groups: 0,
            rows_written: 0,
            written: BTreeMap::new(),
            lost: LostSamples::new(),
            intact: true,
        })
    }

    /// Adds samples, and writes a row group when there are enough.
    ///
    /// # Errors
    ///
    /// An error if the file cannot be written.
    pub fn append(&mut self, batch: &SampleBatch, catalog: &Catalog) -> Result<(), RecordError> {
        let mut added = 0;
        for sample in &batch.details {
            let Some(text) = sample.details.to_json() else { continue };
            if self.pending_details.is_full_with(text.len()) {
                self.pending_samples.extend_from_slice(&batch.samples[added..sample.position]);
                added = sample.position;
                self.flush(catalog).inspect_err(|_| self.lose(&batch.samples[added..]))?;
            }
            self.pending_details.add(self.pending_samples.len() + sample.position - added, text);
        }
        self.pending_samples.extend_from_slice(&batch.samples[added..]);
        self.pending_names += names_bytes(&batch.samples[added..], catalog);
        let is_full = self.pending_samples.len() >= ROW_GROUP_ROWS
            || self.pending_names >= ROW_GROUP_NAMES
            || self.pending_details.is_full();
        if is_full { self.flush(catalog) } else { Ok(()) }
    }

    /// Returns the time until the collected samples are to be written because of their age; `None` if there are none.
    pub fn due_in(&mut self, now: Instant) -> Option<Duration> {
        if self.pending_samples.is_empty() {
            return None;
        }
        let age = now.saturating_duration_since(*self.pending_since.get_or_insert(now));
        Some((FIRST_AGE + AGE_GROWTH.saturating_mul(self.aged_groups)).saturating_sub(age))
    }

    /// Writes the samples collected so far because of their age.
    ///
    /// # Errors
    ///
    /// An error if a file cannot be written.
    pub fn flush_aged(&mut self, catalog: &Catalog) -> Result<(), RecordError> {
        self.aged_groups += 1;
        self.flush(catalog)
    }

    /// Writes the samples collected so far as a row group, and adds it to the row group index.
    ///
    /// # Errors
    ///
    /// An error if a file cannot be written.
    pub fn flush(&mut self, catalog: &Catalog) -> Result<(), RecordError> {
        self.pending_since = None;
        self.pending_names = 0;
        if self.pending_samples.is_empty() {
            return Ok(());
        }
        let mut samples = std::mem::take(&mut self.pending_samples);
        let details = std::mem::take(&mut self.pending_details);
        let written = self.write_row_group(&samples, &details, catalog);
        match written {
            Ok(()) => self.count_written(&samples),
            Err(_) => self.lose(&samples),
        }
        samples.clear();
        self.pending_samples = samples;
        written
    }

    fn write_row_group(
        &mut self,
        samples: &[Sample],
        details: &PendingDetails,
        catalog: &Catalog,
    ) -> Result<(), RecordError> {
        // A row group that could not be written completely cannot be continued.
        self.intact = false;
        self.append_to_index(&line_begin(samples.len()))?;
        let result = write_rows(&mut self.writer, samples, details, catalog);
        let result = result.and_then(|()| self.writer.flush().map_err(ParquetError::from));
        result.map_err(|source| RecordError::parquet(&self.folder.join(PARQUET), source))?;
        self.append_row_group_to_index()?;
        self.intact = true;
        Ok(())
    }

    fn count_written(&mut self, samples: &[Sample]) {
        self.rows_written += samples.len() as u64;
        for of_task in samples.chunk_by(|one, next| one.task_index == next.task_index) {
            // They may come from several recorders, whose samples follow one another.
            let earliest_ns = of_task.iter().map(|sample| sample.times.done_ns).min().unwrap_or(u64::MAX);
            let none = SampleRange { count: 0, from_ns: u64::MAX };
            let range = self.written.entry(of_task[0].task_index).or_insert(none);
            range.count += of_task.len() as u64;
            range.from_ns = range.from_ns.min(earliest_ns);
        }
    }

    /// Counts samples that are not written, because an earlier write has failed.
    pub fn lose(&mut self, samples: &[Sample]) {
        for sample in samples {
            let lost = self.lost.entry(sample.task_index).or_default();
            lost.merge(MissingSamples::lost(sample.times.done_ns));
        }
    }

    fn append_row_group_to_index(&mut self) -> Result<(), RecordError> {
        let Some(metadata) = self.writer.flushed_row_groups().last() else { return Ok(()) };
        let (end, checksum) = (self.writer.bytes_written() as u64, self.writer.inner().checksum());
        let line = line_end(metadata, end, checksum);
        let line = line.map_err(|source| RecordError::parquet(&self.folder.join(ROW_GROUP_INDEX), source))?;
        self.append_to_index(&line)
    }

    fn append_to_index(&mut self, text: &str) -> Result<(), RecordError> {
        let written = self.row_group_index.write_all(text.as_bytes());
        written.map_err(|source| RecordError::file(&self.folder.join(ROW_GROUP_INDEX), source))
    }

    /// Writes the remaining samples and completes the file, even if an earlier write failed. `lost_before` samples of the
    /// race are neither in the file nor in its count of lost ones.
    pub fn close(mut self, catalog: &Catalog, lost_before: u64) -> ClosedSamples {
        let flushed = if self.intact { self.flush(catalog) } else { Ok(()) };
        let (rows, mut lost) = (self.rows_written, std::mem::take(&mut self.lost));
        let path = self.folder.join(PARQUET);
        let file = self.writer.inner();
        if let Err(source) = file.check_name(&path).and_then(|()| file.check_content(&path)) {
            // What was written cannot be read any more.
            for (task_index, SampleRange { count, from_ns }) in self.written {
                let written = MissingSamples { lost: count, ..MissingSamples::lost(from_ns) };
                lost.entry(task_index).or_default().merge(written);
            }
            let error = flushed.err().unwrap_or_else(|| RecordError::file(&path, source));
            return ClosedSamples { rows: 0, lost, error: Some(error) };
        }
        let lost_count: u64 = lost.values().map(|samples| samples.lost).sum();
        let (rows, error) = match self.complete(lost_before + lost_count) {
            Ok(completed) => (completed.unwrap_or(rows), flushed.err()),
            // The row groups are in the file, and can be completed later.
            Err(error) => (rows, flushed.err().or(Some(error))),
        };
        ClosedSamples { rows, lost, error }
    }

    /// Completes the file of a race that has lost `lost` samples. Returns the number of its rows if it was completed from the row
    /// group index.
    fn complete(mut self, lost: u64) -> Result<Option<u64>, RecordError> {
        // A part of the footer must not be mistaken for a damaged row group.
        self.intact = self.intact && self.append_to_index(FOOTER_BEGIN).is_ok();
        let Self { folder, writer, row_group_index, intact, .. } = self;
        let index_path = folder.join(ROW_GROUP_INDEX);
        let index_name = row_group_index.check_name(&index_path);
        // Releases the lock for the recovery. Dropping the writer does not write anything.
        drop(row_group_index);
        let is_closed = |writer: SerializedFileWriter<OutputFile>| {
            writer.into_inner().is_ok_and(|file| file.sync().is_ok())
        };
        if Some(writer).filter(|_| intact).is_some_and(is_closed) {
            let removed = index_name.and_then(|()| durable::remove(&index_path));
            return removed.map(|()| None).map_err(|source| RecordError::file(&index_path, source));
        }
        complete_samples(&folder, FooterPlacement::AtItsEnd { lost })
    }
}

/// Returns the length of the names of samples, in bytes.
fn names_bytes(samples: &[Sample], catalog: &Catalog) -> usize {
    let operation = |sample: &Sample| (sample.task_index, sample.sub_operation);
    let same = samples.chunk_by(|one, next| operation(one) == operation(next));
    let bytes = |same: &[Sample]| {
        let names = catalog.names(same[0].task_index, same[0].sub_operation);
        let unit = &catalog.tasks[same[0].task_index as usize].unit;
        same.len() * (names.task.len() + names.operation.len() + names.operation_type.len() + unit.len())
    };
    same.map(bytes).sum()
}

fn write_rows(
    writer: &mut SerializedFileWriter<OutputFile>,
    rows: &[Sample],
    details: &PendingDetails,
    catalog: &Catalog,
) -> Result<(), ParquetError> {
    let schema = writer.schema_descr().columns().to_vec();
    let names = |row: &Sample| -> OperationNames<'_> { catalog.names(row.task_index, row.sub_operation) };
    let operation = |row: &Sample| (row.task_index, row.sub_operation);
    let mut row_group = RowGroupWriter { writer: writer.next_row_group()?, columns: schema.iter(), rows };
    row_group.text("task", |row| row.task_index, |row| names(row).task)?;
    row_group.text("operation", operation, |row| names(row).operation)?;
    row_group.text("operation_type", operation, |row| names(row).operation_type)?;
    row_group.bool("part", |row| row.sub_operation.is_some())?;
    row_group.int32("client", |row| row.client_number.cast_signed())?;
    row_group.constant_int32("driver", 0)?;
    row_group.text("sample_type", |row| row.sample_type.index(), |row| row.sample_type.name())?;
    row_group.int64("due_ns", |row| row.times.due_ns.cast_signed())?;
    row_group.int64("sent_ns", |row| row.times.service_start_ns.cast_signed())?;
    row_group.int64("done_ns", |row| row.times.done_ns.cast_signed())?;
    row_group.int64("processing_ns", |row| row.times.processing_ns.cast_signed())?;
    row_group.int64("weight", |row| row.result.weight.cast_signed())?;
    row_group.text("unit", |row| row.task_index, |row| &catalog.tasks[row.task_index as usize].unit)?;
    row_group.bool("success", Sample::is_success)?;
    row_group.int32("status", |row| i32::from(row.result.status))?;
    row_group.text("error_class", |row| row.result.error_class, |row| row.result.error_class.name())?;
    row_group.int64("took_ms", |row| row.result.took_ms)?;
    row_group.int64("bytes_out", |row| row.traffic.bytes_out.cast_signed())?;
    row_group.int64("bytes_in", |row| row.traffic.bytes_in.cast_signed())?;
    row_group.details(details)?;
    row_group.writer.close()?;
    Ok(())
}

/// Writes a row group column by column, in the order of the schema. Parquet's integers are signed, but nanoseconds
/// would overflow only after 292 years.
struct RowGroupWriter<'a, 'b> {
    writer: SerializedRowGroupWriter<'a, OutputFile>,
    /// The columns that have not been written yet.
    columns: std::slice::Iter<'b, ColumnDescPtr>,
    rows: &'b [Sample],
}

impl RowGroupWriter<'_, '_> {
    /// Advances to the next column of the schema and checks that it has this name.
    fn next_descriptor(&mut self, name: &str) -> Result<ColumnDescPtr, ParquetError> {
        let missing = || ParquetError::General(format!("the schema has no column {name}"));
        let column = self.columns.next().ok_or_else(missing)?;
        check_name(column, name)?;
        Ok(column.clone())
    }

    fn write<T: DataType>(
        &mut self,
        name: &str,
        value: impl Fn(&Sample) -> T::T,
    ) -> Result<(), ParquetError> {
        self.next_descriptor(name)?;
        write::<T, _>(&mut self.writer, name, &self.rows.iter().map(value).collect::<Vec<_>>(), None)
    }

    fn bool(&mut self, name: &str, value: impl Fn(&Sample) -> bool) -> Result<(), ParquetError> {
        self.write::<BoolType>(name, value)
    }

    fn int32(&mut self, name: &str, value: impl Fn(&Sample) -> i32) -> Result<(), ParquetError> {
        self.write::<Int32Type>(name, value)
    }

    fn int64(&mut self, name: &str, value: impl Fn(&Sample) -> i64) -> Result<(), ParquetError> {
        self.write::<Int64Type>(name, value)
    }

    /// Writes a column with the same value in every row.
    fn constant_int32(&mut self, name: &str, value: i32) -> Result<(), ParquetError> {
        let column = self.next_descriptor(name)?;
        let indexes = vec![0; self.rows.len()];
        write_dictionary(&mut self.writer, column, &[value.to_le_bytes().to_vec()], &indexes, None)
    }

    /// Writes the column with the details.
    fn details(&mut self, details: &PendingDetails) -> Result<(), ParquetError> {
        self.next_descriptor(DETAILS)?;
        let levels = details.levels(self.rows.len());
        write::<ByteArrayType, _>(&mut self.writer, DETAILS, &details.texts, Some(&levels))
    }

    /// Writes a text column; rows with equal keys must have equal texts.
    fn text<'c, K: PartialEq>(
        &mut self,
        name: &str,
        key: impl Fn(&Sample) -> K,
        value: impl Fn(&Sample) -> &'c str,
    ) -> Result<(), ParquetError> {
        let column = self.next_descriptor(name)?;
        if let Some(Dictionary { values, indexes }) = Dictionary::of(self.rows, key, &value) {
            // A text that all rows have can be read without the rows.
            let constant = self.rows.first().filter(|_| values.len() == 1).map(|row| {
                let text = Some(ByteArray::from(value(row)));
                Statistics::byte_array(text.clone(), text, Some(1), Some(0), false)
            });
            return write_dictionary(&mut self.writer, column, &values, &indexes, constant);
        }
        let texts: Vec<_> = self.rows.iter().map(|row| ByteArray::from(value(row))).collect();
        write::<ByteArrayType, _>(&mut self.writer, name, &texts, None)
    }
}

/// The values of a text column that has at most 256 distinct ones.
struct Dictionary {
    /// The values in plain encoding.
    values: Vec<Vec<u8>>,
    /// For each row, the index of its value.
    indexes: Vec<u8>,
}

impl Dictionary {
    /// Builds the dictionary of a column, or returns `None` if it has too many distinct values. Rows with equal keys
    /// must have equal texts.
    fn of<'c, K: PartialEq>(
        rows: &[Sample],
        key: impl Fn(&Sample) -> K,
        value: impl Fn(&Sample) -> &'c str,
    ) -> Option<Self> {
        let (mut keys, mut values, mut indexes) = (Vec::new(), Vec::new(), Vec::with_capacity(rows.len()));
        let mut last = 0;
        for row in rows {
            let key = key(row);
            if keys.get(last) != Some(&key) {
                last = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                    keys.push(key);
                    values.push(plain_text(value(row)));
                    keys.len() - 1
                });
            }
            indexes.push(u8::try_from(last).ok()?);
        }
        Some(Self { values, indexes })
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;
    use crate::catalog::TaskInfo;
    use crate::column_reader::{Rows, TextColumn};
    use crate::files::fixtures::{catalog, sample};
    use crate::sample::OperationTimes;

    fn batch(samples: Vec<Sample>) -> SampleBatch {
        SampleBatch { samples, details: Vec::new() }
    }

    #[test]
    fn files_that_were_removed_or_replaced_meanwhile_are_an_error() {
        for name in [PARQUET, ROW_GROUP_INDEX] {
            for is_replaced in [false, true] {
                let (folder, catalog) = (tempfile::tempdir().unwrap(), catalog());
                let mut file = SamplesFile::create(folder.path()).unwrap();
                file.append(&batch(vec![sample(); 10]), &catalog).unwrap();
                let path = folder.path().join(name);
                std::fs::remove_file(&path).unwrap();
                if is_replaced {
                    std::fs::write(&path, b"other").unwrap();
                }
                let closed = file.close(&catalog, 0);
                let is_lost = name == PARQUET;
                assert_eq!(closed.rows, if is_lost { 0 } else { 10 });
                assert_eq!(closed.lost.get(&0).map(|lost| lost.lost), is_lost.then_some(10));
                assert!(closed.error.unwrap().to_string().contains(name));
                assert_eq!(std::fs::read(&path).ok(), is_replaced.then(|| b"other".to_vec()));
            }
        }
    }

    #[test]
    fn a_text_that_all_rows_have_is_known_without_the_rows() {
        let (folder, mut catalog) = (tempfile::tempdir().unwrap(), catalog());
        catalog.tasks.push(TaskInfo { name: "other".into(), ..TaskInfo::default() });
        let mut file = SamplesFile::create(folder.path()).unwrap();
        file.append(&batch(vec![sample(); 10]), &catalog).unwrap();
        file.append(&batch(vec![Sample { task_index: 1, ..sample() }]), &catalog).unwrap();
        file.close(&catalog, 0);
        let file = SerializedFileReader::try_from(folder.path().join(PARQUET).as_path()).unwrap();
        let row_group = file.get_row_group(0).unwrap();
        let rows = Rows::all(row_group.as_ref()).unwrap();
        assert!(
            matches!(rows.texts("sample_type").unwrap(), TextColumn::Constant(text) if text.data() == b"normal")
        );
        assert!(matches!(rows.texts("task").unwrap(), TextColumn::PerRow(texts) if texts.len() == 11));
    }

    #[test]
    fn the_loss_of_a_full_disk_is_that_of_all_tasks() {
        let (folder, catalog) = (tempfile::tempdir().unwrap(), catalog());
        let mut file = SamplesFile::create(folder.path()).unwrap();
        file.append(&batch(vec![sample(); 10]), &catalog).unwrap();
        file.flush(&catalog).unwrap();
        // As if the disk were full while a row group of five samples is written, and seven of another task follow.
        file.append_to_index(&line_begin(5)).unwrap();
        file.intact = false;
        file.lose(&[sample(); 5]);
        file.lose(&[Sample { task_index: 1, ..sample() }; 7]);
        let closed = file.close(&catalog, 30);
        assert_eq!((closed.rows, closed.lost[&0].lost, closed.lost[&1].lost), (10, 5, 7));
        let losses = std::fs::read_to_string(folder.path().join("recovery.json")).unwrap();
        assert!(losses.contains("[\"42 samples are lost, because"), "{losses}");
    }

    #[test]
    fn samples_are_due_at_an_age_that_grows_with_the_number_of_such_row_groups() {
        let (folder, catalog, began) = (tempfile::tempdir().unwrap(), catalog(), Instant::now());
        let mut file = SamplesFile::create(folder.path()).unwrap();
        let second = Duration::from_secs(1);
        assert_eq!(file.due_in(began), None);
        file.append(&batch(vec![sample(); 3]), &catalog).unwrap();
        assert_eq!(file.due_in(began), Some(10 * second));
        file.append(&batch(vec![sample(); 3]), &catalog).unwrap();
        assert_eq!(file.due_in(began + 9 * second), Some(second));
        // The end of a task.
        file.flush(&catalog).unwrap();
        assert_eq!(file.due_in(began + 9 * second), None);
        let written = |file: &mut SamplesFile, now| {
            file.append(&batch(vec![sample(); 2]), &catalog).unwrap();
            let due = now + file.due_in(now).unwrap();
            assert_eq!(file.due_in(due), Some(Duration::ZERO));
            file.flush_aged(&catalog).unwrap();
            due
        };
        let third = (0..3).fold(began, |now, _| written(&mut file, now));
        assert_eq!(third - began, Duration::from_millis(10_000 + 10_100 + 10_200));
        // Near the end of a day.
        file.aged_groups = 1_218;
        assert_eq!(written(&mut file, began) - began, Duration::from_millis(131_800));
        // The race is killed.
        drop(file);
        assert_eq!(complete_samples(folder.path(), FooterPlacement::Beside).unwrap(), Some(6 + 2 * 4));
    }

    /// The samples of another recorder follow, although their operations ended earlier.
    #[test]
    fn a_loss_begins_with_the_operation_that_ended_first() {
        let (folder, catalog) = (tempfile::tempdir().unwrap(), catalog());
        let mut file = SamplesFile::create(folder.path()).unwrap();
        let ended =
            |done_ns| Sample { times: OperationTimes { done_ns, ..OperationTimes::default() }, ..sample() };
        file.append(&batch(vec![ended(50), ended(60), ended(20), ended(30)]), &catalog).unwrap();
        file.flush(&catalog).unwrap();
        std::fs::remove_file(folder.path().join(PARQUET)).unwrap();
        let lost = file.close(&catalog, 0).lost[&0];
        assert_eq!((lost.lost, lost.from_ns), (4, Some(20)));
    }

    #[test]
    fn a_file_that_was_changed_in_place_is_an_error() {
        let (cut, zeros) =
            (|content: &mut Vec<u8>| content.truncate(10), |content: &mut Vec<u8>| content.fill(0));
        for change in [cut as fn(&mut Vec<u8>), zeros, |content| content[20] ^= 1, |content| content.push(1)]
        {
            let (folder, catalog) = (tempfile::tempdir().unwrap(), catalog());
            let mut file = SamplesFile::create(folder.path()).unwrap();
            file.append(&batch(vec![sample(); 10]), &catalog).unwrap();
            file.flush(&catalog).unwrap();
            let path = folder.path().join(PARQUET);
            let mut content = std::fs::read(&path).unwrap();
            change(&mut content);
            std::fs::write(&path, &content).unwrap();
            let closed = file.close(&catalog, 0);
            assert_eq!((closed.rows, closed.lost[&0].lost), (0, 10));
            let error = closed.error.unwrap().to_string();
            assert!(error.contains("samples.parquet: another program has changed it"), "{error}");
            // What is left can be completed by a recovery.
            assert_eq!(std::fs::read(&path).unwrap(), content);
            assert!(folder.path().join(ROW_GROUP_INDEX).exists());
        }
    }

    #[test]
    fn the_file_is_completed_although_its_last_row_group_cannot_be_written() {
        let (folder, catalog) = (tempfile::tempdir().unwrap(), catalog());
        let mut file = SamplesFile::create(folder.path()).unwrap();
        file.append(&batch(vec![sample(); 10]), &catalog).unwrap();
        file.flush(&catalog).unwrap();
        // Every write to this device fails as if the disk were full.
        file.row_group_index = OutputFile::create(Path::new("/dev/full")).unwrap();
        file.append(&batch(vec![sample(); 5]), &catalog).unwrap();
        let closed = file.close(&catalog, 0);
        assert!(closed.error.is_some(), "five samples are not in the file");
        assert_eq!((closed.rows, closed.lost[&0].lost), (10, 5));
        let reader = SerializedFileReader::try_from(folder.path().join(PARQUET).as_path()).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 10);
        assert!(!folder.path().join(ROW_GROUP_INDEX).exists());
    }
}

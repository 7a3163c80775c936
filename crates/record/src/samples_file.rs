//! `samples.parquet`: one row per operation, and one per operation within it.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::Encoding;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::RecordError;
use crate::collector::{Names, TaskInfo};
use crate::columns::{self, Group, write};
use crate::sample::Sample;

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

/// The file while the race runs.
#[derive(Debug)]
pub struct SamplesFile {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    rows: Vec<Sample>,
    written: u64,
}

impl SamplesFile {
    /// Creates the file.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let mut properties = columns::properties();
        for column in DELTA {
            let column = ColumnPath::from(column);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
        let writer = columns::create(path, SCHEMA, properties.build())?;
        Ok(Self { path: path.to_owned(), writer, rows: Vec::new(), written: 0 })
    }

    /// Adds samples; writes them when enough are there.
    pub fn append(&mut self, samples: &[Sample], names: &Names) -> Result<(), RecordError> {
        self.rows.extend_from_slice(samples);
        if self.rows.len() >= ROW_GROUP { self.flush(names) } else { Ok(()) }
    }

    /// Writes what was gathered.
    pub fn flush(&mut self, names: &Names) -> Result<(), RecordError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let result = write_rows(&mut self.writer, &self.rows, names);
        self.written += self.rows.len() as u64;
        self.rows.clear();
        result.map_err(|source| RecordError::parquet(&self.path, source))
    }

    /// Completes the file; returns the number of its rows.
    pub fn close(self) -> Result<u64, RecordError> {
        let Self { path, writer, written, .. } = self;
        writer.close().map_err(|source| RecordError::parquet(&path, source))?;
        Ok(written)
    }
}

fn write_rows(
    writer: &mut SerializedFileWriter<File>,
    rows: &[Sample],
    names: &Names,
) -> Result<(), ParquetError> {
    let names = Columns::of(names);
    let mut group = writer.next_row_group()?;
    let text = |group: &mut Group, value: &dyn Fn(&Sample) -> ByteArray| {
        write::<ByteArrayType>(group, &rows.iter().map(value).collect::<Vec<_>>(), None)
    };
    text(&mut group, &|row| names.task[row.task as usize].clone())?;
    text(&mut group, &|row| names.operations(row)[0].clone())?;
    text(&mut group, &|row| names.operations(row)[1].clone())?;
    write::<BoolType>(&mut group, &rows.iter().map(|row| row.part > 0).collect::<Vec<_>>(), None)?;
    write::<Int32Type>(
        &mut group,
        &rows.iter().map(|row| row.client.cast_signed()).collect::<Vec<_>>(),
        None,
    )?;
    write::<Int32Type>(&mut group, &vec![0; rows.len()], None)?;
    let (warmup, normal) = (ByteArray::from("warmup"), ByteArray::from("normal"));
    text(&mut group, &|row| [&warmup, &normal][row.sample_type.index()].clone())?;
    for value in [Sample::due, Sample::sent, Sample::done, Sample::processing, Sample::work] {
        write::<Int64Type>(&mut group, &rows.iter().map(value).collect::<Vec<_>>(), None)?;
    }
    text(&mut group, &|row| names.unit[row.task as usize].clone())?;
    write::<BoolType>(&mut group, &rows.iter().map(|row| row.success).collect::<Vec<_>>(), None)?;
    write::<Int32Type>(&mut group, &rows.iter().map(|row| i32::from(row.status)).collect::<Vec<_>>(), None)?;
    text(&mut group, &|row| ByteArray::from(row.error_class.name()))?;
    for value in [Sample::took, Sample::out, Sample::received] {
        write::<Int64Type>(&mut group, &rows.iter().map(value).collect::<Vec<_>>(), None)?;
    }
    group.close()?;
    Ok(())
}

/// The names of all tasks and parts in the form the file wants; copies share their memory.
struct Columns {
    task: Vec<ByteArray>,
    /// Name and type of the operation.
    operation: Vec<[ByteArray; 2]>,
    part: Vec<[ByteArray; 2]>,
    unit: Vec<ByteArray>,
}

impl Columns {
    fn of(names: &Names) -> Self {
        let all = |value: fn(&TaskInfo) -> &str| {
            names.tasks.iter().map(|task| ByteArray::from(value(task))).collect()
        };
        let pair = |name: &str, kind: &str| [ByteArray::from(name), ByteArray::from(kind)];
        let operation = names.tasks.iter().map(|task| pair(&task.operation, &task.operation_type));
        let part = names.parts.iter().map(|part| pair(&part.operation, &part.operation_type));
        Self {
            task: all(|task| &task.task),
            operation: operation.collect(),
            part: part.collect(),
            unit: all(|task| &task.unit),
        }
    }

    /// Name and type of the operation of a row.
    fn operations(&self, row: &Sample) -> &[ByteArray; 2] {
        match row.part {
            0 => &self.operation[row.task as usize],
            part => &self.part[part as usize - 1],
        }
    }
}

/// Columns as Parquet's signed integers; no race lasts the 292 years after which they would wrap.
impl Sample {
    fn due(&self) -> i64 {
        self.due_ns.cast_signed()
    }

    fn sent(&self) -> i64 {
        self.sent_ns.cast_signed()
    }

    fn done(&self) -> i64 {
        self.done_ns.cast_signed()
    }

    fn processing(&self) -> i64 {
        self.processing_ns.cast_signed()
    }

    fn work(&self) -> i64 {
        self.weight.cast_signed()
    }

    fn took(&self) -> i64 {
        self.took_ms
    }

    fn out(&self) -> i64 {
        self.bytes_out.cast_signed()
    }

    fn received(&self) -> i64 {
        self.bytes_in.cast_signed()
    }
}

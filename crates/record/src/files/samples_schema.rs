//! The names, columns and encodings of `samples.parquet`.

use std::io::Write;

use parquet::basic::Encoding;
use parquet::errors::ParquetError;
use parquet::file::properties::EnabledStatistics;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::files::columns;

/// Name of the file.
pub const PARQUET: &str = "samples.parquet";
/// Name of the row group index.
pub const ROW_GROUP_INDEX: &str = "samples.directory";
/// Number of rows in a row group, which are collected in memory (about 20 MB).
pub const ROW_GROUP_ROWS: usize = 131_072;
/// Length of the names of tasks and operations in the rows of a row group, in bytes, from which on it is written.
pub const ROW_GROUP_NAMES: usize = 32 << 20;

/// The columns. `part` is whether the row is a sub-operation; `driver` is the number of the load generator, which is
/// always 0 today. `details` is the text of a JSON object, or null.
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
    optional binary details (STRING);
}";

/// The columns that are delta-encoded, because the differences between rows are smaller than the values.
const DELTA: [&str; 8] =
    ["client", "due_ns", "sent_ns", "done_ns", "processing_ns", "took_ms", "bytes_out", "bytes_in"];

/// The column with the details, whose values are long and rarely repeat.
pub const DETAILS: &str = "details";

/// Returns a file without rows.
pub fn empty_file() -> Result<Vec<u8>, ParquetError> {
    begin(Vec::new())?.into_inner()
}

/// Begins a samples file.
pub fn begin<W: Write + Send>(file: W) -> Result<SerializedFileWriter<W>, ParquetError> {
    let mut properties = columns::properties();
    for column in DELTA {
        let column = ColumnPath::from(column);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    let details = ColumnPath::from(DETAILS);
    properties = properties
        .set_column_dictionary_enabled(details.clone(), false)
        .set_column_statistics_enabled(details, EnabledStatistics::None);
    columns::begin(file, SCHEMA, properties.build())
}

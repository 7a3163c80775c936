//! How much of the service time the engine reports as its own (`took`), from the samples of a race.

use std::collections::BTreeMap;
use std::path::Path;

use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use serde::Serialize;

use crate::column_reader::{ReadError, Texts, apart, booleans, integers};
use crate::error::RecordError;
use crate::files::durable;

/// Times of the measured operations of a task that succeeded and for which the engine reported `took`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EngineTime {
    /// Number of operations.
    pub operations: u64,
    /// Sum of what the engine reports, in whole milliseconds of each operation.
    pub took_ms: u64,
    /// Sum of their service times in nanoseconds.
    pub service_ns: u64,
}

/// Returns the times of each task in `samples.parquet`, from at most `most_groups` of its row groups, which are spread
/// evenly over the file: an hour of operations need not be read to know a mean.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn engine_times(path: &Path, most_groups: usize) -> Result<BTreeMap<String, EngineTime>, RecordError> {
    let read = apart(|| read(path, most_groups));
    read.map_err(|error| RecordError::Unread { path: path.display().to_string(), reason: error.to_string() })
}

fn read(path: &Path, most_groups: usize) -> Result<BTreeMap<String, EngineTime>, ReadError> {
    let reader = SerializedFileReader::new(durable::open_regular(path)?)?;
    let groups = reader.num_row_groups();
    let chosen = groups.min(most_groups);
    let mut found = BTreeMap::new();
    for number in 0..chosen {
        add(reader.get_row_group(number * groups / chosen)?.as_ref(), &mut found)?;
    }
    Ok(found)
}

fn add(row_group: &dyn RowGroupReader, found: &mut BTreeMap<String, EngineTime>) -> Result<(), ReadError> {
    let took = integers(row_group, "took_ms")?;
    let sent = integers(row_group, "sent_ns")?;
    let done = integers(row_group, "done_ns")?;
    let parts = booleans(row_group, "part")?;
    let successes = booleans(row_group, "success")?;
    let kinds = Texts::read(row_group, "sample_type")?;
    let names = Texts::read(row_group, "task")?;
    for row in 0..took.len() {
        let Ok(took_ms) = u64::try_from(took[row]) else { continue };
        if parts[row] || !successes[row] || kinds.get(row) != b"normal" {
            continue;
        }
        let Ok(name) = std::str::from_utf8(names.get(row)) else { continue };
        let time = match found.get_mut(name) {
            Some(time) => time,
            None => found.entry(name.to_owned()).or_default(),
        };
        time.operations += 1;
        time.took_ms = time.took_ms.saturating_add(took_ms);
        let service_ns = u64::try_from(done[row].saturating_sub(sent[row])).unwrap_or(0);
        time.service_ns = time.service_ns.saturating_add(service_ns);
    }
    Ok(())
}

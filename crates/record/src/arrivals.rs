//! When operations were due and when they were done, from the samples of a race.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde::Serialize;

use crate::column_reader::{ReadError, Rows, apart};
use crate::error::RecordError;
use crate::files::durable;
use crate::units::SECOND_NS;

/// Operations of a task that were due, and that were done, in each of its parts of the same length.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskArrivals {
    /// Operations that were due.
    pub due: Vec<u64>,
    /// Operations that ended.
    pub done: Vec<u64>,
}

/// Returns the arrivals of these tasks from `samples.parquet`, in parts of `length_s`; `None` if the file has more than
/// `most_rows`.
///
/// # Errors
///
/// An error if the file does not exist, cannot be read or is damaged.
pub fn arrivals(
    path: &Path,
    tasks: &BTreeSet<String>,
    length_s: u64,
    most_rows: u64,
) -> Result<Option<BTreeMap<String, TaskArrivals>>, RecordError> {
    let read = apart(|| read(path, tasks, length_s, most_rows));
    read.map_err(|error| RecordError::Unread { path: path.display().to_string(), reason: error.to_string() })
}

fn read(
    path: &Path,
    tasks: &BTreeSet<String>,
    length_s: u64,
    most_rows: u64,
) -> Result<Option<BTreeMap<String, TaskArrivals>>, ReadError> {
    let reader = SerializedFileReader::new(durable::open_regular(path)?)?;
    let rows = reader.metadata().file_metadata().num_rows();
    if u64::try_from(rows).is_ok_and(|rows| rows > most_rows) {
        return Ok(None);
    }
    let part_ns = length_s.max(1).saturating_mul(SECOND_NS);
    let mut found: BTreeMap<_, _> =
        tasks.iter().map(|task| (task.clone(), TaskArrivals::default())).collect();
    for number in 0..reader.num_row_groups() {
        let row_group = reader.get_row_group(number)?;
        let rows = Rows::all(row_group.as_ref())?;
        let names = rows.texts("task")?;
        let parts = rows.booleans("part")?;
        let due = rows.integers("due_ns")?;
        let done = rows.integers("done_ns")?;
        for (row, (due, done)) in due.into_iter().zip(done).enumerate() {
            let name = std::str::from_utf8(names.get(row)).ok();
            let task = name.filter(|_| !parts[row]).and_then(|name| found.get_mut(name));
            if let Some(task) = task {
                count(&mut task.due, due, part_ns);
                count(&mut task.done, done, part_ns);
            }
        }
    }
    Ok(Some(found))
}

/// Longest list of parts; a time in a damaged file may be any number.
const MOST_PARTS: u64 = 1_000_000;

fn count(parts: &mut Vec<u64>, time_ns: i64, length_ns: u64) {
    let part = (u64::try_from(time_ns).unwrap_or_default() / length_ns).min(MOST_PARTS - 1);
    let Ok(part) = usize::try_from(part) else { return };
    if part >= parts.len() {
        parts.resize(part + 1, 0);
    }
    parts[part] += 1;
}

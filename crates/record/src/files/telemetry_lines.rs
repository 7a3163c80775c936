//! The lines of `telemetry.jsonl`, the journal of `telemetry.parquet`.
//!
//! Each line is a series, the samples of one instant, or the times of a task that has ended. Samples refer to their
//! series by its number, so that a line has about ten bytes per value.

use std::io::{self, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::durable::{self, MAX_LINE_BYTES};
use crate::telemetry::{SeriesNumber, TaskWindow, TelemetrySeries};

/// Name of the journal.
pub const JOURNAL: &str = "telemetry.jsonl";

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TelemetryLine {
    /// A series to which later lines refer.
    Series {
        /// Its number.
        number: SeriesNumber,
        /// The series.
        series: TelemetrySeries,
    },
    /// The samples of one instant.
    Samples {
        /// Nanoseconds since 1970.
        time: i64,
        /// Values by series.
        values: Vec<(SeriesNumber, Option<f64>)>,
    },
    /// A task that has ended.
    Task(TaskWindow),
}

/// What of a journal is not in its lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalLosses {
    /// Lines that are damaged.
    pub damaged: u64,
    /// Bytes of these lines.
    pub damaged_bytes: u64,
    /// Bytes of the last line, if it has no end.
    pub incomplete_bytes: u64,
}

/// Passes each readable line of a journal to `receive`. Only the last line can be incomplete: without its end, it is
/// left out.
///
/// # Errors
///
/// An error if the journal cannot be read, and those of `receive`.
pub fn read_lines(
    journal: &Path,
    mut receive: impl FnMut(TelemetryLine) -> io::Result<()>,
) -> io::Result<JournalLosses> {
    let mut reader = BufReader::new(durable::open_regular(journal)?);
    let (mut line, mut losses) = (Vec::new(), JournalLosses::default());
    loop {
        let length = durable::read_line(&mut reader, &mut line)?;
        if line.last() != Some(&b'\n') && length < MAX_LINE_BYTES {
            losses.incomplete_bytes = length as u64;
            return Ok(losses);
        }
        if let Ok(line) = serde_json::from_slice(&line) {
            receive(line)?;
        } else {
            losses.damaged += 1;
            losses.damaged_bytes += length as u64;
        }
    }
}

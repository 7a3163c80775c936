//! Reads GC logs.

use std::path::PathBuf;

use pacenote_evidence::gc::log::{JvmFacts, Pause, Span};
use pacenote_evidence::gc::statistics::Statistics;
use pacenote_evidence::openj9::OpenJ9Report;
use pacenote_evidence::{GcLog, read_gc_logs};
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::core_error;
use crate::json::to_json;
use crate::reader_thread::on_reader_thread;

/// A pause: begin in seconds since 1970, length in milliseconds, and position of its kind among the names.
type PauseOfKind = (f64, f64, usize);

/// The GC logs of all runs of a JVM in some files.
#[pyclass(frozen, name = "GcLogs")]
pub struct PyGcLogs {
    logs: Vec<GcLog>,
    input: String,
}

/// One log, with the statistics of a window.
#[derive(Serialize)]
struct Document<'a> {
    jvm: &'a JvmFacts,
    /// The container that wrote the lines.
    container: Option<&'a str>,
    /// Wall-clock time of the first and the last line in seconds since 1970.
    start: Option<f64>,
    end: Option<f64>,
    statistics: Statistics,
    /// What only logs of OpenJ9 contain.
    openj9: Option<OpenJ9Report>,
}

#[pymethods]
impl PyGcLogs {
    /// Reads files that belong together.
    #[new]
    fn new(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<Self> {
        on_reader_thread(py, |proceed| {
            let read = read_gc_logs(&files, proceed).map_err(|error| error.to_string())?;
            let input = to_json(&read.input).map_err(|error| error.to_string())?;
            Ok::<_, String>(Self { logs: read.logs, input })
        })
    }

    /// What was read, as JSON.
    #[getter]
    fn input(&self) -> &str {
        &self.input
    }

    fn __len__(&self) -> usize {
        self.logs.len()
    }

    /// Returns a log with the statistics of all of it, as JSON.
    fn log(&self, py: Python<'_>, index: usize) -> PyResult<String> {
        let log = self.at(index)?;
        on_reader_thread(py, |_| document(log, log.statistics(), None))
    }

    /// Returns the wall-clock times of the first and the last line of each log, in seconds since 1970, and whether it is a
    /// log of OpenJ9, whose times are local.
    fn times(&self) -> Vec<(Option<f64>, Option<f64>, bool)> {
        let times = |log: &GcLog| {
            let span = log.span;
            let wall = |select: fn(Span) -> u64| span.and_then(|span| wall_s(log, select(span)));
            (wall(|span| span.start_ns), wall(|span| span.end_ns), log.openj9.is_some())
        };
        self.logs.iter().map(times).collect()
    }

    /// Returns a log with the statistics of a window, in seconds since 1970, as JSON.
    fn between(&self, py: Python<'_>, index: usize, start: f64, end: f64) -> PyResult<String> {
        let log = self.at(index)?;
        let Some(epoch_ns) = log.epoch_ns else {
            return Err(core_error(
                "the lines of the log have no wall-clock times; add the decorator utctime to -Xlog",
            ));
        };
        let window = Span { start_ns: on_clock(start, epoch_ns), end_ns: on_clock(end, epoch_ns) };
        on_reader_thread(py, |_| document(log, log.statistics_between(window), Some(window)))
    }

    /// Returns the names of kinds of pauses, and the first pauses of a log, at most `most`: begin in seconds since 1970,
    /// length in milliseconds, and position of the kind among the names.
    fn pauses(&self, index: usize, most: usize) -> PyResult<(Vec<&str>, Vec<PauseOfKind>)> {
        let log = self.at(index)?;
        let Some(epoch_ns) = log.epoch_ns else { return Ok((Vec::new(), Vec::new())) };
        let pause = |pause: &Pause| {
            let begin_ns = epoch_ns as f64 + pause.end_ns as f64 - pause.duration_ns as f64;
            (begin_ns / 1e9, pause.duration_ns as f64 / 1e6, pause.kind.position())
        };
        Ok((log.names.texts().collect(), log.pauses.iter().take(most).map(pause).collect()))
    }
}

impl PyGcLogs {
    fn at(&self, index: usize) -> PyResult<&GcLog> {
        self.logs.get(index).ok_or_else(|| core_error(format!("there is no log {index}")))
    }
}

/// Returns the wall-clock time of a time on the clock of a log, in seconds since 1970.
fn wall_s(log: &GcLog, at_ns: u64) -> Option<f64> {
    log.epoch_ns.map(|epoch_ns| (epoch_ns as f64 + at_ns as f64) / 1e9)
}

fn document(log: &GcLog, statistics: Statistics, window: Option<Span>) -> serde_json::Result<String> {
    let start = log.span.and_then(|span| wall_s(log, span.start_ns));
    let end = log.span.and_then(|span| wall_s(log, span.end_ns));
    let openj9 = log.openj9_report(window);
    let container = log.container.as_deref();
    to_json(&Document { jvm: &log.jvm, container, start, end, statistics, openj9 })
}

/// Converts seconds since 1970 to the clock of a log; times before its beginning become 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
fn on_clock(unix_s: f64, epoch_ns: i64) -> u64 {
    ((unix_s * 1e9) as i64).saturating_sub(epoch_ns).max(0) as u64
}

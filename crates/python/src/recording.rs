//! Reads Flight Recorder recordings.

use std::path::PathBuf;

use pacenote_evidence::EvidenceError;
use pacenote_evidence::jfr;
use pyo3::prelude::*;

use crate::reader_thread::on_reader_thread;

/// Reads recordings of one JVM as one, and returns it as JSON, once for each of the windows, which have a start and an end;
/// `None` stands for all of the recording.
#[pyfunction]
pub fn read_recordings(
    py: Python<'_>,
    files: Vec<PathBuf>,
    windows_ns: Vec<Option<(i64, i64)>>,
) -> PyResult<Vec<String>> {
    on_reader_thread(py, |proceed| {
        let read = jfr::read_recording_windows(&files, &windows_ns, proceed);
        let recordings = read.map_err(|error: EvidenceError| error.to_string())?;
        // Each recording is dropped as soon as it is text.
        let texts = recordings.into_iter().map(|recording| serde_json::to_string(&recording));
        texts.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())
    })
}

//! Reads Flight Recorder recordings.

use std::ops::ControlFlow;
use std::path::PathBuf;

use pacenote_evidence::EvidenceError;
use pacenote_evidence::jfr;
use pyo3::prelude::*;

use crate::error::core_error;
use crate::evidence::check_signals;

/// Reads recordings of one JVM as one, and returns it as JSON, once for each of the windows, which have a start and an end;
/// `None` stands for all of the recording.
#[pyfunction]
pub fn read_recordings(
    py: Python<'_>,
    files: Vec<PathBuf>,
    windows_ns: Vec<Option<(i64, i64)>>,
) -> PyResult<Vec<String>> {
    let mut raised = None;
    let read = py.detach(|| {
        jfr::read_recording_windows(&files, &windows_ns, &mut || match Python::attach(check_signals) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                raised = Some(error);
                ControlFlow::Break(())
            }
        })
    });
    match (raised, read) {
        (Some(raised), Err(EvidenceError::Interrupted { .. })) => Err(raised),
        (_, read) => {
            let recordings = read.map_err(core_error)?;
            let documents = || recordings.iter().map(serde_json::to_string).collect::<Result<_, _>>();
            py.detach(documents).map_err(core_error)
        }
    }
}

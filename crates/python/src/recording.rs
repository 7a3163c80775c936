//! Reads Flight Recorder recordings.

use std::ops::ControlFlow;
use std::path::PathBuf;

use pacenote_evidence::EvidenceError;
use pacenote_evidence::jfr;
use pyo3::prelude::*;

use crate::error::core_error;
use crate::evidence::check_signals;

/// Reads recordings of one JVM as one, and returns it as JSON. `window_ns` is the start and the end of a window.
#[pyfunction]
pub fn read_recordings(
    py: Python<'_>,
    files: Vec<PathBuf>,
    window_ns: Option<(i64, i64)>,
) -> PyResult<String> {
    let mut raised = None;
    let read = py.detach(|| {
        jfr::read_recordings(&files, window_ns, &mut || match Python::attach(check_signals) {
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
            let recording = read.map_err(core_error)?;
            py.detach(|| serde_json::to_string(&recording)).map_err(core_error)
        }
    }
}

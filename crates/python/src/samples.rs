//! Reading the samples of a race.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pacenote_record::{SampleReader, StoredSample};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::error::core_error;

/// A `samples.parquet` file that is being read.
#[pyclass(frozen, name = "SampleReader")]
pub struct PySampleReader(Mutex<SampleReader>);

#[pymethods]
impl PySampleReader {
    /// Opens the file.
    #[new]
    fn new(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        let reader = py.detach(|| SampleReader::open(&file)).map_err(core_error)?;
        Ok(Self(Mutex::new(reader)))
    }

    /// Returns the next rows, at most so many; none at the end of the file.
    fn next_rows<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let read = || self.0.lock().unwrap_or_else(PoisonError::into_inner).next_rows(most);
        let samples = py.detach(read).map_err(core_error)?;
        samples.iter().map(|sample| row(py, sample)).collect()
    }
}

/// Returns a sample as a tuple. Its texts are interned, because most of them are the same in many samples.
fn row<'py>(py: Python<'py>, sample: &StoredSample) -> PyResult<Bound<'py, PyTuple>> {
    let text = |text: &str| PyString::intern(py, text).into_any();
    let values = [
        text(&sample.task),
        text(&sample.operation),
        text(&sample.operation_type),
        sample.part.into_bound_py_any(py)?,
        sample.client.into_bound_py_any(py)?,
        text(&sample.sample_type),
        sample.due_ns.into_bound_py_any(py)?,
        sample.sent_ns.into_bound_py_any(py)?,
        sample.done_ns.into_bound_py_any(py)?,
        sample.processing_ns.into_bound_py_any(py)?,
        sample.success.into_bound_py_any(py)?,
        sample.status.into_bound_py_any(py)?,
        text(&sample.error_class),
        sample.details.as_deref().into_bound_py_any(py)?,
    ];
    PyTuple::new(py, values)
}

//! Values that Python and the bridge exchange, as frozen classes.

use std::time::Duration;

use pacenote_driver::{RunnerFailure, RunnerRequest, RunnerResult, TaskClientId};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::core_error;

/// One client of one task.
#[pyclass(frozen, eq, hash, get_all, from_py_object, name = "ClientId")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyClientId {
    task: u32,
    client: u32,
}

#[pymethods]
impl PyClientId {
    #[new]
    fn new(task: u32, client: u32) -> Self {
        Self { task, client }
    }

    fn __repr__(this: PyRef<'_, Self>) -> String {
        format!("ClientId(task={}, client={})", this.task, this.client)
    }
}

impl From<TaskClientId> for PyClientId {
    fn from(TaskClientId { task_index, client_number }: TaskClientId) -> Self {
        Self { task: task_index, client: client_number }
    }
}

impl From<PyClientId> for TaskClientId {
    fn from(PyClientId { task, client }: PyClientId) -> Self {
        Self { task_index: task, client_number: client }
    }
}

/// The reason why an operation failed.
#[pyclass(frozen, name = "RunnerFailure")]
pub struct PyRunnerFailure {
    failure: RunnerFailure,
}

#[pymethods]
impl PyRunnerFailure {
    #[new]
    #[pyo3(signature = (error_class, kind, reason, status=None))]
    fn new(error_class: &str, kind: String, reason: String, status: Option<u16>) -> PyResult<Self> {
        let class = RunnerFailure::class_of(error_class)
            .ok_or_else(|| core_error(format!("there is no error class {error_class:?}")))?;
        Ok(Self { failure: RunnerFailure { class, error_type: kind, status, reason } })
    }

    /// The error class.
    #[getter]
    fn error_class(&self) -> &'static str {
        self.failure.class.name()
    }

    /// The engine's error type, or the type of the exception.
    #[getter]
    fn kind(&self) -> &str {
        &self.failure.error_type
    }

    /// The message of the engine or of the exception.
    #[getter]
    fn reason(&self) -> &str {
        &self.failure.reason
    }

    /// The HTTP status, if there was a response.
    #[getter]
    fn status(&self) -> Option<u16> {
        self.failure.status
    }
}

impl From<RunnerFailure> for PyRunnerFailure {
    fn from(failure: RunnerFailure) -> Self {
        Self { failure }
    }
}

/// The result that a runner returned for an operation.
#[pyclass(frozen, name = "RunnerResult")]
pub struct PyRunnerResult {
    /// The result in the driver's type.
    pub result: RunnerResult,
}

#[pymethods]
impl PyRunnerResult {
    #[new]
    fn new(
        weight: u64,
        failed_weight: u64,
        unit: String,
        last: bool,
        failure: Option<&PyRunnerFailure>,
    ) -> Self {
        let failure = failure.map(|failure| failure.failure.clone());
        let success = failure.is_none();
        let (source_wait, details) = (Duration::ZERO, None);
        let result =
            RunnerResult { weight, failed_weight, unit, success, last, failure, source_wait, details };
        Self { result }
    }
}

/// An HTTP request from a runner.
#[pyclass(frozen, name = "RunnerRequest")]
pub struct PyRunnerRequest {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Option<Py<PyBytes>>,
    timeout: Option<Duration>,
}

#[pymethods]
impl PyRunnerRequest {
    #[new]
    fn new(
        method: String,
        target: String,
        headers: Vec<(String, String)>,
        body: Option<Py<PyBytes>>,
        timeout_s: Option<f64>,
    ) -> PyResult<Self> {
        let timeout = timeout_s.map(duration_of).transpose()?;
        Ok(Self { method, target, headers, body, timeout })
    }
}

impl PyRunnerRequest {
    /// Converts the request to the driver's type.
    pub fn request(&self, py: Python<'_>) -> RunnerRequest {
        RunnerRequest {
            method: self.method.clone(),
            target: self.target.clone(),
            headers: self.headers.clone(),
            body: self.body.as_ref().map(|body| body.as_bytes(py).to_vec()),
            timeout: self.timeout,
        }
    }
}

/// Converts seconds to a duration; returns an error if they are negative or not finite.
pub fn duration_of(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| core_error(format!("{seconds} s: {error}")))
}

/// Adds the classes of values to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyClientId>()?;
    module.add_class::<PyRunnerFailure>()?;
    module.add_class::<PyRunnerRequest>()?;
    module.add_class::<PyRunnerResult>()
}

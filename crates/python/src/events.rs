//! The driver's events as Python objects: a frozen class for each kind, so that Python can match on them.

use pacenote_driver::{PythonEvent, ReadEvent};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{PyClass, PyClassInitializer};

use crate::values::{PyClientId, PyRunnerFailure};

/// Build the sources, runners and schedulers of a step, and fill its queues; answered by `prepared`.
#[pyclass(frozen, get_all, name = "PrepareStep")]
pub struct PyPrepareStep {
    step: usize,
}

/// Execute one operation; answered by `complete`.
#[pyclass(frozen, get_all, name = "RunOperation")]
pub struct PyRunOperation {
    query_id: u64,
    client: PyClientId,
    measured: bool,
    waited_s: f64,
}

/// Determine when the client's next operation is due; answered by `schedule`.
#[pyclass(frozen, get_all, name = "ScheduleNext")]
pub struct PyScheduleNext {
    query_id: u64,
    client: PyClientId,
}

/// Count the operations of a client that were due, but that the driver has not received; answered by `count_unsent`.
#[pyclass(frozen, get_all, name = "CountUnsent")]
pub struct PyCountUnsent {
    query_id: u64,
    client: PyClientId,
    received: u64,
    ended_s: f64,
    warmup_s: f64,
    limit: u64,
}

/// An operation has ended that the driver executed itself and that a Python scheduler paces.
#[pyclass(frozen, get_all, name = "OperationEnded")]
pub struct PyOperationEnded {
    client: PyClientId,
    weight: u64,
    unit: String,
    success: bool,
    error: String,
    seconds_since_start: f64,
}

/// A client has finished its task.
#[pyclass(frozen, get_all, name = "ClientEnded")]
pub struct PyClientEnded {
    client: PyClientId,
}

/// All clients of a step have ended.
#[pyclass(frozen, get_all, name = "StepEnded")]
pub struct PyStepEnded {
    step: usize,
}

/// The response to a request of a runner.
#[pyclass(frozen, get_all, name = "ResponseReceived")]
pub struct PyResponseReceived {
    request_id: u64,
    status: u16,
    headers: Vec<(String, String)>,
    body: Py<PyBytes>,
    waited_s: f64,
}

/// A request of a runner has received no response.
#[pyclass(frozen, get_all, name = "RequestFailed")]
pub struct PyRequestFailed {
    request_id: u64,
    kind: &'static str,
    reason: String,
    waited_s: f64,
}

/// The driver has executed an operation on behalf of a runner.
#[pyclass(frozen, get_all, name = "OperationExecuted")]
pub struct PyOperationExecuted {
    request_id: u64,
    success: bool,
    weight: u64,
    status: u16,
    took_ms: Option<u64>,
    failure: Option<Py<PyRunnerFailure>>,
    details: Option<String>,
    waited_s: f64,
}

/// The race is over; no event follows.
#[pyclass(frozen, name = "RaceEnded")]
pub struct PyRaceEnded;

/// Converts an event to an object of its Python class.
pub fn event_object(py: Python<'_>, read: ReadEvent) -> PyResult<Bound<'_, PyAny>> {
    let waited_s = read.waited.as_secs_f64();
    match read.event {
        PythonEvent::PrepareStep { step } => object(py, PyPrepareStep { step }),
        PythonEvent::RunOperation { query_id, client, measured } => {
            object(py, PyRunOperation { query_id, client: client.into(), measured, waited_s })
        }
        PythonEvent::ScheduleNext { query_id, client } => {
            object(py, PyScheduleNext { query_id, client: client.into() })
        }
        PythonEvent::CountUnsent { query_id, client, received, ended_s, warmup_s, limit } => {
            object(py, PyCountUnsent { query_id, client: client.into(), received, ended_s, warmup_s, limit })
        }
        PythonEvent::OperationEnded(ended) => object(
            py,
            PyOperationEnded {
                client: ended.client.into(),
                weight: ended.weight,
                unit: ended.unit,
                success: ended.success,
                error: ended.error,
                seconds_since_start: ended.seconds_since_start,
            },
        ),
        PythonEvent::ClientEnded { client } => object(py, PyClientEnded { client: client.into() }),
        PythonEvent::StepEnded { step } => object(py, PyStepEnded { step }),
        PythonEvent::ResponseReceived(response) => {
            let body = PyBytes::new(py, &response.body).unbind();
            let (request_id, status, headers) = (response.request_id, response.status, response.headers);
            object(py, PyResponseReceived { request_id, status, headers, body, waited_s })
        }
        PythonEvent::RequestFailed { request_id, kind, reason } => {
            object(py, PyRequestFailed { request_id, kind, reason, waited_s })
        }
        PythonEvent::OperationExecuted { request_id, result } => {
            let failure = result.failure.map(|failure| Py::new(py, PyRunnerFailure::from(failure)));
            object(
                py,
                PyOperationExecuted {
                    request_id,
                    success: result.success,
                    weight: result.weight,
                    status: result.status,
                    took_ms: result.took_ms,
                    failure: failure.transpose()?,
                    details: result.details,
                    waited_s,
                },
            )
        }
        PythonEvent::RaceEnded => object(py, PyRaceEnded),
    }
}

fn object<T: PyClass + Into<PyClassInitializer<T>>>(py: Python<'_>, event: T) -> PyResult<Bound<'_, PyAny>> {
    Bound::new(py, event).map(Bound::into_any)
}

/// Adds the event classes to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyPrepareStep>()?;
    module.add_class::<PyRunOperation>()?;
    module.add_class::<PyScheduleNext>()?;
    module.add_class::<PyCountUnsent>()?;
    module.add_class::<PyOperationEnded>()?;
    module.add_class::<PyClientEnded>()?;
    module.add_class::<PyStepEnded>()?;
    module.add_class::<PyResponseReceived>()?;
    module.add_class::<PyRequestFailed>()?;
    module.add_class::<PyOperationExecuted>()?;
    module.add_class::<PyRaceEnded>()
}

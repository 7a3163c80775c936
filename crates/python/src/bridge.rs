//! The driver's [`PythonBridge`] as a Python class.

use std::sync::Arc;

use pacenote_driver::{PythonBridge, RunnerResult, UnsentOperations};
use pyo3::prelude::*;

use crate::error::core_error;
use crate::events::event_object;
use crate::values::{PyClientId, PyRunnerRequest, PyRunnerResult, duration_of};

/// Connection between a race and the Python code of its track. No call blocks.
#[pyclass(frozen, name = "PythonBridge")]
pub struct PyBridge {
    bridge: Arc<PythonBridge>,
}

impl PyBridge {
    /// Creates the Python object for a bridge.
    pub fn new(bridge: &Arc<PythonBridge>) -> Self {
        Self { bridge: Arc::clone(bridge) }
    }
}

#[pymethods]
impl PyBridge {
    /// Returns a file descriptor that is readable while events are queued.
    fn fileno(&self) -> i32 {
        self.bridge.fileno()
    }

    /// Removes and returns all events, oldest first.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.bridge.events().into_iter().map(|read| event_object(py, read)).collect()
    }

    /// Answers `PrepareStep`.
    fn prepared(&self, step: usize, error: Option<String>) {
        self.bridge.prepared(step, error);
    }

    /// Returns for how many seconds the driver has been waiting for `prepared`, or `None` if it does not.
    fn preparing_s(&self) -> Option<f64> {
        self.bridge.preparing_for().map(|duration| duration.as_secs_f64())
    }

    /// Queues the next operation of a client; returns `False` if the queue is full or the client has ended.
    fn enqueue(
        &self,
        py: Python<'_>,
        client: PyClientId,
        operation: &str,
        body: Option<&[u8]>,
    ) -> PyResult<bool> {
        let queued = match body {
            // Compressing the body takes time, and runners must not wait for the GIL meanwhile.
            Some(body) => py.detach(|| self.bridge.enqueue(client.into(), operation, Some(body.to_vec()))),
            None => self.bridge.enqueue(client.into(), operation, None),
        };
        queued.map_err(core_error)
    }

    /// Returns the number of operations for which the client's queue has room.
    fn free_slots(&self, client: PyClientId) -> PyResult<usize> {
        self.bridge.free_slots(client.into()).map_err(core_error)
    }

    /// Declares that the client gets no operations beyond those queued; `error` is the reason if its source failed.
    fn finish(&self, client: PyClientId, error: Option<String>) -> PyResult<()> {
        self.bridge.finish(client.into(), error).map_err(core_error)
    }

    /// Answers `ScheduleNext`.
    fn schedule(&self, query_id: u64, offset_s: Option<f64>) -> PyResult<()> {
        let offset = offset_s.map(duration_of).transpose()?;
        self.bridge.schedule(query_id, offset).map_err(core_error)
    }

    /// Answers `CountUnsent`: `total` operations, of which `warmup` are warm-up.
    fn count_unsent(&self, query_id: u64, total: u64, warmup: u64) -> PyResult<()> {
        self.bridge.count_unsent(query_id, UnsentOperations { total, warmup }).map_err(core_error)
    }

    /// Ends the race because the code that serves the events cannot continue.
    fn fail(&self, reason: String) {
        self.bridge.fail(reason);
    }

    /// Answers `RunOperation`; the operation waited `source_wait_s` for its parameter source. `details` is the text of a
    /// JSON object that is kept with its sample.
    #[pyo3(signature = (query_id, result, source_wait_s = 0.0, details = None))]
    fn complete(
        &self,
        query_id: u64,
        result: &PyRunnerResult,
        source_wait_s: f64,
        details: Option<String>,
    ) -> PyResult<()> {
        let source_wait = duration_of(source_wait_s)?;
        let result = RunnerResult { source_wait, details, ..result.result.clone() };
        self.bridge.complete(query_id, result).map_err(core_error)
    }

    /// Counts a request that repeats an earlier one of the same operation.
    fn count_retry(&self, owner: u64) -> PyResult<()> {
        self.bridge.count_retry(owner).map_err(core_error)
    }

    /// Sends a request and returns its id.
    fn request(
        &self,
        py: Python<'_>,
        owner: Option<u64>,
        cluster: &str,
        request: &PyRunnerRequest,
    ) -> PyResult<u64> {
        self.bridge.request(owner, cluster, request.request(py)).map_err(core_error)
    }

    /// Has the driver execute an operation, and returns the id of the request.
    fn execute(
        &self,
        owner: Option<u64>,
        cluster: &str,
        operation: &str,
        body: Option<&[u8]>,
    ) -> PyResult<u64> {
        self.bridge.execute(owner, cluster, operation, body.map(<[u8]>::to_vec)).map_err(core_error)
    }
}

//! Python's hand in a race: questions come as tuples, answers are calls.

use std::sync::Arc;
use std::time::Duration;

use pacenote_driver::{LaneEvent, LaneRequest};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::core_error;

/// A client of a task: positions of both.
type Place = (u32, u32);

/// Where operations in Python and the driver meet. No call waits.
#[pyclass(frozen)]
pub struct Lane {
    lane: Arc<pacenote_driver::Lane>,
}

impl Lane {
    pub fn new(lane: &Arc<pacenote_driver::Lane>) -> Self {
        Self { lane: Arc::clone(lane) }
    }
}

#[pymethods]
impl Lane {
    /// A descriptor that is readable while events are queued.
    fn fileno(&self) -> i32 {
        self.lane.fileno()
    }

    /// Takes all events.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.lane.events().into_iter().map(|event| tuple(py, event)).collect()
    }

    /// Answers `prepare`.
    #[pyo3(signature = (step, error))]
    fn prepared(&self, step: usize, error: Option<String>) {
        self.lane.prepared(step, error);
    }

    /// Hands over the next operation of a client; `False` when there is no room.
    #[pyo3(signature = (task, client, operation, body))]
    fn supply(&self, task: u32, client: u32, operation: &str, body: Option<&[u8]>) -> PyResult<bool> {
        let place = (task, client);
        let supplied = match body {
            // It may have to be compressed, and runners are not to wait for that.
            Some(body) => {
                Python::attach(|py| py.detach(|| self.lane.supply(place, operation, Some(body.to_vec()))))
            }
            None => self.lane.supply(place, operation, None),
        };
        supplied.map_err(core_error)
    }

    /// How many operations can be handed over to a client now.
    fn room(&self, task: u32, client: u32) -> PyResult<usize> {
        self.lane.room((task, client)).map_err(core_error)
    }

    /// Says that a client has no more operations.
    #[pyo3(signature = (task, client, error))]
    fn end(&self, task: u32, client: u32, error: Option<String>) -> PyResult<()> {
        self.lane.end((task, client), error).map_err(core_error)
    }

    /// Answers `next`.
    #[pyo3(signature = (token, offset_s))]
    fn due(&self, token: u64, offset_s: Option<f64>) -> PyResult<()> {
        self.lane.due(token, offset_s.map(seconds).transpose()?).map_err(core_error)
    }

    /// Answers `run`.
    fn done(&self, token: u64, result: &str) -> PyResult<()> {
        self.lane.done(token, result).map_err(core_error)
    }

    /// Sends a request and tells its ticket.
    #[allow(
        clippy::too_many_arguments,
        reason = "a request has so many parts, and every one is Python's to choose"
    )]
    #[pyo3(signature = (owner, cluster, method, target, headers, body, timeout_s))]
    fn request(
        &self,
        owner: Option<Place>,
        cluster: &str,
        method: String,
        target: String,
        headers: Vec<(String, String)>,
        body: Option<&[u8]>,
        timeout_s: Option<f64>,
    ) -> PyResult<u64> {
        let timeout = timeout_s.map(seconds).transpose()?;
        let request = LaneRequest { method, target, headers, body: body.map(<[u8]>::to_vec), timeout };
        self.lane.request(owner, cluster, request).map_err(core_error)
    }

    /// Has an operation carried out natively and tells its ticket.
    #[pyo3(signature = (owner, cluster, operation, body))]
    fn execute(
        &self,
        owner: Option<Place>,
        cluster: &str,
        operation: &str,
        body: Option<&[u8]>,
    ) -> PyResult<u64> {
        self.lane.execute(owner, cluster, (operation, body.map(<[u8]>::to_vec))).map_err(core_error)
    }
}

fn seconds(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|error| core_error(format!("{seconds} s: {error}")))
}

/// An event as Python reads it: its name, then its parts.
fn tuple(py: Python<'_>, event: LaneEvent) -> PyResult<Bound<'_, PyAny>> {
    let tuple = match event {
        LaneEvent::Prepare { step } => ("prepare", step).into_pyobject(py)?.into_any(),
        LaneEvent::Run { token, task, client, measured } => {
            ("run", token, task, client, measured).into_pyobject(py)?.into_any()
        }
        LaneEvent::Next { token, task, client } => {
            ("next", token, task, client).into_pyobject(py)?.into_any()
        }
        LaneEvent::After(after) => {
            let (task, client, weight, unit) = (after.task, after.client, after.weight, after.unit);
            let (success, error, at_s) = (after.success, after.error, after.seconds_since_start);
            ("after", task, client, weight, unit, success, error, at_s).into_pyobject(py)?.into_any()
        }
        LaneEvent::Ended { task, client } => ("ended", task, client).into_pyobject(py)?.into_any(),
        LaneEvent::Finish { step } => ("finish", step).into_pyobject(py)?.into_any(),
        LaneEvent::Reply { ticket, status, headers, body } => {
            ("reply", ticket, status, headers, PyBytes::new(py, &body)).into_pyobject(py)?.into_any()
        }
        LaneEvent::Failed { ticket, kind, reason } => {
            ("failed", ticket, kind, reason).into_pyobject(py)?.into_any()
        }
        LaneEvent::Outcome { ticket, json } => ("outcome", ticket, json).into_pyobject(py)?.into_any(),
        LaneEvent::Quit => ("quit",).into_pyobject(py)?.into_any(),
    };
    Ok(tuple)
}

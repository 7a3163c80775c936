//! Runs a plan, and reads and completes its files.

use std::path::PathBuf;
use std::time::Duration;

use pacenote_driver::{Race, RaceEvent, ResponseMemory, StopLevel};
use pacenote_plan::Plan;
use pyo3::prelude::*;
use serde::Serialize;

use crate::bridge::PyBridge;
use crate::error::core_error;

/// A task has ended.
#[pyclass(frozen, get_all, name = "TaskFinished")]
pub struct PyTaskFinished {
    result: String,
}

/// The race has ended; no event follows.
#[pyclass(frozen, get_all, name = "RaceFinished")]
pub struct PyRaceFinished {
    summary: String,
}

/// A running race. Dropping the last reference ends it and drops requests in flight.
#[pyclass(frozen)]
pub struct Driver {
    /// `None` only while the driver is being dropped.
    race: Option<Race>,
}

impl Driver {
    fn race(&self) -> PyResult<&Race> {
        self.race.as_ref().ok_or_else(|| core_error("the race is over"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Dropping the race joins its threads, during which the GIL is released.
        let race = self.race.take();
        Python::attach(|py| py.detach(|| drop(race)));
    }
}

#[pymethods]
impl Driver {
    /// Starts the race of a plan document and records it in `folder`, which must exist.
    #[new]
    fn new(py: Python<'_>, plan: &str, folder: PathBuf) -> PyResult<Self> {
        let race = py.detach(|| {
            let plan = Plan::from_json(plan).map_err(core_error)?;
            Race::start(plan, &folder, ResponseMemory::of_process()).map_err(core_error)
        })?;
        Ok(Self { race: Some(race) })
    }

    /// Returns the events since the last call; waits up to `seconds` for the first one.
    fn wait<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let timeout = Duration::try_from_secs_f64(seconds).map_err(core_error)?;
        let race = self.race()?;
        let events = py.detach(|| race.wait(timeout));
        events.iter().map(|event| event_object(py, event)).collect()
    }

    /// Returns the progress of the race as a JSON document.
    fn progress(&self) -> PyResult<String> {
        json(&self.race()?.progress())
    }

    /// Returns the connection to the Python code of the track, or `None` if the plan needs no Python.
    fn bridge(&self) -> PyResult<Option<PyBridge>> {
        Ok(self.race()?.bridge().map(PyBridge::new))
    }

    /// Stops the race: no new operation begins. Operations in progress finish, or are dropped if `abandon` is `True`.
    fn stop(&self, abandon: bool) -> PyResult<()> {
        self.race()?.stop(if abandon { StopLevel::Abandon } else { StopLevel::Finish });
        Ok(())
    }
}

/// Converts an event to an object of its Python class.
fn event_object<'py>(py: Python<'py>, event: &RaceEvent) -> PyResult<Bound<'py, PyAny>> {
    Ok(match event {
        RaceEvent::TaskFinished(result) => {
            Bound::new(py, PyTaskFinished { result: json(result)? })?.into_any()
        }
        RaceEvent::Finished(summary) => {
            Bound::new(py, PyRaceFinished { summary: json(summary)? })?.into_any()
        }
    })
}

fn json(document: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(document).map_err(core_error)
}

/// Returns why the driver's threads cannot have real-time priority, or `None` if they can.
#[pyfunction]
pub fn realtime_refusal(py: Python<'_>) -> Option<String> {
    py.detach(pacenote_driver::realtime_refusal)
}

/// Completes `series.parquet` of a race that was killed, and returns the number of rows, or `None` if there was no
/// journal.
#[pyfunction]
pub fn recover_files(py: Python<'_>, folder: PathBuf) -> PyResult<Option<u64>> {
    py.detach(|| pacenote_driver::recover_files(&folder)).map_err(core_error)
}

/// Returns the merged percentiles of `series.parquet` files, by task, as a JSON document.
#[pyfunction]
pub fn merged_percentiles(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<String> {
    json(&py.detach(|| pacenote_driver::merged_percentiles(&files)))
}

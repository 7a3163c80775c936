//! What a race did over time, in few enough points for a chart.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pacenote_record::{SampleLimit, TelemetrySeries, TimeGrid};
use pyo3::prelude::*;

use crate::error::core_error;

/// Returns the operations of a race over time, as a JSON document.
#[pyfunction]
pub fn race_timeline(py: Python<'_>, file: PathBuf, most_points: u64) -> PyResult<String> {
    let timeline = py.detach(|| pacenote_record::race_timeline(&file, most_points)).map_err(core_error)?;
    serde_json::to_string(&timeline).map_err(core_error)
}

/// Returns when operations were due and done, as a JSON document; `None` if there are more rows than allowed.
#[pyfunction]
pub fn arrivals(
    py: Python<'_>,
    file: PathBuf,
    tasks: BTreeSet<String>,
    length_s: u64,
    most_rows: u64,
) -> PyResult<Option<String>> {
    let found = py.detach(|| pacenote_record::arrivals(&file, &tasks, length_s, most_rows));
    let found = found.map_err(core_error)?;
    found.map(|arrivals| serde_json::to_string(&arrivals).map_err(core_error)).transpose()
}

/// Returns what the engine reports as its time, by task, as a JSON document.
#[pyfunction]
pub fn engine_times(
    py: Python<'_>,
    file: PathBuf,
    most_groups: usize,
    most_samples: usize,
) -> PyResult<String> {
    let limit = SampleLimit { row_groups: most_groups, samples: most_samples };
    let found = py.detach(|| pacenote_record::engine_times(&file, limit)).map_err(core_error)?;
    serde_json::to_string(&found).map_err(core_error)
}

/// Returns series of telemetry in parts of a race, as a JSON document. A name that ends with a dot stands for all names
/// that begin with it. `grid` is the beginning of the first part in nanoseconds since 1970, the length of the parts in
/// seconds, and their number.
#[pyfunction]
pub fn telemetry_timeline(
    py: Python<'_>,
    file: PathBuf,
    names: Vec<(String, String)>,
    grid: (i64, u64, usize),
) -> PyResult<String> {
    let (begin_ns, length_s, parts) = grid;
    let grid = TimeGrid { begin_ns, length_ns: length_s.max(1).saturating_mul(1_000_000_000), parts };
    let is_wanted = |series: &TelemetrySeries| {
        names.iter().any(|(source, name)| {
            let is_named = series.name == *name || (name.ends_with('.') && series.name.starts_with(name));
            series.source == *source && is_named
        })
    };
    let found = py.detach(|| pacenote_record::telemetry_timeline(&file, grid, is_wanted));
    serde_json::to_string(&found.map_err(core_error)?).map_err(core_error)
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(race_timeline, module)?)?;
    module.add_function(wrap_pyfunction!(arrivals, module)?)?;
    module.add_function(wrap_pyfunction!(engine_times, module)?)?;
    module.add_function(wrap_pyfunction!(telemetry_timeline, module)?)
}

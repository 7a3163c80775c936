//! Python bindings of the Rust core, typed by `python/pacenote/_core.pyi`. They only convert and forward; all logic is
//! in the other crates.
//!
//! Plans, results, progress and summaries are passed as JSON text; events, and the requests and results of Python
//! tasks, as frozen classes. Every call that can take time releases the GIL, and long calls return to Python often
//! enough to handle Ctrl-C.
//!
//! | file | contains |
//! | --- | --- |
//! | `driver.rs` | running a plan; its files: recovery, percentiles of series |
//! | `bridge.rs` | [`bridge::PyBridge`]: the calls that Python tasks make |
//! | `events.rs`, `values.rs` | events for Python tasks, and the values that are passed |
//! | `telemetry.rs` | writing and reading the telemetry of a race, sampling the host |
//! | `samples.rs` | reading the samples of a race |
//! | `timeline.rs` | what a race did over time, in few points |
//! | `table.rs` | writing Parquet files with any columns |
//! | `corpus.rs` | generating, unpacking and counting data files |
//! | `evidence.rs` | reading GC logs |
//! | `recording.rs` | reading Flight Recorder recordings |
//! | `reader_thread.rs` | the thread that reads both |
//! | `json.rs` | JSON text with numbers that Python's types accept |
//! | `error.rs`, `panics.rs` | the exception of the core, and panics that end the process |

#![allow(
    clippy::needless_pass_by_value,
    reason = "Python passes owned values, and the macros require them by value"
)]

mod bridge;
mod corpus;
mod driver;
mod error;
mod events;
mod evidence;
mod json;
mod panics;
mod reader_thread;
mod recording;
mod samples;
mod table;
mod telemetry;
mod timeline;
mod values;

use pyo3::prelude::*;

use crate::error::CoreError;

/// The Rust core of Pacenote.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    panics::abort_if_fatal();
    module.add("CoreError", module.py().get_type::<CoreError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<driver::Driver>()?;
    module.add_class::<driver::PyTaskFinished>()?;
    module.add_class::<driver::PyRaceFinished>()?;
    module.add_class::<corpus::PyGeneratedFile>()?;
    module.add_class::<corpus::PyGeneratedFiles>()?;
    module.add_class::<corpus::PyUnpackedFile>()?;
    module.add_class::<bridge::PyBridge>()?;
    module.add_class::<evidence::PyGcLogs>()?;
    events::register(module)?;
    values::register(module)?;
    telemetry::register(module)?;
    timeline::register(module)?;
    module.add_class::<samples::PySampleReader>()?;
    module.add_class::<table::PyTableFile>()?;
    module.add_function(wrap_pyfunction!(driver::recover_files, module)?)?;
    module.add_function(wrap_pyfunction!(driver::merged_percentiles, module)?)?;
    module.add_function(wrap_pyfunction!(driver::realtime_refusal, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::generators, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::generator_files, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::generator_version, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::generate, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::unpack, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::crc32c, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::count_lines, module)?)?;
    module.add_function(wrap_pyfunction!(recording::read_recordings, module)?)?;
    Ok(())
}

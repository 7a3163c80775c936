//! The door between Python and the Rust core. It converts and forwards; logic lives in the other crates.
//!
//! Documents cross as JSON text: the plan inwards, results, progress and summaries outwards. Every call that can take
//! time lets go of Python's lock, and long ones come back often enough for Ctrl-C to be heard.

#![allow(clippy::needless_pass_by_value, reason = "Python hands over values; the macros want them by value")]

mod corpus;
mod driver;
mod lane;

use pyo3::prelude::*;

pyo3::create_exception!(
    pacenote._core,
    CoreError,
    pyo3::exceptions::PyException,
    "The Rust core could not do what was asked; the text is one line that says why."
);

/// The Rust core of Pacenote.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CoreError", module.py().get_type::<CoreError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<driver::Driver>()?;
    module.add_class::<lane::Lane>()?;
    module.add_function(wrap_pyfunction!(driver::recover_series, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::generators, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::generator_files, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::generator_version, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::generate, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::unpack, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::crc32c, module)?)?;
    module.add_function(wrap_pyfunction!(corpus::count_lines, module)?)?;
    Ok(())
}

/// Any error of the core as the one exception that Python sees.
fn core_error(error: impl std::fmt::Display) -> PyErr {
    CoreError::new_err(error.to_string())
}

//! The one exception that Python sees.

pyo3::create_exception!(
    pacenote._core,
    CoreError,
    pyo3::exceptions::PyException,
    "The Rust core could not do what was asked; the text is one line that says why."
);

/// Any error of the core as a `CoreError`.
pub fn core_error(error: impl std::fmt::Display) -> pyo3::PyErr {
    CoreError::new_err(error.to_string())
}

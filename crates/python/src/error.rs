//! The exception that all functions of the core raise.

pyo3::create_exception!(
    pacenote._core,
    CoreError,
    pyo3::exceptions::PyException,
    "A call of the core failed; the message is one line with the reason."
);

/// Converts an error from the core to a `CoreError`.
pub fn core_error(error: impl std::fmt::Display) -> pyo3::PyErr {
    CoreError::new_err(error.to_string())
}

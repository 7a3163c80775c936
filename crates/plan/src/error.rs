//! The error type of this crate.

/// A plan that cannot be executed. The message names the place in the document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The document is not JSON of the expected shape; line and column are those of the document.
    #[error("the plan document is malformed: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The document was written for another version of the driver.
    #[error("the plan has version {found}, but this driver supports only version {supported}")]
    UnsupportedVersion {
        /// The version of the document.
        found: u32,
        /// The version that this crate supports.
        supported: u32,
    },
    /// The document is well formed but contradicts itself.
    #[error("the plan is invalid at {path}: {problem}")]
    Invalid {
        /// Path in the document, for example `steps[2] (index)`.
        path: String,
        /// The problem.
        problem: String,
    },
}

//! The error type of this crate.

/// An error in a plan. The message contains the location in the document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The document is not JSON of the expected structure; the message contains line and column.
    #[error("the plan document is malformed: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The document was written for a different version of the driver.
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
        /// Path in the document, such as `steps[2] (index)`.
        path: String,
        /// The problem.
        problem: String,
    },
}

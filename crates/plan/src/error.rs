//! Why a plan was refused.

/// A plan that cannot be executed. The text names the place in the document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The document is not JSON of the expected shape; line and column are those of the document.
    #[error("the plan document is not understood: {0}")]
    Shape(#[from] serde_json::Error),
    /// The document was made for another version of the driver.
    #[error("the plan has version {found}, this driver understands version {known}")]
    Version {
        /// The version written in the document.
        found: u32,
        /// The version of this crate.
        known: u32,
    },
    /// The document is well formed but contradicts itself.
    #[error("the plan is wrong at {place}: {problem}")]
    Rule {
        /// Where in the document, for example `steps[2].slots[0]`.
        place: String,
        /// What is wrong there.
        problem: String,
    },
}

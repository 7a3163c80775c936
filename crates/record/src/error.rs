//! Why something could not be recorded.

/// Why something could not be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A file of the race folder could not be written or read.
    #[error("cannot record to {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A Parquet file could not be written or read.
    #[error("cannot record to {path}: {source}")]
    Parquet {
        /// The file.
        path: String,
        /// What the Parquet library said.
        source: parquet::errors::ParquetError,
    },
    /// The system refused a thread.
    #[error("cannot record: the system refused a thread: {0}")]
    Thread(std::io::Error),
    /// The thread that writes has died. This is a defect of the driver.
    #[error("cannot record: the writing thread ended unexpectedly")]
    Died,
    /// The disk takes nothing.
    #[error("cannot record: the disk is so slow that the seconds of a whole hour wait for it")]
    Stalled,
    /// A histogram could not be encoded or decoded.
    #[error("a histogram cannot be {0}")]
    Histogram(&'static str),
}

impl RecordError {
    /// A file failed.
    pub(crate) fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }

    /// A Parquet file failed.
    pub(crate) fn parquet(path: &std::path::Path, source: parquet::errors::ParquetError) -> Self {
        Self::Parquet { path: path.display().to_string(), source }
    }
}

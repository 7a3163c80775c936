//! The error type of this crate.

/// An error from recording a race. The message is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A file of the race folder could not be written or read.
    #[error("cannot record to {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A Parquet file could not be written or read.
    #[error("cannot record to {path}: {source}")]
    Parquet {
        /// The file.
        path: String,
        /// The error from the Parquet library.
        source: parquet::errors::ParquetError,
    },
    /// The writing thread could not be started.
    #[error("cannot record: cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The writing thread has panicked. This is a bug in the driver.
    #[error("cannot record: the writing thread ended unexpectedly")]
    Died,
    /// The disk is too slow even for the statistics of each second.
    #[error("cannot record: the disk is too slow: an hour of per-second statistics waits to be written")]
    Stalled,
    /// A line could not be written as JSON.
    #[error("cannot record: a line cannot be written as JSON: {0}")]
    Json(serde_json::Error),
    /// A histogram could not be created, encoded or decoded.
    #[error("a histogram cannot be {0}")]
    Histogram(&'static str),
}

impl RecordError {
    /// Creates the error for a file.
    pub(crate) fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }

    /// Creates the error for a Parquet file.
    pub(crate) fn parquet(path: &std::path::Path, source: parquet::errors::ParquetError) -> Self {
        Self::Parquet { path: path.display().to_string(), source }
    }
}

//! The error type of this crate.

use std::io;
use std::path::Path;

use parquet::errors::ParquetError;

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
        source: io::Error,
    },
    /// A Parquet file could not be written or read.
    #[error("cannot record to {path}: {source}")]
    Parquet {
        /// The file.
        path: String,
        /// The error from the Parquet library.
        source: ParquetError,
    },
    /// A file of the race folder could not be read.
    #[error("{path} {reason}")]
    Unread {
        /// The file.
        path: String,
        /// The reason, as the end of a sentence about the file.
        reason: String,
    },
    /// The writing thread could not be started.
    #[error("cannot record: cannot start a thread: {0}")]
    Thread(io::Error),
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
    /// Creates the error for a file. If the Parquet library passed on an error of the operating system, it is that one.
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        match source.downcast::<ParquetError>() {
            Ok(source) => Self::parquet(path, source),
            Err(source) => Self::File { path: path.display().to_string(), source },
        }
    }

    /// Creates the error for a Parquet file. If the library passed on another error, it is that one.
    pub(crate) fn parquet(path: &Path, source: ParquetError) -> Self {
        let path = path.display().to_string();
        match source {
            ParquetError::External(source) => {
                let source = source.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error);
                Self::File { path, source }
            }
            source => Self::Parquet { path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_the_parquet_library_passes_on_are_shown_without_its_name_for_them() {
        let external = || ParquetError::from(io::Error::from_raw_os_error(28));
        let expected = "cannot record to samples.parquet: No space left on device (os error 28)";
        let path = Path::new("samples.parquet");
        assert_eq!(RecordError::parquet(path, external()).to_string(), expected);
        assert_eq!(RecordError::file(path, io::Error::from(external())).to_string(), expected);
    }
}

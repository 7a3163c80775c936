//! The error type of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// An error from reading evidence. Every message is one line that names the file and gives the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// A file cannot be opened or read.
    #[error("cannot read {}: {cause}; check that the file exists and that you may read it", path.display())]
    Read {
        /// The file that cannot be read.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        cause: io::Error,
    },
    /// The path is a folder, a pipe or a device.
    #[error("{} is not a file; name the files themselves", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The content is not what the file was expected to contain.
    #[error("{}: {reason}", path.display())]
    Unrecognized {
        /// The file, or the first of several that belong together.
        path: PathBuf,
        /// What was expected, what was found, and what to do.
        reason: String,
    },
    /// The caller asked to stop.
    #[error("reading {} was interrupted; run the command again", path.display())]
    Interrupted {
        /// The file that was being read.
        path: PathBuf,
    },
}

impl EvidenceError {
    pub(crate) fn read(path: &Path, cause: io::Error) -> Self {
        Self::Read { path: path.to_path_buf(), cause }
    }

    pub(crate) fn unrecognized(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unrecognized { path: path.to_path_buf(), reason: reason.into() }
    }

    /// Returns the file that the error is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::NotAFile { path }
            | Self::Unrecognized { path, .. }
            | Self::Interrupted { path } => path,
        }
    }
}

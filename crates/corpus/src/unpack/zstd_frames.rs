//! The decoder of zstd, with a limit of its memory.

use std::io::{self, BufRead, Read};

use crate::error::CorpusError;

/// Largest accepted window, as an exponent of two: 128 MiB, the default of the program `zstd`. The decoder allocates the
/// window that an archive declares, which may be 2 GiB (`zstd --long=31`), whatever the size of the archive.
const WINDOW_LOG_MAX: u32 = 27;

/// What the library says about a larger window (`ZSTD_error_frameParameter_windowTooLarge`).
const WINDOW_TOO_LARGE: &str = "requires too much memory";

/// Returns a reader of the decompressed frames.
pub(super) fn decoder(source: impl BufRead) -> io::Result<impl Read> {
    let mut frames = zstd::Decoder::with_buffer(source)?;
    frames.window_log_max(WINDOW_LOG_MAX)?;
    Ok(frames)
}

/// Replaces the error of an archive with a larger window, which is not damaged, by one that says so.
pub(super) fn explained(error: CorpusError) -> CorpusError {
    match error {
        CorpusError::Corrupt { path, cause } if cause.to_string().contains(WINDOW_TOO_LARGE) => {
            let mebibytes = 1_u32 << (WINDOW_LOG_MAX - 20);
            let reason =
                format!("it was compressed with a window (zstd --long) of more than {mebibytes} MiB");
            CorpusError::Unsupported { path, reason }
        }
        other => other,
    }
}

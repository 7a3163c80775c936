//! Counts the replies in a row by which an engine, or a proxy in front of it, refuses a request for the moment.

use pacenote_record::ErrorClass;

use super::outcome::OperationOutcome;

/// The statuses with which an engine or a proxy refuses a request that may succeed later.
const BUSY_STATUSES: [u16; 4] = [429, 502, 503, 504];

/// Maximum number of such replies in a row after which the same request is sent again.
const MAX_IN_ROW: u32 = 10;

/// The replies in a row with a busy status. They say nothing about the work that a request asks about, which goes on in
/// the engine.
#[derive(Debug, Default)]
pub struct BusyReplies {
    in_row: u32,
}

impl BusyReplies {
    /// Counts the last reply. Returns whether it is to be ignored: it has a busy status, and few before it in a row had.
    pub fn ignores(&mut self, outcome: &OperationOutcome) -> bool {
        let is_busy = outcome.result.error_class == ErrorClass::HttpStatus
            && !outcome.result.is_final
            && BUSY_STATUSES.contains(&outcome.status);
        self.in_row = if is_busy { self.in_row + 1 } else { 0 };
        (1..=MAX_IN_ROW).contains(&self.in_row)
    }
}

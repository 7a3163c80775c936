//! Reads a verbose GC log in parts of any size.

use memchr::memchr;
use memchr::memmem::find;

use super::log::OpenJ9Log;
use super::state::ReaderState;
use super::tags::TagScanner;
use super::values::parse_timestamp;

/// Reads a verbose GC log of OpenJ9, of which any part may be missing.
#[derive(Debug)]
pub struct OpenJ9Reader {
    scanner: TagScanner,
    state: ReaderState,
}

impl Default for OpenJ9Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenJ9Reader {
    /// Creates a reader.
    #[must_use]
    pub fn new() -> Self {
        Self { scanner: TagScanner::new(), state: ReaderState::default() }
    }

    /// Returns whether the beginning of a file looks like a verbose GC log.
    #[must_use]
    pub fn recognizes(head: &[u8]) -> bool {
        [&b"<verbosegc"[..], b"<exclusive-start ", b"<initialized ", b"<gc-start "]
            .iter()
            .any(|mark| find(head, mark).is_some())
    }

    /// Returns the first timestamp of the beginning of a file, in milliseconds since 1970 on the JVM's local clock. The
    /// files of a rotated log are put in its order.
    #[must_use]
    pub fn first_timestamp(head: &[u8]) -> Option<i64> {
        const MARK: &[u8] = b" timestamp=\"";
        let start = find(head, MARK)? + MARK.len();
        let length = memchr(b'"', &head[start..])?;
        parse_timestamp(&head[start..start + length])
    }

    /// Reads the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { scanner, state } = self;
        scanner.feed(bytes, &mut |tag| state.read(&tag));
    }

    /// Ends a file. The next bytes are those of the next file of the same log.
    pub fn end_file(&mut self) {
        self.state.end_file(self.scanner.end_file());
    }

    /// Ends the log. Returns one log for each JVM that wrote to it; at least one.
    #[must_use]
    pub fn finish(self) -> Vec<OpenJ9Log> {
        let mut runs = self.state.finish();
        if let Some(last) = runs.last_mut() {
            last.problems.cut_tags = self.scanner.cut_tags();
            last.problems.has_declaration = self.scanner.has_declaration();
        }
        runs
    }
}

//! An interval of time.

/// An interval on the clock of a log, in nanoseconds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

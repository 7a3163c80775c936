//! The window of time of some statistics.

use crate::gc::log::Span;

/// A window, and the times of events in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// The window on the clock of the log; `None` for the whole of a log without times.
    pub(super) span: Option<Span>,
    /// Whether the window is the whole log, so that it contains all events.
    pub(super) is_whole: bool,
}

impl Window {
    pub(super) fn contains(self, end_ns: u64) -> bool {
        self.is_whole || self.span.is_some_and(|span| span.start_ns < end_ns && end_ns <= span.end_ns)
    }

    /// Returns the length in seconds.
    pub(super) fn seconds(self) -> Option<f64> {
        self.span
            .map(|span| seconds(span.end_ns.saturating_sub(span.start_ns)))
            .filter(|length| *length > 0.0)
    }

    /// Returns the part of an interval inside the window.
    pub(super) fn clip(self, end_ns: u64, length_ns: u64) -> Option<Span> {
        let span = self.span?;
        let start_ns = end_ns.saturating_sub(length_ns).max(span.start_ns);
        let end_ns = end_ns.min(span.end_ns);
        (start_ns < end_ns).then_some(Span { start_ns, end_ns })
    }
}

/// Converts nanoseconds to seconds.
pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

//! [`ClientSpan`]: when a client was in a task, and for how much of the measured window it was not.

use std::ops::Range;

use crate::sample::SampleType;

/// When a client was in a task. Times are in nanoseconds since the task began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "the postfix is the unit")]
pub struct ClientSpan {
    /// When it was planned to start: later than 0 only with a ramp-up.
    planned_start_ns: u64,
    /// When it was free for its first measured operation; `None` before.
    measured_from_ns: Option<u64>,
    /// When it left the task.
    left_ns: u64,
}

impl ClientSpan {
    /// Begins the span of a client that was planned to start at `planned_start_ns`.
    #[must_use]
    pub fn new(planned_start_ns: u64) -> Self {
        Self { planned_start_ns, measured_from_ns: None, left_ns: 0 }
    }

    /// Begins an operation for which the client was free since `free_since_ns`.
    #[inline]
    pub fn begin(&mut self, sample_type: SampleType, free_since_ns: u64) {
        if self.measured_from_ns.is_none() && sample_type == SampleType::Measured {
            self.measured_from_ns = Some(free_since_ns);
        }
    }

    /// Returns the span of a client that leaves the task at `left_ns`.
    #[must_use]
    pub fn until(self, left_ns: u64) -> Self {
        Self { left_ns, ..self }
    }

    /// Returns when the client left the task.
    pub(crate) fn left_ns(&self) -> u64 {
        self.left_ns
    }
}

/// Returns for how long clients were absent from the measured window, in nanoseconds, summed over them: they had left
/// the task, or, unless the window `is_planned`, had not begun to be measured. What follows from the plan does not count:
/// a client does not begin before its planned start, and one that starts earlier than others leaves as much earlier.
pub fn absent_ns(spans: &[ClientSpan], window: &Range<u64>, is_planned: bool) -> u64 {
    let last_start_ns = spans.iter().map(|span| span.planned_start_ns).max().unwrap_or(0);
    let absent = |span: &ClientSpan| {
        let after_ns = window.end.saturating_sub(span.left_ns.max(window.start));
        if is_planned {
            return after_ns;
        }
        let Some(measured_from_ns) = span.measured_from_ns else {
            return window.end.saturating_sub(window.start.max(span.planned_start_ns));
        };
        let before_ns =
            measured_from_ns.min(window.end).saturating_sub(window.start.max(span.planned_start_ns));
        before_ns.saturating_add(after_ns.saturating_sub(last_start_ns - span.planned_start_ns))
    };
    spans.iter().map(absent).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The span of a client with a planned start, the begin of its first measured operation, and its end.
    fn span(planned_start_ns: u64, measured_from_ns: Option<u64>, left_ns: u64) -> ClientSpan {
        ClientSpan { planned_start_ns, measured_from_ns, left_ns }
    }

    #[test]
    fn a_span_begins_with_the_first_measured_operation() {
        let mut own = ClientSpan::new(3);
        own.begin(SampleType::Warmup, 4);
        own.begin(SampleType::Measured, 5);
        own.begin(SampleType::Measured, 6);
        assert_eq!(own.until(9), span(3, Some(5), 9));
    }

    #[test]
    fn clients_are_absent_before_their_first_measured_operation_and_after_their_last() {
        let spans = [span(0, Some(0), 100), span(0, Some(20), 30), span(0, None, 50)];
        assert_eq!(absent_ns(&spans, &(0..100), false), 20 + 70 + 100);
        // The operation that is under way when a planned window begins is that of a client that is busy.
        assert_eq!(absent_ns(&spans, &(10..100), true), 70 + 50);
        assert_eq!(absent_ns(&spans, &(60..90), true), 30 + 30);
        assert_eq!(absent_ns(&[], &(0..100), false), 0);
    }

    #[test]
    fn a_ramp_up_is_no_absence() {
        let even = [span(0, Some(0), 60), span(20, Some(20), 80), span(40, Some(40), 100)];
        assert_eq!(absent_ns(&even, &(0..100), false), 0);
        let uneven = [span(0, Some(0), 40), span(20, Some(25), 80), span(40, Some(40), 100)];
        assert_eq!(absent_ns(&uneven, &(0..100), false), 20 + 5);
    }
}

//! Gaps: times between two readings of the clocks that are so long that the driver did not run.

use serde::Serialize;

use crate::health::race_spans::{RaceSpan, make_room};

/// A time between two readings that is too long: the driver did not run. Or several ones during the same tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClockGap {
    /// Time of the last reading before the first gap, in seconds since the driver started.
    pub at_s: f64,
    /// Total length of the gaps in seconds.
    pub length_s: f64,
    /// Beginning of the first one, in seconds since the race's first step began; negative before.
    pub from_s: f64,
    /// End of the last one, in seconds since the race's first step began; 0 if it had not begun.
    pub to_s: f64,
    /// Number of gaps.
    pub gaps: u32,
    /// The changes of tasks before them ([`RaceSpan::changes`]).
    #[serde(skip)]
    pub changes: Option<u32>,
}

impl ClockGap {
    /// Creates a gap of this length after `at_s`, which ended at `to_s`.
    pub fn new(at_s: f64, length_s: f64, to_s: f64, changes: Option<u32>) -> Self {
        Self { at_s, length_s, from_s: to_s - length_s, to_s, gaps: 1, changes }
    }

    /// Adds this gap to those of a race; of many, neighbours are merged ([`make_room`]).
    pub fn add_to(self, gaps: &mut Vec<Self>) {
        make_room(gaps);
        gaps.push(self);
    }
}

impl RaceSpan for ClockGap {
    fn span_s(&self) -> (f64, f64) {
        (self.from_s, self.to_s)
    }

    fn changes(&self) -> Option<u32> {
        self.changes
    }

    fn merge(&mut self, later: &Self) {
        self.length_s += later.length_s;
        self.to_s = later.to_s;
        self.gaps += later.gaps;
        self.changes = self.changes.filter(|_| self.changes == later.changes);
    }
}

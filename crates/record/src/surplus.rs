//! Operations that raise the throughput of a window above its own schedule.

/// Highest share of the operations of a window that the warm-up may leave to it or delay before throughput or latency is
/// marked: above it, those that are delayed decide the 99th percentile.
pub(crate) const MARKED_SHARE: f64 = 0.01;

/// Fewest such operations that mark throughput or latency.
pub(crate) const MIN_MARKED: u64 = 5;

/// By how many standard deviations the number of operations that wait or are in flight may differ between the begin and
/// the end of a window by chance.
const CHANCE_DEVIATIONS: f64 = 3.0;

/// What a measured window did beyond its own schedule, because the warm-up had left it.
///
/// A window whose queue is as long at its end as at its begin does as much as is due in it, or as the engine can. If the
/// engine works a queue off, the window does more: its throughput is then that of the schedule with what was left, which
/// is neither the rate that was asked nor what the engine can do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surplus {
    /// Operations beyond the schedule.
    pub operations: u64,
    /// All operations of the window.
    pub of: u64,
    /// Mean number of operations that were due and not answered.
    pub open: f64,
}

impl Surplus {
    /// Returns that of a window with a planned begin and end, to which `done` operations belong, and in which `due` were
    /// due.
    pub fn of_counts(done: u64, due: u64) -> Self {
        Self { operations: done.saturating_sub(due), of: done, open: 0.0 }
    }

    /// Returns that of a window of measured operations, `done` in `window_ns`, which take `schedule_ns` if they are sent
    /// when they are due: a window that begins late contains those that were due before it.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the share is from 0 to 1, so that the product is at most the number of operations"
    )]
    pub fn of_times(done: u64, window_ns: u64, schedule_ns: u64) -> Self {
        let share = schedule_ns.saturating_sub(window_ns) as f64 / schedule_ns.max(1) as f64;
        Self { operations: (done as f64 * share).round() as u64, of: done, open: 0.0 }
    }

    /// Returns whether they mark throughput.
    pub fn is_marked(self) -> bool {
        let by_chance = CHANCE_DEVIATIONS * (2.0 * self.open).sqrt();
        self.operations >= MIN_MARKED
            && self.operations as f64 > MARKED_SHARE * self.of as f64
            && self.operations as f64 > by_chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_marked_if_more_than_chance_explains_exceeds_the_schedule() {
        let surplus = |operations, open| Surplus { operations, of: 1000, open };
        assert!(surplus(11, 1.0).is_marked() && !surplus(10, 1.0).is_marked());
        // Three deviations of the difference of two queues of 9.
        assert!(!surplus(12, 9.0).is_marked() && surplus(13, 9.0).is_marked());
        assert!(!Surplus { of: 100, ..surplus(4, 0.0) }.is_marked());
    }

    #[test]
    fn a_window_that_does_no_more_than_its_schedule_has_none() {
        assert_eq!(Surplus::of_counts(300, 400).operations, 0);
        assert_eq!(Surplus::of_counts(477, 400).operations, 77);
        assert_eq!(Surplus::of_times(100, 11, 10).operations, 0);
        assert_eq!(Surplus::of_times(100, 8, 10).operations, 20);
        assert_eq!(Surplus::of_times(0, 0, 0).operations, 0);
    }
}

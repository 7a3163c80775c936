//! The time of samples.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The time of samples: the wall clock when the race began to sample, continued by the monotonic clock, so that it
/// neither jumps nor goes backwards.
#[derive(Debug, Clone, Copy)]
pub struct TelemetryClock {
    start: Instant,
    start_unix_ns: i64,
}

impl TelemetryClock {
    /// Starts the clock.
    #[must_use]
    pub fn start() -> Self {
        let (start, wall) = (Instant::now(), SystemTime::now());
        let since_1970 = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start, start_unix_ns: i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX) }
    }

    /// Returns the time in nanoseconds since 1970.
    #[must_use]
    pub fn now_ns(&self) -> i64 {
        self.unix_ns(Instant::now())
    }

    /// Returns an instant in nanoseconds since 1970.
    #[must_use]
    pub fn unix_ns(&self, instant: Instant) -> i64 {
        let ns = |from: Instant, to: Instant| {
            i64::try_from(to.saturating_duration_since(from).as_nanos()).unwrap_or(i64::MAX)
        };
        let (after, before) = (ns(self.start, instant), ns(instant, self.start));
        self.start_unix_ns.saturating_add(after).saturating_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn instants_before_and_after_the_start_have_a_time() {
        let clock = TelemetryClock::start();
        let hour = Duration::from_hours(1);
        assert_eq!(clock.unix_ns(clock.start), clock.start_unix_ns);
        assert_eq!(clock.unix_ns(clock.start + hour) - clock.start_unix_ns, 3_600_000_000_000);
        let before = clock.start.checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!(clock.unix_ns(before) - clock.start_unix_ns, -1_000_000);
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert!(clock.now_ns() >= clock.start_unix_ns && wall >= Duration::from_secs(1));
    }
}

//! Durations as whole nanoseconds, the unit in which the driver schedules and records.

use std::time::{Duration, Instant};

/// Returns a duration in nanoseconds; durations of more than 584 years are limited to 584 years.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns nanoseconds from `origin` to `instant`, or 0 if `instant` is earlier.
pub fn nanos_since(origin: Instant, instant: Instant) -> u64 {
    nanos(instant.saturating_duration_since(origin))
}

/// Returns seconds as nanoseconds. Validation of the plan ensures that the result does not overflow.
pub fn seconds_to_nanos(seconds: f64) -> u64 {
    nanos(Duration::from_secs_f64(seconds))
}

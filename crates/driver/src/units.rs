//! Conversion of durations to whole nanoseconds, the unit in which the driver schedules and records.

use std::time::{Duration, Instant};

/// Converts a duration to nanoseconds. Durations longer than 584 years, the maximum, are reduced to it.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the nanoseconds from `origin` to `instant`, or 0 if `instant` is earlier.
pub fn nanos_since(origin: Instant, instant: Instant) -> u64 {
    nanos(instant.saturating_duration_since(origin))
}

/// Converts seconds to nanoseconds. The validation of the plan ensures that the result does not overflow.
pub fn seconds_to_nanos(seconds: f64) -> u64 {
    nanos(Duration::from_secs_f64(seconds))
}

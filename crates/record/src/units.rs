//! Converts nanoseconds to the units of `race.json`.

/// Number of nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Converts nanoseconds to milliseconds.
#[must_use]
pub fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Converts nanoseconds to seconds.
#[must_use]
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

//! The clock of the measured loop.

use std::io;
use std::time::{Duration, Instant};

/// Reads the time and sleeps for one client. The real clock is [`crate::schedule::timer::Timer`]; tests of the measured
/// loop use a clock that advances only when all clients sleep.
pub trait Clock {
    /// Returns the current time.
    fn now(&self) -> Instant;

    /// Sleeps precisely until `instant`.
    ///
    /// # Errors
    ///
    /// If the operating system cannot create a timer.
    async fn sleep_until(&mut self, instant: Instant) -> io::Result<()>;

    /// Sleeps for `duration`, to within about a millisecond.
    async fn sleep_coarse(&self, duration: Duration);

    /// Records that the client begins an operation, so that its thread is not idle.
    fn mark_begun(&self);

    /// Records that the client has ended an operation, so that its thread is not idle.
    fn mark_ended(&self);
}

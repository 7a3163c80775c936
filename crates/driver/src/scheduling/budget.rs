//! The budget of CPU time of a thread with real-time priority.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Length of the time whose CPU time is limited.
pub const WINDOW: Duration = Duration::from_secs(1);

/// Longest CPU time of a thread within [`WINDOW`]: half of a core. If both were scheduled normally, one thread of an
/// engine that always has work would have the other half of that core. Several such threads would have more of it, and
/// lose the difference until the driver's thread has a short slice.
pub const MAX_CPU_TIME: Duration = Duration::from_millis(500);

/// Number of readings in a window of readings every 10 ms, the shortest interval of the health thread.
const READINGS: usize = 101;

/// The CPU time of a thread in the last second.
#[derive(Debug)]
pub struct CpuTimeWindow {
    /// When the CPU time was read, and the value since the thread started, in nanoseconds; the oldest first.
    readings: VecDeque<(Instant, u64)>,
}

impl CpuTimeWindow {
    /// Creates a window without readings.
    pub fn new() -> Self {
        Self { readings: VecDeque::with_capacity(READINGS) }
    }

    /// Adds a reading. Returns the CPU time in the window that ends with it.
    pub fn add(&mut self, now: Instant, cpu_ns: u64) -> Duration {
        while self.readings.len() == READINGS
            || self.readings.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) > WINDOW)
        {
            self.readings.pop_front();
        }
        self.readings.push_back((now, cpu_ns));
        let oldest_ns = self.readings.front().map_or(cpu_ns, |(_, oldest_ns)| *oldest_ns);
        Duration::from_nanos(cpu_ns.saturating_sub(oldest_ns))
    }

    /// Removes all readings.
    pub fn clear(&mut self) {
        self.readings.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_has_the_cpu_time_of_the_last_second() {
        let (mut window, began) = (CpuTimeWindow::new(), Instant::now());
        let mut add = |at_ms: u64, cpu_ms: u64| {
            let cpu_time = window.add(began + Duration::from_millis(at_ms), cpu_ms * 1_000_000);
            (cpu_time.as_millis(), window.readings.len())
        };
        assert_eq!(add(0, 100), (0, 1));
        assert_eq!(add(400, 300), (200, 2));
        assert_eq!(add(1_000, 700), (600, 3));
        assert_eq!(add(1_001, 701), (401, 3));
        // A driver that was stopped for a while says nothing about its load meanwhile.
        assert_eq!(add(9_000, 5_000), (0, 1));
    }

    #[test]
    fn a_window_never_allocates() {
        let (mut window, began) = (CpuTimeWindow::new(), Instant::now());
        let capacity = window.readings.capacity();
        for at_ms in 0..2_000 {
            window.add(began + Duration::from_millis(at_ms), at_ms * 1_000_000);
        }
        assert_eq!((window.readings.len(), window.readings.capacity()), (READINGS, capacity));
        window.clear();
        assert_eq!(window.add(began, 7), Duration::ZERO);
    }
}

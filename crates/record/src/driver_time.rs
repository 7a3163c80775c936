//! The driver's own work on the operations of a task, compared with their service times.

use serde::Serialize;

use crate::units::ms;

/// Durations of the operations of a task that succeeded and were measured, and that the driver executed without opening
/// a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DriverTime {
    /// Number of these operations.
    pub operations: u64,
    /// Total processing time outside the time from the first request to the end of the operation, in nanoseconds: the
    /// driver builds and compresses bodies, and decompresses and checks responses.
    pub driver_ns: u64,
    /// Total service time in nanoseconds.
    pub service_ns: u64,
}

/// The driver's own work on a mean operation of a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DriverTimeSummary {
    /// Number of operations.
    pub operations: u64,
    /// Mean of the driver's own work in milliseconds.
    pub mean_ms: f64,
    /// Mean service time in milliseconds.
    pub service_ms: f64,
    /// `mean_ms / service_ms`.
    pub share: f64,
}

impl DriverTime {
    /// Adds an operation.
    pub fn add_operation(&mut self, driver_ns: u64, service_ns: u64) {
        self.operations += 1;
        self.driver_ns += driver_ns;
        self.service_ns += service_ns;
    }

    /// Adds the operations of `other`.
    pub fn merge(&mut self, other: Self) {
        self.operations += other.operations;
        self.driver_ns += other.driver_ns;
        self.service_ns += other.service_ns;
    }

    /// Returns the means, or `None` if there are no operations or they took no time.
    #[must_use]
    pub fn summary(self) -> Option<DriverTimeSummary> {
        let Self { operations, driver_ns, service_ns } = self;
        (operations > 0 && service_ns > 0).then(|| DriverTimeSummary {
            operations,
            mean_ms: ms(driver_ns) / operations as f64,
            service_ms: ms(service_ns) / operations as f64,
            share: driver_ns as f64 / service_ns as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_are_those_of_all_workers() {
        let (mut one, mut other) = (DriverTime::default(), DriverTime::default());
        one.add_operation(1_000_000, 4_000_000);
        one.add_operation(0, 6_000_000);
        other.add_operation(2_000_000, 20_000_000);
        one.merge(other);
        let summary = one.summary().unwrap();
        assert_eq!((summary.operations, summary.mean_ms, summary.service_ms), (3, 1.0, 10.0));
        assert!((summary.share - 0.1).abs() < 1e-9);
        assert_eq!(DriverTime::default().summary(), None);
    }
}

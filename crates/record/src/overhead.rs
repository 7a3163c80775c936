//! What the clients of a task did besides its operations, and what they received without a request.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use crate::sample::ErrorClass;
use crate::units::seconds;

/// Time of clients that no service time contains, and data that no operation asked for. Those of several clients can be
/// added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientOverhead {
    /// Time in which requests waited for a connection to be opened, in nanoseconds.
    pub connecting_ns: u64,
    /// Requests that clean up.
    pub clean_ups: CleanUps,
    /// Data that no request asked for.
    pub unsolicited: UnsolicitedData,
}

/// Requests that clean up what an operation left in the engine, and whose outcome is not part of the operation's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanUps {
    /// Number of requests.
    pub requests: u64,
    /// Number of those that failed, by [`ErrorClass::index`].
    pub failed: [u64; ErrorClass::ALL.len()],
    /// Their total duration in nanoseconds, without opening connections.
    pub duration_ns: u64,
}

/// Data that arrived on connections although no request was waiting for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct UnsolicitedData {
    /// How often a connection had such data, after which it was closed.
    pub arrivals: u64,
    /// Number of its bytes.
    pub bytes: u64,
}

/// The requests that clean up, as written to `race.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CleanUpSummary {
    /// Number of requests.
    pub requests: u64,
    /// Number of those that failed, by the name of the error class; without classes that did not occur.
    pub failed: BTreeMap<&'static str, u64>,
    /// Their total duration in seconds, without opening connections.
    pub duration_s: f64,
}

impl CleanUps {
    /// Adds a request.
    pub fn add_request(&mut self, error_class: ErrorClass, duration_ns: u64) {
        self.requests += 1;
        self.duration_ns += duration_ns;
        if error_class != ErrorClass::None {
            self.failed[error_class.index()] += 1;
        }
    }

    /// Returns the summary of the requests.
    #[must_use]
    pub fn summary(&self) -> CleanUpSummary {
        let failed = ErrorClass::ALL.into_iter().zip(self.failed).filter(|(_, number)| *number > 0);
        CleanUpSummary {
            requests: self.requests,
            failed: failed.map(|(class, number)| (class.name(), number)).collect(),
            duration_s: seconds(self.duration_ns),
        }
    }
}

impl UnsolicitedData {
    /// Adds the data of one connection, which has been closed.
    pub fn add_arrival(&mut self, bytes: u64) {
        self.arrivals += 1;
        self.bytes += bytes;
    }
}

impl AddAssign for ClientOverhead {
    fn add_assign(&mut self, other: Self) {
        self.connecting_ns += other.connecting_ns;
        self.clean_ups += other.clean_ups;
        self.unsolicited.arrivals += other.unsolicited.arrivals;
        self.unsolicited.bytes += other.unsolicited.bytes;
    }
}

impl AddAssign for CleanUps {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.duration_ns += other.duration_ns;
        for (failed, others) in self.failed.iter_mut().zip(other.failed) {
            *failed += others;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_of_several_clients_adds_up() {
        let mut one = ClientOverhead { connecting_ns: 1, ..ClientOverhead::default() };
        one.clean_ups.add_request(ErrorClass::None, 2_000_000_000);
        one.clean_ups.add_request(ErrorClass::Timeout, 500_000_000);
        one.unsolicited.add_arrival(7);
        let mut other = ClientOverhead { connecting_ns: 2, ..ClientOverhead::default() };
        other.clean_ups.add_request(ErrorClass::Timeout, 0);
        other.clean_ups.add_request(ErrorClass::HttpStatus, 0);
        other.unsolicited.add_arrival(3);
        one += other;
        assert_eq!((one.connecting_ns, one.unsolicited), (3, UnsolicitedData { arrivals: 2, bytes: 10 }));
        assert_eq!(
            one.clean_ups.summary(),
            CleanUpSummary {
                requests: 4,
                failed: BTreeMap::from([("http-status", 1), ("timeout", 2)]),
                duration_s: 2.5
            }
        );
        assert_eq!(ErrorClass::ALL.map(ErrorClass::index), std::array::from_fn(|index| index));
    }
}

//! What happened on the connections to one host during a race.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of one host, added up over the clients of a race. A client counts on its own and adds its counts when its
/// connections are dropped, so that no request writes to memory that several threads share.
#[derive(Debug, Default)]
pub struct HostCounts {
    requests: AtomicU64,
    connection_failures: AtomicU64,
    set_aside: AtomicU64,
}

/// Counts of the connections of one client to one host, or of all clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostUse {
    /// Number of requests that were sent and ended.
    pub requests: u64,
    /// How often no connection could be opened.
    pub connection_failures: u64,
    /// How often a client set the host aside.
    pub set_aside: u64,
}

impl HostCounts {
    /// Adds the counts of a client.
    pub fn add(&self, counted: HostUse) {
        self.requests.fetch_add(counted.requests, Ordering::Relaxed);
        self.connection_failures.fetch_add(counted.connection_failures, Ordering::Relaxed);
        self.set_aside.fetch_add(counted.set_aside, Ordering::Relaxed);
    }

    /// Returns the counts of all clients whose connections have been dropped.
    #[must_use]
    pub fn total(&self) -> HostUse {
        HostUse {
            requests: self.requests.load(Ordering::Relaxed),
            connection_failures: self.connection_failures.load(Ordering::Relaxed),
            set_aside: self.set_aside.load(Ordering::Relaxed),
        }
    }
}

//! The order in which a client uses the hosts of a cluster, as in elastic-transport, the transport of Rally's client:
//! round-robin, without the hosts that have failed.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a host is set aside after its first failure. The time doubles with each further failure in a row.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest time for which a host is set aside.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// The hosts of a cluster as one client uses them. The only host of a cluster is never set aside.
#[derive(Debug)]
pub struct HostRotation {
    /// Position of the host whose turn it is.
    next: Cell<usize>,
    /// Number of hosts that are set aside.
    set_aside: Cell<usize>,
    hosts: Box<[HostState]>,
}

/// Whether a host is used.
#[derive(Debug, Default)]
struct HostState {
    /// Number of failures since the last response.
    failures: Cell<u32>,
    /// When the host is to be tried again, or `None` if it is used.
    set_aside_until: Cell<Option<Instant>>,
    /// Whether the host is set aside because no connection could be opened.
    refuses: Cell<bool>,
}

/// A trial of a host that is set aside.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    host: usize,
    /// When it was due.
    due: Instant,
    /// When the next trial is due if this one is not reported.
    deadline: Instant,
}

/// Why a host is set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostFailure {
    /// No connection could be opened.
    NoConnection,
    /// A connection broke, or no response arrived in time.
    NoResponse,
}

impl HostRotation {
    /// Creates the rotation over `hosts` hosts, beginning with the one at position `first`.
    pub fn new(hosts: usize, first: usize) -> Self {
        Self {
            next: Cell::new(first % hosts.max(1)),
            set_aside: Cell::new(0),
            hosts: (0..hosts).map(|_| HostState::default()).collect(),
        }
    }

    /// Returns the position of the host for the next request. If all are set aside, this is the one whose time ends
    /// first.
    pub fn next(&self) -> usize {
        let host = self.next.get();
        self.next.set(self.after(host));
        if self.set_aside.get() == 0 { host } else { self.next_available(host) }
    }

    fn after(&self, host: usize) -> usize {
        if host + 1 < self.hosts.len() { host + 1 } else { 0 }
    }

    #[cold]
    fn next_available(&self, from: usize) -> usize {
        let turns = (from..self.hosts.len()).chain(0..from);
        // `None`, for a host that is used, is less than any instant, and the first of several minima is returned.
        let host = turns.min_by_key(|host| self.hosts[*host].set_aside_until.get()).unwrap_or(from);
        self.next.set(self.after(host));
        host
    }

    /// Records that a host sent a response, so that its next failure counts as the first.
    pub fn responded(&self, host: usize) {
        if self.hosts[host].failures.get() != 0 {
            self.recovered(host);
        }
    }

    #[cold]
    fn recovered(&self, host: usize) {
        self.hosts[host].failures.set(0);
        self.reinstate(host);
    }

    /// Records that a host failed. Returns whether it has been set aside, which it was not before.
    pub fn failed(&self, host: usize, failure: HostFailure, now: Instant) -> bool {
        if self.hosts.len() == 1 {
            return false;
        }
        let state = &self.hosts[host];
        let timeout = FIRST_TIMEOUT * 2_u32.saturating_pow(state.failures.get().min(16));
        state.failures.set(state.failures.get().saturating_add(1));
        state.refuses.set(failure == HostFailure::NoConnection);
        let was_used = state.set_aside_until.replace(Some(now + timeout.min(MAX_TIMEOUT))).is_none();
        self.set_aside.set(self.set_aside.get() + usize::from(was_used));
        was_used
    }

    /// Uses a host again. Its failures in a row are counted on until it responds.
    pub fn reinstate(&self, host: usize) {
        if self.hosts[host].set_aside_until.take().is_some() {
            self.set_aside.set(self.set_aside.get() - 1);
        }
    }

    /// Returns whether a host is set aside.
    pub fn is_set_aside(&self, host: usize) -> bool {
        self.hosts[host].set_aside_until.get().is_some()
    }

    /// Begins a trial if a host is set aside and to be tried again at `now`. The next trial is then due at `deadline`,
    /// unless this one is reported or abandoned before that.
    pub fn begin_trial(&self, host: usize, now: Instant, deadline: Instant) -> Option<Trial> {
        let until = &self.hosts[host].set_aside_until;
        let due = until.get().filter(|until| *until <= now)?;
        until.set(Some(deadline));
        Some(Trial { host, due, deadline })
    }

    /// Makes the next trial due at once, unless this one has been reported.
    pub fn abandon(&self, trial: Trial) {
        let until = &self.hosts[trial.host].set_aside_until;
        if until.get() == Some(trial.deadline) {
            until.set(Some(trial.due));
        }
    }

    /// Returns whether no host is left after a connection could not be opened: the host is the only one, or all are set
    /// aside for this reason.
    pub fn is_exhausted(&self) -> bool {
        self.hosts.len() == 1
            || self.hosts.iter().all(|host| host.set_aside_until.get().is_some() && host.refuses.get())
    }
}

#[cfg(test)]
mod tests {
    use super::HostFailure::{NoConnection, NoResponse};
    use super::*;

    fn turns(rotation: &HostRotation, number: usize) -> Vec<usize> {
        (0..number).map(|_| rotation.next()).collect()
    }

    #[test]
    fn requests_rotate_over_the_hosts_that_are_used() {
        let (rotation, now) = (HostRotation::new(3, 1), Instant::now());
        assert_eq!(turns(&rotation, 4), [1, 2, 0, 1]);
        assert!(rotation.failed(2, NoConnection, now));
        assert_eq!(turns(&rotation, 4), [0, 1, 0, 1]);
        rotation.reinstate(2);
        assert_eq!(turns(&rotation, 3), [2, 0, 1]);
        assert!(!rotation.is_exhausted());
    }

    #[test]
    fn each_failure_in_a_row_doubles_the_time_up_to_thirty_seconds() {
        let (rotation, now) = (HostRotation::new(2, 0), Instant::now());
        let at = |seconds| now + Duration::from_secs(seconds);
        for (failure, seconds) in [1, 2, 4, 8, 16, 30, 30].into_iter().enumerate() {
            assert_eq!(rotation.failed(0, NoConnection, now), failure == 0);
            assert!(rotation.begin_trial(0, at(seconds - 1) + Duration::from_millis(999), at(100)).is_none());
            assert!(rotation.begin_trial(0, at(seconds), at(100)).is_some());
            assert!(rotation.begin_trial(0, at(99), at(100)).is_none(), "a trial is in progress");
        }
        for _ in 0..100 {
            rotation.failed(0, NoConnection, now);
        }
        // A connection that could be opened is not yet a response.
        rotation.reinstate(0);
        rotation.failed(0, NoConnection, now);
        assert!(rotation.begin_trial(0, at(29), at(100)).is_none());
        rotation.responded(0);
        assert!(!rotation.is_set_aside(0));
        rotation.failed(0, NoConnection, now);
        assert!(rotation.begin_trial(0, at(1), at(100)).is_some());
    }

    #[test]
    fn a_host_that_accepts_connections_but_never_responds_is_used_less_often_and_counted_each_time() {
        let (rotation, now) = (HostRotation::new(2, 0), Instant::now());
        let at = |seconds| now + Duration::from_secs(seconds);
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            assert!(rotation.failed(0, NoResponse, now), "it was used again, so it is set aside again");
            assert_eq!(turns(&rotation, 3), [1, 1, 1]);
            assert!(rotation.begin_trial(0, at(seconds - 1), at(100)).is_none());
            assert!(rotation.begin_trial(0, at(seconds), at(100)).is_some());
            assert_eq!(turns(&rotation, 3), [1, 1, 1], "it is not used before it is connected");
            rotation.reinstate(0);
        }
    }

    #[test]
    fn an_abandoned_trial_is_due_again_at_once_unless_its_result_is_known() {
        let (rotation, now) = (HostRotation::new(2, 0), Instant::now());
        let at = |seconds| now + Duration::from_secs(seconds);
        rotation.failed(0, NoConnection, now);
        rotation.abandon(rotation.begin_trial(0, at(1), at(60)).unwrap());
        assert!(rotation.is_set_aside(0));
        let reported = rotation.begin_trial(0, at(1), at(60)).unwrap();
        rotation.failed(0, NoConnection, at(1));
        rotation.abandon(reported);
        assert!(rotation.begin_trial(0, at(2), at(60)).is_none(), "it failed and is due after 2 s");
        let successful = rotation.begin_trial(0, at(3), at(60)).unwrap();
        rotation.reinstate(0);
        rotation.abandon(successful);
        assert!(!rotation.is_set_aside(0));
    }

    #[test]
    fn if_all_hosts_are_set_aside_the_one_whose_time_ends_first_is_tried() {
        let (rotation, now) = (HostRotation::new(3, 0), Instant::now());
        rotation.failed(1, NoConnection, now);
        rotation.failed(2, NoConnection, now + Duration::from_millis(1));
        assert!(!rotation.is_exhausted());
        rotation.failed(0, NoConnection, now + Duration::from_millis(2));
        assert!(rotation.is_exhausted());
        assert_eq!(turns(&rotation, 2), [1, 1]);
        rotation.failed(1, NoConnection, now + Duration::from_millis(3));
        assert_eq!(turns(&rotation, 1), [2]);
    }

    #[test]
    fn a_host_whose_connections_broke_is_left_for_the_next_request() {
        let (rotation, now) = (HostRotation::new(2, 0), Instant::now());
        rotation.failed(0, NoResponse, now);
        rotation.failed(1, NoConnection, now);
        assert!(!rotation.is_exhausted());
        rotation.failed(0, NoConnection, now);
        assert!(rotation.is_exhausted());
        rotation.reinstate(1);
        assert!(!rotation.is_exhausted());
    }

    #[test]
    fn the_only_host_is_always_used() {
        let rotation = HostRotation::new(1, 7);
        assert!(!rotation.failed(0, NoConnection, Instant::now()));
        assert!(rotation.is_exhausted() && !rotation.is_set_aside(0));
        assert_eq!(turns(&rotation, 2), [0, 0]);
    }
}

//! Measured operations that waited for operations of the warm-up.

use std::ops::AddAssign;

use serde::Serialize;

use crate::units::seconds;

/// Highest share of the measured operations that the warm-up may delay before latency is marked: above it, they decide
/// the 99th percentile.
const MARKED_SHARE: f64 = 0.01;

/// Fewest delayed operations that mark latency.
const MIN_MARKED: u64 = 5;

/// How many times the number of delayed operations that the load explains must be exceeded before latency is marked.
/// `docs/measuring.md` has the share of races that this marks although nothing is slow.
const EXPLAINED_FACTOR: f64 = 10.0;

/// Counts of the measured operations that the warm-up delayed: those that waited for one of its operations, or for an
/// operation that it had delayed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarmupBacklog {
    /// Those that have ended.
    pub delayed: u64,
    /// When the last of them was due, in nanoseconds since the task began.
    pub last_due_ns: u64,
    /// The largest number of them that one client has begun.
    pub most_of_client: u64,
    /// Position of the last of them in the schedule that the clients share, from 1, warm-up included; 0 if each client
    /// has its own. Not all operations before it have waited.
    pub last_position: u64,
    /// Number of clients whose last operation was one of them, so that their backlog may have lasted longer; of clients
    /// that share their schedule, only the one with the last operation counts.
    pub clients_behind: u32,
    /// Operations that began, and belong to the warm-up only because the window waited for its backlog.
    pub drained: u64,
}

/// How the operations of one client waited for the warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientBacklogEnd {
    /// Measured operations that it has begun and that the warm-up had delayed.
    pub delayed: u64,
    /// Operations that it has begun and that belong to the warm-up only because the window had not begun.
    pub drained: u64,
    /// Whether its last operation was delayed, and is the last one of the schedule if the clients share it, so that the
    /// backlog may have lasted longer.
    pub is_behind: bool,
    /// Position of the last operation in the schedule that the clients share, from 1, which the warm-up has delayed.
    pub last_position: u64,
}

/// When the measured window of a task begins that waits until the backlog of the warm-up is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainedWindow {
    /// The begin, or the latest possible one while it is not known, in nanoseconds since the task began. Operations that
    /// are due before it belong to the warm-up.
    pub begin_ns: u64,
    /// Whether it begins because the backlog was not gone in the middle of the planned window.
    pub gave_up: bool,
}

impl DrainedWindow {
    /// Merges what two workers know about the window; one that ended earlier may not have known its begin.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self { begin_ns: self.begin_ns.min(other.begin_ns), gave_up: self.gave_up && other.gave_up }
    }
}

/// How the measured window of a task waited for the backlog, as written to `race.json`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DrainSummary {
    /// When the window began, in seconds since the task began; `null` if nothing was measured.
    pub window_from_s: Option<f64>,
    /// Operations that began before, and were planned to be measured. They belong to the warm-up.
    pub operations: u64,
    /// Whether it began although the backlog was not gone.
    pub gave_up: bool,
}

/// The effect of the warm-up's backlog on a task, as written to `race.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct WarmupBacklogSummary {
    /// Measured operations that ended and that the warm-up had delayed.
    #[serde(rename = "operations")]
    pub delayed: u64,
    /// When the last of them was due, in seconds since the task began; `null` if there is none.
    pub until_s: Option<f64>,
    /// Whether all clients were free for an operation before it was due again; if they share their schedule, whether one
    /// was free for its last operation.
    pub gone: bool,
    /// Warm-up iterations of each client that would have contained them; `null` if the warm-up is limited by time or
    /// there is none of them.
    pub iterations: Option<u64>,
    /// Whether there are so many of them that latency is marked: at least five, more than 1 % of the measured
    /// operations, and more than ten times as many as the load explains.
    pub marked: bool,
    /// How the window waited for the backlog; `null` if it did not.
    pub drain: Option<DrainSummary>,
}

/// The operations of a task to which its backlog is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BacklogContext {
    /// Measured operations that have ended.
    pub measured: u64,
    /// Warm-up operations that began.
    pub warmup: u64,
    /// Number of clients.
    pub clients: u32,
    /// Whether the clients share their schedule.
    pub open_loop: bool,
    /// Whether the warm-up is limited by time.
    pub is_timed: bool,
    /// Share of the window for which the clients had a measured operation under way, on average.
    pub load: f64,
    /// The window, if it waited for the backlog.
    pub drained_window: Option<DrainedWindow>,
}

impl BacklogContext {
    /// Returns how many operations the warm-up of an engine that is always equally fast delays, on average: those that
    /// are due while a queue of random arrivals and service times (M/M/1) empties, for each queue of the task.
    fn explained(&self) -> f64 {
        let queues = if self.open_loop { 1 } else { self.clients.max(1) };
        // An engine that never catches up with its schedule explains any number.
        let idle = (1.0 - self.load).max(f64::EPSILON);
        f64::from(queues) * (self.load / idle).powi(2)
    }

    fn is_marked(&self, delayed: u64) -> bool {
        let limit = (MARKED_SHARE * self.measured as f64).max(EXPLAINED_FACTOR * self.explained());
        delayed >= MIN_MARKED && delayed as f64 > limit
    }
}

impl WarmupBacklog {
    /// Adds an operation that was due at `due_ns` and has ended.
    pub fn add_operation(&mut self, due_ns: u64) {
        self.delayed += 1;
        self.last_due_ns = self.last_due_ns.max(due_ns);
    }

    /// Adds a client that has ended.
    pub fn add_client(&mut self, client: ClientBacklogEnd) {
        self.most_of_client = self.most_of_client.max(client.delayed);
        self.clients_behind += u32::from(client.is_behind);
        self.last_position = self.last_position.max(client.last_position);
        self.drained += client.drained;
    }

    /// Returns the effect of the backlog on a task.
    pub(crate) fn summary(self, context: BacklogContext) -> WarmupBacklogSummary {
        let BacklogContext { measured, warmup, clients, open_loop, is_timed, drained_window, .. } = context;
        let (is_empty, clients) = (self.delayed == 0, u64::from(clients.max(1)));
        let iterations = if open_loop {
            self.last_position.div_ceil(clients)
        } else {
            warmup.div_ceil(clients) + self.most_of_client
        };
        WarmupBacklogSummary {
            delayed: self.delayed,
            until_s: (!is_empty).then(|| seconds(self.last_due_ns)),
            gone: self.clients_behind == 0,
            iterations: (!is_empty && !is_timed).then_some(iterations),
            marked: context.is_marked(self.delayed),
            drain: drained_window.map(|DrainedWindow { begin_ns, gave_up }| DrainSummary {
                window_from_s: (measured > 0).then(|| seconds(begin_ns)),
                operations: self.drained,
                gave_up,
            }),
        }
    }
}

impl AddAssign for WarmupBacklog {
    fn add_assign(&mut self, other: Self) {
        self.delayed += other.delayed;
        self.last_due_ns = self.last_due_ns.max(other.last_due_ns);
        self.most_of_client = self.most_of_client.max(other.most_of_client);
        self.last_position = self.last_position.max(other.last_position);
        self.clients_behind += other.clients_behind;
        self.drained += other.drained;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(measured: u64) -> BacklogContext {
        BacklogContext {
            measured,
            warmup: 20,
            clients: 4,
            open_loop: false,
            is_timed: true,
            load: 0.01,
            drained_window: None,
        }
    }

    #[test]
    fn more_than_one_percent_of_the_operations_mark_latency() {
        let mut backlog = WarmupBacklog::default();
        (1..=5).for_each(|number| backlog.add_operation(number * 1_000_000_000));
        assert!(!backlog.summary(context(500)).marked && backlog.summary(context(499)).marked);
        assert_eq!(backlog.summary(context(500)).until_s, Some(5.0));
        let none = WarmupBacklog::default().summary(context(0));
        assert_eq!(none, WarmupBacklogSummary { gone: true, ..WarmupBacklogSummary::default() });
    }

    #[test]
    fn few_delayed_operations_mark_nothing() {
        assert!(context(100).is_marked(5) && !context(20).is_marked(4));
    }

    #[test]
    fn as_many_as_the_load_explains_do_not_mark_latency() {
        // A client that is busy for 80 % of the time leaves 16 on average.
        let loaded = |load, open_loop| BacklogContext { open_loop, load, ..context(1_000) };
        assert!(!loaded(0.8, true).is_marked(159) && loaded(0.8, true).is_marked(161));
        assert!(!loaded(0.8, false).is_marked(639) && loaded(0.8, false).is_marked(641));
        assert!(loaded(0.3, true).is_marked(135));
        assert!(!loaded(1.0, true).is_marked(1_000) && !loaded(1.2, true).is_marked(1_000));
    }

    #[test]
    fn iterations_that_contain_the_backlog_are_those_of_the_slowest_client() {
        let mut backlog = WarmupBacklog::default();
        (0..6).for_each(|due_ns| backlog.add_operation(due_ns));
        let ended = ClientBacklogEnd::default();
        backlog.add_client(ClientBacklogEnd { delayed: 4, last_position: 30, ..ended });
        backlog.add_client(ClientBacklogEnd { delayed: 2, last_position: 41, is_behind: true, ..ended });
        let by_count = BacklogContext { is_timed: false, ..context(100) };
        assert_eq!(backlog.summary(by_count).iterations, Some(5 + 4));
        assert!(!backlog.summary(by_count).gone);
        let shared = BacklogContext { open_loop: true, ..by_count };
        // Four clients share 20 operations of the warm-up and 21 that follow, of which not all have waited.
        assert_eq!(backlog.summary(shared).iterations, Some(11));
        assert_eq!(backlog.summary(context(100)).iterations, None);
    }
}

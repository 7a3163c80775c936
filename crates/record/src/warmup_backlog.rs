//! Measured operations that waited for operations of the warm-up.

use std::ops::AddAssign;

use pacenote_stats::rank;
use serde::Serialize;

use crate::flights::EngineBacklog;
use crate::histogram::DurationHistogram;
use crate::surplus::{MARKED_SHARE, MIN_MARKED, Surplus};
use crate::units::seconds;

/// How many times as large as without the delayed operations a figure of latency must be before latency is marked.
const MARKED_EFFECT: f64 = 1.1;

/// The quantiles of latency on which the delayed operations may have an effect; the other figure is the mean.
const EFFECT_QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// The quantiles of latency that the delayed operations may decide, and which share of the measured operations is above
/// each; the last one is the maximum.
const DECIDED_QUANTILES: [(f64, f64); 6] =
    [(0.5, 0.5), (0.9, 0.1), (0.99, 0.01), (0.999, 0.001), (0.9999, 0.0001), (1.0, 0.0)];

/// How many times the longest latency of the others the longest one of the delayed operations must exceed before they are
/// unlike the others. `docs/measuring.md` has the share of races that these rules mark although nothing is slow.
const UNLIKE_FACTOR: f64 = 1.5;

/// How many times the number of delayed operations that random arrivals explain must be exceeded before they are unlike
/// the others.
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
    /// The largest number of operations that one client has begun and that the warm-up had delayed, or that belong to it
    /// only because the window waited.
    pub most_of_client_with_drained: u64,
    /// The largest number of operations that one client has begun and that belong to the warm-up only because the window
    /// waited.
    pub most_drained: u64,
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
    /// The part of them that no client was behind for: they waited in the engine.
    pub in_engine: u64,
    /// When the last of them was due, in seconds since the task began; `null` if there is none.
    pub until_s: Option<f64>,
    /// Whether all clients were free for an operation before it was due again; if they share their schedule, whether one
    /// was free for its last operation. Of operations that waited in the engine, whether as few were in flight as on
    /// average again.
    pub gone: bool,
    /// Warm-up iterations of each client that would have contained them; `null` if the warm-up is limited by time or
    /// there is none of them.
    pub iterations: Option<u64>,
    /// Whether latency is marked: they are at least five and more than 1 % of the measured operations, a figure of latency
    /// is more than 10 % lower without them, and they are unlike the operations that the warm-up did not delay.
    pub marked: bool,
    /// How many times as large as without them a figure of latency is, for the one of p50, p90, p99 and mean where that is
    /// largest; `null` if none of them, or of the others, succeeded.
    pub effect: Option<f64>,
    /// The lowest of the quantiles 0.5, 0.9, 0.99, 0.999, 0.9999 and 1 (the maximum) of latency that they decide: they
    /// are at least five and a larger share of the measured operations than is above it, it is more than 10 % lower
    /// without them, and they are unlike the others. `null` if there is none.
    pub from_quantile: Option<f64>,
    /// How the window waited for the backlog; `null` if it did not.
    pub drain: Option<DrainSummary>,
    /// By how many operations the throughput of the window exceeds its own schedule, because the warm-up left them.
    pub surplus: u64,
    /// Whether throughput is marked: they are at least five and more than 1 % of the operations of the window, and more
    /// than the number of those that wait or are in flight differs by chance.
    pub throughput_marked: bool,
}

/// The operations of a task to which its backlog is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BacklogContext<'a> {
    /// Measured operations that have ended.
    pub measured: u64,
    /// The part of them that was due before a client was free.
    pub waited: u64,
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
    /// Latency of the measured operations that succeeded; `None` without a schedule.
    pub latency: Option<&'a DurationHistogram>,
    /// Latency of those that the warm-up delayed; `None` if there is none.
    pub delayed_latency: Option<&'a DurationHistogram>,
    /// Those that waited in the engine; `None` if there are none.
    pub in_engine: Option<&'a EngineBacklog>,
    /// The window, if it waited for the backlog.
    pub drained_window: Option<DrainedWindow>,
    /// What the window did beyond its own schedule.
    pub surplus: Surplus,
}

impl BacklogContext<'_> {
    /// Returns how many operations the warm-up of an engine that is always equally fast delays, on average: those that
    /// are due while a queue of random arrivals and service times (M/M/1) empties, for each queue of the task.
    ///
    /// In such a queue, the share of the operations that wait equals the load. If fewer of those wait that the warm-up
    /// did not delay, arrivals or service times are more regular, and explain less. A queue in the engine is not visible
    /// in these numbers: how many it delays is known from the rest of the window.
    fn explained(&self, delayed: u64) -> f64 {
        let queues = if self.open_loop { 1 } else { self.clients.max(1) };
        let others = self.measured.saturating_sub(delayed).max(1);
        let (in_engine, free) =
            self.in_engine.map_or((0.0, 0), |engine| (engine.explained, engine.operations - engine.waited));
        let delayed_waited = delayed.saturating_sub(free);
        let busy = self.load.min(self.waited.saturating_sub(delayed_waited) as f64 / others as f64);
        // A queue that never empties explains any number.
        let idle = (1.0 - busy).max(f64::EPSILON);
        f64::from(queues) * (busy / idle).powi(2) + in_engine
    }

    /// Returns the latency of the operations that the warm-up did not delay; `None` if it delayed none that succeeded.
    fn latency_of_others(&self) -> Option<DurationHistogram> {
        self.latency?.without(self.delayed_latency.filter(|delayed| delayed.count() > 0)?)
    }

    /// Returns how many times as large as without the delayed operations a figure of latency is, for the one where that
    /// is largest.
    fn effect(&self) -> Option<f64> {
        let others = self.latency_of_others().filter(|others| others.count() > 0)?;
        let all = self.latency?;
        let of_mean = all.mean_ns() / others.mean_ns();
        let largest = EFFECT_QUANTILES.iter().map(|q| at(all, *q) / at(&others, *q)).fold(of_mean, f64::max);
        Some(largest).filter(|effect| effect.is_finite())
    }

    /// Returns how many of the delayed operations had to wait for clients that were behind the warm-up. Without others,
    /// only these are known to be delayed: that they waited in the engine is concluded from what it has in flight later.
    fn delayed_by_clients(&self, delayed: u64) -> u64 {
        delayed.saturating_sub(self.in_engine.map_or(0, |engine| engine.operations))
    }

    /// Returns whether as many operations may mark latency.
    fn is_considerable(&self, operations: u64) -> bool {
        operations >= MIN_MARKED && operations as f64 > MARKED_SHARE * self.measured as f64
    }

    fn is_marked(&self, delayed: u64) -> bool {
        if !self.is_considerable(delayed) {
            return false;
        }
        let Some((part, others)) = self.delayed_latency.zip(self.latency_of_others()) else { return false };
        if others.count() == 0 {
            return self.is_considerable(self.delayed_by_clients(delayed));
        }
        self.are_unlike(delayed, part, &others) && self.effect().is_some_and(|effect| effect > MARKED_EFFECT)
    }

    /// Returns whether delayed operations, of which `part` has the latency, are unlike the others.
    fn are_unlike(&self, delayed: u64, part: &DurationHistogram, others: &DurationHistogram) -> bool {
        at(part, 0.5) > at(others, 0.99)
            || part.max_ns() as f64 > UNLIKE_FACTOR * others.max_ns() as f64
            || delayed as f64 > EXPLAINED_FACTOR * self.explained(delayed)
    }

    /// Returns the lowest quantile of latency that the delayed operations decide.
    fn lowest_decided_quantile(&self, delayed: u64) -> Option<f64> {
        let (all, part) = self.latency.zip(self.delayed_latency)?;
        let others = self.latency_of_others()?;
        let has_others = others.count() > 0;
        let deciding = if has_others { delayed } else { self.delayed_by_clients(delayed) };
        if deciding < MIN_MARKED || has_others && !self.are_unlike(delayed, part, &others) {
            return None;
        }
        let is_decided = |(q, above): &&(f64, f64)| {
            deciding as f64 > above * self.measured as f64
                && (!has_others || at(all, *q) > MARKED_EFFECT * at(&others, *q))
        };
        DECIDED_QUANTILES.iter().find(is_decided).map(|(q, _)| *q)
    }
}

/// Returns a quantile of durations, in nanoseconds.
fn at(durations: &DurationHistogram, q: f64) -> f64 {
    durations.at_rank(rank(durations.count(), q)) as f64
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
        self.most_of_client_with_drained =
            self.most_of_client_with_drained.max(client.delayed + client.drained);
        self.most_drained = self.most_drained.max(client.drained);
        self.clients_behind += u32::from(client.is_behind);
        self.last_position = self.last_position.max(client.last_position);
        self.drained += client.drained;
    }

    /// Adds the operations that waited in the engine, after `warmup` operations of the warm-up.
    fn add_engine(&mut self, engine: &EngineBacklog, warmup: u64) {
        if engine.operations == 0 {
            return;
        }
        self.delayed += engine.operations;
        self.last_due_ns = self.last_due_ns.max(engine.last_due_ns);
        self.most_of_client = self.most_of_client.max(engine.most_of_client);
        // Which client drained how many is not known here: no client began more than both together.
        self.most_of_client_with_drained =
            self.most_of_client_with_drained.max(engine.most_of_client + self.most_drained);
        self.last_position = self.last_position.max(warmup + engine.due_until);
        self.clients_behind += u32::from(!engine.gone);
    }

    /// Returns the effect of the backlog on a task.
    pub(crate) fn summary(mut self, context: BacklogContext<'_>) -> WarmupBacklogSummary {
        if let Some(engine) = context.in_engine {
            self.add_engine(engine, context.warmup);
        }
        let BacklogContext { measured, warmup, clients, open_loop, is_timed, drained_window, .. } = context;
        let (is_empty, clients) = (self.delayed == 0, u64::from(clients.max(1)));
        let iterations = if open_loop {
            self.last_position.div_ceil(clients)
        } else {
            // The drained ones are counted for the client that has most of all, not for a mean one.
            warmup.saturating_sub(self.drained).div_ceil(clients) + self.most_of_client_with_drained
        };
        WarmupBacklogSummary {
            delayed: self.delayed,
            in_engine: context.in_engine.map_or(0, |engine| engine.operations),
            until_s: (!is_empty).then(|| seconds(self.last_due_ns)),
            gone: self.clients_behind == 0,
            iterations: (!is_empty && !is_timed).then_some(iterations),
            marked: context.is_marked(self.delayed),
            effect: context.effect(),
            from_quantile: context.lowest_decided_quantile(self.delayed),
            surplus: context.surplus.operations,
            throughput_marked: context.surplus.is_marked(),
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
        self.most_of_client_with_drained =
            self.most_of_client_with_drained.max(other.most_of_client_with_drained);
        self.most_drained = self.most_drained.max(other.most_drained);
        self.last_position = self.last_position.max(other.last_position);
        self.clients_behind += other.clients_behind;
        self.drained += other.drained;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(measured: u64) -> BacklogContext<'static> {
        BacklogContext {
            measured,
            waited: 0,
            warmup: 20,
            clients: 4,
            open_loop: false,
            is_timed: true,
            load: 0.01,
            latency: None,
            delayed_latency: None,
            in_engine: None,
            drained_window: None,
            surplus: Surplus::default(),
        }
    }

    /// Returns whether latency is marked if `delayed_ms` are the latencies of the delayed operations and `others_ms` those
    /// of the others.
    fn is_marked(context: BacklogContext<'_>, delayed_ms: &[u64], others_ms: &[u64]) -> bool {
        let histogram = |ms: &mut dyn Iterator<Item = &u64>| {
            let mut histogram = DurationHistogram::new().unwrap();
            ms.for_each(|ms| histogram.record(ms * 1_000_000));
            histogram
        };
        let latency = histogram(&mut delayed_ms.iter().chain(others_ms));
        let delayed_latency = histogram(&mut delayed_ms.iter());
        let (latency, delayed_latency) = (Some(&latency), Some(&delayed_latency));
        let measured = (delayed_ms.len() + others_ms.len()) as u64;
        let waited = context.waited + delayed_ms.len() as u64;
        BacklogContext { measured, waited, latency, delayed_latency, ..context }
            .is_marked(delayed_ms.len() as u64)
    }

    #[test]
    fn more_than_one_percent_of_the_operations_mark_latency() {
        let marked = |delayed, others| is_marked(context(0), &vec![400; delayed], &vec![10; others]);
        assert!(!marked(5, 495) && marked(5, 494));
        // Few operations mark nothing, whatever their share.
        assert!(marked(5, 95) && !marked(4, 16));
        let mut backlog = WarmupBacklog::default();
        (1..=5).for_each(|number| backlog.add_operation(number * 1_000_000_000));
        assert_eq!(backlog.summary(context(500)).until_s, Some(5.0));
        let none = WarmupBacklog::default().summary(context(0));
        assert_eq!(none, WarmupBacklogSummary { gone: true, ..WarmupBacklogSummary::default() });
    }

    /// Returns the lowest quantile that the delayed operations decide, and whether latency is marked.
    fn decided(delayed_ms: &[u64], others_ms: &[u64]) -> (Option<f64>, bool) {
        let histogram = |ms: &mut dyn Iterator<Item = &u64>| {
            let mut histogram = DurationHistogram::new().unwrap();
            ms.for_each(|ms| histogram.record(ms * 1_000_000));
            histogram
        };
        let latency = histogram(&mut delayed_ms.iter().chain(others_ms));
        let delayed_latency = histogram(&mut delayed_ms.iter());
        let (delayed, measured) = (delayed_ms.len() as u64, (delayed_ms.len() + others_ms.len()) as u64);
        let (latency, delayed_latency) = (Some(&latency), Some(&delayed_latency));
        let all = BacklogContext { measured, waited: delayed, latency, delayed_latency, ..context(0) };
        (all.lowest_decided_quantile(delayed), all.is_marked(delayed))
    }

    #[test]
    fn few_delayed_operations_decide_the_percentiles_above_their_share() {
        // As in a race at 200/s that stalls for 0.4 s before 45 s are measured.
        assert_eq!(decided(&[300; 80], &vec![5; 8_920]), (Some(0.999), false));
        assert_eq!(decided(&[300; 9], &vec![5; 8_991]), (Some(0.9999), false));
        assert_eq!(decided(&[300; 10], &vec![5; 8_990]), (Some(0.999), false));
        assert_eq!(decided(&[300; 5], &vec![5; 99_995]), (Some(1.0), false));
        assert_eq!(decided(&[300; 91], &vec![5; 8_909]), (Some(0.99), true));
        assert_eq!(decided(&[300; 8], &[]), (Some(0.5), true));
        // Too few, no slower, and such as others are.
        assert_eq!(decided(&[300; 4], &[5; 996]), (None, false));
        assert_eq!(decided(&[5; 80], &vec![5; 8_920]), (None, false));
        let others: Vec<u64> = (0..8_920).map(|number| if number % 90 == 0 { 300 } else { 5 }).collect();
        assert_eq!(decided(&[300; 80], &others), (None, false));
    }

    /// Many clients with a schedule of random arrivals and a load of 0.6 explain 72 operations, but nothing waits here
    /// except for the warm-up.
    #[test]
    fn many_clients_do_not_explain_a_backlog_that_changes_latency() {
        let many = BacklogContext { clients: 32, load: 0.6, ..context(0) };
        let delayed: Vec<u64> = (0..297).map(|number| 200 + 6 * number).collect();
        assert!(is_marked(many, &delayed, &[190; 703]));
        assert!(is_marked(BacklogContext { open_loop: true, ..many }, &delayed, &[190; 703]));
        // Not more of them than random arrivals explain, but much slower than all others.
        assert!(is_marked(BacklogContext { waited: 420, ..many }, &delayed, &[190; 703]));
    }

    #[test]
    fn a_backlog_without_effect_on_latency_does_not_mark_it() {
        assert!(is_marked(context(0), &[111; 100], &[100; 100]));
        assert!(!is_marked(context(0), &[109; 100], &[100; 100]));
        // Each figure counts: the p50, p90, p99 and mean.
        let others: Vec<u64> = (1..=980).map(|number| 100 + number / 10).collect();
        assert!(!is_marked(context(0), &[190; 20], &others) && is_marked(context(0), &[230; 20], &others));
    }

    #[test]
    fn operations_that_random_arrivals_explain_do_not_mark_latency() {
        // A fifth of the others has to wait for 300 ms as well. With a load of 0.8, a queue of random arrivals that lets
        // 80 % wait leaves 16 operations on average; one that lets 20 % wait, 1/16.
        let (waits, others): (Vec<u64>, Vec<u64>) =
            (vec![300; 150], (0..850).map(|number| if number % 5 == 0 { 300 } else { 10 }).collect());
        let loaded = |load, open_loop, waited| BacklogContext { waited, open_loop, load, ..context(0) };
        assert!(!is_marked(loaded(0.8, true, 680), &waits, &others));
        assert!(is_marked(loaded(0.8, true, 170), &waits, &others));
        assert!(is_marked(loaded(0.2, true, 680), &waits, &others));
        // Each client of a closed loop has a queue of its own.
        assert!(is_marked(loaded(0.7, true, 680), &waits, &others));
        assert!(!is_marked(loaded(0.7, false, 680), &waits, &others));
        // Unlike the others, they have waited for longer.
        assert!(is_marked(loaded(0.8, true, 680), &[301; 150], &others));
        let longest: Vec<u64> = waits.iter().copied().chain([451]).collect();
        assert!(is_marked(loaded(0.8, true, 680), &longest, &others));
    }

    #[test]
    fn a_backlog_that_lasts_until_the_end_marks_latency() {
        assert!(is_marked(BacklogContext { load: 1.0, ..context(0) }, &[400; 100], &[]));
        assert!(!is_marked(BacklogContext { load: 1.0, ..context(0) }, &[], &[400; 100]));
    }

    /// Without others, what is in flight later is that of the backlog as well.
    #[test]
    fn all_operations_that_wait_in_the_engine_do_not_mark_latency_unless_clients_delayed_them_too() {
        for (in_engine, is_decided) in [(100, false), (96, false), (95, true), (0, true)] {
            let engine = EngineBacklog { operations: in_engine, gone: true, ..EngineBacklog::default() };
            let all = BacklogContext { in_engine: Some(&engine), ..context(0) };
            assert_eq!(is_marked(all, &[400; 100], &[]), is_decided, "{in_engine}");
            let mut latency = DurationHistogram::new().unwrap();
            (0..100).for_each(|_| latency.record(400_000_000));
            let all = BacklogContext { measured: 100, latency: Some(&latency), ..all };
            let from_quantile =
                BacklogContext { delayed_latency: Some(&latency), ..all }.lowest_decided_quantile(100);
            assert_eq!(from_quantile.is_some(), is_decided, "{in_engine}");
        }
        // Others prove it, also if all of these waited in the engine.
        let engine = EngineBacklog { operations: 100, gone: true, ..EngineBacklog::default() };
        assert!(is_marked(
            BacklogContext { in_engine: Some(&engine), ..context(0) },
            &[400; 100],
            &[10; 900]
        ));
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

    #[test]
    fn iterations_contain_what_the_slowest_client_drained_not_the_mean_of_all() {
        let ended = ClientBacklogEnd::default();
        let mut backlog = WarmupBacklog::default();
        (0..6).for_each(|due_ns| backlog.add_operation(due_ns));
        backlog.add_client(ClientBacklogEnd { delayed: 4, drained: 40, ..ended });
        let mut other = WarmupBacklog::default();
        other.add_client(ClientBacklogEnd { delayed: 2, drained: 4, ..ended });
        backlog += other;
        // Four clients had five planned iterations each before the 44 that were drained.
        let by_count = BacklogContext { warmup: 20 + 44, is_timed: false, ..context(100) };
        assert_eq!(backlog.summary(by_count).iterations, Some(5 + 40 + 4));
        let engine =
            EngineBacklog { operations: 9, most_of_client: 6, gone: true, ..EngineBacklog::default() };
        let in_engine = BacklogContext { in_engine: Some(&engine), ..by_count };
        assert_eq!(backlog.summary(in_engine).iterations, Some(5 + 40 + 6));
    }
}

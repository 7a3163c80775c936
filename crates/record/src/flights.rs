//! Operations in flight when the measured window begins and after it, from which the backlog of the warm-up that waits
//! in the engine is found.
//!
//! An engine with more clients than it serves at a time gets operations when they are due, and lets them wait within
//! their service time. No client is late then, but more operations are in flight than later in the window.

use std::collections::{BTreeMap, VecDeque};

use crate::client_span::ClientSpan;
use crate::histogram::DurationHistogram;
use crate::sample::{Sample, SampleType};

/// Number of measured operations that are kept for each worker, which take 2 MB; those in flight at the end of them are
/// kept as well.
const KEPT_MEASURED: usize = 1 << 16;

/// Fewest operations of the warm-up that are kept for each worker.
const KEPT_WARMUP: usize = 1 << 10;

/// Operations of the warm-up that are kept for each client: one may be in flight when the window begins, and some may be
/// sent later because they waited for it.
const KEPT_WARMUP_OF_CLIENT: usize = 4;

/// Number of standard deviations by which more operations must be in flight than chance explains.
const CHANCE_DEVIATIONS: f64 = 3.0;

/// How often the end of a backlog is determined again, from the mean number in flight after the end that was found before.
const MAX_ROUNDS: usize = 16;

/// A measured operation that was in flight and has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flight {
    begin_ns: u64,
    done_ns: u64,
    due_ns: u64,
    client: u32,
    is_success: bool,
    /// Whether it was due before its client was free.
    waited: bool,
    /// Whether it waited for a client that was behind the warm-up.
    is_delayed: bool,
}

/// The last operations of the warm-up, and the first and last measured ones, that have ended on one worker. Its memory is
/// reserved before the task begins.
#[derive(Debug, Default)]
pub struct FlightLog {
    clients: usize,
    /// When the last operations of the warm-up began and ended, in the order of their ends.
    warmup: VecDeque<(u64, u64)>,
    /// When the last operation of the warm-up ended that is no longer kept.
    forgotten_ns: u64,
    measured: Vec<Flight>,
    /// When the last measured operation ended before which all are kept; `None` if all are kept.
    full_ns: Option<u64>,
    /// When the last measured operations began and ended, in the order of their ends, one for each client: those that are
    /// in flight when the last one begins are among them.
    last: VecDeque<(u64, u64)>,
    /// When the last measured operation began.
    last_begin_ns: u64,
    /// Whether the next operation to be added is delayed by the warm-up.
    next_is_delayed: bool,
}

impl FlightLog {
    /// Reserves memory for another client. Must be called before the task begins.
    pub fn add_client(&mut self) {
        self.clients += 1;
        let warmup = (self.clients * KEPT_WARMUP_OF_CLIENT).max(KEPT_WARMUP);
        self.warmup.reserve_exact(warmup.saturating_sub(self.warmup.len()));
        self.measured.reserve_exact((KEPT_MEASURED + self.clients).saturating_sub(self.measured.len()));
        self.last.reserve_exact(self.clients.saturating_sub(self.last.len()));
    }

    /// Sets that the operation which is added next waited for a client that was behind the warm-up.
    pub fn delay_next(&mut self) {
        self.next_is_delayed = true;
    }

    /// Adds an operation that has ended, unless it sent nothing and so was not in flight.
    pub fn add(&mut self, sample: &Sample) {
        let is_delayed = std::mem::take(&mut self.next_is_delayed);
        let (begin_ns, done_ns) = (sample.times.service_start_ns, sample.times.done_ns);
        if done_ns <= begin_ns {
            return;
        }
        if sample.sample_type == SampleType::Warmup {
            if self.warmup.len() >= (self.clients * KEPT_WARMUP_OF_CLIENT).max(KEPT_WARMUP)
                && let Some((_, forgotten_ns)) = self.warmup.pop_front()
            {
                self.forgotten_ns = self.forgotten_ns.max(forgotten_ns);
            }
            self.warmup.push_back((begin_ns, done_ns));
            return;
        }
        if self.last.len() >= self.clients {
            self.last.pop_front();
        }
        self.last.push_back((begin_ns, done_ns));
        self.last_begin_ns = self.last_begin_ns.max(begin_ns);
        if self.full_ns.is_some_and(|full_ns| begin_ns >= full_ns) {
            return;
        }
        // A client has at most one operation in flight, so that no more than one of each follows.
        if self.measured.len() >= KEPT_MEASURED + self.clients {
            return;
        }
        self.measured.push(Flight {
            begin_ns,
            done_ns,
            due_ns: sample.times.due_ns,
            client: sample.client_number,
            is_success: sample.is_success(),
            waited: sample.times.waited(),
            is_delayed,
        });
        if self.measured.len() == KEPT_MEASURED {
            self.full_ns = Some(done_ns);
        }
    }

    /// Returns whether it has no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.warmup.is_empty() && self.measured.is_empty()
    }
}

/// The measured operations that waited in the engine for those of the warm-up.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EngineBacklog {
    /// Those that did not wait for a client that was behind the warm-up.
    pub operations: u64,
    /// The part of them that waited for their client nevertheless.
    pub waited: u64,
    /// Latencies of those that succeeded, in nanoseconds.
    pub latencies_ns: Vec<u64>,
    /// When the last of all was due, in nanoseconds since the task began.
    pub last_due_ns: u64,
    /// The largest number of operations of one client that were delayed, also by the client.
    pub most_of_client: u64,
    /// Number of measured operations that were due until then.
    pub due_until: u64,
    /// Whether the number in flight fell to its mean.
    pub gone: bool,
    /// How many operations an engine that is always equally fast delays in this way, on average.
    pub explained: f64,
}

/// What is known about all measured operations of a task.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredSpan<'a> {
    /// Number of those that have ended.
    pub operations: u64,
    /// Sum of their service times, in nanoseconds.
    pub service_ns: f64,
    /// When the clients were in the task; none if they share their schedule, which then ends for all of them together.
    pub clients: &'a [ClientSpan],
}

/// A change of the number of operations in flight.
#[derive(Debug, Clone, Copy)]
struct Change {
    at_ns: u64,
    is_begin: bool,
    /// The number after it.
    number: f64,
}

/// Every change of the number in flight from when it is known, until not all operations are kept.
#[derive(Debug)]
struct Changes(Vec<Change>);

/// The operations in flight of all workers.
#[derive(Debug)]
struct InFlight<'a> {
    logs: &'a [FlightLog],
    span: MeasuredSpan<'a>,
    /// From when on the number in flight is known: when the first measured operation began, or later.
    from_ns: u64,
    /// The number then.
    at_begin: u64,
    /// When the last measured operation began. Nothing is sent later, so that the number only falls.
    last_begin_ns: u64,
    /// Mean time between two operations of a client: one that is done was in the task until its next operation would have
    /// begun.
    interval_ns: u64,
}

impl EngineBacklog {
    /// Returns the backlog that the warm-up left in the engine; `None` if no more operations were in flight when the
    /// window began than chance explains.
    pub fn find(logs: &[FlightLog], span: MeasuredSpan<'_>) -> Option<Self> {
        let in_flight = InFlight::of(logs, span)?;
        let mut from_ns = in_flight.from_ns;
        let mut mean = in_flight.mean_after(from_ns);
        // Most races end here, without sorting the operations.
        if !in_flight.exceeds(mean) {
            return None;
        }
        let changes = in_flight.changes();
        let mut until = changes.fall_to(mean);
        for _ in 1..MAX_ROUNDS {
            let Some(later_ns) = until.filter(|until_ns| *until_ns > from_ns) else { break };
            from_ns = later_ns;
            mean = in_flight.mean_after(from_ns);
            if !in_flight.exceeds(mean) {
                return None;
            }
            until = changes.fall_to(mean);
        }
        Some(in_flight.backlog_until(until, &changes, mean))
    }

    /// Returns the latencies of operations that clients delayed, together with those of the others; `None` if there are
    /// none of these.
    pub fn latency_with(&self, of_clients: Option<&DurationHistogram>) -> Option<DurationHistogram> {
        let waited = Some(&self.latencies_ns).filter(|latencies_ns| !latencies_ns.is_empty())?;
        let mut all = of_clients.cloned().or_else(|| DurationHistogram::new().ok())?;
        for latency_ns in waited {
            all.record(*latency_ns);
        }
        Some(all)
    }
}

/// Returns by how many operations the number in flight may exceed its mean by chance.
fn chance(mean: f64) -> f64 {
    (CHANCE_DEVIATIONS * (2.0 * mean).sqrt()).max(1.0)
}

impl Changes {
    /// Returns when the number in flight falls to its mean, but to one at most, if it is known to do so.
    fn fall_to(&self, mean: f64) -> Option<u64> {
        let calm = mean.max(1.0);
        let is_calm = |change: &&Change| !change.is_begin && change.number <= calm;
        self.0.iter().find(is_calm).map(|change| change.at_ns)
    }

    /// Returns how many operations begin from any instant between `from_ns` and `end_ns` on until the number in flight
    /// has fallen to its mean, on average.
    fn explained_between(&self, from_ns: u64, end_ns: u64, mean: f64) -> f64 {
        let (mut begun, mut sum, mut total_ns) = (0.0, 0.0, 0.0);
        let first = self.0.partition_point(|change| change.at_ns < from_ns);
        let end = self.0.partition_point(|change| change.at_ns <= end_ns);
        for pair in self.0.get(first..end).unwrap_or_default().windows(2).rev() {
            let [change, next] = pair else { continue };
            let length_ns = (next.at_ns - change.at_ns) as f64;
            begun =
                if change.number <= mean.max(1.0) { 0.0 } else { begun + f64::from(u8::from(next.is_begin)) };
            sum += begun * length_ns;
            total_ns += length_ns;
        }
        if total_ns > 0.0 { sum / total_ns } else { 0.0 }
    }
}

impl<'a> InFlight<'a> {
    /// Returns what is known of these operations; `None` if none was measured, or none in flight when the number is
    /// known first.
    fn of(logs: &'a [FlightLog], span: MeasuredSpan<'a>) -> Option<Self> {
        let begin_ns = logs.iter().flat_map(|log| &log.measured).map(|flight| flight.begin_ns).min()?;
        let forgotten_ns = logs.iter().map(|log| log.forgotten_ns).max()?;
        let last_begin_ns = logs.iter().map(|log| log.last_begin_ns).max()?;
        let from_ns = forgotten_ns.max(begin_ns);
        let known = Self { logs, span, from_ns, at_begin: 0, last_begin_ns, interval_ns: 0 };
        if from_ns >= last_begin_ns.min(known.known_until_ns()) {
            return None;
        }
        let is_in_flight = |(begun_ns, done_ns): &(u64, u64)| *begun_ns < from_ns && *done_ns > from_ns;
        let at_begin = known.kept().filter(is_in_flight).count() as u64;
        let interval_ns = known.present_ns(from_ns) / span.operations.max(1);
        (at_begin > 0).then_some(Self { at_begin, interval_ns, ..known })
    }

    /// Yields the begin and the end of every operation that is kept.
    fn kept(&self) -> impl Iterator<Item = (u64, u64)> {
        self.logs.iter().flat_map(|log| {
            let measured = log.measured.iter().map(|flight| (flight.begin_ns, flight.done_ns));
            log.warmup.iter().copied().chain(measured)
        })
    }

    fn measured(&self) -> impl Iterator<Item = &Flight> {
        self.logs.iter().flat_map(|log| &log.measured)
    }

    /// Returns until when all measured operations are kept.
    fn known_until_ns(&self) -> u64 {
        self.logs.iter().filter_map(|log| log.full_ns).min().unwrap_or(u64::MAX)
    }

    /// Returns whether more are in flight at first than chance explains.
    fn exceeds(&self, mean: f64) -> bool {
        self.at_begin as f64 > mean + chance(mean)
    }

    /// Returns the changes of the number in flight. An end comes before a begin of the same instant.
    fn changes(&self) -> Changes {
        let known_ns = self.from_ns..=self.known_until_ns();
        let mut changes: Vec<Change> = self
            .kept()
            .filter(|(_, done_ns)| *done_ns > self.from_ns)
            .flat_map(|(begun_ns, done_ns)| [(begun_ns, true), (done_ns, false)])
            .filter(|(at_ns, _)| known_ns.contains(at_ns))
            .map(|(at_ns, is_begin)| Change { at_ns, is_begin, number: 0.0 })
            .collect();
        changes.sort_unstable_by_key(|change| (change.at_ns, change.is_begin));
        let mut number = self.at_begin;
        for change in &mut changes {
            number = if change.is_begin { number + 1 } else { number.saturating_sub(1) };
            change.number = number as f64;
        }
        Changes(changes)
    }

    /// Returns the mean number in flight from `from_ns` until the last measured operation begins, by Little's law, if all
    /// clients were in the task until then.
    fn mean_after(&self, from_ns: u64) -> f64 {
        let end_ns = self.last_begin_ns;
        let from_ns = if from_ns < end_ns { from_ns } else { self.from_ns };
        let before: f64 = self
            .measured()
            .filter(|flight| flight.begin_ns < from_ns)
            .map(|flight| (flight.done_ns.min(from_ns) - flight.begin_ns) as f64)
            .sum();
        let last = self.logs.iter().flat_map(|log| &log.last);
        let after: f64 = last.map(|(_, done_ns)| done_ns.saturating_sub(end_ns) as f64).sum();
        let within = |begun_ns: u64, done_ns: u64| done_ns.min(end_ns).saturating_sub(begun_ns.max(from_ns));
        let warmup = self.logs.iter().flat_map(|log| &log.warmup);
        let of_warmup: f64 = warmup.map(|(begun_ns, done_ns)| within(*begun_ns, *done_ns) as f64).sum();
        let busy_ns = (self.span.service_ns - before - after).max(0.0) + of_warmup;
        busy_ns / (end_ns - from_ns) as f64 / self.present_share(from_ns)
    }

    /// Yields the clients that were in the task when the number in flight is known first.
    fn clients(&self) -> impl Iterator<Item = &ClientSpan> {
        self.span.clients.iter().filter(move |client| client.left_ns() > self.from_ns)
    }

    /// Returns for how long clients were in the task from `from_ns` until the last measured operation begins, summed over
    /// them.
    fn present_ns(&self, from_ns: u64) -> u64 {
        let until_ns =
            |client: &ClientSpan| client.left_ns().saturating_add(self.interval_ns).min(self.last_begin_ns);
        self.clients().map(|client| until_ns(client).saturating_sub(from_ns)).fold(0, u64::saturating_add)
    }

    /// Returns the share of this time for which clients were in the task, on average. Those that are done earlier than
    /// others have nothing in flight then.
    fn present_share(&self, from_ns: u64) -> f64 {
        let all_ns = self.clients().count() as f64 * (self.last_begin_ns - from_ns) as f64;
        match self.present_ns(from_ns) {
            0 => 1.0,
            present_ns => present_ns as f64 / all_ns,
        }
    }

    fn backlog_until(&self, until: Option<u64>, changes: &Changes, mean: f64) -> EngineBacklog {
        let until_ns = until.or_else(|| changes.0.last().map(|last| last.at_ns)).unwrap_or(u64::MAX);
        let is_behind = |flight: &Flight| flight.begin_ns < until_ns;
        let mut backlog = EngineBacklog { gone: until.is_some(), ..EngineBacklog::default() };
        let mut of_clients = BTreeMap::<u32, u64>::new();
        for flight in self.measured().filter(|flight| flight.is_delayed || is_behind(flight)) {
            *of_clients.entry(flight.client).or_default() += 1;
            backlog.last_due_ns = backlog.last_due_ns.max(flight.due_ns);
            if !flight.is_delayed {
                backlog.operations += 1;
                backlog.waited += u64::from(flight.waited);
                if flight.is_success {
                    backlog.latencies_ns.push(flight.done_ns.saturating_sub(flight.due_ns));
                }
            }
        }
        backlog.most_of_client = of_clients.into_values().max().unwrap_or(0);
        let due_until = self.measured().filter(|flight| flight.due_ns <= backlog.last_due_ns).count();
        backlog.due_until = due_until as u64;
        backlog.explained = changes.explained_between(until_ns, self.last_begin_ns, mean);
        backlog
    }
}

#[cfg(test)]
mod tests;

//! Operations in flight when the measured window begins and after it, from which the backlog of the warm-up that waits
//! in the engine is found.
//!
//! An engine with more clients than it serves at a time gets operations when they are due, and lets them wait within
//! their service time. No client is late then, but more operations are in flight than later in the window.

use std::collections::{BTreeMap, VecDeque};

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

/// A measured operation that has ended.
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

/// The last operations of the warm-up and the first measured ones that have ended on one worker. Its memory is reserved
/// before the task begins.
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
    }

    /// Sets that the operation which is added next waited for a client that was behind the warm-up.
    pub fn delay_next(&mut self) {
        self.next_is_delayed = true;
    }

    /// Adds an operation that has ended.
    pub fn add(&mut self, sample: &Sample) {
        let is_delayed = std::mem::take(&mut self.next_is_delayed);
        let (begin_ns, done_ns) = (sample.times.service_start_ns, sample.times.done_ns);
        if sample.sample_type == SampleType::Warmup {
            if self.warmup.len() >= (self.clients * KEPT_WARMUP_OF_CLIENT).max(KEPT_WARMUP)
                && let Some((_, forgotten_ns)) = self.warmup.pop_front()
            {
                self.forgotten_ns = self.forgotten_ns.max(forgotten_ns);
            }
            self.warmup.push_back((begin_ns, done_ns));
            return;
        }
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
pub struct MeasuredSpan {
    /// Sum of their service times, in nanoseconds.
    pub service_ns: f64,
    /// End of the measured window, in nanoseconds since the task began.
    pub end_ns: u64,
}

/// A change of the number of operations in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    at_ns: u64,
    /// Ends come before begins of the same instant.
    is_begin: bool,
    is_measured: bool,
}

/// The operations in flight of all workers.
#[derive(Debug)]
struct InFlight<'a> {
    logs: &'a [FlightLog],
    /// From the first measured operation on, until not all operations are kept.
    changes: Vec<Change>,
    /// Number in flight before the first measured operation.
    at_begin: u64,
    /// When the first measured operation began.
    begin_ns: u64,
    /// When the number in flight is known.
    known_from_ns: u64,
}

impl EngineBacklog {
    /// Returns the backlog that the warm-up left in the engine; `None` if no more operations were in flight when the
    /// window began than chance explains.
    pub fn find(logs: &[FlightLog], span: MeasuredSpan) -> Option<Self> {
        let in_flight = InFlight::of(logs)?;
        let at_begin = in_flight.at_known();
        let (mut until, mut mean) = (Some(in_flight.begin_ns), 0.0);
        for _ in 0..MAX_ROUNDS {
            let Some(from_ns) = until else { break };
            mean = in_flight.mean_after(from_ns, span);
            if at_begin <= mean + chance(mean) {
                return None;
            }
            until = in_flight.falls_to(mean);
            if until.is_some_and(|until_ns| until_ns <= from_ns) {
                break;
            }
        }
        Some(in_flight.backlog_until(until, mean))
    }

    /// Returns the latencies of operations that clients delayed, together with those of the others; `None` if there are
    /// none of these.
    pub fn latency_with(&self, of_clients: Option<&DurationHistogram>) -> Option<DurationHistogram> {
        let waited = Some(&self.latencies_ns).filter(|latencies_ns| !latencies_ns.is_empty())?;
        let mut all = of_clients.cloned().or_else(|| DurationHistogram::new().ok())?;
        waited.iter().for_each(|latency_ns| all.record(*latency_ns));
        Some(all)
    }
}

/// Returns by how many operations the number in flight may exceed its mean by chance.
fn chance(mean: f64) -> f64 {
    (CHANCE_DEVIATIONS * (2.0 * mean).sqrt()).max(1.0)
}

impl<'a> InFlight<'a> {
    /// Returns what is known of these operations; `None` if none was measured, or none in flight when the first was.
    fn of(logs: &'a [FlightLog]) -> Option<Self> {
        let measured = || logs.iter().flat_map(|log| &log.measured);
        let begin_ns = measured().map(|flight| flight.begin_ns).min()?;
        let warmup = || logs.iter().flat_map(|log| &log.warmup).filter(|(_, done_ns)| *done_ns > begin_ns);
        let at_begin = warmup().filter(|(begun_ns, _)| *begun_ns < begin_ns).count() as u64;
        let known_from_ns = logs.iter().map(|log| log.forgotten_ns).max().unwrap_or(0).max(begin_ns);
        if at_begin == 0 && known_from_ns == begin_ns {
            return None;
        }
        let until_ns = logs.iter().filter_map(|log| log.full_ns).min().unwrap_or(u64::MAX);
        let of_warmup = warmup().map(|(begun_ns, done_ns)| (*begun_ns, *done_ns, false));
        let of_window = measured().map(|flight| (flight.begin_ns, flight.done_ns, true));
        let mut changes: Vec<Change> = of_warmup
            .chain(of_window)
            .flat_map(|(begun_ns, done_ns, is_measured)| {
                [(begun_ns, true), (done_ns.max(begun_ns), false)].map(|(at_ns, is_begin)| Change {
                    at_ns,
                    is_begin,
                    is_measured,
                })
            })
            .filter(|change| (begin_ns..=until_ns).contains(&change.at_ns))
            .collect();
        changes.sort_unstable();
        Some(Self { logs, changes, at_begin, begin_ns, known_from_ns })
    }

    fn measured(&self) -> impl Iterator<Item = &Flight> {
        self.logs.iter().flat_map(|log| &log.measured)
    }

    /// Yields every change, and the number in flight after it.
    fn numbers(&self) -> impl Iterator<Item = (Change, f64)> {
        let mut number = self.at_begin;
        self.changes.iter().map(move |change| {
            number = if change.is_begin { number + 1 } else { number.saturating_sub(1) };
            (*change, number as f64)
        })
    }

    /// Returns the number in flight when it is known first.
    fn at_known(&self) -> f64 {
        let before = |(change, _): &(Change, f64)| change.at_ns < self.known_from_ns;
        self.numbers().take_while(before).last().map_or(self.at_begin as f64, |(_, number)| number)
    }

    /// Returns the mean number in flight from `from_ns` to the end of the window, by Little's law.
    fn mean_after(&self, from_ns: u64, span: MeasuredSpan) -> f64 {
        let from_ns = if from_ns < span.end_ns { from_ns } else { self.begin_ns };
        let before: f64 = self
            .measured()
            .filter(|flight| flight.begin_ns < from_ns)
            .map(|flight| flight.done_ns.min(from_ns).saturating_sub(flight.begin_ns) as f64)
            .sum();
        (span.service_ns - before).max(0.0) / span.end_ns.saturating_sub(from_ns).max(1) as f64
    }

    /// Returns when the number in flight falls to its mean, but to one at most, if it is known to do so.
    fn falls_to(&self, mean: f64) -> Option<u64> {
        let calm = mean.max(1.0);
        let is_calm = |(change, number): &(Change, f64)| {
            change.at_ns >= self.known_from_ns && !change.is_begin && *number <= calm
        };
        self.numbers().find(is_calm).map(|(change, _)| change.at_ns)
    }

    /// Returns how many operations begin from any instant after `from_ns` on until the number in flight has fallen to
    /// its mean, on average.
    fn explained_after(&self, from_ns: u64, mean: f64) -> f64 {
        let (mut begun, mut sum, mut total_ns) = (0.0, 0.0, 0.0);
        let numbers: Vec<(Change, f64)> =
            self.numbers().filter(|(change, _)| change.at_ns >= from_ns).collect();
        for pair in numbers.windows(2).rev() {
            let [(change, number), (next, _)] = pair else { continue };
            let length_ns = (next.at_ns - change.at_ns) as f64;
            begun = if *number <= mean.max(1.0) { 0.0 } else { begun + f64::from(u8::from(next.is_begin)) };
            sum += begun * length_ns;
            total_ns += length_ns;
        }
        if total_ns > 0.0 { sum / total_ns } else { 0.0 }
    }

    fn backlog_until(&self, until: Option<u64>, mean: f64) -> EngineBacklog {
        let until_ns = until.or_else(|| self.changes.last().map(|last| last.at_ns)).unwrap_or(u64::MAX);
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
        backlog.explained = self.explained_after(until_ns, mean);
        backlog
    }
}

#[cfg(test)]
mod tests;

//! The schedule of one client: when its operations are due.

use pacenote_plan::{Plan, PlannedTask, TaskPacing};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::task_client_id::TaskClientId;

/// The schedule of one client of a task, in nanoseconds since the task started.
///
/// The clients of a task share its arrival rate: client i of n is shifted by i intervals and sends every n intervals.
/// Without random arrivals, the operations of all clients are therefore evenly spaced, and no two are due at the same
/// time. Each client draws random arrivals from its own seed. During ramp-up, the schedule of a client starts when the
/// client does, so it never has to catch up; its even schedule remains shifted by i intervals.
///
/// If the rate counts documents, the operations are due as if the clients sent them in turns: each when all documents
/// before it have had their time at the rate of the task, if the bulks of the other clients have the same sizes. So n
/// documents are sent in the time that n documents take, whatever the sizes of bulks.
#[derive(Debug, Clone)]
pub struct Pacer {
    times: EvenTimes,
    arrivals: Arrivals,
    /// The documents of the operations, if the schedule follows from them.
    documents: Option<DocumentCount>,
}

/// The documents of the operations of a client, in units of an operation with the mean number of documents.
#[derive(Debug, Clone, Copy)]
struct DocumentCount {
    /// The mean number of documents of an operation.
    per_operation: f64,
    /// How much later than the first client a client sends operations with this number, in nanoseconds.
    shift_ns: f64,
    /// Documents of the operations that were due, as far as they are known.
    known: u64,
    /// Operations that were due and whose documents are not known, which count as having the mean number, and those that
    /// were skipped.
    unknown: f64,
    /// When the last operation was due, or the client started, in nanoseconds since the task started.
    latest_ns: u64,
    /// What the last operation was taken to be.
    last_size: f64,
    /// The last random gap of a Poisson process, for an operation with the mean number of documents.
    last_gap_ns: f64,
}

impl DocumentCount {
    fn new(per_operation: f64, shift_ns: f64, start_ns: f64) -> Self {
        let latest_ns = truncate_to_u64(start_ns);
        Self { per_operation, shift_ns, known: 0, unknown: 0.0, latest_ns, last_size: 1.0, last_gap_ns: 0.0 }
    }

    /// Returns the operations that were due.
    fn operations(self) -> f64 {
        self.known as f64 / self.per_operation + self.unknown
    }

    /// Sets the documents of the operation that was due last.
    fn set_last_documents(&mut self, documents: u64) {
        self.known = self.known.saturating_add(documents);
        self.unknown -= 1.0;
    }
}

/// Instants at even distances, in nanoseconds since a task started.
#[derive(Debug, Clone, Copy)]
pub struct EvenTimes {
    /// The first instant.
    offset_ns: f64,
    /// The distance between two instants.
    period_ns: f64,
}

impl EvenTimes {
    /// Creates the instants at 0 and at every multiple of `interval_s` seconds.
    pub fn every(interval_s: f64) -> Self {
        Self { offset_ns: 0.0, period_ns: interval_s * 1e9 }
    }

    /// Returns the instant at position `index`, from 0.
    pub fn at(self, index: u64) -> u64 {
        // The product, not a running sum, so that rounding errors do not accumulate.
        truncate_to_u64(self.offset_ns + self.period_ns * index as f64)
    }

    /// Returns the number of instants before `end_ns`.
    pub fn count_before(self, end_ns: u64) -> u64 {
        let count = truncate_to_u64(((end_ns as f64 - self.offset_ns) / self.period_ns).ceil().max(0.0));
        // The quotient may be rounded over the next whole number.
        if count > 0 && self.at(count - 1) >= end_ns {
            count - 1
        } else {
            count + u64::from(count < u64::MAX && self.at(count) < end_ns)
        }
    }

    /// Removes the instants before `start_ns`.
    fn starting_at(self, start_ns: f64) -> Self {
        let skipped = ((start_ns - self.offset_ns) / self.period_ns).ceil().max(0.0);
        Self { offset_ns: self.offset_ns + self.period_ns * skipped, ..self }
    }
}

#[derive(Debug, Clone)]
enum Arrivals {
    /// The pacer does not determine them: an operation is due when the client is free, or when Python says so.
    Undetermined,
    Even {
        next_index: u64,
    },
    /// One arrival at a random instant within each period.
    Uniform {
        next_index: u64,
        random: SplitMix64,
    },
    Poisson {
        at_ns: f64,
        random: SplitMix64,
    },
}

impl Pacer {
    /// Creates the schedule of a client of a task. Random arrivals differ between tasks and between clients.
    pub fn for_client(plan: &Plan, client: TaskClientId) -> Self {
        let seed = plan.seed.wrapping_add(u64::from(client.task_index).wrapping_mul(0x9e37_79b9));
        Self::new(&plan.tasks[client.task_index as usize], client.client_number, seed)
    }

    /// Creates the schedule of client `client_number` of `task`; `seed` determines random arrivals.
    pub fn new(task: &PlannedTask, client_number: u32, seed: u64) -> Self {
        let (position, clients) = (f64::from(client_number), f64::from(task.clients));
        let ramp_ns = ramp_ns(task, client_number);
        let random = || SplitMix64::seed_from_u64(seed ^ u64::from(client_number) << 32);
        let times = |interval_s: f64, phase_s: f64| EvenTimes {
            offset_ns: phase_s * 1e9,
            period_ns: interval_s * 1e9 * clients,
        };
        let shifted = |interval_s: f64| times(interval_s, interval_s * position).starting_at(ramp_ns);
        let mut shift_ns = 0.0;
        let (times, arrivals) = match task.pacing {
            TaskPacing::Unpaced {} | TaskPacing::PythonScheduler {} => {
                (times(0.0, 0.0), Arrivals::Undetermined)
            }
            TaskPacing::Deterministic { interval_s } => {
                shift_ns = interval_s * 1e9 * position;
                (shifted(interval_s), Arrivals::Even { next_index: 0 })
            }
            TaskPacing::Uniform { interval_s } => {
                (shifted(interval_s), Arrivals::Uniform { next_index: 0, random: random() })
            }
            TaskPacing::Poisson { interval_s } => {
                (times(interval_s, ramp_ns / 1e9), Arrivals::Poisson { at_ns: 0.0, random: random() })
            }
        };
        let documents = task.documents_per_operation.map(|mean| DocumentCount::new(mean, shift_ns, ramp_ns));
        Self { times, arrivals, documents }
    }

    /// Returns when client `client_number` of a task starts, in nanoseconds since the task started. This is later than
    /// 0 only with a ramp-up.
    pub fn client_start_ns(task: &PlannedTask, client_number: u32) -> u64 {
        truncate_to_u64(ramp_ns(task, client_number))
    }

    /// Advances to the next operation. Returns its due time in nanoseconds since the task started, or `None` if it is
    /// due as soon as the previous one has ended.
    pub fn next_due_ns(&mut self) -> Option<u64> {
        self.next_due_of_ns(None)
    }

    /// Advances to the next operation, like [`Self::next_due_ns`]; `documents` is their number in it, if that is known.
    pub fn next_due_of_ns(&mut self, documents: Option<u64>) -> Option<u64> {
        if self.documents.is_some() {
            return self.next_due_after_documents_ns(documents);
        }
        let EvenTimes { offset_ns, period_ns } = self.times;
        match &mut self.arrivals {
            Arrivals::Undetermined => None,
            Arrivals::Even { next_index } => {
                let due = self.times.at(*next_index);
                *next_index += 1;
                Some(due)
            }
            Arrivals::Uniform { next_index, random } => {
                let due = offset_ns + period_ns * (*next_index as f64 + uniform(random));
                *next_index += 1;
                Some(truncate_to_u64(due))
            }
            Arrivals::Poisson { at_ns, random } => {
                *at_ns += period_ns * exponential(random);
                Some(truncate_to_u64(offset_ns + *at_ns))
            }
        }
    }

    /// Advances to the next operation of a schedule that follows from the documents of the operations.
    fn next_due_after_documents_ns(&mut self, documents: Option<u64>) -> Option<u64> {
        let EvenTimes { offset_ns, period_ns } = self.times;
        let count = self.documents.as_mut()?;
        let size = documents.map_or(1.0, |documents| documents as f64 / count.per_operation);
        let before = count.operations();
        count.unknown += 1.0;
        count.last_size = size;
        let due_ns = match &mut self.arrivals {
            Arrivals::Undetermined => return None,
            // The operations with this number of the clients before it have as many documents.
            Arrivals::Even { .. } => offset_ns + count.shift_ns * (size - 1.0) + period_ns * before,
            // At a random instant of the time that its documents take.
            Arrivals::Uniform { random, .. } => offset_ns + period_ns * (before + size * uniform(random)),
            Arrivals::Poisson { at_ns, random } => {
                count.last_gap_ns = period_ns * exponential(random);
                *at_ns += size * count.last_gap_ns;
                offset_ns + *at_ns
            }
        };
        // An operation whose documents are not known yet may have too early a successor.
        count.latest_ns = count.latest_ns.max(truncate_to_u64(due_ns));
        Some(count.latest_ns)
    }

    /// Sets the number of documents of the operation that was due last, if the schedule follows from it.
    pub fn set_last_documents(&mut self, documents: u64) {
        let Some(count) = &mut self.documents else { return };
        count.set_last_documents(documents);
        if let Arrivals::Poisson { at_ns, .. } = &mut self.arrivals {
            // What follows is as late as if the number had been known.
            *at_ns += (documents as f64 / count.per_operation - count.last_size) * count.last_gap_ns;
        }
    }

    /// Skips the operations that were due before `now_ns`, for a client that enters its task late.
    pub fn skip_to(&mut self, now_ns: u64) {
        if let Some(count) = &mut self.documents {
            let periods = (now_ns as f64 - self.times.offset_ns) / self.times.period_ns;
            count.unknown += (periods - count.operations()).max(0.0).ceil();
            count.latest_ns = count.latest_ns.max(now_ns);
        }
        match &mut self.arrivals {
            Arrivals::Even { next_index } | Arrivals::Uniform { next_index, .. } => {
                *next_index = (*next_index).max(self.times.count_before(now_ns));
            }
            Arrivals::Poisson { at_ns, .. } => *at_ns = at_ns.max(now_ns as f64 - self.times.offset_ns),
            Arrivals::Undetermined => {}
        }
    }

    /// Returns the number of remaining operations that are due before `end_ns`. For random arrivals, this is the
    /// expected number, and for a schedule of documents that of operations with the mean number of documents.
    pub fn remaining_before(&self, end_ns: u64) -> u64 {
        let EvenTimes { offset_ns, period_ns } = self.times;
        let since_offset = end_ns as f64 - offset_ns;
        match &self.arrivals {
            Arrivals::Undetermined => 0,
            Arrivals::Even { .. } if let Some(count) = self.documents => {
                truncate_to_u64((since_offset / period_ns - count.operations()).max(0.0).ceil())
            }
            Arrivals::Even { next_index } => self.times.count_before(end_ns).saturating_sub(*next_index),
            Arrivals::Uniform { next_index, .. } => {
                let before = self.documents.map_or(*next_index as f64, DocumentCount::operations);
                truncate_to_u64((since_offset / period_ns - before).max(0.0).round())
            }
            Arrivals::Poisson { at_ns, .. } => {
                truncate_to_u64(((since_offset - at_ns) / period_ns).max(0.0).round())
            }
        }
    }
}

/// Returns the ramp-up delay of client `client_number`, in nanoseconds.
fn ramp_ns(task: &PlannedTask, client_number: u32) -> f64 {
    task.ramp_up_s * 1e9 * f64::from(client_number) / f64::from(task.clients)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "due times and counts of operations are positive and far below 2^64"
)]
fn truncate_to_u64(number: f64) -> u64 {
    number as u64
}

/// Returns an exponentially distributed number with mean 1, computed by inversion. The argument of the logarithm is
/// never 0.
fn exponential(random: &mut SplitMix64) -> f64 {
    -(1.0 - uniform(random)).ln()
}

/// Returns a uniformly distributed number from 0 to below 1, with 53 random bits.
fn uniform(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeSet;

    use pacenote_plan::{TaskBound, TaskWork};

    use super::*;

    /// Builds a task with a schedule.
    pub fn task(pacing: TaskPacing, clients: u32, ramp_up_s: f64) -> PlannedTask {
        PlannedTask {
            name: "t".into(),
            operation: "t".into(),
            operation_type: "search".into(),
            clients,
            pacing,
            open_loop: false,
            bound: TaskBound::Iterations { warmup: 0, measured: 1 },
            ramp_up_s,
            unit: "ops".into(),
            documents_per_operation: None,
            tolerates_errors: false,
            must_succeed: false,
            work: TaskWork::Sleep { seconds: 0.0 },
        }
    }

    #[test]
    fn clients_interleave_evenly_and_never_send_at_the_same_time() {
        let task = task(TaskPacing::Deterministic { interval_s: 0.01 }, 4, 0.0);
        let mut all: Vec<u64> = (0..4)
            .flat_map(|client| {
                let mut pacer = Pacer::new(&task, client, 1);
                (0..100).map(move |_| pacer.next_due_ns().unwrap()).collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable();
        let expected: Vec<u64> = (0..400).map(|number| number * 10_000_000).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn the_schedule_of_a_client_starts_after_its_ramp_up() {
        let mut last = Pacer::new(&task(TaskPacing::Deterministic { interval_s: 0.1 }, 2, 10.0), 1, 1);
        assert_eq!(last.next_due_ns(), Some(5_100_000_000));
        assert_eq!(Pacer::client_start_ns(&task(TaskPacing::Unpaced {}, 2, 10.0), 1), 5_000_000_000);
    }

    #[test]
    fn no_two_clients_collide_after_a_ramp_up_that_is_no_multiple_of_their_period() {
        let task = task(TaskPacing::Deterministic { interval_s: 0.1 }, 2, 0.2);
        let dues = |client| {
            let mut pacer = Pacer::new(&task, client, 1);
            (0..4).map(|_| pacer.next_due_ns().unwrap() / 1_000_000).collect::<Vec<_>>()
        };
        assert_eq!((dues(0), dues(1)), (vec![0, 200, 400, 600], vec![100, 300, 500, 700]));
    }

    #[test]
    fn even_times_are_counted_as_they_are_due() {
        for interval_s in [0.01, 1.0 / 3.0, 0.1, 1e-9, 0.7e-6, 1.0 / 133.0] {
            let times = EvenTimes::every(interval_s);
            assert_eq!(times.count_before(0), 0);
            for end_ns in [1, 2, 1_000_000, 333_333_333, 1_000_000_000, 3_000_000_000, 77_777_777_777] {
                let count = times.count_before(end_ns);
                assert!(times.at(count - 1) < end_ns && times.at(count) >= end_ns, "{interval_s} {end_ns}");
            }
        }
    }

    #[test]
    fn a_client_that_enters_late_skips_operations_that_were_due_before() {
        let task = task(TaskPacing::Deterministic { interval_s: 0.05 }, 2, 0.0);
        let mut pacer = Pacer::new(&task, 1, 1);
        pacer.skip_to(2_000_000_000);
        // Its operations are due at 0.05 s and then every 0.1 s.
        assert_eq!(pacer.next_due_ns(), Some(2_050_000_000));
        assert_eq!(pacer.next_due_ns(), Some(2_150_000_000));
        for pacing in [TaskPacing::Uniform { interval_s: 0.05 }, TaskPacing::Poisson { interval_s: 0.05 }] {
            let mut pacer = Pacer::new(&self::task(pacing, 2, 0.0), 1, 1);
            pacer.skip_to(2_000_000_000);
            assert!(pacer.next_due_ns() >= Some(2_000_000_000));
            assert!(pacer.next_due_ns() < Some(4_000_000_000));
        }
    }

    #[test]
    fn the_rest_of_a_schedule_is_counted_without_iterating() {
        let even = task(TaskPacing::Deterministic { interval_s: 1e-9 }, 1, 0.0);
        let mut pacer = Pacer::new(&even, 0, 1);
        pacer.next_due_ns();
        assert_eq!(pacer.remaining_before(5_000_000_000), 4_999_999_999);
        for pacing in [TaskPacing::Poisson { interval_s: 0.01 }, TaskPacing::Uniform { interval_s: 0.01 }] {
            let random = Pacer::new(&task(pacing, 1, 0.0), 0, 1);
            assert_eq!((random.remaining_before(1_000_000_000), random.remaining_before(0)), (100, 0));
        }
    }

    #[test]
    fn random_arrivals_have_the_configured_mean_and_repeat_with_the_seed() {
        for pacing in [TaskPacing::Poisson { interval_s: 0.01 }, TaskPacing::Uniform { interval_s: 0.01 }] {
            let task = task(pacing, 2, 0.0);
            let arrivals = |client, seed| {
                let mut pacer = Pacer::new(&task, client, seed);
                (0..20_000).map(|_| pacer.next_due_ns().unwrap()).collect::<Vec<_>>()
            };
            let one = arrivals(0, 7);
            assert_eq!(one, arrivals(0, 7));
            assert_ne!(one, arrivals(0, 8));
            assert_ne!(one, arrivals(1, 7));
            assert!(one.is_sorted());
            let mean_s = one[19_999] as f64 / 1e9 / 20_000.0;
            assert!((mean_s - 0.02).abs() < 0.0006, "{mean_s}");
        }
    }

    #[test]
    fn uniform_arrivals_occur_once_in_each_interval_at_any_offset() {
        let task = task(TaskPacing::Uniform { interval_s: 0.01 }, 4, 0.0);
        let (mut pacer, period) = (Pacer::new(&task, 1, 7), 40_000_000);
        let offsets: Vec<u64> = (0..1000)
            .map(|number| {
                let due = pacer.next_due_ns().unwrap() - 10_000_000;
                assert_eq!(due / period, number);
                due % period
            })
            .collect();
        let in_quarter = |quarter| offsets.iter().filter(|offset| *offset * 4 / period == quarter).count();
        // On average, each quarter of an interval gets 250 of 1,000 arrivals, with a standard deviation of 14.
        assert!((0..4).all(|quarter| (190..310).contains(&in_quarter(quarter))), "{offsets:?}");
    }

    #[test]
    fn no_two_clients_have_an_operation_due_at_the_same_time() {
        for pacing in [
            TaskPacing::Deterministic { interval_s: 0.001 },
            TaskPacing::Poisson { interval_s: 0.001 },
            TaskPacing::Uniform { interval_s: 0.001 },
        ] {
            let task = task(pacing, 7, 0.3);
            let all: BTreeSet<u64> = (0..7)
                .flat_map(|client| {
                    let mut pacer = Pacer::new(&task, client, 1);
                    (0..500).map(move |_| pacer.next_due_ns().unwrap()).collect::<Vec<_>>()
                })
                .collect();
            assert_eq!(all.len(), 7 * 500);
        }
    }

    #[test]
    fn a_client_keeps_its_rate_after_its_ramp_up() {
        for pacing in [
            TaskPacing::Deterministic { interval_s: 0.1 },
            TaskPacing::Poisson { interval_s: 0.1 },
            TaskPacing::Uniform { interval_s: 0.1 },
        ] {
            let mut pacer = Pacer::new(&task(pacing, 2, 20.0), 1, 3);
            let dues: Vec<u64> = (0..1000).map(|_| pacer.next_due_ns().unwrap()).collect();
            assert!(dues[0] >= 10_000_000_000);
            let mean_s = (dues[999] - 10_000_000_000) as f64 / 1e9 / 1000.0;
            assert!((mean_s - 0.2).abs() < 0.03, "{mean_s}");
        }
    }
}

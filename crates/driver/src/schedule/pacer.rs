//! When operations of one client are due.

use pacenote_plan::{PlannedTask, TaskPacing};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The schedule of one client of a task, in nanoseconds since the task began.
///
/// The clients of a task share its rate: client i of n is shifted by i intervals and fires every n intervals, so that
/// their union is evenly spaced and no two fire together. Random arrivals are drawn by each client for itself, from
/// a seed of its own. During ramp-up a client's schedule starts when the client does; it never has anything to catch up
/// with.
#[derive(Debug, Clone)]
pub struct Pacer {
    start_ns: f64,
    period_ns: f64,
    arrivals: Arrivals,
}

#[derive(Debug, Clone)]
enum Arrivals {
    Unpaced,
    Even {
        next: u64,
    },
    /// At a random moment of each period.
    Uniform {
        next: u64,
        random: SplitMix64,
    },
    Poisson {
        at_ns: f64,
        random: SplitMix64,
    },
}

impl Pacer {
    /// The schedule of client `client` of `task`; `seed` fixes random arrivals.
    pub fn new(task: &PlannedTask, client: u32, seed: u64) -> Self {
        let (number, clients) = (f64::from(client), f64::from(task.clients));
        let ramp_ns = ramp_ns(task, client);
        let random = || SplitMix64::seed_from_u64(seed ^ u64::from(client) << 32);
        let (phase_s, interval_s, arrivals) = match task.pace {
            TaskPacing::Unpaced {} | TaskPacing::PythonScheduler {} => (0.0, 0.0, Arrivals::Unpaced),
            TaskPacing::Deterministic { interval_s } => {
                (interval_s * number, interval_s, Arrivals::Even { next: 0 })
            }
            TaskPacing::Uniform { interval_s } => {
                (interval_s * number, interval_s, Arrivals::Uniform { next: 0, random: random() })
            }
            TaskPacing::Poisson { interval_s } => {
                (0.0, interval_s, Arrivals::Poisson { at_ns: 0.0, random: random() })
            }
        };
        Self { start_ns: ramp_ns + phase_s * 1e9, period_ns: interval_s * 1e9 * clients, arrivals }
    }

    /// When client `client` of a task starts, in nanoseconds since the task began: only later than 0 while ramping up.
    pub fn client_starts_ns(task: &PlannedTask, client: u32) -> u64 {
        whole(ramp_ns(task, client))
    }

    /// When the next operation is due; `None`: as soon as the previous one has ended.
    pub fn next_due_ns(&mut self) -> Option<u64> {
        match &mut self.arrivals {
            Arrivals::Unpaced => None,
            Arrivals::Even { next } => {
                // Multiplied, not added up, so that rounding does not make the schedule drift.
                let due = self.start_ns + self.period_ns * *next as f64;
                *next += 1;
                Some(whole(due))
            }
            Arrivals::Uniform { next, random } => {
                let due = self.start_ns + self.period_ns * (*next as f64 + uniform(random));
                *next += 1;
                Some(whole(due))
            }
            Arrivals::Poisson { at_ns, random } => {
                *at_ns += self.period_ns * exponential(random);
                Some(whole(self.start_ns + *at_ns))
            }
        }
    }

    /// Makes a client that starts so late begin with the next operation that is due from then on: what was due while it
    /// was not there was never its to send.
    pub fn skip_to(&mut self, now_ns: u64) {
        let late = now_ns as f64 - self.start_ns;
        match &mut self.arrivals {
            Arrivals::Even { next } | Arrivals::Uniform { next, .. } => {
                *next = (*next).max(whole((late / self.period_ns).ceil().max(0.0)));
            }
            Arrivals::Poisson { at_ns, .. } => *at_ns = at_ns.max(late),
            Arrivals::Unpaced => {}
        }
    }

    /// How many operations are due before `end_ns`, from the next one on. Of random arrivals it is the expected number.
    pub fn due_before(&self, end_ns: u64) -> u64 {
        let left = end_ns as f64 - self.start_ns;
        match &self.arrivals {
            Arrivals::Unpaced => 0,
            Arrivals::Even { next } => whole((left / self.period_ns).ceil().max(0.0)).saturating_sub(*next),
            Arrivals::Uniform { next, .. } => whole((left / self.period_ns - *next as f64).max(0.0).round()),
            Arrivals::Poisson { at_ns, .. } => whole(((left - at_ns) / self.period_ns).max(0.0).round()),
        }
    }
}

/// How much later than the first client `client` starts, in nanoseconds.
fn ramp_ns(task: &PlannedTask, client: u32) -> f64 {
    task.ramp_up_s * 1e9 * f64::from(client) / f64::from(task.clients)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a schedule is positive and ends within years"
)]
fn whole(ns: f64) -> u64 {
    ns as u64
}

/// Exponentially distributed with mean 1, by inversion; 53 bits, never 0 so that the logarithm exists.
fn exponential(random: &mut SplitMix64) -> f64 {
    -(1.0 - uniform(random)).ln()
}

/// Uniform from 0 to below 1, of 53 bits.
fn uniform(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeSet;

    use pacenote_plan::{TaskBound, TaskWork};

    use super::*;

    /// A task with a schedule.
    pub fn task(pace: TaskPacing, clients: u32, ramp_up_s: f64) -> PlannedTask {
        PlannedTask {
            name: "t".into(),
            operation: "t".into(),
            operation_type: "search".into(),
            clients,
            pace,
            open_loop: false,
            bound: TaskBound::Iterations { warmup: 0, measured: 1 },
            ramp_up_s,
            unit: "ops".into(),
            tolerates_errors: false,
            work: TaskWork::Sleep { seconds: 0.0 },
        }
    }

    #[test]
    fn clients_interleave_evenly_and_never_meet() {
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
    fn a_client_that_starts_late_has_nothing_to_catch_up_with() {
        let mut last = Pacer::new(&task(TaskPacing::Deterministic { interval_s: 0.1 }, 2, 10.0), 1, 1);
        assert_eq!(last.next_due_ns(), Some(5_100_000_000));
        assert_eq!(Pacer::client_starts_ns(&task(TaskPacing::Unpaced {}, 2, 10.0), 1), 5_000_000_000);
    }

    #[test]
    fn a_client_that_comes_from_another_task_starts_with_what_is_due_then() {
        let task = task(TaskPacing::Deterministic { interval_s: 0.05 }, 2, 0.0);
        let mut pacer = Pacer::new(&task, 1, 1);
        pacer.skip_to(2_000_000_000);
        // Its operations are due at 0.05 s and every 0.1 s from then on.
        assert_eq!(pacer.next_due_ns(), Some(2_050_000_000));
        assert_eq!(pacer.next_due_ns(), Some(2_150_000_000));
        for pace in [TaskPacing::Uniform { interval_s: 0.05 }, TaskPacing::Poisson { interval_s: 0.05 }] {
            let mut pacer = Pacer::new(&self::task(pace, 2, 0.0), 1, 1);
            pacer.skip_to(2_000_000_000);
            assert!(pacer.next_due_ns() >= Some(2_000_000_000));
            assert!(pacer.next_due_ns() < Some(4_000_000_000));
        }
    }

    #[test]
    fn what_is_left_of_a_schedule_is_counted_without_walking_it() {
        let even = task(TaskPacing::Deterministic { interval_s: 1e-9 }, 1, 0.0);
        let mut pacer = Pacer::new(&even, 0, 1);
        pacer.next_due_ns();
        assert_eq!(pacer.due_before(5_000_000_000), 4_999_999_999);
        for pace in [TaskPacing::Poisson { interval_s: 0.01 }, TaskPacing::Uniform { interval_s: 0.01 }] {
            let random = Pacer::new(&task(pace, 1, 0.0), 0, 1);
            assert_eq!((random.due_before(1_000_000_000), random.due_before(0)), (100, 0));
        }
    }

    #[test]
    fn random_arrivals_have_the_wanted_mean_and_repeat_with_the_seed() {
        for pace in [TaskPacing::Poisson { interval_s: 0.01 }, TaskPacing::Uniform { interval_s: 0.01 }] {
            let task = task(pace, 2, 0.0);
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
    fn uniform_arrivals_are_one_in_each_interval_anywhere_in_it() {
        let task = task(TaskPacing::Uniform { interval_s: 0.01 }, 4, 0.0);
        let (mut pacer, period) = (Pacer::new(&task, 1, 7), 40_000_000);
        let places: Vec<u64> = (0..1000)
            .map(|number| {
                let due = pacer.next_due_ns().unwrap() - 10_000_000;
                assert_eq!(due / period, number);
                due % period
            })
            .collect();
        let in_quarter = |quarter| places.iter().filter(|place| *place * 4 / period == quarter).count();
        // Of 1,000 in four equal parts each has 250, give or take 14.
        assert!((0..4).all(|quarter| (190..310).contains(&in_quarter(quarter))), "{places:?}");
    }

    #[test]
    fn no_two_clients_ever_fire_together() {
        for pace in [
            TaskPacing::Deterministic { interval_s: 0.001 },
            TaskPacing::Poisson { interval_s: 0.001 },
            TaskPacing::Uniform { interval_s: 0.001 },
        ] {
            let task = task(pace, 7, 0.3);
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
    fn a_client_that_ramps_up_keeps_its_rate_from_its_first_operation_on() {
        for pace in [
            TaskPacing::Deterministic { interval_s: 0.1 },
            TaskPacing::Poisson { interval_s: 0.1 },
            TaskPacing::Uniform { interval_s: 0.1 },
        ] {
            let mut pacer = Pacer::new(&task(pace, 2, 20.0), 1, 3);
            let dues: Vec<u64> = (0..1000).map(|_| pacer.next_due_ns().unwrap()).collect();
            assert!(dues[0] >= 10_000_000_000);
            let mean_s = (dues[999] - 10_000_000_000) as f64 / 1e9 / 1000.0;
            assert!((mean_s - 0.2).abs() < 0.03, "{mean_s}");
        }
    }
}

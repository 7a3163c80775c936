//! The schedule shared by all clients of an open-loop task, on all workers.
//!
//! A free client takes the operation that is due next, prepares it and sleeps until it is due. Operations are therefore
//! taken in the order of their due times, by clients in the order in which they become free, whatever their threads.
//! Each operation begins when it is due or when a client is free, whichever is later, as in a queue with several
//! servers. A slow client does not delay the others, and each sleeping client waits for its own operation, so no client
//! is woken unnecessarily.
//!
//! To take an operation of an even schedule is one atomic addition. Random arrivals and ramp-up need a lock, for the
//! time that it takes to draw the next arrival. The schedule starts with its task, when the first client enters it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use pacenote_plan::{Plan, PlannedTask, TaskPacing};
use pacenote_record::{EndedBy, SampleType, UnsentOperations};

use crate::race_state::lock;
use crate::schedule::budget::{AdmissionTimes, OperationBudget, TaskLimit};
use crate::schedule::pacer::{EvenTimes, Pacer};
use crate::task_client_id::TaskClientId;

/// The schedule shared by all clients of an open-loop task.
#[derive(Debug)]
pub struct SharedSchedule {
    limit: TaskLimit,
    arrivals: SharedArrivals,
    returned: ReturnedOperations,
    /// Number of clients that have not left.
    clients_left: AtomicU32,
    /// The latest instant of all clients before which operations should have begun; see [`SharedSchedule::leave`].
    cutoff_ns: AtomicU64,
    /// When the race was stopped or the step completed, in nanoseconds since the task started; `u64::MAX` before that.
    stopped_ns: AtomicU64,
}

#[derive(Debug)]
enum SharedArrivals {
    /// Operation n is due n intervals after the task started.
    Even {
        times: EvenTimes,
        /// Number of operations of the task.
        count: u64,
        /// Position of the operation that is due next; it may exceed `count`.
        next_index: AtomicU64,
    },
    /// The union of the schedules of all clients.
    Merged(Mutex<MergedArrivals>),
}

#[derive(Debug)]
struct MergedArrivals {
    pacers: Vec<Pacer>,
    budget: OperationBudget,
    /// The next operation of each pacer.
    due_operations: BinaryHeap<Reverse<DueOperation>>,
}

/// The next operation of a pacer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DueOperation {
    /// When it is due, in nanoseconds since the task started.
    due_ns: u64,
    /// Position of the pacer that scheduled it.
    pacer_index: u32,
}

/// Operations that were put back. There are hardly ever any, so their number is read before they are locked.
#[derive(Debug, Default)]
struct ReturnedOperations {
    count: AtomicU32,
    /// The operations by their due times, each with its sample type.
    operations: Mutex<BinaryHeap<Reverse<(u64, usize)>>>,
}

/// An operation that a client has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmittedOperation {
    /// When it is due, in nanoseconds since the task started.
    pub due_ns: u64,
    /// Whether it is warm-up.
    pub sample_type: SampleType,
}

impl SharedSchedule {
    /// Creates the schedule of a task of the plan, or returns `None` if its clients do not share one.
    pub fn of_task(plan: &Plan, task_index: u32) -> Option<Self> {
        let task = &plan.tasks[task_index as usize];
        let pacer = |client_number| Pacer::for_client(plan, TaskClientId { task_index, client_number });
        task.open_loop.then(|| Self::new(task, pacer))
    }

    /// Creates the schedule of a task; `pacer` creates the schedule of a client, from its number.
    fn new(task: &PlannedTask, pacer: impl Fn(u32) -> Pacer) -> Self {
        let limit = TaskLimit::new(task.bound, task.clients.into());
        let arrivals = match task.pacing {
            TaskPacing::Deterministic { interval_s } if task.ramp_up_s == 0.0 => {
                let times = EvenTimes::every(interval_s);
                let within_time = limit.end_ns().map(|end_ns| times.count_before(end_ns));
                let count = within_time.or(limit.iterations()).unwrap_or(u64::MAX);
                SharedArrivals::Even { times, count, next_index: AtomicU64::new(0) }
            }
            _ => SharedArrivals::Merged(Mutex::new(MergedArrivals::new(
                (0..task.clients).map(pacer).collect(),
                OperationBudget::new(limit),
            ))),
        };
        Self {
            limit,
            arrivals,
            returned: ReturnedOperations::default(),
            clients_left: AtomicU32::new(task.clients),
            cutoff_ns: AtomicU64::new(0),
            stopped_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// Returns the limit of the operations of all clients.
    pub fn limit(&self) -> TaskLimit {
        self.limit
    }

    /// Returns when the task's time ends, in nanoseconds since the task started, or `None` if it is not limited by
    /// time.
    pub fn end_ns(&self) -> Option<u64> {
        self.limit.end_ns()
    }

    /// Returns the instant before which all operations of the plan are due; see [`TaskLimit::planned_end_ns`].
    pub fn planned_end_ns(&self) -> u64 {
        self.limit.planned_end_ns()
    }

    /// Returns the due time of the next operation, in nanoseconds since the task started, or `None` if there is none.
    pub fn peek_due_ns(&self) -> Option<u64> {
        self.returned.peek_due_ns().or_else(|| match &self.arrivals {
            SharedArrivals::Even { times, count, next_index } => {
                let index = next_index.load(Ordering::Relaxed);
                (index < *count).then(|| times.at(index))
            }
            SharedArrivals::Merged(merged) => lock(merged).peek_due_ns(),
        })
    }

    /// Returns the reason why no operation can be taken at `now_ns` or later. Returns `None` while the task continues;
    /// even then, another client may take the last operation.
    pub fn end_reason(&self, now_ns: u64) -> Option<EndedBy> {
        if let Some(end_ns) = self.limit.end_ns()
            && now_ns >= end_ns
        {
            return Some(EndedBy::Time);
        }
        let is_exhausted = match &self.arrivals {
            SharedArrivals::Even { count, next_index, .. } => next_index.load(Ordering::Relaxed) >= *count,
            SharedArrivals::Merged(merged) => {
                self.limit.iterations().is_some() && lock(merged).budget.remaining_count() == Some(0)
            }
        };
        (is_exhausted && self.returned.is_empty()).then(|| self.exhausted())
    }

    /// Takes the operation that is due next.
    ///
    /// # Errors
    ///
    /// The reason why the schedule has ended.
    pub fn take(&self, now_ns: u64) -> Result<AdmittedOperation, EndedBy> {
        if self.limit.end_ns().is_some_and(|end_ns| now_ns >= end_ns) {
            return Err(EndedBy::Time);
        }
        // Operations that were put back had been taken before all others, so they are due first.
        if let Some(returned) = self.returned.take() {
            return Ok(returned);
        }
        match &self.arrivals {
            SharedArrivals::Even { times, count, next_index } => {
                let index = next_index.fetch_add(1, Ordering::Relaxed);
                if index >= *count {
                    return Err(self.exhausted());
                }
                let due_ns = times.at(index);
                Ok(AdmittedOperation { due_ns, sample_type: self.limit.sample_type(index, due_ns) })
            }
            SharedArrivals::Merged(merged) => lock(merged).take(now_ns),
        }
    }

    /// Puts back an operation that a client has taken but cannot execute, so that the next free client takes it.
    pub fn put_back(&self, operation: AdmittedOperation) {
        self.returned.push(operation);
    }

    /// Ends the schedule for one of its clients, which takes no more operations. Operations that are due before
    /// `cutoff_ns`, in nanoseconds since the task started, should have begun by then; the latest cutoff of all clients
    /// decides, but not beyond `stopped_ns`, when the race was stopped or the step completed. Returns those of these
    /// operations that no client has taken to the client that leaves last, and none to all others: each is counted
    /// once, and an operation that is put back late is counted as well. For `drained_until_ns`, see
    /// [`TaskLimit::drained_until`].
    #[must_use]
    pub fn leave(&self, cutoff_ns: u64, stopped_ns: Option<u64>, drained_until_ns: u64) -> UnsentOperations {
        self.cutoff_ns.fetch_max(cutoff_ns, Ordering::Relaxed);
        self.stopped_ns.fetch_min(stopped_ns.unwrap_or(u64::MAX), Ordering::Relaxed);
        // What all other clients have taken and put back happened before the last one reads it.
        if self.clients_left.fetch_sub(1, Ordering::AcqRel) != 1 {
            return UnsentOperations::default();
        }
        let cutoff_ns = self.cutoff_ns.load(Ordering::Relaxed).min(self.stopped_ns.load(Ordering::Relaxed));
        self.unsent_before(cutoff_ns, self.limit.drained_until(drained_until_ns))
    }

    /// Returns the operations that are due before `cutoff_ns` and that no client has taken.
    fn unsent_before(&self, cutoff_ns: u64, limit: TaskLimit) -> UnsentOperations {
        let not_taken = match &self.arrivals {
            SharedArrivals::Even { times, count, next_index } => {
                let taken_count = next_index.load(Ordering::Relaxed);
                let due_before = |end_ns| times.count_before(end_ns).min(*count).saturating_sub(taken_count);
                limit.unsent_before(cutoff_ns, taken_count, due_before)
            }
            SharedArrivals::Merged(merged) => {
                let merged = lock(merged);
                let due_before = |end_ns| merged.remaining_before(end_ns);
                limit.unsent_before(cutoff_ns, merged.budget.admitted_count(), due_before)
            }
        };
        not_taken + self.returned.unsent_before(cutoff_ns, limit.drained_until_ns())
    }

    /// Returns the reason why a schedule without further operations has ended.
    fn exhausted(&self) -> EndedBy {
        if self.limit.iterations().is_some() { EndedBy::Iterations } else { EndedBy::Time }
    }
}

impl MergedArrivals {
    fn new(mut pacers: Vec<Pacer>, budget: OperationBudget) -> Self {
        let first = |(pacer_index, pacer): (u32, &mut Pacer)| {
            pacer.next_due_ns().map(|due_ns| Reverse(DueOperation { due_ns, pacer_index }))
        };
        let due_operations = (0..).zip(&mut pacers).filter_map(first).collect();
        Self { pacers, budget, due_operations }
    }

    fn peek_due_ns(&self) -> Option<u64> {
        self.due_operations.peek().map(|Reverse(next)| next.due_ns)
    }

    fn take(&mut self, now_ns: u64) -> Result<AdmittedOperation, EndedBy> {
        let Some(mut next) = self.due_operations.peek_mut() else { return Err(EndedBy::Time) };
        let Reverse(DueOperation { due_ns, pacer_index }) = *next;
        let sample_type = self.budget.admit(AdmissionTimes { due_ns, now_ns })?;
        match self.pacers[pacer_index as usize].next_due_ns() {
            Some(due_ns) => *next = Reverse(DueOperation { due_ns, pacer_index }),
            None => drop(PeekMut::pop(next)),
        }
        Ok(AdmittedOperation { due_ns, sample_type })
    }

    /// Returns the number of operations that are due before `end_ns` and were not taken, whatever the number of
    /// iterations. For random arrivals, the operations after the next one of each client are estimated.
    fn remaining_before(&self, end_ns: u64) -> u64 {
        let due = self.due_operations.iter().filter(|Reverse(next)| next.due_ns < end_ns);
        let of_pacer = |Reverse(next): &Reverse<DueOperation>| {
            self.pacers[next.pacer_index as usize].remaining_before(end_ns).saturating_add(1)
        };
        due.map(of_pacer).fold(0, u64::saturating_add)
    }
}

impl ReturnedOperations {
    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    fn push(&self, AdmittedOperation { due_ns, sample_type }: AdmittedOperation) {
        lock(&self.operations).push(Reverse((due_ns, sample_type.index())));
        self.count.fetch_add(1, Ordering::Release);
    }

    fn take(&self) -> Option<AdmittedOperation> {
        if self.is_empty() {
            return None;
        }
        let Reverse((due_ns, index)) = lock(&self.operations).pop()?;
        self.count.fetch_sub(1, Ordering::Release);
        Some(AdmittedOperation { due_ns, sample_type: SampleType::ALL[index] })
    }

    fn peek_due_ns(&self) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        lock(&self.operations).peek().map(|Reverse((due_ns, _))| *due_ns)
    }

    /// Returns the operations that are due before `cutoff_ns`.
    fn unsent_before(&self, cutoff_ns: u64, drained_until_ns: u64) -> UnsentOperations {
        let operations = lock(&self.operations);
        let due = || operations.iter().filter(|Reverse((due_ns, _))| *due_ns < cutoff_ns);
        let warmup = due().filter(|Reverse((due_ns, index))| {
            *index == SampleType::Warmup.index() || *due_ns < drained_until_ns
        });
        UnsentOperations { total: due().count() as u64, warmup: warmup.count() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use pacenote_plan::TaskBound;

    use super::*;
    use crate::schedule::pacer::tests::task;

    const MS: u64 = 1_000_000;

    fn shared(pacing: TaskPacing, clients: u32, ramp_up_s: f64, bound: TaskBound) -> SharedSchedule {
        let task = PlannedTask { bound, ..task(pacing, clients, ramp_up_s) };
        SharedSchedule::new(&task, |client_number| Pacer::new(&task, client_number, 1))
    }

    fn even(clients: u32, ramp_up_s: f64, bound: TaskBound) -> SharedSchedule {
        shared(TaskPacing::Deterministic { interval_s: 0.01 }, clients, ramp_up_s, bound)
    }

    fn one_second() -> TaskBound {
        TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(1.0) }
    }

    fn taken(shared: &SharedSchedule) -> Vec<AdmittedOperation> {
        std::iter::from_fn(|| shared.take(0).ok()).collect()
    }

    fn measured(due_ns: u64) -> AdmittedOperation {
        AdmittedOperation { due_ns, sample_type: SampleType::Measured }
    }

    fn warmup(due_ns: u64) -> AdmittedOperation {
        AdmittedOperation { due_ns, sample_type: SampleType::Warmup }
    }

    /// Operations that are not sent, none of which is warm-up.
    fn unsent(total: u64) -> UnsentOperations {
        UnsentOperations { total, warmup: 0 }
    }

    #[test]
    fn operations_are_taken_in_order_with_warm_up_first() {
        let shared = even(4, 0.0, TaskBound::Iterations { warmup: 2, measured: 3 });
        let all = taken(&shared);
        let expected: Vec<_> = (0..20)
            .map(|number| if number < 8 { warmup(number * 10 * MS) } else { measured(number * 10 * MS) })
            .collect();
        assert_eq!(all, expected);
        assert_eq!(
            (shared.take(0), shared.end_reason(0)),
            (Err(EndedBy::Iterations), Some(EndedBy::Iterations))
        );
        assert_eq!(shared.peek_due_ns(), None);
    }

    #[test]
    fn random_schedules_are_merged_in_order() {
        for pacing in [TaskPacing::Poisson { interval_s: 0.01 }, TaskPacing::Uniform { interval_s: 0.01 }] {
            let shared = shared(pacing, 5, 0.0, TaskBound::Iterations { warmup: 0, measured: 200 });
            assert_eq!(shared.end_reason(0), None);
            let first = shared.peek_due_ns();
            let all: Vec<u64> = taken(&shared).into_iter().map(|one| one.due_ns).collect();
            assert_eq!((all.len(), all.first().copied()), (1000, first));
            assert!(all.is_sorted());
            assert_eq!(shared.end_reason(0), Some(EndedBy::Iterations));
        }
    }

    /// Several threads take all operations: none is taken twice, none is lost, and each thread takes them in order.
    #[test]
    fn threads_take_every_operation_once() {
        for (pacing, ramp_up_s) in [
            (TaskPacing::Deterministic { interval_s: 0.001 }, 0.0),
            (TaskPacing::Deterministic { interval_s: 0.001 }, 0.5),
            (TaskPacing::Poisson { interval_s: 0.001 }, 0.0),
        ] {
            let bound = TaskBound::Iterations { warmup: 0, measured: 5000 };
            let shared = &shared(pacing, 8, ramp_up_s, bound);
            let alone = taken(&self::shared(pacing, 8, ramp_up_s, bound));
            let mut all: Vec<AdmittedOperation> = thread::scope(|scope| {
                let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| taken(shared))).collect();
                threads
                    .into_iter()
                    .flat_map(|thread| {
                        let taken = thread.join().unwrap();
                        assert!(taken.is_sorted_by_key(|operation| operation.due_ns));
                        taken
                    })
                    .collect()
            });
            all.sort_by_key(|operation| operation.due_ns);
            assert_eq!((all.len(), all), (40_000, alone));
        }
    }

    #[test]
    fn unsent_operations_are_counted_for_the_last_client_only() {
        for ramp_up_s in [0.0, 1e-9] {
            let shared = even(3, ramp_up_s, one_second());
            for number in 0..10 {
                assert_eq!(shared.take(0), Ok(measured(number * 10 * MS)));
            }
            assert_eq!((shared.end_reason(999 * MS), shared.take(1000 * MS)), (None, Err(EndedBy::Time)));
            assert_eq!(shared.end_reason(1000 * MS), Some(EndedBy::Time));
            assert_eq!(
                (shared.leave(1000 * MS, None, 0), shared.leave(0, None, 0), shared.leave(500 * MS, None, 0)),
                (unsent(0), unsent(0), unsent(90))
            );
            let whole = even(1, ramp_up_s, one_second());
            assert_eq!((taken(&whole).len(), whole.take(0)), (100, Err(EndedBy::Time)));
            assert_eq!(whole.leave(1000 * MS, None, 0), unsent(0));
        }
    }

    /// The source of the first client fails, and the others go on until the race is stopped.
    #[test]
    fn nothing_is_unsent_that_is_due_after_a_stop() {
        for ramp_up_s in [0.0, 1e-9] {
            let shared = even(2, ramp_up_s, one_second());
            assert_eq!(shared.take(0), Ok(measured(0)));
            assert_eq!(
                (shared.leave(1000 * MS, None, 0), shared.leave(55 * MS, Some(55 * MS), 0)),
                (unsent(0), unsent(5))
            );
        }
    }

    #[test]
    fn a_task_whose_sources_have_ended_leaves_nothing_unsent() {
        for ramp_up_s in [0.0, 1e-9] {
            let shared = even(2, ramp_up_s, one_second());
            assert_eq!(shared.take(0), Ok(measured(0)));
            assert_eq!((shared.leave(0, None, 0), shared.leave(0, None, 0)), (unsent(0), unsent(0)));
        }
    }

    #[test]
    fn the_rest_of_the_iterations_is_unsent_as_far_as_it_was_due() {
        for ramp_up_s in [0.0, 1e-9] {
            let iterations = || even(2, ramp_up_s, TaskBound::Iterations { warmup: 0, measured: 10 });
            for (cutoff, due) in [(55 * MS, 4), (60 * MS, 4), (61 * MS, 5), (3_600_000 * MS, 18)] {
                let shared = iterations();
                assert_eq!((shared.take(0), shared.take(0)), (Ok(measured(0)), Ok(measured(10 * MS))));
                assert_eq!(
                    (shared.leave(cutoff, None, 0), shared.leave(0, None, 0)),
                    (unsent(0), unsent(due)),
                    "{cutoff}"
                );
            }
        }
    }

    /// The data of the client that leaves last has ended, but what the other one would have sent is unsent.
    #[test]
    fn the_unsent_warm_up_is_counted_up_to_the_latest_cutoff() {
        let bounds = [
            (TaskBound::TimePeriod { warmup_s: 0.1, measured_s: Some(0.9) }, 1000 * MS),
            (TaskBound::Iterations { warmup: 5, measured: 45 }, u64::MAX),
        ];
        for ((bound, cutoff_ns), ramp_up_s) in bounds.into_iter().flat_map(|one| [(one, 0.0), (one, 1e-9)]) {
            let shared = even(2, ramp_up_s, bound);
            for number in 0..4 {
                assert_eq!(shared.take(0), Ok(warmup(number * 10 * MS)));
            }
            shared.put_back(warmup(30 * MS));
            assert_eq!(shared.leave(cutoff_ns, None, 0), unsent(0));
            // Of the ten operations of the warm-up, three began.
            let expected = UnsentOperations { total: 97, warmup: 7 };
            assert_eq!(shared.leave(0, None, 0), expected, "{bound:?} {ramp_up_s}");
        }
    }

    #[test]
    fn an_operation_that_was_put_back_is_taken_next() {
        for ramp_up_s in [0.0, 1e-9] {
            let shared = even(2, ramp_up_s, TaskBound::Iterations { warmup: 1, measured: 2 });
            assert_eq!((shared.take(0), shared.take(0)), (Ok(warmup(0)), Ok(warmup(10 * MS))));
            shared.put_back(warmup(10 * MS));
            shared.put_back(warmup(0));
            assert_eq!(shared.peek_due_ns(), Some(0));
            assert_eq!((shared.take(0), shared.take(0)), (Ok(warmup(0)), Ok(warmup(10 * MS))));
            let rest: Vec<u64> = taken(&shared).into_iter().map(|one| one.due_ns).collect();
            assert_eq!(rest, [20 * MS, 30 * MS, 40 * MS, 50 * MS]);
        }
    }

    /// The other clients have left when the last one puts its operation back, so that no client can take it.
    #[test]
    fn an_operation_that_is_put_back_after_the_schedule_has_ended_is_unsent() {
        let limits = [one_second(), TaskBound::Iterations { warmup: 0, measured: 50 }];
        for (bound, cutoff_ns) in limits.into_iter().zip([1000 * MS, u64::MAX]) {
            let shared = even(2, 0.0, bound);
            let last = *taken(&shared).last().unwrap();
            assert!(shared.end_reason(0).is_some());
            assert_eq!(shared.leave(cutoff_ns, None, 0), unsent(0));
            shared.put_back(last);
            assert_eq!(shared.end_reason(0), None, "another client may still take it");
            assert_eq!(shared.leave(0, None, 0), unsent(1));
        }
    }

    #[test]
    fn ramp_up_adds_the_rate_of_one_client_after_another() {
        // 100/s by 4 clients, one of which starts every second.
        let shared = even(4, 4.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(6.0) });
        let all = taken(&shared);
        let within = |second: u64| {
            all.iter()
                .filter(|one| (second * 1000 * MS..(second + 1) * 1000 * MS).contains(&one.due_ns))
                .count()
        };
        assert_eq!((0..6).map(within).collect::<Vec<_>>(), [25, 50, 75, 100, 100, 100]);
        assert!(all.windows(2).all(|pair| pair[1].due_ns - pair[0].due_ns >= 10 * MS), "a burst");
    }

    /// With a ramp-up of 0.3 s, the second of three clients starts after 0.1 s, which is no multiple of its period.
    #[test]
    fn after_any_ramp_up_the_schedule_is_even() {
        for ramp_up_s in [0.2, 0.3, 0.77, 1.0] {
            let shared = even(3, ramp_up_s, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(3.0) });
            let dues: Vec<u64> = taken(&shared).into_iter().map(|one| one.due_ns).collect();
            let after: Vec<u64> = dues.into_iter().filter(|due| *due >= 1100 * MS).collect();
            assert_eq!(after, (110..300).map(|number| number * 10 * MS).collect::<Vec<_>>(), "{ramp_up_s}");
        }
    }
}

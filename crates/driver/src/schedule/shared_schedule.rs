//! The schedule shared by the clients of an open-loop task on one worker.
//!
//! A free client takes the operation that is due next, prepares it and sleeps until it is due. Operations are therefore
//! taken in the order of their due times, by clients in the order in which they become free. Each operation begins when
//! it is due or when a client is free, whichever is later, as in a queue with several servers. A slow client does not
//! delay the others, and each sleeping client waits for its own operation, so no client is woken unnecessarily.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use pacenote_plan::TaskBound;
use pacenote_record::{EndedBy, SampleType};

use crate::schedule::budget::{AdmissionTimes, OperationBudget};
use crate::schedule::pacer::Pacer;

/// The schedule shared by the clients of an open-loop task on one worker. Only one thread uses it, so access is cheap.
#[derive(Debug)]
pub struct SharedSchedule {
    state: RefCell<SharedScheduleState>,
}

#[derive(Debug)]
struct SharedScheduleState {
    /// The schedules of the clients; the schedule of the task is their union.
    pacers: Vec<Pacer>,
    budget: OperationBudget,
    /// Number of operations taken since the last [`SharedSchedule::drain_taken_count`]. An operation that was put
    /// back and taken again is counted twice, and the recorder subtracts one of the two.
    taken_count: u64,
    /// The next operation of each pacer, and operations that were put back. Empty before the task starts and after it
    /// has ended.
    due_operations: BinaryHeap<Reverse<DueOperation>>,
    started: bool,
}

/// The result if a schedule has no more operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleEnd {
    /// The reason why the task has ended.
    pub ended_by: EndedBy,
    /// Number of operations that were due within the task's time but not sent. It is reported to one client only.
    pub unsent: u64,
}

/// An operation that no client has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DueOperation {
    /// When it is due, in nanoseconds since the task started.
    due_ns: u64,
    /// Position of the pacer that scheduled it, or `None` for an operation that was put back.
    pacer_index: Option<u32>,
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
    /// Creates the union of the schedules of the task's clients on this worker.
    pub fn new(bound: TaskBound, pacers: Vec<Pacer>) -> Self {
        let budget = OperationBudget::new(bound, pacers.len() as u64);
        let due_operations = BinaryHeap::with_capacity(pacers.len());
        Self {
            state: RefCell::new(SharedScheduleState {
                pacers,
                budget,
                taken_count: 0,
                due_operations,
                started: false,
            }),
        }
    }

    /// Starts the schedule when the first client enters the task. If the first client comes from another task of the
    /// step, it enters at `joined_late_ns`, and operations that were due earlier are skipped.
    pub fn ensure_started(&self, joined_late_ns: Option<u64>) {
        let state = &mut *self.state.borrow_mut();
        if std::mem::replace(&mut state.started, true) {
            return;
        }
        for (position, pacer) in (0..).zip(&mut state.pacers) {
            if let Some(joined_late_ns) = joined_late_ns {
                pacer.skip_to(joined_late_ns);
            }
            let next = pacer.next_due_ns().map(|due_ns| DueOperation { due_ns, pacer_index: Some(position) });
            state.due_operations.extend(next.map(Reverse));
        }
    }

    /// Returns the number of operations taken by all clients since the last call.
    pub fn drain_taken_count(&self) -> u64 {
        std::mem::take(&mut self.state.borrow_mut().taken_count)
    }

    /// Returns when the task's time ends, in nanoseconds since the task started, or `None` if it is not limited by
    /// time.
    pub fn end_ns(&self) -> Option<u64> {
        self.state.borrow().budget.end_ns()
    }

    /// Returns the due time of the next operation, in nanoseconds since the task started.
    pub fn peek_due_ns(&self) -> Option<u64> {
        self.state.borrow().due_operations.peek().map(|Reverse(next)| next.due_ns)
    }

    /// Returns the reason why no operation can be taken at `now_ns` or later. Returns `None` while the task continues.
    pub fn end_reason(&self, now_ns: u64) -> Option<EndedBy> {
        self.state.borrow().budget.end_reason(now_ns)
    }

    /// Ends the schedule for the reason that [`SharedSchedule::end_reason`] has returned. The first call returns the
    /// number of unsent operations, which the caller must record.
    #[must_use]
    pub fn finish(&self, ended_by: EndedBy) -> ScheduleEnd {
        self.state.borrow_mut().end(ended_by)
    }

    /// Takes the operation that is due next.
    ///
    /// # Errors
    ///
    /// The reason why the schedule has ended.
    pub fn take(&self, now_ns: u64) -> Result<AdmittedOperation, ScheduleEnd> {
        let state = &mut *self.state.borrow_mut();
        let Some(mut next) = state.due_operations.peek_mut() else {
            // Another client has already ended the schedule.
            return Err(ScheduleEnd {
                ended_by: state.budget.end_reason(u64::MAX).unwrap_or(EndedBy::Time),
                unsent: 0,
            });
        };
        let Reverse(DueOperation { due_ns, pacer_index }) = *next;
        match state.budget.admit(AdmissionTimes { due_ns, now_ns }) {
            Ok(sample_type) => {
                state.taken_count += 1;
                let following =
                    pacer_index.and_then(|position| state.pacers[position as usize].next_due_ns());
                match following {
                    Some(due_ns) => *next = Reverse(DueOperation { due_ns, pacer_index }),
                    None => drop(PeekMut::pop(next)),
                }
                Ok(AdmittedOperation { due_ns, sample_type })
            }
            Err(ended_by) => {
                drop(next);
                Err(state.end(ended_by))
            }
        }
    }

    /// Puts back an operation that a client has taken but cannot execute, so that the next free client takes it.
    pub fn put_back(&self, due_ns: u64) {
        let mut state = self.state.borrow_mut();
        state.budget.unadmit();
        state.due_operations.push(Reverse(DueOperation { due_ns, pacer_index: None }));
    }
}

impl SharedScheduleState {
    /// Removes all operations and counts those that were not sent.
    fn end(&mut self, ended_by: EndedBy) -> ScheduleEnd {
        let end_ns = self.budget.end_ns().unwrap_or(0);
        let not_sent = self.due_operations.drain().filter(|Reverse(operation)| operation.due_ns < end_ns);
        let after = |pacer_index: Option<u32>| {
            pacer_index.map_or(0, |position| self.pacers[position as usize].remaining_before(end_ns))
        };
        let unsent = not_sent.map(|Reverse(operation)| 1 + after(operation.pacer_index)).sum();
        ScheduleEnd { ended_by, unsent }
    }
}

#[cfg(test)]
mod tests {
    use pacenote_plan::TaskPacing;

    use super::*;
    use crate::schedule::pacer::tests::task;

    const MS: u64 = 1_000_000;

    fn shared(pacing: TaskPacing, clients: u32, ramp_up_s: f64, bound: TaskBound) -> SharedSchedule {
        let task = task(pacing, clients, ramp_up_s);
        SharedSchedule::new(bound, (0..clients).map(|client| Pacer::new(&task, client, 1)).collect())
    }

    fn even(clients: u32, ramp_up_s: f64, bound: TaskBound) -> SharedSchedule {
        shared(TaskPacing::Deterministic { interval_s: 0.01 }, clients, ramp_up_s, bound)
    }

    fn taken(shared: &SharedSchedule) -> Vec<AdmittedOperation> {
        std::iter::from_fn(|| shared.take(0).ok()).collect()
    }

    #[test]
    fn the_union_of_all_schedules_is_taken_in_order_with_warm_up_first() {
        let shared = even(4, 0.0, TaskBound::Iterations { warmup: 2, measured: 3 });
        shared.ensure_started(None);
        shared.ensure_started(Some(1000 * MS));
        let all = taken(&shared);
        assert_eq!(
            all.iter().map(|one| one.due_ns).collect::<Vec<_>>(),
            (0..20).map(|n| n * 10 * MS).collect::<Vec<_>>()
        );
        let warmup = |one: &&AdmittedOperation| one.sample_type == SampleType::Warmup;
        assert_eq!((all.iter().take_while(warmup).count(), all.iter().filter(warmup).count()), (8, 8));
        assert_eq!(shared.take(0), Err(ScheduleEnd { ended_by: EndedBy::Iterations, unsent: 0 }));
    }

    #[test]
    fn random_schedules_are_merged_in_order() {
        for pacing in [TaskPacing::Poisson { interval_s: 0.01 }, TaskPacing::Uniform { interval_s: 0.01 }] {
            let shared = shared(pacing, 5, 0.0, TaskBound::Iterations { warmup: 0, measured: 200 });
            shared.ensure_started(None);
            let all: Vec<u64> = taken(&shared).into_iter().map(|one| one.due_ns).collect();
            assert_eq!(all.len(), 1000);
            assert!(all.is_sorted());
        }
    }

    #[test]
    fn unsent_operations_are_reported_once() {
        let time = TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(1.0) };
        let shared = even(3, 0.0, time);
        shared.ensure_started(None);
        for number in 0..10 {
            assert_eq!(
                shared.take(0),
                Ok(AdmittedOperation { due_ns: number * 10 * MS, sample_type: SampleType::Measured })
            );
        }
        assert_eq!(shared.end_reason(999 * MS), None);
        assert_eq!(shared.end_reason(1000 * MS), Some(EndedBy::Time));
        assert_eq!(shared.end_reason(1000 * MS), Some(EndedBy::Time), "a query changes nothing");
        assert_eq!(shared.finish(EndedBy::Time), ScheduleEnd { ended_by: EndedBy::Time, unsent: 90 });
        assert_eq!(shared.finish(EndedBy::Time), ScheduleEnd { ended_by: EndedBy::Time, unsent: 0 });
        assert_eq!(shared.take(1000 * MS), Err(ScheduleEnd { ended_by: EndedBy::Time, unsent: 0 }));
        let whole = even(3, 0.0, time);
        whole.ensure_started(None);
        assert_eq!(
            (taken(&whole).len(), whole.take(0)),
            (100, Err(ScheduleEnd { ended_by: EndedBy::Time, unsent: 0 }))
        );
    }

    #[test]
    fn an_operation_that_was_put_back_is_taken_next() {
        let shared = even(2, 0.0, TaskBound::Iterations { warmup: 1, measured: 2 });
        shared.ensure_started(None);
        assert_eq!(shared.take(0), Ok(AdmittedOperation { due_ns: 0, sample_type: SampleType::Warmup }));
        assert_eq!(
            shared.take(0),
            Ok(AdmittedOperation { due_ns: 10 * MS, sample_type: SampleType::Warmup })
        );
        shared.put_back(0);
        assert_eq!(shared.take(0), Ok(AdmittedOperation { due_ns: 0, sample_type: SampleType::Warmup }));
        let rest: Vec<u64> = taken(&shared).into_iter().map(|one| one.due_ns).collect();
        assert_eq!(rest, [20 * MS, 30 * MS, 40 * MS, 50 * MS]);
        let timed = even(1, 0.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(0.02) });
        timed.ensure_started(None);
        assert_eq!(timed.take(0), Ok(AdmittedOperation { due_ns: 0, sample_type: SampleType::Measured }));
        timed.put_back(0);
        assert_eq!(timed.finish(EndedBy::Time), ScheduleEnd { ended_by: EndedBy::Time, unsent: 2 });
    }

    #[test]
    fn ramp_up_adds_the_rate_of_one_client_after_another() {
        // 100/s by 4 clients, one of which starts every second.
        let shared = even(4, 4.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(6.0) });
        shared.ensure_started(None);
        let all = taken(&shared);
        let within = |second: u64| {
            all.iter()
                .filter(|one| (second * 1000 * MS..(second + 1) * 1000 * MS).contains(&one.due_ns))
                .count()
        };
        assert_eq!((0..6).map(within).collect::<Vec<_>>(), [25, 50, 75, 100, 100, 100]);
        assert!(all.windows(2).all(|pair| pair[1].due_ns - pair[0].due_ns >= 10 * MS), "a burst");
    }

    #[test]
    fn a_task_that_all_clients_enter_late_does_not_catch_up() {
        let shared = even(2, 0.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(1.0) });
        shared.ensure_started(Some(503 * MS));
        assert_eq!(shared.peek_due_ns(), Some(510 * MS));
        assert_eq!(taken(&shared).len(), 49);
    }
}

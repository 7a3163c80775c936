//! The schedule that the clients of an open-loop task share on one worker.
//!
//! A free client takes the operation that is due next, prepares it and sleeps until it is due. Operations are therefore
//! assigned in the order of their due times, to clients in the order in which they become free: each begins at its due
//! time or when a client is free, whichever is later, as in a queue with several servers. A slow client does not delay
//! the others, and each sleeping client waits for its own operation, so that no client is woken without need.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use pacenote_plan::TaskBound;
use pacenote_record::{EndedBy, SampleType};

use crate::schedule::limiter::Limiter;
use crate::schedule::pacer::Pacer;

/// The schedule that the clients of an open-loop task share. It stays on one thread, so that access to it is cheap.
#[derive(Debug)]
pub struct OpenLoop {
    state: RefCell<OpenLoopState>,
}

#[derive(Debug)]
struct OpenLoopState {
    /// The schedules of the clients; the schedule of the task is their union.
    pacers: Vec<Pacer>,
    limiter: Limiter,
    /// Operations admitted since [`OpenLoop::take_admitted`]; one that was put back is admitted again.
    admitted: u64,
    /// Due time of the next operation of each schedule, and the position of that schedule. Empty before the task begins
    /// and after it has ended. An operation that was put back belongs to no schedule.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    started: bool,
}

/// No operation is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted {
    /// Why the task has ended.
    pub by: EndedBy,
    /// Operations that were due within the task's time and are not sent; reported to one client only.
    pub unsent: u64,
}

/// Position in place of a schedule, for an operation that was put back.
const NO_PACER: usize = usize::MAX;

impl OpenLoop {
    /// The union of the schedules of the task's clients on this worker.
    pub fn new(bound: TaskBound, pacers: Vec<Pacer>) -> Self {
        let limiter = Limiter::new(bound, pacers.len() as u64);
        let due = BinaryHeap::with_capacity(pacers.len());
        Self { state: RefCell::new(OpenLoopState { pacers, limiter, admitted: 0, due, started: false }) }
    }

    /// Starts the schedule when a client enters the task. If the first client enters late, at `late_ns`, operations
    /// that were due before are skipped.
    pub fn start(&self, late_ns: Option<u64>) {
        let state = &mut *self.state.borrow_mut();
        if std::mem::replace(&mut state.started, true) {
            return;
        }
        for (position, pacer) in state.pacers.iter_mut().enumerate() {
            if let Some(now_ns) = late_ns {
                pacer.skip_to(now_ns);
            }
            state.due.extend(pacer.next_due_ns().map(|due_ns| Reverse((due_ns, position))));
        }
    }

    /// Number of operations that all clients have taken since the last call.
    pub fn take_admitted(&self) -> u64 {
        std::mem::take(&mut self.state.borrow_mut().admitted)
    }

    /// The end of the task's time, nanoseconds since it began; `None` if it is not limited by time.
    pub fn end_ns(&self) -> Option<u64> {
        self.state.borrow().limiter.end_ns()
    }

    /// Due time of the next operation, nanoseconds since the task began.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.state.borrow().due.peek().map(|Reverse((due_ns, _))| *due_ns)
    }

    /// Why no operation can be taken at `now_ns` or later; `None` while the task continues.
    pub fn exhausted(&self, now_ns: u64) -> Option<Exhausted> {
        let mut state = self.state.borrow_mut();
        state.limiter.ended(now_ns).map(|by| state.end(by))
    }

    /// Takes the operation that is due next.
    ///
    /// # Errors
    ///
    /// Why no operation is left.
    pub fn take(&self, now_ns: u64) -> Result<(u64, SampleType), Exhausted> {
        let state = &mut *self.state.borrow_mut();
        let Some(mut next) = state.due.peek_mut() else {
            // Another client has already reached the end.
            return Err(Exhausted { by: state.limiter.ended(u64::MAX).unwrap_or(EndedBy::Time), unsent: 0 });
        };
        let Reverse((due_ns, position)) = *next;
        match state.limiter.admit(due_ns, now_ns) {
            Ok(sample_type) => {
                state.admitted += 1;
                match state.pacers.get_mut(position).and_then(Pacer::next_due_ns) {
                    Some(after) => *next = Reverse((after, position)),
                    None => drop(PeekMut::pop(next)),
                }
                Ok((due_ns, sample_type))
            }
            Err(by) => {
                drop(next);
                Err(state.end(by))
            }
        }
    }

    /// Puts back an operation that a client has taken and cannot execute; the next free client takes it.
    pub fn put_back(&self, due_ns: u64) {
        let mut state = self.state.borrow_mut();
        state.limiter.undo();
        state.due.push(Reverse((due_ns, NO_PACER)));
    }
}

impl OpenLoopState {
    fn end(&mut self, by: EndedBy) -> Exhausted {
        let end_ns = self.limiter.end_ns().unwrap_or(0);
        let left = self.due.drain().filter(|Reverse((due_ns, _))| *due_ns < end_ns);
        let after = |position| self.pacers.get(position).map_or(0, |pacer: &Pacer| pacer.due_before(end_ns));
        let unsent = left.map(|Reverse((_, position))| 1 + after(position)).sum();
        Exhausted { by, unsent }
    }
}

#[cfg(test)]
mod tests {
    use pacenote_plan::TaskPacing;

    use super::*;
    use crate::schedule::pacer::tests::task;

    const MS: u64 = 1_000_000;

    fn open(pace: TaskPacing, clients: u32, ramp_up_s: f64, bound: TaskBound) -> OpenLoop {
        let task = task(pace, clients, ramp_up_s);
        OpenLoop::new(bound, (0..clients).map(|client| Pacer::new(&task, client, 1)).collect())
    }

    fn even(clients: u32, ramp_up_s: f64, bound: TaskBound) -> OpenLoop {
        open(TaskPacing::Deterministic { interval_s: 0.01 }, clients, ramp_up_s, bound)
    }

    fn taken(open: &OpenLoop) -> Vec<(u64, SampleType)> {
        std::iter::from_fn(|| open.take(0).ok()).collect()
    }

    #[test]
    fn the_union_of_all_schedules_is_taken_in_order_with_warm_up_first() {
        let open = even(4, 0.0, TaskBound::Iterations { warmup: 2, measured: 3 });
        open.start(None);
        open.start(Some(1000 * MS));
        let all = taken(&open);
        assert_eq!(
            all.iter().map(|one| one.0).collect::<Vec<_>>(),
            (0..20).map(|n| n * 10 * MS).collect::<Vec<_>>()
        );
        let warmup = |one: &&(u64, SampleType)| one.1 == SampleType::Warmup;
        assert_eq!((all.iter().take_while(warmup).count(), all.iter().filter(warmup).count()), (8, 8));
        assert_eq!(open.take(0), Err(Exhausted { by: EndedBy::Iterations, unsent: 0 }));
    }

    #[test]
    fn random_schedules_are_merged_in_order() {
        for pace in [TaskPacing::Poisson { interval_s: 0.01 }, TaskPacing::Uniform { interval_s: 0.01 }] {
            let open = open(pace, 5, 0.0, TaskBound::Iterations { warmup: 0, measured: 200 });
            open.start(None);
            let all: Vec<u64> = taken(&open).into_iter().map(|one| one.0).collect();
            assert_eq!(all.len(), 1000);
            assert!(all.is_sorted());
        }
    }

    #[test]
    fn unsent_operations_are_reported_once() {
        let time = TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(1.0) };
        let open = even(3, 0.0, time);
        open.start(None);
        for number in 0..10 {
            assert_eq!(open.take(0), Ok((number * 10 * MS, SampleType::Measured)));
        }
        assert_eq!(open.exhausted(999 * MS), None);
        assert_eq!(open.exhausted(1000 * MS), Some(Exhausted { by: EndedBy::Time, unsent: 90 }));
        assert_eq!(open.exhausted(1000 * MS), Some(Exhausted { by: EndedBy::Time, unsent: 0 }));
        assert_eq!(open.take(1000 * MS), Err(Exhausted { by: EndedBy::Time, unsent: 0 }));
        let whole = even(3, 0.0, time);
        whole.start(None);
        assert_eq!(
            (taken(&whole).len(), whole.take(0)),
            (100, Err(Exhausted { by: EndedBy::Time, unsent: 0 }))
        );
    }

    #[test]
    fn an_operation_that_was_put_back_is_taken_next() {
        let open = even(2, 0.0, TaskBound::Iterations { warmup: 1, measured: 2 });
        open.start(None);
        assert_eq!(open.take(0), Ok((0, SampleType::Warmup)));
        assert_eq!(open.take(0), Ok((10 * MS, SampleType::Warmup)));
        open.put_back(0);
        assert_eq!(open.take(0), Ok((0, SampleType::Warmup)));
        let rest: Vec<u64> = taken(&open).into_iter().map(|one| one.0).collect();
        assert_eq!(rest, [20 * MS, 30 * MS, 40 * MS, 50 * MS]);
        let timed = even(1, 0.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(0.02) });
        timed.start(None);
        assert_eq!(timed.take(0), Ok((0, SampleType::Measured)));
        timed.put_back(0);
        assert_eq!(timed.exhausted(20 * MS), Some(Exhausted { by: EndedBy::Time, unsent: 2 }));
    }

    #[test]
    fn ramp_up_adds_the_rate_of_one_client_after_another() {
        // 100/s by 4 clients, one of which starts every second.
        let open = even(4, 4.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(6.0) });
        open.start(None);
        let all = taken(&open);
        let within = |second: u64| {
            all.iter().filter(|one| (second * 1000 * MS..(second + 1) * 1000 * MS).contains(&one.0)).count()
        };
        assert_eq!((0..6).map(within).collect::<Vec<_>>(), [25, 50, 75, 100, 100, 100]);
        assert!(all.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 10 * MS), "a burst");
    }

    #[test]
    fn a_task_that_all_clients_enter_late_does_not_catch_up() {
        let open = even(2, 0.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(1.0) });
        open.start(Some(503 * MS));
        assert_eq!(open.next_due_ns(), Some(510 * MS));
        assert_eq!(taken(&open).len(), 49);
    }
}

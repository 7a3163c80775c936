//! The schedule that the clients of an open-loop task share, on one thread.
//!
//! A client that is free takes the operation that is due next, prepares for it and sleeps until it is due. Operations
//! are thus handed out in the order in which they are due, to clients in the order in which they become free: each
//! begins at the later of its due time and the moment at which a client is free for it, as if it queued. A slow client
//! holds back no other, and every sleeping client waits for an operation of its own, so that none is woken in vain.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use pacenote_plan::TaskBound;
use pacenote_record::{EndedBy, SampleType};

use crate::schedule::limiter::Gate;
use crate::schedule::pacer::Pacer;

/// See the module documentation. Never shared between threads, so that borrowing it costs nothing.
#[derive(Debug)]
pub struct OpenLoop {
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    /// The schedules of the clients; the task's is their union.
    pacers: Vec<Pacer>,
    gate: Gate,
    /// Operations handed out that are not accounted for yet; one that was given back is handed out again.
    taken: u64,
    /// When the next operation of each schedule is due, and whose it is. Empty before the task begins and once it is
    /// over. What was given back is nobody's.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    begun: bool,
}

/// There is nothing more to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over {
    /// Why.
    pub by: EndedBy,
    /// What was due within the task's time and is never sent; told to one client only.
    pub unsent: u64,
}

/// The schedule of an operation that was given back.
const NOBODY: usize = usize::MAX;

impl OpenLoop {
    /// The schedule of a task whose clients on this thread have these schedules.
    pub fn new(bound: TaskBound, pacers: Vec<Pacer>) -> Self {
        let gate = Gate::new(bound, pacers.len() as u64);
        let due = BinaryHeap::with_capacity(pacers.len());
        Self { state: RefCell::new(State { pacers, gate, taken: 0, due, begun: false }) }
    }

    /// A client begins with the task. If the first one comes late, what was due by then was not for it to send.
    pub fn begin(&self, late_ns: Option<u64>) {
        let state = &mut *self.state.borrow_mut();
        if std::mem::replace(&mut state.begun, true) {
            return;
        }
        for (number, pacer) in state.pacers.iter_mut().enumerate() {
            if let Some(now_ns) = late_ns {
                pacer.skip_to(now_ns);
            }
            state.due.extend(pacer.next_due_ns().map(|due_ns| Reverse((due_ns, number))));
        }
    }

    /// Operations that were taken since this was asked last, by whoever.
    pub fn settle(&self) -> u64 {
        std::mem::take(&mut self.state.borrow_mut().taken)
    }

    /// When the task's time is over, in nanoseconds since it began.
    pub fn end_ns(&self) -> Option<u64> {
        self.state.borrow().gate.end_ns()
    }

    /// When the operation that would be taken next is due.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.state.borrow().due.peek().map(|Reverse((due_ns, _))| *due_ns)
    }

    /// Why nothing can be taken any more at `now_ns`, whenever it would be due.
    pub fn over(&self, now_ns: u64) -> Option<Over> {
        let mut state = self.state.borrow_mut();
        state.gate.closed(now_ns).map(|by| state.end(by))
    }

    /// Takes the operation that is due next.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn take(&self, now_ns: u64) -> Result<(u64, SampleType), Over> {
        let state = &mut *self.state.borrow_mut();
        let Some(mut next) = state.due.peek_mut() else {
            // Another client has found the end before; a schedule of its own has none.
            return Err(Over { by: state.gate.closed(u64::MAX).unwrap_or(EndedBy::Time), unsent: 0 });
        };
        let Reverse((due_ns, number)) = *next;
        match state.gate.admit(due_ns, now_ns) {
            Ok(sample_type) => {
                state.taken += 1;
                match state.pacers.get_mut(number).and_then(Pacer::next_due_ns) {
                    Some(after) => *next = Reverse((after, number)),
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

    /// Gives back an operation that a client had taken and cannot carry out, for the next one that is free.
    pub fn give_back(&self, due_ns: u64) {
        let mut state = self.state.borrow_mut();
        state.gate.withdraw();
        state.due.push(Reverse((due_ns, NOBODY)));
    }
}

impl State {
    fn end(&mut self, by: EndedBy) -> Over {
        let end_ns = self.gate.end_ns().unwrap_or(0);
        let left = self.due.drain().filter(|Reverse((due_ns, _))| *due_ns < end_ns);
        let after = |number| self.pacers.get(number).map_or(0, |pacer: &Pacer| pacer.due_before(end_ns));
        let unsent = left.map(|Reverse((_, number))| 1 + after(number)).sum();
        Over { by, unsent }
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
    fn the_union_of_all_schedules_is_handed_out_in_order_and_warm_up_comes_first() {
        let open = even(4, 0.0, TaskBound::Iterations { warmup: 2, measured: 3 });
        open.begin(None);
        open.begin(Some(1000 * MS));
        let all = taken(&open);
        assert_eq!(
            all.iter().map(|one| one.0).collect::<Vec<_>>(),
            (0..20).map(|n| n * 10 * MS).collect::<Vec<_>>()
        );
        let warmup = |one: &&(u64, SampleType)| one.1 == SampleType::Warmup;
        assert_eq!((all.iter().take_while(warmup).count(), all.iter().filter(warmup).count()), (8, 8));
        assert_eq!(open.take(0), Err(Over { by: EndedBy::Iterations, unsent: 0 }));
    }

    #[test]
    fn random_schedules_are_merged_in_order_too() {
        for pace in [TaskPacing::Poisson { interval_s: 0.01 }, TaskPacing::Uniform { interval_s: 0.01 }] {
            let open = open(pace, 5, 0.0, TaskBound::Iterations { warmup: 0, measured: 200 });
            open.begin(None);
            let all: Vec<u64> = taken(&open).into_iter().map(|one| one.0).collect();
            assert_eq!(all.len(), 1000);
            assert!(all.is_sorted());
        }
    }

    #[test]
    fn what_the_end_leaves_over_is_told_once() {
        let time = TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(1.0) };
        let open = even(3, 0.0, time);
        open.begin(None);
        for number in 0..10 {
            assert_eq!(open.take(0), Ok((number * 10 * MS, SampleType::Normal)));
        }
        assert_eq!(open.over(999 * MS), None);
        assert_eq!(open.over(1000 * MS), Some(Over { by: EndedBy::Time, unsent: 90 }));
        assert_eq!(open.over(1000 * MS), Some(Over { by: EndedBy::Time, unsent: 0 }));
        assert_eq!(open.take(1000 * MS), Err(Over { by: EndedBy::Time, unsent: 0 }));
        let whole = even(3, 0.0, time);
        whole.begin(None);
        assert_eq!((taken(&whole).len(), whole.take(0)), (100, Err(Over { by: EndedBy::Time, unsent: 0 })));
    }

    #[test]
    fn what_is_given_back_is_taken_next() {
        let open = even(2, 0.0, TaskBound::Iterations { warmup: 1, measured: 2 });
        open.begin(None);
        assert_eq!(open.take(0), Ok((0, SampleType::Warmup)));
        assert_eq!(open.take(0), Ok((10 * MS, SampleType::Warmup)));
        open.give_back(0);
        assert_eq!(open.take(0), Ok((0, SampleType::Warmup)));
        let rest: Vec<u64> = taken(&open).into_iter().map(|one| one.0).collect();
        assert_eq!(rest, [20 * MS, 30 * MS, 40 * MS, 50 * MS]);
        let timed = even(1, 0.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(0.02) });
        timed.begin(None);
        assert_eq!(timed.take(0), Ok((0, SampleType::Normal)));
        timed.give_back(0);
        assert_eq!(timed.over(20 * MS), Some(Over { by: EndedBy::Time, unsent: 2 }));
    }

    #[test]
    fn ramping_up_adds_the_rate_of_one_client_after_the_other() {
        // 100/s by 4 clients, of whom one starts every second.
        let open = even(4, 4.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(6.0) });
        open.begin(None);
        let all = taken(&open);
        let within = |second: u64| {
            all.iter().filter(|one| (second * 1000 * MS..(second + 1) * 1000 * MS).contains(&one.0)).count()
        };
        assert_eq!((0..6).map(within).collect::<Vec<_>>(), [25, 50, 75, 100, 100, 100]);
        assert!(all.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 10 * MS), "a burst");
    }

    #[test]
    fn a_task_that_all_clients_come_to_late_owes_nothing() {
        let open = even(2, 0.0, TaskBound::TimePeriod { warmup_s: 0.0, measured_s: Some(1.0) });
        open.begin(Some(503 * MS));
        assert_eq!(open.next_due_ns(), Some(510 * MS));
        assert_eq!(taken(&open).len(), 49);
    }
}

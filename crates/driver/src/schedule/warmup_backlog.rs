//! Determines which measured operations the warm-up delays: those that wait for one of its operations, directly or in a
//! chain of operations that wait.
//!
//! An operation is *behind* the warm-up if it belongs to the warm-up or is delayed by it. A measured operation that was
//! due before its client was free is delayed if the operation before it on this client is behind. In an open loop,
//! operations are taken in the order in which they are due, so an operation that had to wait has waited for all those
//! that the clients were executing: it is delayed if any of them is behind. As soon as a client takes an operation that
//! is not due yet, it is no longer behind; once no client is, none will be.
//!
//! If the window waits for that, operations that are due before it begins belong to the warm-up as well, so that a
//! measured operation that waits for one of them is delayed. They do not prolong the wait, unless they are themselves
//! delayed by the planned warm-up; otherwise, with enough clients, one of them would always be executing.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use pacenote_plan::PlannedTask;
use pacenote_record::{ClientBacklogEnd, SampleType};

use crate::schedule::warmup_drain::WarmupDrain;

/// The clients of a task that execute operations which are behind the warm-up, on all workers.
#[derive(Debug, Default)]
pub struct TaskBacklog {
    clients_behind: AtomicU32,
    drain: Option<WarmupDrain>,
    /// Number of operations that the clients have taken from the schedule that they share, warm-up included.
    taken_count: AtomicU64,
    /// Position among these, from 1, of the last one that the warm-up delayed.
    last_delayed: AtomicU64,
}

impl TaskBacklog {
    /// Creates the state of a task; `drains` is whether its window waits until the backlog is gone.
    pub fn new(task: &PlannedTask, drains: bool) -> Self {
        Self { drain: WarmupDrain::of_task(task).filter(|_| drains), ..Self::default() }
    }

    /// Returns the drain of a task whose window waits until the backlog is gone.
    pub fn drain(&self) -> Option<&WarmupDrain> {
        self.drain.as_ref()
    }

    /// Returns the instant before which operations are due that belong to the warm-up if they begin at `now_ns`, although
    /// they are planned to be measured, in nanoseconds since the task started; 0 without a drain.
    pub fn drained_until_ns(&self, now_ns: u64) -> u64 {
        self.drain.as_ref().map_or(0, |drain| drain.drained_until_ns(now_ns))
    }
}

/// What a client knows about the operation that it has taken last.
#[derive(Debug)]
pub struct ClientBacklog<'a> {
    task: &'a TaskBacklog,
    shares_schedule: bool,
    /// Whether the operation is behind the warm-up.
    is_behind: bool,
    /// Whether the operation is delayed by the warm-up.
    is_delayed: bool,
    /// Number of delayed operations.
    delayed_count: u64,
    /// Position of the operation in the schedule that the clients share, from 1; 0 without one.
    position: u64,
    drain: ClientDrain,
}

/// What a client knows about the drain of its task.
#[derive(Debug, Default)]
struct ClientDrain {
    /// Whether the operation belongs to the warm-up only because the window had not begun.
    is_draining: bool,
    /// Number of such operations.
    drained_count: u64,
    /// Whether the client has caught up at least once.
    has_caught_up: bool,
}

impl<'a> ClientBacklog<'a> {
    /// Creates the backlog of a client that has not taken an operation; `shares_schedule` is whether the clients of the
    /// task share their schedule.
    pub fn new(task: &'a TaskBacklog, shares_schedule: bool) -> Self {
        Self {
            task,
            shares_schedule,
            is_behind: false,
            is_delayed: false,
            delayed_count: 0,
            position: 0,
            drain: ClientDrain::default(),
        }
    }

    /// Takes the next operation of the client, of the type that is planned; `waited` is whether it was due before the
    /// client was free, and `now_ns` returns the time since the task started. Must be called before the client waits
    /// for the operation to be due.
    pub fn take(&mut self, planned: SampleType, waited: bool, now_ns: impl FnOnce() -> u64) {
        if self.shares_schedule {
            self.position = self.task.taken_count.fetch_add(1, Ordering::Relaxed) + 1;
        }
        let waits = planned == SampleType::Measured && waited;
        let is_chained = waits && self.waits_behind();
        self.is_delayed = is_chained || waits && self.waits_for_drained();
        self.set_draining(false);
        self.set_behind(planned == SampleType::Warmup || is_chained);
        if !self.is_behind {
            self.catch_up(now_ns);
        }
    }

    /// Begins the operation that was taken, of the type that is planned; it is due at `due_ns` if it has a schedule, and
    /// `now_ns` returns the time since the task started. Returns its type, which is warm-up if the window has not begun,
    /// and whether it is measured and delayed by the warm-up.
    pub fn begin(
        &mut self,
        planned: SampleType,
        due_ns: Option<u64>,
        now_ns: impl FnOnce() -> u64,
    ) -> (SampleType, bool) {
        if let (Some(drain), Some(due_ns)) = (&self.task.drain, due_ns) {
            if drain.sample_type(planned, due_ns, now_ns()) != planned {
                self.set_draining(true);
                self.drain.drained_count += 1;
                // To wait for another one of these does not put the client behind.
                self.is_delayed = self.is_behind;
                return (SampleType::Warmup, false);
            }
            // It may have waited for an operation that was not behind, but belongs to the warm-up.
            self.set_behind(self.is_behind || self.is_delayed);
        }
        if self.is_delayed {
            self.delayed_count += 1;
            self.task.last_delayed.fetch_max(self.position, Ordering::Relaxed);
        }
        (planned, self.is_delayed)
    }

    /// Withdraws the operation that was begun last, because there was nothing to execute. If the clients share their
    /// schedule, another one takes it.
    pub fn withdraw(&mut self) {
        if self.shares_schedule {
            self.task.taken_count.fetch_sub(1, Ordering::Relaxed);
        }
        if self.drain.is_draining {
            self.drain.drained_count -= 1;
        } else {
            self.delayed_count -= u64::from(self.is_delayed);
        }
    }

    /// Ends the client, which executes no more operations; `now_ns` returns the time since the task started. Returns how
    /// its operations waited for the warm-up.
    pub fn leave(&mut self, now_ns: impl FnOnce() -> u64) -> ClientBacklogEnd {
        self.set_draining(false);
        self.set_behind(false);
        self.catch_up(now_ns);
        // If another client has taken a later operation, that one shows whether the backlog is gone.
        let is_last = !self.shares_schedule || self.position >= self.task.taken_count.load(Ordering::Relaxed);
        ClientBacklogEnd {
            delayed: self.delayed_count,
            drained: self.drain.drained_count,
            is_behind: self.is_delayed && is_last,
            last_position: self.task.last_delayed.load(Ordering::Relaxed),
        }
    }

    /// Begins the window of a task if all clients have caught up; this one is not behind.
    fn catch_up(&mut self, now_ns: impl FnOnce() -> u64) {
        let Some(drain) = self.task.drain.as_ref().filter(|drain| drain.is_waiting()) else { return };
        if !std::mem::replace(&mut self.drain.has_caught_up, true) {
            drain.client_caught_up();
        }
        if drain.all_caught_up_once() && self.task.clients_behind.load(Ordering::Relaxed) == 0 {
            drain.begin_window(now_ns());
        }
    }

    fn waits_behind(&self) -> bool {
        // A client that is behind stays counted until it takes its next operation, so that the others see it.
        self.is_behind || self.shares_schedule && self.task.clients_behind.load(Ordering::Relaxed) > 0
    }

    fn waits_for_drained(&self) -> bool {
        let any_is_draining = || self.task.drain.as_ref().is_some_and(WarmupDrain::is_draining);
        self.drain.is_draining || self.shares_schedule && any_is_draining()
    }

    fn set_behind(&mut self, is_behind: bool) {
        if is_behind == self.is_behind {
            return;
        }
        self.is_behind = is_behind;
        if is_behind {
            self.task.clients_behind.fetch_add(1, Ordering::Relaxed);
        } else {
            self.task.clients_behind.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn set_draining(&mut self, is_draining: bool) {
        if is_draining == self.drain.is_draining {
            return;
        }
        self.drain.is_draining = is_draining;
        if let Some(drain) = &self.task.drain {
            drain.set_draining(is_draining);
        }
    }
}

#[cfg(test)]
mod tests {
    use pacenote_plan::{TaskBound, TaskPacing};

    use super::*;
    use crate::schedule::pacer::tests::task;

    const WARMUP: SampleType = SampleType::Warmup;
    const MEASURED: SampleType = SampleType::Measured;

    /// Takes and begins an operation. Returns whether it is delayed.
    fn take(client: &mut ClientBacklog<'_>, (sample_type, waited): (SampleType, bool)) -> bool {
        client.take(sample_type, waited, || 0);
        client.begin(sample_type, Some(0), || 0).1
    }

    #[test]
    fn a_chain_ends_with_the_first_operation_that_did_not_wait() {
        let task = TaskBacklog::default();
        let mut client = ClientBacklog::new(&task, false);
        let taken = [
            (WARMUP, false),
            (WARMUP, true),
            (MEASURED, true),
            (MEASURED, true),
            (MEASURED, false),
            (MEASURED, true),
        ];
        let delayed = taken.map(|operation| take(&mut client, operation));
        assert_eq!(delayed, [false, false, true, true, false, false]);
        assert_eq!(client.leave(|| 0), ClientBacklogEnd { delayed: 2, ..ClientBacklogEnd::default() });
    }

    #[test]
    fn in_an_open_loop_an_operation_waits_for_those_of_all_clients() {
        for (shares_schedule, expected) in [(true, true), (false, false)] {
            let task = TaskBacklog::default();
            let [mut slow, mut quick] = [(); 2].map(|()| ClientBacklog::new(&task, shares_schedule));
            take(&mut slow, (WARMUP, false));
            assert!(!take(&mut quick, (MEASURED, false)));
            // The slow client is still busy with an operation of the warm-up.
            assert_eq!(take(&mut quick, (MEASURED, true)), expected);
            assert!(take(&mut slow, (MEASURED, true)));
            assert!(!take(&mut slow, (MEASURED, false)) && !take(&mut quick, (MEASURED, false)));
            assert!(!take(&mut slow, (MEASURED, true)) && !take(&mut quick, (MEASURED, true)));
        }
    }

    #[test]
    fn an_operation_that_is_withdrawn_is_neither_drained_nor_delayed() {
        let bound = TaskBound::TimePeriod { warmup_s: 1e-9, measured_s: Some(2e-9) };
        let paced = TaskPacing::Poisson { interval_s: 1e-9 };
        let task = TaskBacklog::new(&PlannedTask { bound, ..task(paced, 1, 0.0) }, true);
        // The window begins at 2 ns at the latest.
        for (due_ns, expected) in [
            (1, ClientBacklogEnd { drained: 1, is_behind: true, ..ClientBacklogEnd::default() }),
            (2, ClientBacklogEnd { delayed: 1, is_behind: true, ..ClientBacklogEnd::default() }),
        ] {
            for withdraws in [false, true] {
                let mut client = ClientBacklog::new(&task, false);
                take(&mut client, (WARMUP, false));
                client.take(MEASURED, true, || 0);
                client.begin(MEASURED, Some(due_ns), || due_ns);
                if withdraws {
                    client.withdraw();
                }
                let none = ClientBacklogEnd { is_behind: true, ..ClientBacklogEnd::default() };
                assert_eq!(client.leave(|| 3), if withdraws { none } else { expected }, "{due_ns}");
            }
        }
    }

    #[test]
    fn the_last_operation_of_a_shared_schedule_shows_whether_the_backlog_is_gone() {
        for (last, is_behind) in [((MEASURED, false), false), ((MEASURED, true), true)] {
            let task = TaskBacklog::default();
            let [mut slow, mut quick] = [(); 2].map(|()| ClientBacklog::new(&task, true));
            take(&mut slow, (WARMUP, false));
            assert!(take(&mut quick, (MEASURED, true)));
            take(&mut slow, last);
            let last_position = if is_behind { 3 } else { 2 };
            let expected = ClientBacklogEnd { delayed: 1, last_position, ..ClientBacklogEnd::default() };
            assert_eq!(quick.leave(|| 0), expected);
            let delayed = u64::from(is_behind);
            assert_eq!(slow.leave(|| 0), ClientBacklogEnd { delayed, is_behind, ..expected });
        }
    }

    #[test]
    fn a_client_that_leaves_delays_no_other() {
        let task = TaskBacklog::default();
        let [mut first, mut second] = [(); 2].map(|()| ClientBacklog::new(&task, true));
        take(&mut first, (WARMUP, false));
        assert_eq!(first.leave(|| 0), ClientBacklogEnd::default());
        assert!(!take(&mut second, (MEASURED, true)));
    }
}

//! Determines which measured operations the warm-up delays: those that wait for one of its operations, directly or in a
//! chain of operations that wait.
//!
//! An operation is *behind* the warm-up if it belongs to the warm-up or is delayed by it. A measured operation that was
//! due before its client was free is delayed if the operation before it on this client is behind. In an open loop,
//! operations are taken in the order in which they are due, so an operation that had to wait has waited for all those
//! that the clients were executing: it is delayed if any of them is behind. As soon as a client takes an operation that
//! is not due yet, it is no longer behind; once no client is, none will be.

use std::sync::atomic::{AtomicU32, Ordering};

use pacenote_record::SampleType;

/// The clients of a task that execute operations which are behind the warm-up, on all workers.
#[derive(Debug, Default)]
pub struct TaskBacklog {
    clients_behind: AtomicU32,
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
}

impl<'a> ClientBacklog<'a> {
    /// Creates the backlog of a client that has not taken an operation; `shares_schedule` is whether the clients of the
    /// task share their schedule.
    pub fn new(task: &'a TaskBacklog, shares_schedule: bool) -> Self {
        Self { task, shares_schedule, is_behind: false, is_delayed: false, delayed_count: 0 }
    }

    /// Takes the next operation of the client; `waited` is whether it was due before the client was free. Returns
    /// whether it is delayed by the warm-up. Must be called before the client waits for the operation to be due.
    pub fn take(&mut self, sample_type: SampleType, waited: bool) -> bool {
        let is_measured = sample_type == SampleType::Measured;
        self.is_delayed = is_measured && waited && self.waits_behind();
        self.delayed_count += u64::from(self.is_delayed);
        self.set_behind(!is_measured || self.is_delayed);
        self.is_delayed
    }

    /// Ends the client, which executes no more operations. Returns the number of its delayed operations, and whether
    /// the last one was delayed.
    pub fn leave(&mut self) -> (u64, bool) {
        self.set_behind(false);
        (self.delayed_count, self.is_delayed)
    }

    fn waits_behind(&self) -> bool {
        // A client that is behind stays counted until it takes its next operation, so that the others see it.
        self.is_behind || self.shares_schedule && self.task.clients_behind.load(Ordering::Relaxed) > 0
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARMUP: SampleType = SampleType::Warmup;
    const MEASURED: SampleType = SampleType::Measured;

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
        let delayed = taken.map(|(sample_type, waited)| client.take(sample_type, waited));
        assert_eq!(delayed, [false, false, true, true, false, false]);
        assert_eq!(client.leave(), (2, false));
    }

    #[test]
    fn in_an_open_loop_an_operation_waits_for_those_of_all_clients() {
        for (shares_schedule, expected) in [(true, true), (false, false)] {
            let task = TaskBacklog::default();
            let [mut slow, mut quick] = [(); 2].map(|()| ClientBacklog::new(&task, shares_schedule));
            slow.take(WARMUP, false);
            assert!(!quick.take(MEASURED, false));
            // The slow client is still busy with an operation of the warm-up.
            assert_eq!(quick.take(MEASURED, true), expected);
            assert!(slow.take(MEASURED, true));
            assert!(!slow.take(MEASURED, false) && !quick.take(MEASURED, false));
            assert!(!slow.take(MEASURED, true) && !quick.take(MEASURED, true));
        }
    }

    #[test]
    fn a_client_that_leaves_delays_no_other() {
        let task = TaskBacklog::default();
        let [mut first, mut second] = [(); 2].map(|()| ClientBacklog::new(&task, true));
        first.take(WARMUP, false);
        assert_eq!(first.leave(), (0, false));
        assert!(!second.take(MEASURED, true));
    }
}

//! Buffers of samples, and which samples are kept.
//!
//! The number of buffers is limited: when the disk accepts no data, recorders drop the samples in their buffer and
//! count them. They never wait, and memory stays bounded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sample::Sample;

/// Samples that a buffer holds: 0.6 MB.
pub const BUFFER_CAPACITY: usize = 4096;
/// Most buffers between recorders and the disk, beside the one that each recorder fills: 70 MB. They last for 5 s of a
/// stalled disk at 100,000 operations a second.
const MAX_IN_FLIGHT: usize = 128;
/// Samples of a task that [`SamplePolicy::Auto`] keeps: some 200 MB on disk.
const AUTO_LIMIT: u64 = 20_000_000;

/// Which samples are kept one by one. Seconds and totals are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SamplePolicy {
    /// All of them.
    #[default]
    All,
    /// None of them.
    None,
    /// The first 20 million of each task.
    Auto,
}

/// What happens to the next samples of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// They are written to the file.
    Keep,
    /// They are counted as left out.
    LeaveOut,
}

/// All sample buffers of a race. Locked once per buffer, not per sample.
#[derive(Debug, Clone, Default)]
pub struct BufferPool {
    policy: SamplePolicy,
    state: Arc<Mutex<PoolState>>,
}

#[derive(Debug, Default)]
struct PoolState {
    free: Vec<Vec<Sample>>,
    in_use: usize,
    /// Samples recorded, by position of the task in the plan.
    counts: BTreeMap<u32, u64>,
}

impl PoolState {
    fn acquire(&mut self) -> Vec<Sample> {
        self.in_use += 1;
        self.free.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_CAPACITY))
    }
}

impl BufferPool {
    /// The pool of a race that keeps these samples.
    #[must_use]
    pub fn new(policy: SamplePolicy) -> Self {
        Self { policy, state: Arc::default() }
    }

    /// The first buffer of a recorder, which releases it at its end.
    #[must_use]
    pub fn acquire(&self) -> Vec<Sample> {
        self.state().acquire()
    }

    /// Another buffer; `None` when too many full ones have not been released yet.
    #[must_use]
    pub fn try_acquire(&self) -> Option<Vec<Sample>> {
        let mut state = self.state();
        (state.in_use < MAX_IN_FLIGHT).then(|| state.acquire())
    }

    /// Returns a buffer to the pool.
    pub fn release(&self, mut buffer: Vec<Sample>) {
        buffer.clear();
        let mut state = self.state();
        state.in_use = state.in_use.saturating_sub(1);
        state.free.push(buffer);
    }

    /// Counts further samples of a task, and returns what happens to its next ones.
    #[must_use]
    pub fn count_samples(&self, task_index: u32, samples: u64) -> Retention {
        match self.policy {
            SamplePolicy::All => Retention::Keep,
            SamplePolicy::None => Retention::LeaveOut,
            SamplePolicy::Auto => {
                let mut state = self.state();
                let count = state.counts.entry(task_index).or_default();
                *count += samples;
                if *count < AUTO_LIMIT { Retention::Keep } else { Retention::LeaveOut }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Samples of a task that are not in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MissingSamples {
    /// Not kept, because the race was configured so.
    pub left_out: u64,
    /// Dropped, because the disk was too slow.
    pub lost: u64,
    /// When the first of them ended, nanoseconds since the task began.
    pub from_ns: Option<u64>,
}

impl MissingSamples {
    /// Adds others.
    pub fn merge(&mut self, other: Self) {
        self.left_out += other.left_out;
        self.lost += other.lost;
        self.from_ns = self.from_ns.into_iter().chain(other.from_ns).min();
    }

    /// One sample that was left out, of an operation that ended at `done_ns`.
    #[must_use]
    pub fn left_out(done_ns: u64) -> Self {
        Self { left_out: 1, lost: 0, from_ns: Some(done_ns) }
    }

    /// One sample that was lost, of an operation that ended at `done_ns`.
    #[must_use]
    pub fn lost(done_ns: u64) -> Self {
        Self { left_out: 0, lost: 1, from_ns: Some(done_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_buffers_is_limited() {
        let pool = BufferPool::new(SamplePolicy::All);
        let mut buffers: Vec<_> = std::iter::from_fn(|| pool.try_acquire()).collect();
        assert_eq!(buffers.len(), MAX_IN_FLIGHT);
        pool.release(buffers.remove(0));
        assert!(pool.try_acquire().is_some() && pool.try_acquire().is_none());
    }

    #[test]
    fn automatic_retention_stops_at_its_limit_task_by_task() {
        let pool = BufferPool::new(SamplePolicy::Auto);
        let counted = [(3, AUTO_LIMIT - 1), (4, 0), (3, 1), (4, 1)]
            .map(|(task_index, samples)| pool.count_samples(task_index, samples));
        assert_eq!(counted, [Retention::Keep, Retention::Keep, Retention::LeaveOut, Retention::Keep]);
        assert_eq!(BufferPool::new(SamplePolicy::All).count_samples(0, u64::MAX), Retention::Keep);
        assert_eq!(BufferPool::new(SamplePolicy::None).count_samples(0, 0), Retention::LeaveOut);
    }
}

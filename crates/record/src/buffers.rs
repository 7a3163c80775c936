//! Buffers of samples, and the policy that determines which samples are kept.
//!
//! The number of buffers is limited: when the disk stalls, recorders drop and count the samples in their buffers.
//! Recorders never wait, and memory stays bounded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::details::{Details, DetailsMemory, ReservedDetails};
use crate::sample::Sample;

/// Number of samples in a buffer, which takes 0.6 MB.
pub const BUFFER_CAPACITY: usize = 4096;
/// Maximum number of buffers that wait for the disk: 75 MB. At 100,000 operations per second, they last for a stall of
/// up to 5 s. Every recorder may have one more, because all recorders deliver their buffers once a second.
const MAX_WAITING_BUFFERS: usize = 128;
/// Number of empty buffers that are kept in addition to one for each recorder. Those beyond it, which a stall of the
/// disk leaves behind, are freed.
const MAX_SPARE_BUFFERS: usize = 8;
/// Number of samples of a task that [`RetentionPolicy::Auto`] keeps, which take about 200 MB on disk.
const AUTO_LIMIT: u64 = 20_000_000;

/// Which individual samples are kept. Totals and per-second statistics are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetentionPolicy {
    /// All samples.
    #[default]
    All,
    /// No samples.
    None,
    /// The first 20 million samples of each task.
    Auto,
}

/// Whether the next samples of a task are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleDecision {
    /// The samples are written to the file.
    Keep,
    /// The samples are counted as left out.
    LeaveOut,
}

/// All the sample buffers of a race. Locked once per buffer, not per sample.
#[derive(Debug, Clone, Default)]
pub struct BufferPool {
    retention: RetentionPolicy,
    state: Arc<Mutex<PoolState>>,
    details: DetailsMemory,
}

#[derive(Debug, Default)]
struct PoolState {
    free: Vec<Vec<Sample>>,
    /// Number of recorders, each of which fills one buffer.
    recorder_count: usize,
    /// Number of buffers that wait for the disk.
    waiting_count: usize,
    /// Number of samples kept, keyed by the position of the task in the plan.
    kept_by_task: BTreeMap<u32, u64>,
}

impl PoolState {
    fn take_free(&mut self) -> Vec<Sample> {
        self.free.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_CAPACITY))
    }

    fn put_back(&mut self, mut buffer: Vec<Sample>) {
        buffer.clear();
        if self.free.len() < self.recorder_count + MAX_SPARE_BUFFERS {
            self.free.push(buffer);
        }
    }
}

impl BufferPool {
    /// Creates the pool for a race with this policy.
    #[must_use]
    pub fn new(retention: RetentionPolicy) -> Self {
        Self { retention, ..Self::default() }
    }

    /// Adds a recorder, and returns its first buffer.
    #[must_use]
    pub fn add_recorder(&self) -> Vec<Sample> {
        let mut state = self.state();
        state.recorder_count += 1;
        state.take_free()
    }

    /// Removes a recorder, and takes back the buffer that it was filling.
    pub fn remove_recorder(&self, buffer: Vec<Sample>) {
        let mut state = self.state();
        state.recorder_count = state.recorder_count.saturating_sub(1);
        state.put_back(buffer);
    }

    /// Returns a buffer that replaces a recorder's buffer, which waits for the disk from now on until it is passed to
    /// [`BufferPool::release`]. Returns `None` if too many buffers are waiting.
    #[must_use]
    pub fn try_replace(&self) -> Option<Vec<Sample>> {
        let mut state = self.state();
        if state.waiting_count >= MAX_WAITING_BUFFERS + state.recorder_count {
            return None;
        }
        state.waiting_count += 1;
        Some(state.take_free())
    }

    /// Takes back a buffer that was waiting for the disk.
    pub fn release(&self, buffer: Vec<Sample>) {
        let mut state = self.state();
        state.waiting_count = state.waiting_count.saturating_sub(1);
        state.put_back(buffer);
    }

    /// Returns whether more buffers wait for the disk than all recorders deliver at once. Buffers that are not full
    /// should then not be delivered: each takes as much memory as a full one.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        let state = self.state();
        state.waiting_count > state.recorder_count
    }

    /// Returns the number of buffers that wait for the disk.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.state().waiting_count
    }

    /// Counts more samples of a task as kept, and decides whether the next ones are kept.
    #[must_use]
    pub fn count_and_decide(&self, task_index: u32, kept_samples: u64) -> SampleDecision {
        match self.retention {
            RetentionPolicy::All => SampleDecision::Keep,
            RetentionPolicy::None => SampleDecision::LeaveOut,
            RetentionPolicy::Auto => {
                let mut state = self.state();
                let count = state.kept_by_task.entry(task_index).or_default();
                *count += kept_samples;
                if *count < AUTO_LIMIT { SampleDecision::Keep } else { SampleDecision::LeaveOut }
            }
        }
    }

    /// Reserves memory for the details of a sample until they are written. Drops them and returns `None` if too many
    /// are waiting.
    #[must_use]
    pub fn reserve_details(&self, details: Box<dyn Details>) -> Option<ReservedDetails> {
        self.details.reserve(details)
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts of the samples of a task that are not in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MissingSamples {
    /// Samples that were not kept because the race was configured so.
    pub left_out: u64,
    /// Samples dropped because the disk was too slow.
    pub lost: u64,
    /// Samples in the file without their details, for which there was no memory because the disk was too slow.
    pub details_lost: u64,
    /// When the operation of the first of these samples ended, in nanoseconds since the task began.
    pub from_ns: Option<u64>,
}

impl MissingSamples {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: Self) {
        self.left_out += other.left_out;
        self.lost += other.lost;
        self.details_lost += other.details_lost;
        self.from_ns = self.from_ns.into_iter().chain(other.from_ns).min();
    }

    /// Returns the counts for one sample that was left out and whose operation ended at `done_ns`.
    #[must_use]
    pub fn left_out(done_ns: u64) -> Self {
        Self { left_out: 1, from_ns: Some(done_ns), ..Self::default() }
    }

    /// Returns the counts for one sample that was lost and whose operation ended at `done_ns`.
    #[must_use]
    pub fn lost(done_ns: u64) -> Self {
        Self { lost: 1, from_ns: Some(done_ns), ..Self::default() }
    }
}

/// Samples that were not written although they were sent to be, by the position of their task in the plan.
pub type LostSamples = BTreeMap<u32, MissingSamples>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_buffers_that_wait_for_the_disk_is_limited() {
        for recorders in [0, 1, 200] {
            let pool = BufferPool::new(RetentionPolicy::All);
            let filling: Vec<_> = (0..recorders).map(|_| pool.add_recorder()).collect();
            let mut waiting: Vec<_> = std::iter::from_fn(|| pool.try_replace()).collect();
            assert_eq!(waiting.len(), MAX_WAITING_BUFFERS + recorders);
            pool.release(waiting.remove(0));
            assert!(pool.try_replace().is_some() && pool.try_replace().is_none());
            for buffer in filling {
                pool.remove_recorder(buffer);
            }
            for buffer in waiting {
                pool.release(buffer);
            }
            assert!(pool.try_replace().is_some(), "{recorders} recorders");
        }
    }

    #[test]
    fn buffers_that_a_stall_leaves_behind_are_freed() {
        let pool = BufferPool::new(RetentionPolicy::All);
        let filling = pool.add_recorder();
        let waiting: Vec<_> = std::iter::from_fn(|| pool.try_replace()).collect();
        assert!(pool.is_behind());
        for buffer in waiting {
            pool.release(buffer);
        }
        assert!(!pool.is_behind());
        assert_eq!(pool.state().free.len(), 1 + MAX_SPARE_BUFFERS);
        pool.remove_recorder(filling);
    }

    #[test]
    fn automatic_retention_limits_the_samples_of_each_task() {
        let pool = BufferPool::new(RetentionPolicy::Auto);
        let counted = [(3, AUTO_LIMIT - 1), (4, 0), (3, 1), (4, 1)]
            .map(|(task_index, samples)| pool.count_and_decide(task_index, samples));
        assert_eq!(
            counted,
            [SampleDecision::Keep, SampleDecision::Keep, SampleDecision::LeaveOut, SampleDecision::Keep]
        );
        assert_eq!(BufferPool::new(RetentionPolicy::All).count_and_decide(0, u64::MAX), SampleDecision::Keep);
        assert_eq!(BufferPool::new(RetentionPolicy::None).count_and_decide(0, 0), SampleDecision::LeaveOut);
    }
}

//! Buffers of samples between recorders and the file, and which samples are kept.
//!
//! So many buffers exist and no more: when the disk takes nothing, recorders empty the buffer they have and count what
//! they lose. They never wait, and memory never grows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sample::Sample;

/// Samples that a buffer holds: 0.6 MB.
pub const BATCH: usize = 4096;
/// Buffers that may be on their way, beside the one that every recorder fills: 70 MB. They last for 5 s of a disk that
/// takes nothing while 100,000 operations a second end.
const MOST: usize = 128;
/// Samples of a task that [`Keep::Auto`] keeps: some 200 MB on disk.
const ENOUGH: u64 = 20_000_000;

/// Which samples are kept one by one. Seconds and totals are always kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Every one.
    #[default]
    All,
    /// None.
    None,
    /// The first 20 million of every task.
    Auto,
}

/// Where recorders find an empty buffer, and where it comes back to. Locked once per buffer, not per sample.
#[derive(Debug, Clone, Default)]
pub struct Spare {
    keep: Keep,
    pool: Arc<Mutex<Pool>>,
}

#[derive(Debug, Default)]
struct Pool {
    empty: Vec<Vec<Sample>>,
    lent: usize,
    /// Samples handed over, by task.
    counts: BTreeMap<u32, u64>,
}

impl Pool {
    fn lend(&mut self) -> Vec<Sample> {
        self.lent += 1;
        self.empty.pop().unwrap_or_else(|| Vec::with_capacity(BATCH))
    }
}

impl Spare {
    /// All buffers of a race that keeps these samples.
    #[must_use]
    pub fn new(keep: Keep) -> Self {
        Self { keep, pool: Arc::default() }
    }

    /// The buffer that a recorder begins with; it returns it when it ends.
    #[must_use]
    pub fn first(&self) -> Vec<Sample> {
        self.pool().lend()
    }

    /// A buffer in exchange for a full one; `None` when too many full ones have not come back.
    #[must_use]
    pub fn exchange(&self) -> Option<Vec<Sample>> {
        let mut pool = self.pool();
        (pool.lent < MOST).then(|| pool.lend())
    }

    /// Gives a buffer back for further use.
    pub fn give_back(&self, mut buffer: Vec<Sample>) {
        buffer.clear();
        let mut pool = self.pool();
        pool.lent = pool.lent.saturating_sub(1);
        pool.empty.push(buffer);
    }

    /// Whether samples of a task are still kept, after so many more.
    #[must_use]
    pub fn keeps(&self, task: u32, more: u64) -> bool {
        match self.keep {
            Keep::All => true,
            Keep::None => false,
            Keep::Auto => {
                let mut pool = self.pool();
                let count = pool.counts.entry(task).or_default();
                *count += more;
                *count < ENOUGH
            }
        }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Samples of a task that are not in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    /// On purpose.
    pub left_out: u64,
    /// Because the disk did not take them as fast as they came.
    pub lost: u64,
    /// When the first of them ended, nanoseconds since the task began.
    pub from_ns: Option<u64>,
}

impl Missing {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.left_out += other.left_out;
        self.lost += other.lost;
        self.from_ns = self.from_ns.into_iter().chain(other.from_ns).min();
    }

    /// One that was left out.
    #[must_use]
    pub fn left_out(done_ns: u64) -> Self {
        Self { left_out: 1, lost: 0, from_ns: Some(done_ns) }
    }

    /// One that was lost.
    #[must_use]
    pub fn lost(done_ns: u64) -> Self {
        Self { left_out: 0, lost: 1, from_ns: Some(done_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_buffers_and_no_more() {
        let spare = Spare::new(Keep::All);
        let mut lent: Vec<_> = std::iter::from_fn(|| spare.exchange()).collect();
        assert_eq!(lent.len(), MOST);
        spare.give_back(lent.remove(0));
        assert!(spare.exchange().is_some() && spare.exchange().is_none());
    }

    #[test]
    fn enough_of_a_task_is_enough() {
        let spare = Spare::new(Keep::Auto);
        assert!(spare.keeps(3, ENOUGH - 1) && spare.keeps(4, 0));
        assert!(!spare.keeps(3, 1) && spare.keeps(4, 1));
        assert!(Spare::new(Keep::All).keeps(0, u64::MAX) && !Spare::new(Keep::None).keeps(0, 0));
    }
}

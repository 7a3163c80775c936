//! [`UnsentOperations`]: operations that were due, but did not begin.

use std::ops::{Add, AddAssign};

/// Numbers of operations that were due before the end of their task, whatever ended it, but did not begin. Sums that
/// exceed the largest number are that number: the iterations of a task may be practically endless.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnsentOperations {
    /// All of them.
    pub total: u64,
    /// Those that belong to the warm-up.
    pub warmup: u64,
}

impl UnsentOperations {
    /// Returns the number of those that would have been measured.
    #[must_use]
    pub fn measured(self) -> u64 {
        self.total.saturating_sub(self.warmup)
    }
}

impl Add for UnsentOperations {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            total: self.total.saturating_add(other.total),
            warmup: self.warmup.saturating_add(other.warmup),
        }
    }
}

impl AddAssign for UnsentOperations {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

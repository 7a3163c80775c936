//! A hash map for short keys that files determine: several times faster than that of the standard library, and seeded
//! so that a file cannot be made whose keys collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A hash map with the hash function of this module.
pub(super) type FastMap<K, V> = HashMap<K, V, FoldedState>;

/// Odd constant with as many ones as zeros: the fractional digits of pi.
const MULTIPLIER: u64 = 0x243f_6a88_85a3_08d3;

/// Creates hashers with a seed that differs between maps.
#[derive(Clone, Debug)]
pub(super) struct FoldedState {
    seed: u64,
}

impl Default for FoldedState {
    fn default() -> Self {
        Self { seed: RandomState::new().hash_one(0_u64) }
    }
}

impl BuildHasher for FoldedState {
    type Hasher = FoldedHasher;

    #[inline]
    fn build_hasher(&self) -> FoldedHasher {
        FoldedHasher { seed: self.seed, state: self.seed }
    }
}

/// Multiplies each word with a constant and folds the 128 bits of the product.
#[derive(Clone, Debug)]
pub(super) struct FoldedHasher {
    seed: u64,
    state: u64,
}

impl FoldedHasher {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "both halves of the product are used")]
    fn add(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(MULTIPLIER ^ self.seed.rotate_left(32) | 1);
        self.state = (product as u64) ^ (product >> 64) as u64;
    }
}

impl Hasher for FoldedHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in words.by_ref() {
            let mut whole = [0; 8];
            whole.copy_from_slice(word);
            self.add(u64::from_le_bytes(whole));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.add(u64::from_le_bytes(last));
        }
        self.add(bytes.len() as u64);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value));
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }

    #[inline]
    fn write_i32(&mut self, value: i32) {
        self.add(u64::from(value.cast_unsigned()));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    #[inline]
    fn write_isize(&mut self, value: isize) {
        self.add(value.cast_unsigned() as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state.rotate_left(32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn small_and_sparse_keys_are_spread() {
        let state = FoldedState::default();
        for shift in [0, 8, 32, 40] {
            let hashes: Vec<u64> = (0..10_000_u64).map(|key| state.hash_one((key << shift, 7_u64))).collect();
            for part in [0, 57] {
                let buckets: HashSet<u64> = hashes.iter().map(|hash| (hash >> part) & 0x7f).collect();
                assert_eq!(buckets.len(), 128, "shift {shift}, bits from {part}");
            }
            assert!(hashes.iter().collect::<HashSet<_>>().len() >= 9_999);
        }
        assert_ne!(state.hash_one("ab"), state.hash_one("ab\0"));
        assert_ne!(state.hash_one(1_u64), FoldedState::default().hash_one(1_u64));
    }
}

//! Hash maps for short keys that files determine: several times faster than those of the standard library, and seeded
//! so that a file cannot be made whose keys collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use hashbrown::HashTable;

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

    /// Adds two words with one multiplication.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
    fn write_u128(&mut self, value: u128) {
        let high = (value >> 64) as u64 ^ MULTIPLIER ^ self.seed.rotate_left(32);
        let product = u128::from(self.state ^ value as u64) * u128::from(high);
        self.state = (product as u64) ^ (product >> 64) as u64 ^ self.seed;
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

/// Returns two words as one, whose hash needs one multiplication.
#[inline]
pub(super) fn two_words(low: u64, high: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

/// A map whose keys have indexes in the order in which they were added.
#[derive(Clone, Debug)]
pub(super) struct IndexedMap<K, V = ()> {
    indexes: HashTable<u32>,
    entries: Vec<(K, V)>,
    state: FoldedState,
}

impl<K, V> Default for IndexedMap<K, V> {
    fn default() -> Self {
        Self { indexes: HashTable::new(), entries: Vec::new(), state: FoldedState::default() }
    }
}

impl<K: Hash, V> IndexedMap<K, V> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the key with an index.
    pub(super) fn key(&self, index: u32) -> Option<&K> {
        self.entries.get(index as usize).map(|(key, _)| key)
    }

    /// Returns the index of the key that `is_same` recognizes. `query` has the same hash as that key.
    #[inline]
    pub(super) fn index_of<Q: Hash>(&self, query: &Q, is_same: impl Fn(&K) -> bool) -> Option<u32> {
        let same = |&index: &u32| is_same(&self.entries[index as usize].0);
        self.indexes.find(self.state.hash_one(query), same).copied()
    }

    /// Adds a key that the map does not have, and returns its index, or `None` if there are too many.
    pub(super) fn add(&mut self, key: K, value: V) -> Option<u32> {
        let index = u32::try_from(self.entries.len()).ok()?;
        let hash = self.state.hash_one(&key);
        self.entries.push((key, value));
        let Self { indexes, entries, state } = self;
        indexes.insert_unique(hash, index, |&index| state.hash_one(&entries[index as usize].0));
        Some(index)
    }

    /// Removes all entries and returns them in the order of their indexes. The map keeps its memory.
    pub(super) fn drain(&mut self) -> std::vec::Drain<'_, (K, V)> {
        self.indexes.clear();
        self.entries.drain(..)
    }

    /// Returns all entries in the order of their indexes.
    pub(super) fn into_entries(self) -> Vec<(K, V)> {
        self.entries
    }
}

impl<K: Hash + Eq, V> IndexedMap<K, V> {
    /// Updates the value of a key with `update`, or adds the key with this value.
    #[inline]
    pub(super) fn update_or_add(&mut self, key: K, value: V, update: impl FnOnce(&mut V, V)) {
        match self.index_of(&key, |known| *known == key) {
            Some(index) => update(&mut self.entries[index as usize].1, value),
            None => _ = self.add(key, value),
        }
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
    #[test]
    fn two_words_are_spread_as_well() {
        let state = FoldedState::default();
        for shift in [0, 16, 40] {
            let keys = (0..100_u64).flat_map(|low| (0..100_u64).map(move |high| (low << shift, high)));
            let hashes: Vec<u64> = keys.map(|(low, high)| state.hash_one(two_words(low, high))).collect();
            for part in [0, 57] {
                let buckets: HashSet<u64> = hashes.iter().map(|hash| (hash >> part) & 0x7f).collect();
                assert_eq!(buckets.len(), 128, "shift {shift}, bits from {part}");
            }
            assert!(hashes.iter().collect::<HashSet<_>>().len() >= 9_999);
        }
    }

    #[test]
    fn keys_have_indexes_in_the_order_in_which_they_were_added() {
        let mut map = IndexedMap::<String, u64>::default();
        for round in 0..2 {
            for number in 0..1000_u64 {
                map.update_or_add(number.to_string(), number + round, |known, added| *known += added);
            }
        }
        assert_eq!(map.len(), 1000);
        assert_eq!(map.index_of(&"999", |known| known == "999"), Some(999));
        assert_eq!(map.index_of(&"1000", |known| known == "1000"), None);
        assert_eq!(map.key(3).map(String::as_str), Some("3"));
        let drained: Vec<_> = map.drain().collect();
        assert_eq!(drained[7], ("7".to_owned(), 15));
        assert_eq!((map.len(), map.index_of(&"7", |known| known == "7")), (0, None));
        assert_eq!(map.add("7".to_owned(), 1), Some(0));
        assert_eq!(map.into_entries(), [("7".to_owned(), 1)]);
    }
}

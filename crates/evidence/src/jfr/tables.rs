//! The tables of a recording: each class, thread, frame and stack once, whatever ids it has in the chunks.

use std::hash::{Hash, Hasher};

use super::hash::{IndexedMap, two_words};

/// Memory that the keys of one table may use, in bytes.
const MAX_TABLE: usize = 64 << 20;

/// A value that occurs once in a table.
pub(super) trait TableKey: Hash + Eq {
    /// Returns how much memory the key uses beyond its own size, in bytes.
    fn heap_bytes(&self) -> usize;
}

/// A thread. Virtual threads have no ids here, so that those with the same name are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ThreadKey {
    pub(super) name: String,
    pub(super) java_id: Option<u64>,
    pub(super) os_id: Option<u64>,
}

/// A frame: indexes of its method and its kind, and its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameKey {
    pub(super) method: u32,
    pub(super) line: Option<i32>,
    pub(super) kind: Option<u32>,
}

impl Hash for FrameKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let line = u64::from(self.line.unwrap_or(0).cast_unsigned());
        state.write_u128(two_words(
            u64::from(self.method) | line << 32,
            self.kind.map_or(0, |kind| u64::from(kind) + 1),
        ));
    }
}

/// A stack that may not be in the table yet. Its hash is that of its [`StackKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StackQuery<'a> {
    pub(super) frames: &'a [u32],
    pub(super) truncated: bool,
}

/// A stack: indexes of its frames.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StackKey {
    pub(super) frames: Box<[u32]>,
    pub(super) truncated: bool,
}

impl TableKey for String {
    fn heap_bytes(&self) -> usize {
        self.capacity()
    }
}

impl TableKey for ThreadKey {
    fn heap_bytes(&self) -> usize {
        self.name.capacity()
    }
}

impl TableKey for FrameKey {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl TableKey for StackKey {
    fn heap_bytes(&self) -> usize {
        size_of_val(&*self.frames)
    }
}

/// A table of values, which have indexes in the order in which they occurred first.
#[derive(Debug)]
pub(super) struct ValueTable<K> {
    values: IndexedMap<K>,
    bytes: usize,
    /// Whether a value was refused because the table has reached its limit.
    pub(super) is_full: bool,
}

impl<K: TableKey> ValueTable<K> {
    fn new() -> Self {
        Self { values: IndexedMap::default(), bytes: 0, is_full: false }
    }

    /// Returns the index of a value, or `None` if it is new and the table has reached its limit.
    pub(super) fn intern(&mut self, key: K) -> Option<u32> {
        if let Some(index) = self.values.index_of(&key, |known| *known == key) {
            return Some(index);
        }
        self.add(key)
    }

    /// Returns a value by its index.
    pub(super) fn get(&self, index: u32) -> Option<&K> {
        self.values.key(index)
    }

    fn add(&mut self, key: K) -> Option<u32> {
        let bytes = self.bytes + size_of::<(K, u32)>() + key.heap_bytes();
        if bytes > MAX_TABLE {
            self.is_full = true;
            return None;
        }
        self.bytes = bytes;
        self.values.add(key, ())
    }

    /// Returns the values in the order of their indexes.
    pub(super) fn into_values(self) -> Vec<K> {
        self.values.into_entries().into_iter().map(|(key, ())| key).collect()
    }
}

impl ValueTable<StackKey> {
    /// Returns the index of a stack as [`intern`](Self::intern) does, and allocates memory only if it is new.
    pub(super) fn intern_stack(&mut self, query: StackQuery<'_>) -> Option<u32> {
        let is_same = |known: &StackKey| *known.frames == *query.frames && known.truncated == query.truncated;
        if let Some(index) = self.values.index_of(&query, is_same) {
            return Some(index);
        }
        self.add(StackKey { frames: query.frames.into(), truncated: query.truncated })
    }
}

/// All tables of a recording.
#[derive(Debug)]
pub(super) struct RecordingTables {
    pub(super) classes: ValueTable<String>,
    pub(super) threads: ValueTable<ThreadKey>,
    pub(super) methods: ValueTable<String>,
    pub(super) frame_types: ValueTable<String>,
    pub(super) frames: ValueTable<FrameKey>,
    pub(super) stacks: ValueTable<StackKey>,
    /// Files, peers and operations of the JVM.
    pub(super) targets: ValueTable<String>,
}

impl RecordingTables {
    pub(super) fn new() -> Self {
        Self {
            classes: ValueTable::new(),
            threads: ValueTable::new(),
            methods: ValueTable::new(),
            frame_types: ValueTable::new(),
            frames: ValueTable::new(),
            stacks: ValueTable::new(),
            targets: ValueTable::new(),
        }
    }

    /// Returns whether any table has reached its limit.
    pub(super) fn is_full(&self) -> bool {
        self.classes.is_full
            || self.threads.is_full
            || self.methods.is_full
            || self.frame_types.is_full
            || self.frames.is_full
            || self.stacks.is_full
            || self.targets.is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_indexes_until_the_table_is_full() {
        let mut table = ValueTable::new();
        assert_eq!(table.intern("a".to_owned()), Some(0));
        assert_eq!(table.intern("x".repeat(MAX_TABLE - 1000)), Some(1));
        assert_eq!(table.intern("x".repeat(1000)), None);
        assert!(table.is_full);
        assert_eq!(table.intern("a".to_owned()), Some(0));
        assert_eq!(table.intern("b".to_owned()), Some(2));
        assert_eq!(table.into_values().iter().map(String::len).collect::<Vec<_>>(), [1, MAX_TABLE - 1000, 1]);
    }
}

//! The tables of a recording: each text, class, thread, frame and stack once, whatever ids it has in the chunks.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use super::hash::{IndexedMap, two_words};

/// Memory that the recordings of one call may use where they are returned, in bytes. It is shared by all windows, because
/// all are in memory at the same time.
const MAX_RETURNED: usize = 256 << 20;

/// Memory for objects of Python that stand for a value of the type, in bytes; that of the tables here, and of the JSON
/// text between them, is smaller.
pub(super) mod cost {
    pub(crate) const TEXT: usize = 128;
    pub(crate) const CLASS: usize = 64;
    pub(crate) const THREAD: usize = 192;
    pub(crate) const FRAME: usize = 192;
    pub(crate) const STACK: usize = 160;
    pub(crate) const FRAME_OF_STACK: usize = 48;
    pub(crate) const GROUP: usize = 512;
    pub(crate) const PAUSE: usize = 384;
    pub(crate) const COLLECTION: usize = 512;
    pub(crate) const GAUGE: usize = 384;
    /// A byte of a text becomes up to six where JSON escapes it, and up to four in Python.
    pub(crate) const TEXT_BYTE: usize = 6;
}

/// What is left of the memory that recordings may use where they are returned. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct MemoryBudget {
    left: Rc<Cell<usize>>,
    is_exceeded: Rc<Cell<bool>>,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self { left: Rc::new(Cell::new(MAX_RETURNED)), is_exceeded: Rc::default() }
    }
}

impl MemoryBudget {
    /// Takes some bytes, and returns whether there were that many.
    pub(super) fn take(&self, bytes: usize) -> bool {
        match self.left.get().checked_sub(bytes) {
            Some(left) => self.left.set(left),
            None => self.is_exceeded.set(true),
        }
        !self.is_exceeded.get()
    }

    /// Returns whether something was left out.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded.get()
    }

    #[cfg(test)]
    pub(super) fn of(bytes: usize) -> Self {
        Self { left: Rc::new(Cell::new(bytes)), is_exceeded: Rc::default() }
    }
}

/// A value that occurs once in a table.
pub(super) trait TableKey: Hash + Eq {
    /// Returns how much memory the value uses where it is returned, in bytes.
    fn cost(&self) -> usize;
}

/// A class: the index of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassKey(pub(super) u32);

/// A thread, with the index of its name. Virtual threads have no ids here, so that those with the same name are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ThreadKey {
    pub(super) name: Option<u32>,
    pub(super) java_id: Option<u64>,
    pub(super) os_id: Option<u64>,
}

/// A frame: the indexes of the names of its method and its kind, and its line.
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

impl TableKey for Box<str> {
    fn cost(&self) -> usize {
        cost::TEXT + self.len() * cost::TEXT_BYTE
    }
}

impl TableKey for ClassKey {
    fn cost(&self) -> usize {
        cost::CLASS
    }
}

impl TableKey for ThreadKey {
    fn cost(&self) -> usize {
        cost::THREAD
    }
}

impl TableKey for FrameKey {
    fn cost(&self) -> usize {
        cost::FRAME
    }
}

impl TableKey for StackKey {
    fn cost(&self) -> usize {
        cost::STACK + self.frames.len() * cost::FRAME_OF_STACK
    }
}

/// A table of values, which have indexes in the order in which they occurred first.
#[derive(Debug)]
pub(super) struct ValueTable<K> {
    values: IndexedMap<K>,
    budget: MemoryBudget,
}

impl<K: TableKey> ValueTable<K> {
    pub(super) fn new(budget: &MemoryBudget) -> Self {
        Self { values: IndexedMap::default(), budget: budget.clone() }
    }

    /// Returns the index of a value, or `None` if it is new and there is no memory left for it.
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
        if self.budget.take(key.cost()) { self.values.add(key, ()) } else { None }
    }

    /// Returns the values in the order of their indexes.
    pub(super) fn into_values(self) -> Vec<K> {
        self.values.into_entries().into_iter().map(|(key, ())| key).collect()
    }
}

impl ValueTable<Box<str>> {
    /// Returns the index of a text as [`intern`](Self::intern) does, and allocates memory only if it is new.
    pub(super) fn intern_text(&mut self, text: &str) -> Option<u32> {
        if let Some(index) = self.values.index_of(&text, |known| **known == *text) {
            return Some(index);
        }
        self.add(text.into())
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
    /// Names of classes, threads, methods, kinds of frames, files, peers, operations, phases and causes, and further
    /// texts of events.
    pub(super) texts: ValueTable<Box<str>>,
    pub(super) classes: ValueTable<ClassKey>,
    pub(super) threads: ValueTable<ThreadKey>,
    pub(super) frames: ValueTable<FrameKey>,
    pub(super) stacks: ValueTable<StackKey>,
}

impl RecordingTables {
    pub(super) fn new(budget: &MemoryBudget) -> Self {
        Self {
            texts: ValueTable::new(budget),
            classes: ValueTable::new(budget),
            threads: ValueTable::new(budget),
            frames: ValueTable::new(budget),
            stacks: ValueTable::new(budget),
        }
    }

    /// Returns a text by its index, or an empty one.
    pub(super) fn text(&self, index: Option<u32>) -> &str {
        index.and_then(|index| self.texts.get(index)).map_or("", |text| text)
    }
}

/// The texts to which a recording refers, each once, in the order in which they are named first.
#[derive(Debug)]
pub(super) struct NameTable {
    texts: Vec<Box<str>>,
    /// For each text, its index among the names.
    indexes: Vec<Option<u32>>,
    names: Vec<u32>,
}

impl NameTable {
    pub(super) fn new(texts: Vec<Box<str>>) -> Self {
        Self { indexes: vec![None; texts.len()], texts, names: Vec::new() }
    }

    /// Returns the index of the name that is a text.
    pub(super) fn name(&mut self, text: Option<u32>) -> Option<u32> {
        let text = text?;
        let index = self.indexes.get_mut(text as usize)?;
        if index.is_none() {
            *index = u32::try_from(self.names.len()).ok();
            self.names.push(text);
        }
        *index
    }

    /// Returns the names in the order of their indexes.
    pub(super) fn into_names(mut self) -> Vec<Box<str>> {
        self.names.iter().map(|&text| std::mem::take(&mut self.texts[text as usize])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_indexes_until_no_memory_is_left() {
        let budget = MemoryBudget::of(10_000);
        let mut tables = RecordingTables::new(&budget);
        assert_eq!(tables.texts.intern_text("a"), Some(0));
        assert_eq!(tables.texts.intern_text(&"x".repeat(1000)), Some(1));
        assert_eq!(tables.classes.intern(ClassKey(1)), Some(0));
        assert!(!budget.is_exceeded());
        let frames = [0; 100];
        assert_eq!(tables.stacks.intern_stack(StackQuery { frames: &frames, truncated: false }), None);
        assert!(budget.is_exceeded());
        assert_eq!(tables.texts.intern("a".into()), Some(0));
        assert_eq!(tables.classes.intern(ClassKey(1)), Some(0));
        assert_eq!((tables.texts.intern_text("b"), tables.classes.intern(ClassKey(0))), (None, None));
        assert_eq!((tables.text(Some(0)), tables.text(Some(2)), tables.text(None)), ("a", "", ""));
    }

    #[test]
    fn names_are_the_texts_that_are_named() {
        let mut names = NameTable::new(["a", "b", "c"].map(Box::from).into());
        assert_eq!(
            [Some(2), Some(0), Some(2), None, Some(3)].map(|text| names.name(text)),
            [Some(0), Some(1), Some(0), None, None]
        );
        assert_eq!(names.into_names(), ["c", "a"].map(Box::from));
    }
}

//! The constants of a chunk: stacks, methods, classes, threads and texts that events refer to by ids.

use std::hash::{Hash, Hasher};

use super::bytes::{ByteReader, EncodedText};
use super::constant_fields::{
    FRAME_TYPE, FRAMES, JAVA_ID, JAVA_NAME, LINE, METHOD, NAME, OS_ID, OS_NAME, TRUNCATED, TYPE, VIRTUAL,
};
use super::hash::{FastMap, two_words};
use super::layout::{Layout, MAX_INTEGERS, SLOTS, Slots};
use super::tables::{ClassKey, FrameKey, RecordingTables, StackQuery, ThreadKey};
use super::types::ChunkTypes;

/// Largest number of constants of a chunk. Those of JVMs have some ten thousands.
const MAX_CONSTANTS: usize = 1 << 19;

/// Largest number of frames of a stack: the largest that JVMs can be told to record.
const MAX_FRAMES: usize = 2048;

/// Number of frames of a chunk whose indexes are kept.
const MAX_KNOWN_FRAMES: usize = 1 << 18;

/// Number of entries for which a map always keeps its memory.
const SMALL_MAP: usize = 1 << 12;

/// Largest number of dimensions of an array in Java.
const MAX_DIMENSIONS: usize = 255;

/// Name of a method whose constant is missing.
const UNKNOWN: &str = "(unknown)";

/// A constant: its type and its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConstantId {
    type_id: u64,
    id: u64,
}

impl ConstantId {
    #[inline]
    pub(super) fn new(type_id: u64, id: u64) -> Self {
        Self { type_id, id }
    }
}

impl Hash for ConstantId {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(two_words(self.id, self.type_id));
    }
}

/// A frame as it is encoded: the id of its method, its line, and the id of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EncodedFrame {
    method: u64,
    line: u64,
    kind: u64,
}

impl Hash for EncodedFrame {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(two_words(self.method, self.line ^ self.kind.rotate_left(32)));
    }
}

/// Where the constants of a chunk are, and the indexes of those that were decoded: each is decoded once, however many
/// events and constants refer to it, and however large it is.
#[derive(Debug, Default)]
pub(super) struct ConstantMaps {
    /// Where the value of each constant begins.
    positions: FastMap<ConstantId, u32>,
    labels: FastMap<ConstantId, Option<u32>>,
    texts: FastMap<ConstantId, Option<u32>>,
    class_names: FastMap<ConstantId, Option<u32>>,
    classes: FastMap<ConstantId, Option<u32>>,
    threads: FastMap<ConstantId, Option<u32>>,
    stacks: FastMap<ConstantId, Option<u32>>,
    methods: FastMap<ConstantId, Option<u32>>,
    frames: FastMap<EncodedFrame, u32>,
    /// The frames of the stack that is being decoded.
    stack: Vec<u32>,
}

impl ConstantMaps {
    /// Removes the constants of a chunk, and keeps the memory for those of the next.
    pub(super) fn clear(&mut self) {
        empty(&mut self.positions);
        self.forget_indexes();
    }

    /// Removes the indexes of constants in the tables of one recording, so that another one can have its own.
    pub(super) fn forget_indexes(&mut self) {
        let Self { labels, texts, class_names, classes, threads, stacks, methods, frames, .. } = self;
        [labels, texts, class_names, classes, threads, stacks, methods].into_iter().for_each(empty);
        empty(frames);
    }

    /// Finds the constants of a checkpoint event, given the position of its content and its end in the chunk. A
    /// constant that occurs again replaces the earlier one. Returns `None` if the event is invalid or there are too
    /// many.
    pub(super) fn add(
        &mut self,
        bytes: &[u8],
        types: &mut ChunkTypes,
        (start, end): (usize, usize),
    ) -> Option<()> {
        let mut reader = ByteReader::new(bytes.get(start..end)?);
        for _ in 0..3 {
            reader.varint()?; // Start, duration, and distance to the previous checkpoint.
        }
        reader.byte()?;
        let mut slots = [0; SLOTS];
        for _ in 0..reader.count()? {
            let type_id = reader.varint()?;
            let count = reader.count()?;
            let is_needed = types.is_needed(type_id);
            let layout = types.find_constant(type_id)?;
            for _ in 0..count {
                let id = reader.varint()?;
                if is_needed {
                    self.keep(ConstantId { type_id, id }, end - reader.remaining())?;
                }
                layout.decode(&mut reader, &mut slots)?;
            }
        }
        Some(())
    }

    /// Returns where the value of a constant begins, if the chunk has it.
    fn position(&self, constant: ConstantId) -> Option<usize> {
        self.positions.get(&constant).map(|&position| position as usize)
    }

    /// Keeps where the value of a constant begins. Returns `None` if there are too many constants.
    fn keep(&mut self, constant: ConstantId, position: usize) -> Option<()> {
        let position = u32::try_from(position).ok().filter(|_| self.positions.len() < MAX_CONSTANTS)?;
        self.positions.insert(constant, position);
        Some(())
    }
}

/// Removes all entries. Keeps the memory unless it is that of many more, which clearing would visit for every small chunk.
fn empty<K, V>(map: &mut FastMap<K, V>) {
    if map.capacity() > SMALL_MAP && map.len() < map.capacity() / 64 {
        *map = FastMap::default();
    } else {
        map.clear();
    }
}

/// The constants of a chunk. They are decoded when they are needed, and the results are kept.
pub(super) struct Constants<'a> {
    bytes: &'a [u8],
    types: &'a ChunkTypes,
    maps: &'a mut ConstantMaps,
}

impl<'a> Constants<'a> {
    pub(super) fn new(bytes: &'a [u8], types: &'a ChunkTypes, maps: &'a mut ConstantMaps) -> Self {
        Self { bytes, types, maps }
    }

    /// Returns the index of the text of a constant that has a name or consists of a text.
    pub(super) fn label(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        self.once(constant, |maps| &mut maps.labels, |own| own.read_label(constant, tables))
    }

    /// Returns the index of the text at a position of the chunk, or of that of the constant to which it refers, which must
    /// not refer to a further one. Many events may refer to one constant, so that its text is read once.
    pub(super) fn text_at(&mut self, position: usize, tables: &mut RecordingTables) -> Option<u32> {
        match self.encoded_text(position)? {
            EncodedText::Value(text) => tables.texts.intern_text(&text),
            EncodedText::Null => None,
            EncodedText::Pooled(id) => {
                let constant = ConstantId::new(self.types.text_type()?, id);
                let read = |own: &mut Self| match own.encoded_text(own.maps.position(constant)?)? {
                    EncodedText::Value(text) => tables.texts.intern_text(&text),
                    EncodedText::Null | EncodedText::Pooled(_) => None,
                };
                self.once(constant, |maps| &mut maps.texts, read)
            }
        }
    }

    /// Returns the index of a class in the tables.
    pub(super) fn class(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        let read = |own: &mut Self| {
            let name = own.class_name(constant, tables)?;
            tables.classes.intern(ClassKey(name))
        };
        self.once(constant, |maps| &mut maps.classes, read)
    }

    /// Returns the index of a thread in the tables.
    pub(super) fn thread(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        let read = |own: &mut Self| {
            let key = own.thread_key(constant, tables)?;
            tables.threads.intern(key)
        };
        self.once(constant, |maps| &mut maps.threads, read)
    }

    /// Returns the index of a stack in the tables.
    pub(super) fn stack(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        self.once(constant, |maps| &mut maps.stacks, |own| own.read_stack(constant, tables))
    }

    /// Returns what `read` has returned for a constant, or reads it. One that the chunk does not have is not kept, because
    /// events may refer to any number of them.
    #[inline]
    fn once(
        &mut self,
        constant: ConstantId,
        indexes: fn(&mut ConstantMaps) -> &mut FastMap<ConstantId, Option<u32>>,
        read: impl FnOnce(&mut Self) -> Option<u32>,
    ) -> Option<u32> {
        if let Some(&index) = indexes(self.maps).get(&constant) {
            return index;
        }
        if !self.maps.positions.contains_key(&constant) {
            return None;
        }
        let index = read(self);
        indexes(self.maps).insert(constant, index);
        index
    }

    /// Reads the text of a constant from the constant itself: a label never is the id of a constant.
    fn read_label(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        let decoded = self.decoded(constant)?;
        let position = self.position_of(decoded.slots[decoded.layout.label?])?;
        self.text_at(position, tables)
    }

    /// Returns the text at a position of the chunk, as it is encoded.
    fn encoded_text(&self, position: usize) -> Option<EncodedText<'a>> {
        let text = ByteReader::new(self.bytes.get(position..)?).begin_of_text()?;
        #[cfg(test)]
        if let EncodedText::Value(text) = &text {
            read_count::add(text.len());
        }
        Some(text)
    }

    /// Returns the index of the name of a class.
    fn class_name(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        let read = |own: &mut Self| {
            let decoded = own.decoded(constant)?;
            let name = own.text_in(&decoded, NAME, tables)?;
            let name = java_name(tables.text(Some(name)));
            tables.texts.intern_text(&name)
        };
        self.once(constant, |maps| &mut maps.class_names, read)
    }

    fn thread_key(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<ThreadKey> {
        let decoded = self.decoded(constant)?;
        let mut text = |slot| {
            let name = self.text_in(&decoded, slot, tables);
            name.filter(|_| !tables.text(name).is_empty())
        };
        // Absent ids are 0 or -1.
        let id = |slot: usize| Some(decoded.slots[slot]).filter(|&id| id != 0 && i64::try_from(id).is_ok());
        let java_name = text(JAVA_NAME);
        let is_platform = decoded.slots[VIRTUAL] == 0;
        let is_java = is_platform && java_name.is_some();
        Some(ThreadKey {
            java_id: if is_java { id(JAVA_ID) } else { None },
            os_id: if is_platform { id(OS_ID) } else { None },
            name: java_name.or_else(|| text(OS_NAME).filter(|_| is_platform)),
        })
    }

    fn read_stack(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        let mut frames = std::mem::take(&mut self.maps.stack);
        frames.clear();
        let truncated = self.read_frames(constant, tables, &mut frames);
        let found = truncated
            .and_then(|truncated| tables.stacks.intern_stack(StackQuery { frames: &frames, truncated }));
        self.maps.stack = frames;
        found
    }

    /// Adds the frames of a stack, and returns whether the stack was deeper.
    fn read_frames(
        &mut self,
        constant: ConstantId,
        tables: &mut RecordingTables,
        frames: &mut Vec<u32>,
    ) -> Option<bool> {
        let stack = self.decoded(constant)?;
        let element = stack.layout.elements_of(FRAMES)?;
        let pools = (element.pools[METHOD]?, element.pools[FRAME_TYPE]);
        let mut reader = ByteReader::new(self.bytes.get(self.position_of(stack.slots[FRAMES])?..)?);
        let count = reader.count()?;
        let integers = element.integers([METHOD, LINE, FRAME_TYPE]);
        for _ in 0..count.min(MAX_FRAMES) {
            let frame = encoded_frame(element, integers, &mut reader)?;
            frames.push(match self.maps.frames.get(&frame) {
                Some(&known) => known,
                None => self.new_frame(frame, pools, tables)?,
            });
        }
        Some(stack.slots[TRUNCATED] != 0 || count > MAX_FRAMES)
    }

    /// Returns the index of a frame, given the types of the constants of its method and its kind.
    fn new_frame(
        &mut self,
        frame: EncodedFrame,
        (method_type, kind_type): (u64, Option<u64>),
        tables: &mut RecordingTables,
    ) -> Option<u32> {
        let key = FrameKey {
            method: self.method(ConstantId::new(method_type, frame.method), tables)?,
            line: i32::try_from(frame.line).ok().filter(|&line| line > 0),
            kind: kind_type.and_then(|kind| self.label(ConstantId::new(kind, frame.kind), tables)),
        };
        let found = tables.frames.intern(key)?;
        if self.maps.frames.len() < MAX_KNOWN_FRAMES {
            self.maps.frames.insert(frame, found);
        }
        Some(found)
    }

    /// Returns the index of the name of a method. One whose constant is missing has the name of an unknown one.
    fn method(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        let name = self.once(constant, |maps| &mut maps.methods, |own| own.method_name(constant, tables));
        name.or_else(|| tables.texts.intern_text(UNKNOWN))
    }

    fn method_name(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        let decoded = self.decoded(constant)?;
        let class = decoded.layout.pools[TYPE]
            .and_then(|kind| self.class_name(ConstantId::new(kind, decoded.slots[TYPE]), tables));
        let name = self.text_in(&decoded, NAME, tables)?;
        if class.is_none() {
            return Some(name);
        }
        let name = format!("{}.{}", tables.text(class), tables.text(Some(name)));
        tables.texts.intern_text(&name)
    }

    fn decoded(&self, constant: ConstantId) -> Option<DecodedConstant<'a>> {
        let position = *self.maps.positions.get(&constant)? as usize;
        let layout = self.types.constant(constant.type_id)?;
        let mut slots = [0; SLOTS];
        let mut reader = ByteReader::new(self.bytes.get(position..)?);
        layout.decode_lazily(&mut reader, &mut slots)?;
        #[cfg(test)]
        read_count::add(self.bytes.len() - position - reader.remaining());
        Some(DecodedConstant { layout, slots })
    }

    /// Returns the index of the text in a slot of a constant, or of that of the constant in it.
    fn text_in(
        &mut self,
        decoded: &DecodedConstant<'_>,
        slot: usize,
        tables: &mut RecordingTables,
    ) -> Option<u32> {
        if let Some(pool) = decoded.layout.pools[slot] {
            return self.label(ConstantId::new(pool, decoded.slots[slot]), tables);
        }
        let position = self.position_of(decoded.slots[slot])?;
        self.text_at(position, tables)
    }

    /// Returns the position in the chunk from the number of bytes that follow it; 0 means that there is no value.
    fn position_of(&self, remaining: u64) -> Option<usize> {
        let remaining = usize::try_from(remaining).ok().filter(|&remaining| remaining > 0)?;
        self.bytes.len().checked_sub(remaining)
    }
}

/// A constant that was decoded to the end of the chunk.
struct DecodedConstant<'a> {
    layout: &'a Layout,
    slots: Slots,
}

/// Reads a frame; `integers` is what [`Layout::integers`] returns for its method, its line and its kind.
#[inline]
fn encoded_frame(
    element: &Layout,
    integers: Option<(usize, [usize; 3])>,
    reader: &mut ByteReader<'_>,
) -> Option<EncodedFrame> {
    let Some((count, [method, line, kind])) = integers else {
        let mut slots = [0; SLOTS];
        element.decode(reader, &mut slots)?;
        return Some(EncodedFrame { method: slots[METHOD], line: slots[LINE], kind: slots[FRAME_TYPE] });
    };
    let mut values = [0; MAX_INTEGERS + 1];
    for value in &mut values[..count] {
        *value = reader.varint()?;
    }
    Some(EncodedFrame { method: values[method], line: values[line], kind: values[kind] })
}

/// Returns a class name as Java writes it: `byte[]` for `[B`, `java.lang.String` for `java/lang/String`. The number of a
/// hidden class stays behind its slash, as in `a.B$$Lambda/0x7f`: a dot would make it look like a part of the name.
fn java_name(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    let plain = match element {
        _ if dimensions == 0 => element,
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        _ => element.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(element),
    };
    let suffix =
        plain.rfind('/').filter(|&at| plain[at + 1..].starts_with(|first: char| first.is_ascii_digit()));
    let (name, suffix) = plain.split_at(suffix.unwrap_or(plain.len()));
    format!("{}{suffix}{}", name.replace('/', "."), "[]".repeat(dimensions.min(MAX_DIMENSIONS)))
}

/// Counts what is read of constants, so that tests can limit it.
#[cfg(test)]
pub(super) mod read_count {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add(bytes: usize) {
        BYTES.set(BYTES.get() + bytes);
    }

    /// Returns the number of bytes that this thread has read since the last call: those of constants, and those of
    /// texts.
    pub(in super::super) fn take() -> usize {
        BYTES.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_are_those_of_java() {
        for (name, expected) in [
            ("java/lang/String", "java.lang.String"),
            ("[B", "byte[]"),
            ("[[J", "long[][]"),
            ("[Ljava/util/Map$Entry;", "java.util.Map$Entry[]"),
            ("B", "B"),
            ("a/B$$Lambda$14/1234567", "a.B$$Lambda$14/1234567"),
            ("[La/B$$Lambda/0x7f;", "a.B$$Lambda/0x7f[]"),
            ("a/B$$Lambda$14+0x7f/12", "a.B$$Lambda$14+0x7f/12"),
            ("libpthread-2.17.so", "libpthread-2.17.so"),
            ("a/", "a."),
            ("[", "[]"),
            ("[LB", "LB[]"),
            ("", ""),
        ] {
            assert_eq!(java_name(name), expected);
        }
    }
}

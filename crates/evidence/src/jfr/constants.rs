//! The constants of a chunk: stacks, methods, classes, threads and texts that events refer to by ids.

use std::rc::Rc;

use super::bytes::{ByteReader, EncodedText};
use super::hash::FastMap;
use super::layout::{Layout, LayoutCompiler, NeededField, SLOTS, Slots};
use super::metadata::TypeTable;
use super::tables::{FrameKey, RecordingTables, StackKey, ThreadKey};

/// Largest number of constants of a chunk. Those of JVMs have some ten thousands.
const MAX_CONSTANTS: usize = 1 << 22;

/// Largest number of frames of a stack: the largest that JVMs can be told to record.
const MAX_FRAMES: usize = 2048;

/// Number of frames of a chunk whose indexes are kept.
const MAX_KNOWN_FRAMES: usize = 1 << 20;

/// Largest number of dimensions of an array in Java.
const MAX_DIMENSIONS: usize = 255;

/// Name of a method whose constant is missing.
const UNKNOWN: &str = "(unknown)";

const NAME: usize = 0;
const TYPE: usize = 1;
const OS_NAME: usize = 2;
const OS_ID: usize = 3;
const JAVA_NAME: usize = 4;
const JAVA_ID: usize = 5;
const VIRTUAL: usize = 6;
const TRUNCATED: usize = 7;
const FRAMES: usize = 8;
const METHOD: usize = 9;
const LINE: usize = 10;
const FRAME_TYPE: usize = 11;

/// What is needed of constants, whatever their type is.
const NEEDED: &[NeededField] = &[
    ("name", NAME),
    ("type", TYPE),
    ("osName", OS_NAME),
    ("osThreadId", OS_ID),
    ("javaName", JAVA_NAME),
    ("javaThreadId", JAVA_ID),
    ("virtual", VIRTUAL),
    ("truncated", TRUNCATED),
    ("frames", FRAMES),
    ("frames.method", METHOD),
    ("frames.lineNumber", LINE),
    ("frames.type", FRAME_TYPE),
];

/// A constant: its type and its id.
pub(super) type ConstantId = (u64, u64);

/// The constants of a chunk. They are decoded when they are needed, and the results are kept.
pub(super) struct Constants<'a> {
    bytes: &'a [u8],
    /// Type of the constants that texts can refer to.
    text_type: Option<u64>,
    layouts: FastMap<u64, Option<Rc<Layout>>>,
    /// Where the value of each constant begins.
    positions: FastMap<ConstantId, usize>,
    classes: FastMap<ConstantId, Option<u32>>,
    threads: FastMap<ConstantId, Option<u32>>,
    stacks: FastMap<ConstantId, Option<u32>>,
    methods: FastMap<ConstantId, Option<u32>>,
    /// Indexes of frames by the values of their slots.
    frames: FastMap<[u64; 3], u32>,
}

impl<'a> Constants<'a> {
    pub(super) fn new(bytes: &'a [u8], types: &TypeTable) -> Self {
        let text_type = types.names().find(|(_, name)| *name == "java.lang.String").map(|(id, _)| id);
        Self {
            bytes,
            text_type,
            layouts: FastMap::default(),
            positions: FastMap::default(),
            classes: FastMap::default(),
            threads: FastMap::default(),
            stacks: FastMap::default(),
            methods: FastMap::default(),
            frames: FastMap::default(),
        }
    }

    /// Finds the constants of a checkpoint event, given the position of its content and its end. A constant that
    /// occurs again replaces the earlier one. Returns `None` if the event is invalid or there are too many.
    pub(super) fn add(&mut self, compiler: &mut LayoutCompiler<'_>, start: usize, end: usize) -> Option<()> {
        let mut reader = ByteReader::new(self.bytes.get(start..end)?);
        for _ in 0..3 {
            reader.varint()?; // Start, duration, and distance to the previous checkpoint.
        }
        reader.byte()?;
        let mut slots = [0; SLOTS];
        for _ in 0..reader.count()? {
            let type_id = reader.varint()?;
            let count = reader.count()?;
            let new_layout = || compiler.compile(type_id, NEEDED).map(Rc::new);
            let layout = self.layouts.entry(type_id).or_insert_with(new_layout).clone()?;
            for _ in 0..count {
                let id = reader.varint()?;
                if self.positions.len() >= MAX_CONSTANTS {
                    return None;
                }
                self.positions.insert((type_id, id), end - reader.remaining());
                layout.decode(&mut reader, &mut slots)?;
            }
        }
        Some(())
    }

    /// Returns the text of a constant that has a name or consists of a text.
    pub(super) fn label(&self, constant: ConstantId) -> Option<String> {
        let decoded = self.decoded(constant)?;
        decoded.layout.label.and_then(|slot| self.text_in(&decoded, slot))
    }

    /// Returns the text at a position of the chunk, or that of the constant to which it refers.
    pub(super) fn text_at(&self, position: usize) -> Option<String> {
        let read = |position| ByteReader::new(self.bytes.get(position..)?).text();
        let text = match read(position)? {
            EncodedText::Pooled(id) => read(*self.positions.get(&(self.text_type?, id))?)?,
            text => text,
        };
        match text {
            EncodedText::Value(text) => Some(text.into_owned()),
            EncodedText::Null | EncodedText::Pooled(_) => None,
        }
    }

    /// Returns the index of a class in the tables.
    pub(super) fn class(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        if let Some(&known) = self.classes.get(&constant) {
            return known;
        }
        let found = self.class_name(constant).and_then(|name| tables.classes.intern(name));
        self.classes.insert(constant, found);
        found
    }

    /// Returns the index of a thread in the tables.
    pub(super) fn thread(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        if let Some(&known) = self.threads.get(&constant) {
            return known;
        }
        let found = self.thread_key(constant).and_then(|key| tables.threads.intern(key));
        self.threads.insert(constant, found);
        found
    }

    /// Returns the index of a stack in the tables.
    pub(super) fn stack(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        if let Some(&known) = self.stacks.get(&constant) {
            return known;
        }
        let found = self.stack_key(constant, tables).and_then(|key| tables.stacks.intern(key));
        self.stacks.insert(constant, found);
        found
    }

    fn class_name(&self, constant: ConstantId) -> Option<String> {
        let decoded = self.decoded(constant)?;
        self.text_in(&decoded, NAME).map(|name| java_name(&name))
    }

    fn thread_key(&self, constant: ConstantId) -> Option<ThreadKey> {
        let decoded = self.decoded(constant)?;
        let text = |slot| self.text_in(&decoded, slot).filter(|name| !name.is_empty());
        // Absent ids are 0 or -1.
        let id = |slot: usize| Some(decoded.slots[slot]).filter(|&id| id != 0 && i64::try_from(id).is_ok());
        let java_name = text(JAVA_NAME);
        let is_platform = decoded.slots[VIRTUAL] == 0;
        let is_java = is_platform && java_name.is_some();
        Some(ThreadKey {
            java_id: if is_java { id(JAVA_ID) } else { None },
            os_id: if is_platform { id(OS_ID) } else { None },
            name: java_name.or_else(|| text(OS_NAME).filter(|_| is_platform)).unwrap_or_default(),
        })
    }

    fn stack_key(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<StackKey> {
        let stack = self.decoded(constant)?;
        let element = stack.layout.elements_of(FRAMES)?;
        let pool = |slot: usize| element.pools[slot];
        let (method_type, frame_type) = (pool(METHOD)?, pool(FRAME_TYPE));
        let mut reader = ByteReader::new(self.bytes.get(self.position_of(stack.slots[FRAMES])?..)?);
        let count = reader.count()?;
        let mut frames = Vec::with_capacity(count.min(MAX_FRAMES));
        for _ in 0..count.min(MAX_FRAMES) {
            let mut slots = [0; SLOTS];
            element.decode(&mut reader, &mut slots)?;
            frames.push(self.frame((method_type, frame_type), &slots, tables)?);
        }
        let truncated = stack.slots[TRUNCATED] != 0 || count > MAX_FRAMES;
        Some(StackKey { frames: frames.into_boxed_slice(), truncated })
    }

    /// Returns the index of a frame, given the types of the constants in its slots.
    fn frame(
        &mut self,
        (method_type, kind_type): (u64, Option<u64>),
        slots: &Slots,
        tables: &mut RecordingTables,
    ) -> Option<u32> {
        let raw = [slots[METHOD], slots[LINE], slots[FRAME_TYPE]];
        if let Some(&known) = self.frames.get(&raw) {
            return Some(known);
        }
        let kind = kind_type.and_then(|kind| self.label((kind, slots[FRAME_TYPE])));
        let key = FrameKey {
            method: self.method((method_type, slots[METHOD]), tables)?,
            line: i32::try_from(slots[LINE]).ok().filter(|&line| line > 0),
            kind: kind.and_then(|kind| tables.frame_types.intern(kind)),
        };
        let found = tables.frames.intern(key)?;
        if self.frames.len() < MAX_KNOWN_FRAMES {
            self.frames.insert(raw, found);
        }
        Some(found)
    }

    /// Returns the index of a method. One whose constant is missing has the name of an unknown one.
    fn method(&mut self, constant: ConstantId, tables: &mut RecordingTables) -> Option<u32> {
        if let Some(&known) = self.methods.get(&constant) {
            return known;
        }
        let Some(name) = self.method_name(constant) else {
            return tables.methods.intern(UNKNOWN.to_owned());
        };
        let found = tables.methods.intern(name);
        self.methods.insert(constant, found);
        found
    }

    fn method_name(&self, constant: ConstantId) -> Option<String> {
        let decoded = self.decoded(constant)?;
        let class = decoded.layout.pools[TYPE].and_then(|kind| self.class_name((kind, decoded.slots[TYPE])));
        let name = self.text_in(&decoded, NAME)?;
        Some(class.map_or_else(|| name.clone(), |class| format!("{class}.{name}")))
    }

    fn decoded(&self, constant: ConstantId) -> Option<DecodedConstant> {
        let position = *self.positions.get(&constant)?;
        let layout = self.layouts.get(&constant.0)?.clone()?;
        let mut slots = [0; SLOTS];
        layout.decode_lazily(&mut ByteReader::new(self.bytes.get(position..)?), &mut slots)?;
        Some(DecodedConstant { layout, slots })
    }

    /// Returns the text in a slot of a constant, or that of the constant in it.
    fn text_in(&self, decoded: &DecodedConstant, slot: usize) -> Option<String> {
        match decoded.layout.pools[slot] {
            Some(pool) => self.label((pool, decoded.slots[slot])),
            None => self.text_at(self.position_of(decoded.slots[slot])?),
        }
    }

    /// Returns the position in the chunk from the number of bytes that follow it; 0 means that there is no value.
    fn position_of(&self, remaining: u64) -> Option<usize> {
        let remaining = usize::try_from(remaining).ok().filter(|&remaining| remaining > 0)?;
        self.bytes.len().checked_sub(remaining)
    }
}

/// A constant that was decoded to the end of the chunk.
struct DecodedConstant {
    layout: Rc<Layout>,
    slots: Slots,
}

/// Returns a class name as Java writes it: `byte[]` for `[B`, `java.lang.String` for `java/lang/String`.
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
    format!("{}{}", plain.replace('/', "."), "[]".repeat(dimensions.min(MAX_DIMENSIONS)))
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
            ("[", "[]"),
            ("[LB", "LB[]"),
            ("", ""),
        ] {
            assert_eq!(java_name(name), expected);
        }
    }
}

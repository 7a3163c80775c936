//! How the values of a type are encoded, compiled from its description so that events are decoded in one pass.

use super::bytes::ByteReader;
use super::metadata::{TypeField, TypeTable};

/// Number of values that a layout can yield.
pub(super) const SLOTS: usize = 16;

/// The values of an event or constant: integers and ids of constants; the bits of floating-point numbers; for texts and
/// arrays, the number of bytes from their beginning to the end of what was decoded, which is never 0.
pub(super) type Slots = [u64; SLOTS];

/// A field whose value is needed, by its name or by that of an array and a field of its elements (`frames.method`).
pub(super) type NeededField = (&'static str, usize);

/// Largest number of integers of a value whose integers are read one after the other.
pub(super) const MAX_INTEGERS: usize = 7;

/// Deepest nesting of types in types. JVMs nest two.
const MAX_DEPTH: usize = 8;

/// The slot of values that are not needed.
const NO_SLOT: usize = SLOTS - 1;

/// The slot of the first text, unless it is needed in another slot.
const LABEL: usize = SLOTS - 2;

/// Largest number of layouts and of their fields, all types of a chunk together. JVMs need some thousands.
const MAX_COMPILED: usize = 1 << 16;

/// The encoding of a type: what to read, in which order.
#[derive(Debug, Default)]
pub(super) struct Layout {
    steps: Vec<Step>,
    elements: Vec<Layout>,
    /// Slots that have a value, as bits.
    pub(super) filled: u32,
    /// For slots that hold the id of a constant, the type of the constant.
    pub(super) pools: [Option<u64>; SLOTS],
    /// The slot of the first text, which holds a text and not the id of a constant.
    pub(super) label: Option<usize>,
    /// Number of integers, if there is nothing else.
    only_integers: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Bytes that are skipped.
    Bytes(usize),
    /// Integers that are skipped.
    Integers(usize),
    Byte(usize),
    Integer(usize),
    /// A number of 32 bits.
    Float(usize),
    Text(usize),
    /// An array whose elements have the layout with this index.
    Array {
        element: usize,
        slot: usize,
    },
}

impl Layout {
    /// Reads a value and stores what is needed of it.
    #[inline]
    pub(super) fn decode(&self, reader: &mut ByteReader<'_>, slots: &mut Slots) -> Option<()> {
        Self::decode_steps(&self.steps, &self.elements, reader, slots)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "called for every event")]
    fn decode_steps(
        steps: &[Step],
        elements: &[Self],
        reader: &mut ByteReader<'_>,
        slots: &mut Slots,
    ) -> Option<()> {
        for step in steps {
            match *step {
                Step::Bytes(count) => _ = reader.take(count)?,
                Step::Integers(1) => _ = reader.varint()?,
                Step::Integers(count) => reader.skip_varints(count)?,
                Step::Byte(slot) => slots[slot] = u64::from(reader.byte()?),
                Step::Integer(slot) => slots[slot] = reader.varint()?,
                Step::Float(slot) => slots[slot] = u64::from(reader.float_bits()?),
                Step::Text(slot) => {
                    slots[slot] = reader.remaining() as u64;
                    reader.skip_text()?;
                }
                Step::Array { element, slot } => {
                    slots[slot] = reader.remaining() as u64;
                    elements.get(element)?.skip_array(reader, slots)?;
                }
            }
        }
        Some(())
    }

    /// Reads a value as [`decode`](Self::decode) does, but not the elements of an array that ends it.
    pub(super) fn decode_lazily(&self, reader: &mut ByteReader<'_>, slots: &mut Slots) -> Option<()> {
        match self.steps.split_last() {
            Some((&Step::Array { slot, .. }, before)) => {
                Self::decode_steps(before, &self.elements, reader, slots)?;
                slots[slot] = reader.remaining() as u64;
                Some(())
            }
            _ => self.decode(reader, slots),
        }
    }

    /// Returns the layout of the elements of the array in a slot.
    pub(super) fn elements_of(&self, slot: usize) -> Option<&Self> {
        self.steps.iter().find_map(|step| match *step {
            Step::Array { element, slot: at } if at == slot => self.elements.get(element),
            _ => None,
        })
    }

    /// Returns the types of the constants that values refer to.
    pub(super) fn pool_types(&self) -> impl Iterator<Item = u64> {
        let elements = self.elements.iter().flat_map(|element| element.pools);
        self.pools.into_iter().chain(elements).flatten()
    }

    /// Returns how many integers a value has and the positions of those in three slots among them, or `None` if a
    /// value has anything else or more than [`MAX_INTEGERS`]. A slot without an integer has the position of none.
    pub(super) fn integers(&self, slots: [usize; 3]) -> Option<(usize, [usize; 3])> {
        let count = self.only_integers.filter(|&count| count <= MAX_INTEGERS)?;
        let (mut at, mut positions) = (0, [count; 3]);
        for step in &self.steps {
            match *step {
                Step::Integer(slot) => {
                    if let Some(index) = slots.iter().position(|&known| known == slot) {
                        positions[index] = at;
                    }
                    at += 1;
                }
                Step::Integers(skipped) => at += skipped,
                _ => return None,
            }
        }
        Some((count, positions))
    }

    fn skip_array(&self, reader: &mut ByteReader<'_>, slots: &mut Slots) -> Option<()> {
        let count = reader.count()?;
        if self.steps.is_empty() {
            return Some(()); // The elements have no bytes, and there may be any number of them.
        }
        if let Some(integers) = self.only_integers {
            return reader.skip_varints(count.checked_mul(integers)?);
        }
        for _ in 0..count {
            self.decode(reader, slots)?;
        }
        Some(())
    }

    fn count_integers(&self) -> Option<usize> {
        let count = |step: &Step| match *step {
            Step::Integer(_) => Some(1),
            Step::Integers(count) => Some(count),
            _ => None,
        };
        self.steps.iter().map(count).sum()
    }

    fn push(&mut self, step: Step) {
        match (self.steps.last_mut(), step) {
            (Some(Step::Bytes(count)), Step::Bytes(more))
            | (Some(Step::Integers(count)), Step::Integers(more)) => {
                *count += more;
            }
            _ => self.steps.push(step),
        }
    }

    fn push_at(&mut self, slot: Option<usize>, needed: impl Fn(usize) -> Step, skipped: Step) {
        match slot {
            Some(slot) => {
                self.filled |= 1 << slot;
                self.push(needed(slot));
            }
            None => self.push(skipped),
        }
    }
}

/// Compiles layouts of the types of a chunk.
#[derive(Debug)]
pub(super) struct LayoutCompiler {
    types: TypeTable,
    /// How many more layouts and fields may be compiled. Few types can describe very many fields by using each other.
    budget: usize,
}

impl LayoutCompiler {
    pub(super) fn new(types: TypeTable) -> Self {
        Self { types, budget: MAX_COMPILED }
    }

    /// Returns the types.
    pub(super) fn types(&self) -> &TypeTable {
        &self.types
    }

    /// Returns the layout of a type, or `None` if it is unknown, contains itself or is unreasonably large.
    pub(super) fn compile(&mut self, type_id: u64, needed: &[NeededField]) -> Option<Layout> {
        self.budget = self.budget.checked_sub(1)?;
        let mut layout = Layout::default();
        let mut compilation = Compilation { types: &self.types, budget: &mut self.budget };
        compilation.add_plain(&mut layout, type_id, (None, needed), 0)?;
        Some(layout)
    }
}

/// The compilation of one layout.
struct Compilation<'a> {
    types: &'a TypeTable,
    budget: &'a mut usize,
}

impl Compilation<'_> {
    fn add_type(
        &mut self,
        layout: &mut Layout,
        type_id: u64,
        needed: &[NeededField],
        depth: usize,
    ) -> Option<()> {
        let (_, fields) = self.types.get(type_id)?;
        if depth > MAX_DEPTH {
            return None;
        }
        for &field in fields {
            *self.budget = self.budget.checked_sub(1)?;
            let name = self.types.field_name(field);
            // No JVM describes two fields with one name; the first one has the slot, so that what the slot holds and
            // what describes it belong together.
            let slot = needed
                .iter()
                .find(|(path, _)| *path == name)
                .map(|&(_, slot)| slot)
                .filter(|slot| layout.filled & 1 << slot == 0);
            let inner: Vec<NeededField> = needed
                .iter()
                .filter_map(|&(path, slot)| Some((path.strip_prefix(name)?.strip_prefix('.')?, slot)))
                .collect();
            if field.array {
                // The label of a type is not a text of its elements.
                let mut element = Layout { label: Some(NO_SLOT), ..Layout::default() };
                self.add_value(&mut element, field, (None, &inner), depth + 1)?;
                element.only_integers = element.count_integers();
                let step = Step::Array { element: layout.elements.len(), slot: slot.unwrap_or(NO_SLOT) };
                layout.elements.push(element);
                layout.filled |= slot.map_or(0, |slot| 1 << slot);
                layout.push(step);
            } else {
                self.add_value(layout, field, (slot, &inner), depth + 1)?;
            }
        }
        Some(())
    }

    /// Adds one value of a field; `needed` is its slot, and what of its own fields is needed.
    fn add_value(
        &mut self,
        layout: &mut Layout,
        field: TypeField,
        (slot, inner): (Option<usize>, &[NeededField]),
        depth: usize,
    ) -> Option<()> {
        if field.pooled {
            layout.push_at(slot, Step::Integer, Step::Integers(1));
            if let Some(slot) = slot {
                layout.pools[slot] = Some(field.type_id);
            }
            return Some(());
        }
        self.add_plain(layout, field.type_id, (slot, inner), depth)
    }

    /// Adds one value that is not the id of a constant.
    fn add_plain(
        &mut self,
        layout: &mut Layout,
        type_id: u64,
        (slot, inner): (Option<usize>, &[NeededField]),
        depth: usize,
    ) -> Option<()> {
        match self.types.get(type_id)?.0 {
            "boolean" | "byte" => layout.push_at(slot, Step::Byte, Step::Bytes(1)),
            "char" | "short" | "int" | "long" => layout.push_at(slot, Step::Integer, Step::Integers(1)),
            "float" => layout.push_at(slot, Step::Float, Step::Bytes(4)),
            "double" => layout.push(Step::Bytes(8)),
            "java.lang.String" => {
                let slot = slot.or(layout.label.is_none().then_some(LABEL));
                layout.label = layout.label.or(slot);
                layout.push_at(slot, Step::Text, Step::Text(NO_SLOT));
            }
            _ => self.add_type(layout, type_id, inner, depth)?,
        }
        Some(())
    }
}

//! The types of a chunk, as its metadata event describes them.

use super::bytes::{ByteReader, EncodedText};
use super::hash::FastMap;

/// Largest number of texts, and of fields of all types together. JVMs have about 4000 and 6000.
const MAX_ITEMS: usize = 1 << 18;

/// Size of the largest description that is read, in bytes. Those of JVMs have some 100,000.
const MAX_DESCRIPTION: usize = 1 << 23;

/// Deepest nesting of elements. JVMs nest five.
const MAX_DEPTH: usize = 16;

/// The types of a chunk by their ids.
#[derive(Debug, Default)]
pub(super) struct TypeTable {
    texts: Vec<String>,
    types: FastMap<u64, TypeDescription>,
    fields: usize,
}

/// A type of events, constants or fields.
#[derive(Debug, Default)]
struct TypeDescription {
    name: usize,
    fields: Vec<TypeField>,
}

/// A field of a type.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypeField {
    name: usize,
    /// Id of its type.
    pub(super) type_id: u64,
    /// Whether the value is the id of a constant of that type.
    pub(super) pooled: bool,
    /// Whether the value is an array.
    pub(super) array: bool,
}

/// The attributes of an element that the reader uses, as indexes of texts.
#[derive(Default)]
struct Attributes {
    name: Option<usize>,
    id: Option<usize>,
    class: Option<usize>,
    pooled: Option<usize>,
    dimension: Option<usize>,
}

impl TypeTable {
    /// Reads a metadata event from its first text on. Returns `None` if it is invalid, or larger than any JVM's.
    pub(super) fn read(description: &[u8]) -> Option<Self> {
        let mut reader = ByteReader::new(Some(description).filter(|bytes| bytes.len() <= MAX_DESCRIPTION)?);
        let count = reader.count().filter(|&count| count <= MAX_ITEMS)?;
        let mut table = Self::default();
        for _ in 0..count {
            table.texts.push(match reader.text()? {
                EncodedText::Value(text) => text.into_owned(),
                EncodedText::Null | EncodedText::Pooled(_) => String::new(),
            });
        }
        table.element(&mut reader, None, 0)?;
        Some(table)
    }

    /// Returns the ids and names of all types.
    pub(super) fn names(&self) -> impl Iterator<Item = (u64, &str)> {
        self.types.iter().map(|(&id, each)| (id, self.texts[each.name].as_str()))
    }

    /// Returns the name of a type and its fields.
    pub(super) fn get(&self, id: u64) -> Option<(&str, &[TypeField])> {
        let found = self.types.get(&id)?;
        Some((&self.texts[found.name], &found.fields))
    }

    /// Returns the name of a field.
    pub(super) fn field_name(&self, field: TypeField) -> &str {
        &self.texts[field.name]
    }

    /// Reads an element and its children; `class` is the type whose element encloses it.
    fn element(&mut self, reader: &mut ByteReader<'_>, class: Option<u64>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let name = self.index(reader)?;
        let attributes = self.attributes(reader)?;
        let inner = match self.texts[name].as_str() {
            "class" => Some(self.begin_type(&attributes)?),
            "field" => {
                self.add_field(class?, &attributes)?;
                None
            }
            _ => class,
        };
        for _ in 0..reader.count()? {
            self.element(reader, inner, depth + 1)?;
        }
        Some(())
    }

    fn attributes(&self, reader: &mut ByteReader<'_>) -> Option<Attributes> {
        let mut found = Attributes::default();
        for _ in 0..reader.count()? {
            let key = self.index(reader)?;
            let value = Some(self.index(reader)?);
            match self.texts[key].as_str() {
                "name" => found.name = value,
                "id" => found.id = value,
                "class" => found.class = value,
                "constantPool" => found.pooled = value,
                "dimension" => found.dimension = value,
                _ => {}
            }
        }
        Some(found)
    }

    fn begin_type(&mut self, attributes: &Attributes) -> Option<u64> {
        let id = self.texts[attributes.id?].parse().ok()?;
        self.count_item()?;
        self.types.insert(id, TypeDescription { name: attributes.name?, fields: Vec::new() });
        Some(id)
    }

    fn add_field(&mut self, class: u64, attributes: &Attributes) -> Option<()> {
        self.count_item()?;
        let is = |index: Option<usize>, text: &str| index.is_some_and(|index| self.texts[index] == text);
        let field = TypeField {
            name: attributes.name?,
            type_id: self.texts[attributes.class?].parse().ok()?,
            pooled: is(attributes.pooled, "true"),
            array: is(attributes.dimension, "1"),
        };
        self.types.get_mut(&class)?.fields.push(field);
        Some(())
    }

    fn count_item(&mut self) -> Option<()> {
        self.fields += 1;
        (self.fields <= MAX_ITEMS).then_some(())
    }

    fn index(&self, reader: &mut ByteReader<'_>) -> Option<usize> {
        reader.count().filter(|&index| index < self.texts.len())
    }
}

//! The types of a chunk, compiled: how its events and constants are decoded. Chunks of one JVM usually have the same.

use super::bytes::ByteReader;
use super::constant_fields::NEEDED;
use super::events::{EVENTS, EventKind, EventSpec};
use super::hash::FastMap;
use super::layout::{Layout, LayoutCompiler};
use super::metadata::TypeTable;

/// Type ids below this one are looked up by index.
const DENSE_TYPES: usize = 1 << 14;

/// Number of problems that are described.
const MAX_PROBLEMS: usize = 20;

/// The types of a chunk.
#[derive(Debug)]
pub(super) struct ChunkTypes {
    /// What they were compiled from: the metadata event from its first text on.
    description: Box<[u8]>,
    compiler: LayoutCompiler,
    handlers: Handlers,
    /// Type of the constants that texts can refer to.
    text_type: Option<u64>,
    /// Layouts of constants: those that are needed, and others that have occurred.
    constants: FastMap<u64, Option<ConstantLayout>>,
    /// What cannot be read of chunks with these types, as ends of sentences about the chunk.
    pub(super) problems: Vec<String>,
}

/// How constants of a type are decoded.
#[derive(Debug)]
struct ConstantLayout {
    layout: Layout,
    /// Whether events refer to them, directly or through other constants.
    is_needed: bool,
}

impl ChunkTypes {
    /// Reads the types from the metadata event of a chunk, without its size and type. `previous` are those of the
    /// chunk before, and returned if they are described with the same bytes. Returns `None` if the event is invalid.
    pub(super) fn read(event: &[u8], previous: Option<Self>) -> Option<Self> {
        let mut reader = ByteReader::new(event);
        for _ in 0..3 {
            reader.varint()?; // Start, duration and id.
        }
        let description = reader.take(reader.remaining())?;
        match previous {
            Some(types) if *types.description == *description => Some(types),
            _ => Self::compile(description),
        }
    }

    fn compile(description: &[u8]) -> Option<Self> {
        let table = TypeTable::read(description)?;
        let text_type = table.names().find(|(_, name)| *name == "java.lang.String").map(|(id, _)| id);
        let mut types = Self {
            description: description.into(),
            compiler: LayoutCompiler::new(table),
            handlers: Handlers::default(),
            text_type,
            constants: FastMap::default(),
            problems: Vec::new(),
        };
        types.add_handlers();
        types.add_needed_constants();
        Some(types)
    }

    fn add_handlers(&mut self) {
        let named = self.compiler.types().names();
        let mut found: Vec<(usize, u64, String)> = named
            .filter_map(|(type_id, name)| Some((EventSpec::find(name)?, type_id, name.to_owned())))
            .collect();
        found.sort_unstable();
        for (event, type_id, name) in found {
            let spec = &EVENTS[event];
            let layout = self.compiler.compile(type_id, &spec.needed());
            let problem = match layout.as_ref().map(|layout| spec.missing(layout.filled)) {
                Some(None) => None,
                Some(Some(field)) => {
                    Some(format!("has events {name} without the field {field}, which are not counted"))
                }
                None => Some(format!("has an invalid description of {name}, whose events are not counted")),
            };
            if let Some(problem) = problem {
                if self.problems.len() < MAX_PROBLEMS {
                    self.problems.push(problem);
                }
            } else if let Some(layout) = layout {
                self.handlers.add(type_id, Handler { event, kind: spec.kind, layout });
            }
        }
    }

    /// Compiles the types of constants that events refer to, and those that these refer to.
    fn add_needed_constants(&mut self) {
        let mut waiting: Vec<u64> = self.text_type.into_iter().collect();
        waiting.extend(self.handlers.all.iter().flat_map(|handler| handler.layout.pool_types()));
        while let Some(type_id) = waiting.pop() {
            if self.constants.contains_key(&type_id) {
                continue;
            }
            let layout = self.compiler.compile(type_id, NEEDED);
            waiting.extend(layout.iter().flat_map(Layout::pool_types));
            self.constants.insert(type_id, layout.map(|layout| ConstantLayout { layout, is_needed: true }));
        }
    }

    /// Returns how the events of a type are read, with its index, or `None` if they are not read.
    #[inline]
    pub(super) fn handler_of(&self, type_id: u64) -> Option<(usize, &Handler)> {
        self.handlers.index_of(type_id).and_then(|index| Some((index, self.handlers.all.get(index)?)))
    }

    /// Returns all handlers.
    pub(super) fn handlers(&self) -> &[Handler] {
        &self.handlers.all
    }

    /// Returns the position in [`EVENTS`] of a type of events.
    pub(super) fn event_of(&self, type_id: u64) -> Option<usize> {
        self.handler_of(type_id).map(|(_, handler)| handler.event)
    }

    /// Returns the type of the constants that texts can refer to.
    pub(super) fn text_type(&self) -> Option<u64> {
        self.text_type
    }

    /// Returns whether constants of a type are needed.
    pub(super) fn is_needed(&self, type_id: u64) -> bool {
        matches!(self.constants.get(&type_id), Some(Some(ConstantLayout { is_needed: true, .. })))
    }

    /// Returns the layout of constants of a type, if it is valid and has been compiled.
    pub(super) fn constant(&self, type_id: u64) -> Option<&Layout> {
        self.constants.get(&type_id)?.as_ref().map(|found| &found.layout)
    }

    /// Returns the layout of constants of a type, if it is valid.
    pub(super) fn find_constant(&mut self, type_id: u64) -> Option<&Layout> {
        let Self { compiler, constants, .. } = self;
        let new = || compiler.compile(type_id, &[]).map(|layout| ConstantLayout { layout, is_needed: false });
        constants.entry(type_id).or_insert_with(new).as_ref().map(|found| &found.layout)
    }
}

/// How the events of a type are read.
#[derive(Debug)]
pub(super) struct Handler {
    /// Position in [`EVENTS`].
    pub(super) event: usize,
    pub(super) kind: EventKind,
    pub(super) layout: Layout,
}

/// The handlers of the types that are read.
#[derive(Debug)]
struct Handlers {
    all: Vec<Handler>,
    /// Index of the handler plus one by type id, for small ids.
    dense: Box<[u8]>,
    others: FastMap<u64, usize>,
}

impl Default for Handlers {
    fn default() -> Self {
        Self { all: Vec::new(), dense: vec![0; DENSE_TYPES].into(), others: FastMap::default() }
    }
}

impl Handlers {
    fn add(&mut self, type_id: u64, handler: Handler) {
        let index = self.all.len();
        // Two types of one name are not written by any JVM; the second is ignored if there are very many.
        let Ok(place) = u8::try_from(index + 1) else { return };
        self.all.push(handler);
        match usize::try_from(type_id).ok().and_then(|id| self.dense.get_mut(id)) {
            Some(entry) => *entry = place,
            None => _ = self.others.insert(type_id, index),
        }
    }

    #[inline]
    fn index_of(&self, type_id: u64) -> Option<usize> {
        match usize::try_from(type_id).ok().and_then(|id| self.dense.get(id)) {
            Some(&place) => usize::from(place).checked_sub(1),
            None => self.others.get(&type_id).copied(),
        }
    }
}

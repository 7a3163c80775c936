//! Decodes the events of a chunk and groups them.

use super::builder::{GroupKey, GroupValues, RecordingBuilder};
use super::bytes::ByteReader;
use super::chunk::{Chunk, FIRST_EVENT};
use super::constants::Constants;
use super::events::{
    DETAIL, DURATION, EVENTS, EventKind, EventSpec, SECOND, STACK, START, SUBJECT, THIRD, THREAD, VALUE,
};
use super::hash::FastMap;
use super::layout::{Layout, LayoutCompiler, SLOTS, Slots};
use super::metadata::TypeTable;
use super::recording::{IoKind, RecordedCollection, RecordedPause, RecordedValues};

/// Id of metadata events.
const METADATA: u64 = 0;

/// Id of checkpoint events.
const CHECKPOINT: u64 = 1;

/// Number of groups of a chunk that are kept before they are added to those of the recording.
const MAX_CHUNK_GROUPS: usize = 1 << 17;

/// Type ids below this one are looked up by index.
const DENSE_TYPES: usize = 1 << 14;

/// What was read of a chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkSummary {
    /// Number of events, or `None` if the chunk has no description of its types.
    pub(super) events: Option<u64>,
    /// What could not be read, as ends of sentences about the chunk.
    pub(super) problems: Vec<String>,
}

/// Reads a chunk into a recording.
pub(super) fn read_chunk(chunk: &Chunk, builder: &mut RecordingBuilder) -> ChunkSummary {
    let mut summary = ChunkSummary::default();
    let mut positions = EventPositions::of(chunk);
    let (mut metadata, mut events) = (None, 0);
    for each in positions.by_ref() {
        match each.type_id {
            METADATA => metadata = Some(each),
            CHECKPOINT => {}
            _ => events += 1,
        }
    }
    if positions.at < chunk.bytes.len() {
        let missing = chunk.bytes.len() - positions.at;
        summary
            .problems
            .push(format!("is damaged or cut at byte {}: {missing} bytes were not read", positions.at));
    }
    let Some(types) = metadata.and_then(|each| TypeTable::read(&chunk.bytes[each.start..each.end])) else {
        summary.problems.push(format!(
            "has no valid description of its types, which the JVM writes last: none of its {events} events was read"
        ));
        return summary;
    };
    summary.events = Some(events);
    let mut compiler = LayoutCompiler::new(&types);
    let mut constants = Constants::new(&chunk.bytes, &types);
    for each in EventPositions::of(chunk).filter(|each| each.type_id == CHECKPOINT) {
        if constants.add(&mut compiler, each.start, each.end).is_none() {
            summary.problems.push(format!(
                "has constants at byte {} that cannot be read: threads, classes or stacks may be missing",
                each.start
            ));
            break;
        }
    }
    let handlers = Handlers::new(&types, &mut compiler, builder, &mut summary.problems);
    let mut decoder =
        ChunkDecoder { chunk, handlers, constants, groups: FastMap::default(), builder, last_ns: None };
    let invalid = decoder.read_events();
    let end_ns = chunk.clock.start_ns.saturating_add(chunk.clock.duration_ns);
    let end_ns = decoder.last_ns.map_or(end_ns, |last| last.max(end_ns));
    builder.cover(chunk.clock.start_ns, end_ns);
    if invalid > 0 {
        summary.problems.push(format!("has {invalid} events that cannot be decoded"));
    }
    summary
}

/// The type of an event, and where its content begins and ends in the chunk.
#[derive(Clone, Copy, Debug)]
struct EventPosition {
    type_id: u64,
    start: usize,
    end: usize,
}

/// The events of a chunk, up to the first one whose size is invalid.
struct EventPositions<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> EventPositions<'a> {
    fn of(chunk: &'a Chunk) -> Self {
        Self { bytes: &chunk.bytes, at: FIRST_EVENT }
    }
}

impl Iterator for EventPositions<'_> {
    type Item = EventPosition;

    #[inline]
    fn next(&mut self) -> Option<EventPosition> {
        let mut reader = ByteReader::new(self.bytes.get(self.at..)?);
        let size = reader.count()?;
        let end = self.at.checked_add(size).filter(|&end| end <= self.bytes.len())?;
        let type_id = reader.varint()?;
        let start = self.bytes.len() - reader.remaining();
        if start > end {
            return None;
        }
        self.at = end;
        Some(EventPosition { type_id, start, end })
    }
}

/// How the events of a type are read.
struct Handler {
    /// Position in [`EVENTS`].
    event: usize,
    layout: Layout,
}

/// The handlers of the types that are read.
struct Handlers {
    all: Vec<Handler>,
    /// Index of the handler plus one by type id, for small ids.
    dense: Vec<u8>,
    others: FastMap<u64, usize>,
    /// Position in [`EVENTS`] by type id.
    events: FastMap<u64, usize>,
}

impl Handlers {
    fn new(
        types: &TypeTable,
        compiler: &mut LayoutCompiler<'_>,
        builder: &mut RecordingBuilder,
        problems: &mut Vec<String>,
    ) -> Self {
        let mut handlers = Self {
            all: Vec::new(),
            dense: vec![0; DENSE_TYPES],
            others: FastMap::default(),
            events: FastMap::default(),
        };
        for (type_id, name) in types.names() {
            let Some(event) = EventSpec::find(name) else { continue };
            let spec = &EVENTS[event];
            let layout = compiler.compile(type_id, &spec.needed());
            let problem = match layout.as_ref().map(|layout| spec.missing(layout.filled)) {
                Some(None) => None,
                Some(Some(field)) => {
                    Some(format!("has events {name} without the field {field}, which are not counted"))
                }
                None => Some(format!("has an invalid description of {name}, whose events are not counted")),
            };
            if let Some(problem) = problem {
                problems.push(problem);
            } else if let Some(layout) = layout {
                builder.types[event].supported = true;
                handlers.events.insert(type_id, event);
                handlers.add(type_id, Handler { event, layout });
            }
        }
        handlers
    }

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

/// What events of one group have in common within a chunk: ids of constants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ChunkGroupKey {
    handler: usize,
    /// Id of the class or operation, or index of the target.
    subject: u64,
    thread: u64,
    stack: u64,
}

/// The state of reading the events of a chunk.
struct ChunkDecoder<'a> {
    chunk: &'a Chunk,
    handlers: Handlers,
    constants: Constants<'a>,
    groups: FastMap<ChunkGroupKey, GroupValues>,
    builder: &'a mut RecordingBuilder,
    last_ns: Option<i64>,
}

impl ChunkDecoder<'_> {
    /// Reads all events and returns how many are invalid.
    fn read_events(&mut self) -> u64 {
        let mut invalid = 0;
        for each in EventPositions::of(self.chunk) {
            let Some(handler) = self.handlers.index_of(each.type_id) else { continue };
            let mut slots = [0; SLOTS];
            let mut reader = ByteReader::new(&self.chunk.bytes[each.start..each.end]);
            if self.handlers.all[handler].layout.decode(&mut reader, &mut slots).is_some() {
                self.event(handler, &slots, each.end);
            } else {
                invalid += 1;
            }
        }
        self.merge_groups();
        invalid
    }

    #[inline]
    fn event(&mut self, handler: usize, slots: &Slots, end: usize) {
        let event = self.handlers.all[handler].event;
        let kind = EVENTS[event].kind;
        let time_ns = self.chunk.clock.time_ns(slots[START]);
        self.last_ns = self.last_ns.max(Some(time_ns));
        let facts = &mut self.builder.types[event];
        facts.events += 1;
        if kind == EventKind::Setting {
            self.setting(handler, slots, end);
            return;
        }
        if !self.builder.is_in_window(time_ns) {
            return;
        }
        self.builder.types[event].counted += 1;
        let key =
            ChunkGroupKey { handler, subject: slots[SUBJECT], thread: slots[THREAD], stack: slots[STACK] };
        match kind {
            EventKind::InNewTlab | EventKind::OutsideTlab | EventKind::SampledAllocation => {
                self.add(key, size(slots[VALUE]), 0);
            }
            EventKind::Sample(_) => self.add(key, 1, 0),
            EventKind::Lock(_) => {
                self.add(key, self.chunk.clock.elapsed_ns(slots[START], slots[DURATION]), 0);
            }
            EventKind::Io(kind) => self.io((key, kind), slots, end),
            EventKind::VmOperation => {
                let key = ChunkGroupKey { thread: 0, stack: slots[VALUE], ..key };
                self.add(key, self.chunk.clock.elapsed_ns(slots[START], slots[DURATION]), 0);
            }
            EventKind::Pause => self.pause(handler, slots, end),
            EventKind::Collection => self.collection(handler, slots, end),
            EventKind::Setting => {}
        }
    }

    #[inline]
    fn add(&mut self, key: ChunkGroupKey, value: u64, bytes: u64) {
        let added = GroupValues { values: RecordedValues::of(value), bytes };
        self.groups.entry(key).and_modify(|known| known.add(added)).or_insert(added);
        if self.groups.len() >= MAX_CHUNK_GROUPS {
            self.merge_groups();
        }
    }

    fn io(&mut self, (key, kind): (ChunkGroupKey, IoKind), slots: &Slots, end: usize) {
        let text = |slot| self.text(key.handler, slots, (slot, end)).filter(|text| !text.is_empty());
        let name = text(SUBJECT).or_else(|| text(DETAIL));
        let target = match kind {
            IoKind::SocketRead | IoKind::SocketWrite => name.map(|host| with_port(&host, slots[SECOND])),
            _ => name,
        };
        let target = self.builder.tables.targets.intern(target.unwrap_or_default());
        let key = ChunkGroupKey { subject: target.map_or(NO_TARGET, u64::from), ..key };
        let bytes = if kind == IoKind::FileForce { 0 } else { size(slots[VALUE]) };
        self.add(key, self.chunk.clock.elapsed_ns(slots[START], slots[DURATION]), bytes);
    }

    fn pause(&mut self, handler: usize, slots: &Slots, end: usize) {
        let pause = RecordedPause {
            gc_id: slots[VALUE],
            name: self.text(handler, slots, (SUBJECT, end)).unwrap_or_default(),
            start_ns: self.chunk.clock.time_ns(slots[START]),
            duration_ns: self.chunk.clock.elapsed_ns(slots[START], slots[DURATION]),
        };
        self.builder.add_pause(pause);
    }

    fn collection(&mut self, handler: usize, slots: &Slots, end: usize) {
        let clock = &self.chunk.clock;
        let collection = RecordedCollection {
            gc_id: slots[VALUE],
            name: self.text(handler, slots, (SUBJECT, end)).unwrap_or_default(),
            cause: self.text(handler, slots, (DETAIL, end)).unwrap_or_default(),
            start_ns: clock.time_ns(slots[START]),
            duration_ns: clock.elapsed_ns(slots[START], slots[DURATION]),
            pauses_ns: clock.duration_ns(slots[SECOND]),
            longest_pause_ns: clock.duration_ns(slots[THIRD]),
        };
        self.builder.add_collection(collection);
    }

    /// Notes whether a type is enabled.
    fn setting(&mut self, handler: usize, slots: &Slots, end: usize) {
        let Some(&event) = self.handlers.events.get(&slots[VALUE]) else { return };
        if self.text(handler, slots, (SUBJECT, end)).as_deref() != Some("enabled") {
            return;
        }
        let enabled = self.text(handler, slots, (DETAIL, end)).as_deref() == Some("true");
        let known = &mut self.builder.types[event].enabled;
        *known = Some(enabled || *known == Some(true));
    }

    /// Returns the text in a slot of an event that ends at a position, or that of the constant in it.
    fn text(&self, handler: usize, slots: &Slots, (slot, end): (usize, usize)) -> Option<String> {
        if let Some(pool) = self.handlers.all[handler].layout.pools[slot] {
            return self.constants.label((pool, slots[slot]));
        }
        let remaining = usize::try_from(slots[slot]).ok().filter(|&remaining| remaining > 0)?;
        self.constants.text_at(end.checked_sub(remaining)?)
    }

    /// Adds the groups to those of the recording.
    fn merge_groups(&mut self) {
        let mut groups: Vec<_> = self.groups.drain().collect();
        groups.sort_unstable_by_key(|(key, _)| *key);
        for (key, values) in groups {
            let handler = &self.handlers.all[key.handler];
            let pools = handler.layout.pools;
            let tables = &mut self.builder.tables;
            let kind = EVENTS[handler.event].kind;
            let subject = match kind {
                EventKind::Io(_) => u32::try_from(key.subject).ok(),
                EventKind::VmOperation => pools[SUBJECT]
                    .and_then(|pool| self.constants.label((pool, key.subject)))
                    .and_then(|name| tables.targets.intern(name)),
                _ => pools[SUBJECT].and_then(|pool| self.constants.class((pool, key.subject), tables)),
            };
            let is_operation = kind == EventKind::VmOperation;
            let (thread_pool, stack_pool) =
                if is_operation { (None, None) } else { (pools[THREAD], pools[STACK]) };
            let thread = thread_pool.and_then(|pool| self.constants.thread((pool, key.thread), tables));
            let stack = stack_pool.and_then(|pool| self.constants.stack((pool, key.stack), tables));
            let safepoint = is_operation && key.stack != 0;
            let is_merged = tables.is_full() && !is_operation && (thread.is_none() || stack.is_none());
            if is_merged {
                self.builder.count_merged(values.values.count);
            }
            let key = GroupKey { event: handler.event, subject, thread, stack, safepoint };
            self.builder.add_group(key, values);
        }
    }
}

/// Subject of operations whose target is not kept.
const NO_TARGET: u64 = u64::MAX;

/// Returns a size, which is 0 if it is negative.
fn size(value: u64) -> u64 {
    if i64::try_from(value).is_ok() { value } else { 0 }
}

fn with_port(host: &str, port: u64) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

//! Decodes the events of a chunk and groups them.

use std::hash::{Hash, Hasher};

use super::builder::{GroupKey, GroupValues, RecordingBuilder, WAITING};
use super::bytes::ByteReader;
use super::chunk::{Chunk, FIRST_EVENT};
use super::constants::{ConstantId, ConstantMaps, Constants};
use super::events::{DETAIL, DURATION, EventKind, SECOND, STACK, START, SUBJECT, THIRD, THREAD, VALUE};
use super::hash::{IndexedMap, two_words};
use super::layout::{SLOTS, Slots};
use super::recording::{GaugeKind, IoKind, RecordedCollection, RecordedPause, RecordedValues, ThreadState};
use super::settings::SamplingSettings;
use super::types::{ChunkTypes, Handler};

/// Id of metadata events.
const METADATA: u64 = 0;

/// Id of checkpoint events.
const CHECKPOINT: u64 = 1;

/// Number of groups of a chunk that are kept before they are added to those of the recording.
const MAX_CHUNK_GROUPS: usize = 1 << 17;

/// Largest number of checkpoints of a chunk. JVMs write some thousands.
const MAX_CHECKPOINTS: usize = 1 << 20;

/// What was read of a chunk.
#[derive(Debug, Default)]
pub(super) struct ChunkSummary {
    /// Number of events, or `None` if the chunk has no description of its types.
    pub(super) events: Option<u64>,
    /// What could not be read, as ends of sentences about the chunk.
    pub(super) problems: Vec<String>,
}

/// Reads chunks into a recording. The types and the memory for constants and groups are kept from one chunk to the next.
#[derive(Debug, Default)]
pub(super) struct ChunkDecoder {
    types: Option<ChunkTypes>,
    constants: ConstantMaps,
    groups: IndexedMap<ChunkGroupKey, GroupValues>,
    /// Whether a problem says that not all could be kept.
    is_limit_stated: bool,
    /// Where the contents of checkpoints begin and end.
    checkpoints: Vec<(u32, u32)>,
}

impl ChunkDecoder {
    /// Reads a chunk for each of the windows.
    pub(super) fn read(&mut self, chunk: &Chunk, builders: &mut [RecordingBuilder]) -> ChunkSummary {
        let mut summary = ChunkSummary::default();
        let (metadata, events) = self.scan(chunk, &mut summary.problems);
        let previous = self.types.take();
        let description = metadata.and_then(|each| chunk.bytes.get(each.start..each.end));
        let Some(mut types) = description.and_then(|event| ChunkTypes::read(event, previous)) else {
            summary.problems.push(format!(
                "has no valid description of its types, which the JVM writes last: none of its {events} events was read"
            ));
            return summary;
        };
        summary.events = Some(events);
        self.find_constants(chunk, &mut types, &mut summary.problems);
        summary.problems.extend_from_slice(&types.problems);
        let Some((first, others)) = builders.split_first_mut() else { return summary };
        let read = self.read_events(chunk, &types, first);
        for other in others {
            if read.begin_ns.is_some_and(|(from, to)| other.overlaps(from, to)) {
                self.read_events(chunk, &types, other);
            } else {
                other.copy_facts(first);
            }
        }
        if builders.iter().any(RecordingBuilder::is_limited) && !self.is_limit_stated {
            self.is_limit_stated = true;
            summary.problems.push(
                "and those after it have more names, stacks and groups than are kept in memory: further ones are \
                 missing, and their events counted together; read a shorter recording"
                    .to_owned(),
            );
        }
        if read.invalid > 0 {
            summary.problems.push(format!("has {} events that cannot be decoded", read.invalid));
        }
        self.types = Some(types);
        summary
    }

    /// Reads the events of a chunk for one window.
    fn read_events(
        &mut self,
        chunk: &Chunk,
        types: &ChunkTypes,
        builder: &mut RecordingBuilder,
    ) -> ReadEvents {
        for handler in types.handlers() {
            builder.types[handler.event].supported = true;
        }
        self.constants.forget_indexes();
        let constants = Constants::new(&chunk.bytes, types, &mut self.constants);
        let mut reader =
            EventReader { chunk, types, constants, groups: &mut self.groups, builder, begin: None };
        let invalid = reader.read_events();
        let time_ns = |ticks| chunk.clock.time_after_start_ns(ticks);
        let begin_ns = reader.begin.map(|(first, last)| (time_ns(first), time_ns(last)));
        let end_ns = chunk.clock.start_ns.saturating_add(chunk.clock.duration_ns);
        builder.cover(chunk.clock.start_ns, begin_ns.map_or(end_ns, |(_, last)| last.max(end_ns)));
        ReadEvents { invalid, begin_ns }
    }

    /// Finds the checkpoints, and returns the last metadata event and the number of other events.
    fn scan(&mut self, chunk: &Chunk, problems: &mut Vec<String>) -> (Option<EventPosition>, u64) {
        self.checkpoints.clear();
        let mut positions = EventPositions::of(chunk);
        let (mut metadata, mut events, mut left_out) = (None, 0, 0_u64);
        for each in positions.by_ref() {
            match each.type_id {
                METADATA => metadata = Some(each),
                CHECKPOINT => match (u32::try_from(each.start), u32::try_from(each.end)) {
                    (Ok(start), Ok(end)) if self.checkpoints.len() < MAX_CHECKPOINTS => {
                        self.checkpoints.push((start, end));
                    }
                    _ => left_out += 1,
                },
                _ => events += 1,
            }
        }
        if positions.at < chunk.bytes.len() {
            let missing = chunk.bytes.len() - positions.at;
            problems
                .push(format!("is damaged or cut at byte {}: {missing} bytes were not read", positions.at));
        }
        if left_out > 0 {
            problems.push(format!(
                "has {left_out} checkpoints more than the {MAX_CHECKPOINTS} that are read: threads, classes or stacks \
                 may be missing"
            ));
        }
        (metadata, events)
    }

    /// Finds the constants in all checkpoints, up to the first one that is invalid.
    fn find_constants(&mut self, chunk: &Chunk, types: &mut ChunkTypes, problems: &mut Vec<String>) {
        self.constants.clear();
        for &(start, end) in &self.checkpoints {
            let content = (start as usize, end as usize);
            if self.constants.add(&chunk.bytes, types, content).is_none() {
                problems.push(format!(
                    "has constants at byte {start} that cannot be read: threads, classes or stacks may be missing"
                ));
                return;
            }
        }
    }
}

/// What was seen of the events of a chunk.
#[derive(Clone, Copy, Debug)]
struct ReadEvents {
    /// Number of events that are invalid.
    invalid: u64,
    /// When the first and the last one of them began, in ns since 1970; `None` if there are none.
    begin_ns: Option<(i64, i64)>,
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

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "called for every event, in two loops")]
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

/// What events of one group have in common within a chunk: ids of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ChunkGroupKey {
    handler: usize,
    /// Id of the class or operation, or index of the target.
    subject: u64,
    thread: u64,
    stack: u64,
}

impl Hash for ChunkGroupKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(two_words(self.stack, self.thread));
        state.write_u128(two_words(self.subject, self.handler as u64));
    }
}

/// The state of reading the events of a chunk.
struct EventReader<'a> {
    chunk: &'a Chunk,
    types: &'a ChunkTypes,
    constants: Constants<'a>,
    groups: &'a mut IndexedMap<ChunkGroupKey, GroupValues>,
    builder: &'a mut RecordingBuilder,
    /// When the first and the last event began, in ticks since the start of the chunk.
    begin: Option<(i64, i64)>,
}

impl EventReader<'_> {
    /// Reads all events and returns how many are invalid.
    fn read_events(&mut self) -> u64 {
        let mut invalid = 0;
        let types = self.types;
        let (mut slots, mut filled_by) = ([0; SLOTS], None);
        for each in EventPositions::of(self.chunk) {
            let Some((index, handler)) = types.handler_of(each.type_id) else { continue };
            // Every event of a type fills the same slots.
            if filled_by != Some(index) {
                (slots, filled_by) = ([0; SLOTS], Some(index));
            }
            let mut reader = ByteReader::new(&self.chunk.bytes[each.start..each.end]);
            if handler.layout.decode(&mut reader, &mut slots).is_some() {
                self.event(index, handler, (&slots, each.end));
            } else {
                invalid += 1;
            }
        }
        self.merge_groups();
        invalid
    }

    /// Adds an event, given its values and its end in the chunk.
    #[inline]
    fn event(&mut self, index: usize, handler: &Handler, (slots, end): (&Slots, usize)) {
        let began = self.chunk.clock.since_start(slots[START]);
        self.begin =
            Some(self.begin.map_or((began, began), |(first, last)| (first.min(began), last.max(began))));
        self.builder.types[handler.event].events += 1;
        if handler.kind.is_about_recording() {
            self.describe_recording(handler, slots, end);
            return;
        }
        if self.builder.window_ns.is_some() && !self.is_in_window(slots[START]) {
            return;
        }
        self.builder.types[handler.event].counted += 1;
        let key = ChunkGroupKey {
            handler: index,
            subject: slots[SUBJECT],
            thread: slots[THREAD],
            stack: slots[STACK],
        };
        match handler.kind {
            EventKind::InNewTlab | EventKind::OutsideTlab | EventKind::SampledAllocation => {
                self.add(key, size(slots[VALUE]), 0);
            }
            EventKind::Sample(_) => self.samples(key, slots),
            EventKind::Lock(_) => {
                self.add(key, self.chunk.clock.elapsed_ns(slots[START], slots[DURATION]), 0);
            }
            EventKind::Io(kind) => self.io((key, kind), handler, (slots, end)),
            EventKind::VmOperation => {
                let key = ChunkGroupKey { thread: 0, stack: slots[VALUE], ..key };
                self.add(key, self.chunk.clock.elapsed_ns(slots[START], slots[DURATION]), 0);
            }
            EventKind::Pause => self.pause(handler, slots, end),
            EventKind::Collection => self.collection(handler, slots, end),
            EventKind::CpuLoad => self.cpu_load(slots),
            EventKind::ThreadCpuLoad => self.thread_cpu_load(handler, slots),
            EventKind::HeapSummary => self.heap_summary(handler, slots, end),
            EventKind::ThreadAllocation => self.thread_allocation(handler, slots),
            EventKind::Setting | EventKind::Jvm => {}
        }
    }

    fn describe_recording(&mut self, handler: &Handler, slots: &Slots, end: usize) {
        if handler.kind == EventKind::Setting {
            self.setting(handler, slots, end);
        } else {
            let known = |slot: usize| Some(slots[slot]).filter(|&value| value != 0);
            let start_ms = known(VALUE).and_then(|value| i64::try_from(value).ok());
            self.builder.jvms.add(known(SECOND), start_ms.map(|value| value.saturating_mul(1_000_000)));
        }
    }

    fn is_in_window(&self, ticks: u64) -> bool {
        self.builder.is_in_window(self.chunk.clock.time_ns(ticks))
    }

    #[inline]
    fn add(&mut self, key: ChunkGroupKey, value: u64, bytes: u64) {
        self.add_values(key, GroupValues { values: RecordedValues::of(value), bytes });
    }

    #[inline]
    fn add_values(&mut self, key: ChunkGroupKey, added: GroupValues) {
        self.groups.update_or_add(key, added, GroupValues::add);
        if self.groups.len() >= MAX_CHUNK_GROUPS {
            self.merge_groups();
        }
    }

    /// Adds a sample, or several equal ones that the profiler has written as one event.
    fn samples(&mut self, key: ChunkGroupKey, slots: &Slots) {
        let count = size(slots[VALUE]).max(1);
        let values = RecordedValues { count, total: count, min: 1, max: 1 };
        self.add_values(key, GroupValues { values, bytes: 0 });
    }

    fn io(&mut self, (key, kind): (ChunkGroupKey, IoKind), handler: &Handler, (slots, end): (&Slots, usize)) {
        let mut text = |slot| {
            let text = self.text(handler, slots, (slot, end));
            text.filter(|_| !self.builder.tables.text(text).is_empty())
        };
        let mut target = text(SUBJECT).or_else(|| text(DETAIL));
        if target.is_some() && matches!(kind, IoKind::SocketRead | IoKind::SocketWrite) {
            let tables = &mut self.builder.tables;
            let peer = with_port(tables.text(target), slots[SECOND]);
            target = tables.texts.intern_text(&peer);
        }
        let key = ChunkGroupKey { subject: target.map_or(NO_TARGET, u64::from), ..key };
        let bytes = if kind == IoKind::FileForce { 0 } else { size(slots[VALUE]) };
        self.add(key, self.chunk.clock.elapsed_ns(slots[START], slots[DURATION]), bytes);
    }

    fn pause(&mut self, handler: &Handler, slots: &Slots, end: usize) {
        let pause = RecordedPause {
            gc_id: slots[VALUE],
            name: self.text(handler, slots, (SUBJECT, end)),
            start_ns: self.chunk.clock.time_ns(slots[START]),
            duration_ns: self.chunk.clock.elapsed_ns(slots[START], slots[DURATION]),
        };
        self.builder.add_pause(pause);
    }

    fn collection(&mut self, handler: &Handler, slots: &Slots, end: usize) {
        let clock = &self.chunk.clock;
        let collection = RecordedCollection {
            gc_id: slots[VALUE],
            name: self.text(handler, slots, (SUBJECT, end)),
            cause: self.text(handler, slots, (DETAIL, end)),
            start_ns: clock.time_ns(slots[START]),
            duration_ns: clock.elapsed_ns(slots[START], slots[DURATION]),
            pauses_ns: clock.duration_ns(slots[SECOND]),
            longest_pause_ns: clock.duration_ns(slots[THIRD]),
        };
        self.builder.add_collection(collection);
    }

    /// Notes whether a type is enabled, and how its events are sampled.
    fn setting(&mut self, handler: &Handler, slots: &Slots, end: usize) {
        let Some(event) = self.types.event_of(slots[VALUE]) else { return };
        let name = self.text(handler, slots, (SUBJECT, end));
        let is_enabled = self.builder.tables.text(name) == "enabled";
        let sampling = SamplingSettings::name(self.builder.tables.text(name));
        if !is_enabled && sampling.is_none() {
            return;
        }
        let value = self.text(handler, slots, (DETAIL, end));
        let RecordingBuilder { tables, types, sampling: settings, .. } = &mut *self.builder;
        if let Some(name) = sampling {
            settings.add(event, name, tables.text(value));
            return;
        }
        let enabled = tables.text(value) == "true";
        let known = &mut types[event].enabled;
        *known = Some(enabled || *known == Some(true));
    }

    /// Returns the index of the text in a slot of an event that ends at a position, or of that of the constant in it.
    fn text(&mut self, handler: &Handler, slots: &Slots, (slot, end): (usize, usize)) -> Option<u32> {
        let tables = &mut self.builder.tables;
        if let Some(pool) = handler.layout.pools[slot] {
            return self.constants.label(ConstantId::new(pool, slots[slot]), tables);
        }
        let remaining = usize::try_from(slots[slot]).ok().filter(|&remaining| remaining > 0)?;
        self.constants.text_at(end.checked_sub(remaining)?, tables)
    }

    /// Returns the index of the thread of an event.
    fn thread(&mut self, handler: &Handler, slots: &Slots) -> Option<u32> {
        let constant = ConstantId::new(handler.layout.pools[THREAD]?, slots[THREAD]);
        self.constants.thread(constant, &mut self.builder.tables)
    }

    fn cpu_load(&mut self, slots: &Slots) {
        let kinds = [GaugeKind::CpuJvmUser, GaugeKind::CpuJvmSystem, GaugeKind::CpuMachine];
        for (kind, slot) in kinds.into_iter().zip([VALUE, SECOND, THIRD]) {
            if let Some(load) = float(slots[slot]) {
                self.builder.add_gauge(kind, None, load);
            }
        }
    }

    fn thread_cpu_load(&mut self, handler: &Handler, slots: &Slots) {
        let thread = self.thread(handler, slots);
        if let (Some(user), Some(system)) = (float(slots[VALUE]), float(slots[SECOND])) {
            self.builder.add_gauge(GaugeKind::CpuThread, thread, user + system);
        }
    }

    fn heap_summary(&mut self, handler: &Handler, slots: &Slots, end: usize) {
        let when = self.text(handler, slots, (SUBJECT, end));
        let used = match self.builder.tables.text(when) {
            "Before GC" => GaugeKind::HeapUsedBefore,
            "After GC" => GaugeKind::HeapUsedAfter,
            _ => return,
        };
        self.builder.add_gauge(used, None, size(slots[VALUE]) as f64);
        if used == GaugeKind::HeapUsedAfter {
            self.builder.add_gauge(GaugeKind::HeapCommitted, None, size(slots[SECOND]) as f64);
        }
    }

    fn thread_allocation(&mut self, handler: &Handler, slots: &Slots) {
        let time_ns = self.chunk.clock.time_ns(slots[START]);
        if let Some(thread) = self.thread(handler, slots) {
            self.builder.add_thread_allocation(thread, size(slots[VALUE]), time_ns);
        }
    }

    /// Adds the groups to those of the recording.
    fn merge_groups(&mut self) {
        let Self { types, constants, groups, builder, .. } = self;
        for (key, values) in groups.drain() {
            let Some(handler) = types.handlers().get(key.handler) else { continue };
            let pools = handler.layout.pools;
            let tables = &mut builder.tables;
            let subject = match handler.kind {
                EventKind::Io(_) => u32::try_from(key.subject).ok(),
                EventKind::VmOperation => pools[SUBJECT]
                    .and_then(|pool| constants.label(ConstantId::new(pool, key.subject), tables)),
                EventKind::Sample(_) => pools[SUBJECT]
                    .and_then(|pool| constants.label(ConstantId::new(pool, key.subject), tables))
                    .filter(|&state| ThreadState::of(tables.text(Some(state))) == ThreadState::Waiting)
                    .map(|_| WAITING),
                _ => pools[SUBJECT]
                    .and_then(|pool| constants.class(ConstantId::new(pool, key.subject), tables)),
            };
            let is_operation = handler.kind == EventKind::VmOperation;
            let (thread_pool, stack_pool) =
                if is_operation { (None, None) } else { (pools[THREAD], pools[STACK]) };
            let thread =
                thread_pool.and_then(|pool| constants.thread(ConstantId::new(pool, key.thread), tables));
            let stack = stack_pool.and_then(|pool| constants.stack(ConstantId::new(pool, key.stack), tables));
            let safepoint = is_operation && key.stack != 0;
            let is_merged = builder.is_limited() && !is_operation && (thread.is_none() || stack.is_none());
            let key = GroupKey { event: handler.event, subject, thread, stack, safepoint };
            if builder.add_group(key, values) && is_merged {
                builder.count_merged(values.values.count);
            }
        }
    }
}

/// Subject of operations whose target is not kept.
const NO_TARGET: u64 = u64::MAX;

/// Returns a size, which is 0 if it is negative.
fn size(value: u64) -> u64 {
    if i64::try_from(value).is_ok() { value } else { 0 }
}

/// Returns a load from its bits, or `None` if it is negative or not a number.
fn float(bits: u64) -> Option<f64> {
    let value = f32::from_bits(u32::try_from(bits).ok()?);
    (value.is_finite() && value >= 0.0).then(|| f64::from(value))
}

fn with_port(host: &str, port: u64) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

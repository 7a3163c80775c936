//! Builds a [`Recording`] from the groups of chunks.

use std::hash::{Hash, Hasher};

use super::events::{EVENTS, EventKind};
use super::gauges::{Gauges, ThreadAllocations};
use super::hash::{IndexedMap, two_words};
use super::jvms::JvmTable;
use super::recording::{
    AllocationGroup, EventState, EventType, GaugeKind, IoGroup, IoKind, LockGroup, RecordedCollection,
    RecordedPause, RecordedStack, RecordedThread, RecordedValues, Recording, RecordingFile, SampleGroup,
    StackFrame, ThreadState, VmOperationGroup,
};
use super::settings::SamplingSettings;
use super::tables::{MemoryBudget, NameTable, RecordingTables, cost};

/// The subject of samples of threads that wait; those of running threads have none.
pub(super) const WAITING: u32 = 0;

/// What events of one group have in common: the position of their type in [`EVENTS`], and indexes in the tables. The
/// subject is a class, or the text of a file, a peer or an operation, or [`WAITING`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKey {
    pub(super) event: usize,
    pub(super) subject: Option<u32>,
    pub(super) thread: Option<u32>,
    pub(super) stack: Option<u32>,
    pub(super) safepoint: bool,
}

impl Hash for GroupKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let word = |index: Option<u32>| index.map_or(0, |index| u64::from(index) + 1);
        let kind = (self.event as u64) << 40 | u64::from(self.safepoint) << 63;
        let parties = word(self.subject) ^ word(self.thread) << 32;
        state.write_u128(two_words(parties, word(self.stack) ^ kind));
    }
}

/// The sum of the events of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupValues {
    pub(super) values: RecordedValues,
    pub(super) bytes: u64,
}

impl GroupValues {
    pub(super) fn add(&mut self, other: Self) {
        self.values.add(other.values);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// What is known about a type of events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TypeFacts {
    /// Whether any chunk describes the type.
    pub(super) supported: bool,
    /// Whether the type was ever enabled, if any setting says so.
    pub(super) enabled: Option<bool>,
    /// Number of events, within the window or not.
    pub(super) events: u64,
    /// Number of events within the window.
    pub(super) counted: u64,
}

/// A recording that is being read.
#[derive(Debug)]
pub(super) struct RecordingBuilder {
    pub(super) window_ns: Option<(i64, i64)>,
    pub(super) tables: RecordingTables,
    /// Facts about each of [`EVENTS`].
    pub(super) types: Vec<TypeFacts>,
    /// How often the events of the types are taken.
    pub(super) sampling: SamplingSettings,
    /// The JVMs that wrote the chunks.
    pub(super) jvms: JvmTable,
    gauges: Gauges,
    budget: MemoryBudget,
    thread_allocations: ThreadAllocations,
    groups: IndexedMap<GroupKey, GroupValues>,
    pauses: Vec<RecordedPause>,
    collections: Vec<RecordedCollection>,
    files: Vec<RecordingFile>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    merged_events: u64,
}

impl RecordingBuilder {
    pub(super) fn new(window_ns: Option<(i64, i64)>, budget: &MemoryBudget) -> Self {
        Self {
            window_ns,
            tables: RecordingTables::new(budget),
            budget: budget.clone(),
            types: vec![TypeFacts::default(); EVENTS.len()],
            sampling: SamplingSettings::default(),
            jvms: JvmTable::default(),
            gauges: Gauges::default(),
            thread_allocations: ThreadAllocations::default(),
            groups: IndexedMap::default(),
            pauses: Vec::new(),
            collections: Vec::new(),
            files: Vec::new(),
            start_ns: None,
            end_ns: None,
            merged_events: 0,
        }
    }

    /// Returns whether events that begin at this time are counted.
    pub(super) fn is_in_window(&self, time_ns: i64) -> bool {
        self.window_ns.is_none_or(|(start, end)| (start..end).contains(&time_ns))
    }

    /// Returns whether events may be counted of which the first and the last one begin at these times.
    pub(super) fn overlaps(&self, first_ns: i64, last_ns: i64) -> bool {
        self.window_ns.is_none_or(|(start, end)| first_ns < end && last_ns >= start)
    }

    /// Takes over what does not depend on the window from a recording of the same chunks.
    pub(super) fn copy_facts(&mut self, other: &Self) {
        for (own, others) in self.types.iter_mut().zip(&other.types) {
            *own = TypeFacts { counted: own.counted, ..*others };
        }
        self.sampling.clone_from(&other.sampling);
        self.jvms.clone_from(&other.jvms);
        (self.start_ns, self.end_ns) = (other.start_ns, other.end_ns);
    }

    /// Extends the time that the recording covers.
    pub(super) fn cover(&mut self, start_ns: i64, end_ns: i64) {
        self.start_ns = Some(self.start_ns.map_or(start_ns, |known| known.min(start_ns)));
        self.end_ns = Some(self.end_ns.map_or(end_ns, |known| known.max(end_ns)));
    }

    /// Adds events to their group. If there is no memory left for a new one, they are added to those of their type of
    /// which nothing else is known, and counted as merged; returns whether they are not.
    pub(super) fn add_group(&mut self, key: GroupKey, values: GroupValues) -> bool {
        let is_known = self.groups.index_of(&key, |known| *known == key).is_some();
        let is_kept = is_known || self.budget.take(cost::GROUP);
        let key = if is_kept {
            key
        } else {
            self.count_merged(values.values.count);
            GroupKey { subject: None, thread: None, stack: None, ..key }
        };
        self.groups.update_or_add(key, values, GroupValues::add);
        is_kept
    }

    /// Returns whether something was left out because of the memory that it needs.
    pub(super) fn is_limited(&self) -> bool {
        self.budget.is_exceeded()
    }

    /// Adds a reading of a gauge.
    pub(super) fn add_gauge(&mut self, kind: GaugeKind, thread: Option<u32>, value: f64) {
        self.gauges.add(kind, thread, (value, &self.budget));
    }

    /// Adds what a thread has allocated since it began, read at a time.
    pub(super) fn add_thread_allocation(&mut self, thread: u32, bytes: u64, time_ns: i64) {
        let Self { thread_allocations, tables, budget, .. } = self;
        if !thread_allocations.add(thread, &tables.threads, (bytes, time_ns), budget) {
            self.count_merged(1);
        }
    }

    /// Counts events whose thread and stack are not kept.
    pub(super) fn count_merged(&mut self, events: u64) {
        self.merged_events += events;
    }

    /// Adds a pause, unless there is no memory left for it; it is still counted.
    pub(super) fn add_pause(&mut self, pause: RecordedPause) {
        if self.budget.take(cost::PAUSE) {
            self.pauses.push(pause);
        }
    }

    /// Adds a collection, unless there is no memory left for it; it is still counted.
    pub(super) fn add_collection(&mut self, collection: RecordedCollection) {
        if self.budget.take(cost::COLLECTION) {
            self.collections.push(collection);
        }
    }

    /// Adds a file that has been read.
    pub(super) fn add_file(&mut self, file: RecordingFile) {
        let jvms = self.jvms.take_file();
        self.files.push(RecordingFile { jvms, ..file });
    }

    /// Returns the recording.
    pub(super) fn build(mut self) -> Recording {
        self.pauses.sort_by_key(|each| (each.start_ns, each.gc_id));
        self.collections.sort_by_key(|each| (each.start_ns, each.gc_id));
        let event_types = self.event_types();
        let mut names = NameTable::new(self.tables.texts.into_values());
        for pause in &mut self.pauses {
            pause.name = names.name(pause.name);
        }
        for collection in &mut self.collections {
            (collection.name, collection.cause) = (names.name(collection.name), names.name(collection.cause));
        }
        let classes = self.tables.classes.into_values();
        let mut recording = Recording {
            files: self.files,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            window_ns: self.window_ns,
            jvms: self.jvms.into_jvms(),
            event_types,
            names: Vec::new(),
            classes: classes.into_iter().map(|class| names.name(Some(class.0))).collect(),
            threads: Vec::new(),
            frames: Vec::new(),
            stacks: Vec::new(),
            in_new_tlab: Vec::new(),
            outside_tlab: Vec::new(),
            sampled: Vec::new(),
            samples: Vec::new(),
            locks: Vec::new(),
            io: Vec::new(),
            pauses: self.pauses,
            collections: self.collections,
            vm_operations: Vec::new(),
            gauges: self.gauges.into_recorded(),
            thread_allocations: self.thread_allocations.into_recorded(),
            merged_events: self.merged_events,
        };
        for each in self.tables.threads.into_values() {
            recording.threads.push(RecordedThread {
                name: names.name(each.name),
                java_id: each.java_id,
                os_id: each.os_id,
            });
        }
        for each in self.tables.frames.into_values() {
            let (method, kind) = (names.name(Some(each.method)), names.name(each.kind));
            recording.frames.push(StackFrame { method, line: each.line, r#type: kind });
        }
        for each in self.tables.stacks.into_values() {
            recording.stacks.push(RecordedStack { frames: each.frames, truncated: each.truncated });
        }
        for (key, values) in sorted(self.groups) {
            add_to(&mut recording, key, values, &mut names);
        }
        recording.names = names.into_names();
        recording
    }

    fn event_types(&self) -> Vec<EventType> {
        let read_any = self.start_ns.is_some();
        let state = |facts: &TypeFacts| match facts {
            TypeFacts { events: 1.., .. } => EventState::Recorded,
            TypeFacts { supported: false, .. } if read_any => EventState::Unsupported,
            TypeFacts { enabled: Some(true), .. } => EventState::NoneOccurred,
            TypeFacts { enabled: Some(false), .. } => EventState::Disabled,
            _ => EventState::Unknown,
        };
        EVENTS
            .iter()
            .zip(&self.types)
            .enumerate()
            .filter(|(_, (spec, _))| !spec.kind.is_about_recording())
            .map(|(event, (spec, facts))| EventType {
                name: spec.name.to_owned(),
                state: state(facts),
                count: facts.counted,
                settings: self.sampling.of(event),
            })
            .collect()
    }
}

/// Returns the groups in descending order of their totals.
fn sorted(groups: IndexedMap<GroupKey, GroupValues>) -> Vec<(GroupKey, GroupValues)> {
    let mut groups = groups.into_entries();
    groups.sort_unstable_by(|(left_key, left), (right_key, right)| {
        right.values.total.cmp(&left.values.total).then_with(|| left_key.cmp(right_key))
    });
    groups
}

/// Adds a group to its list.
fn add_to(
    recording: &mut Recording,
    key: GroupKey,
    GroupValues { values, bytes }: GroupValues,
    names: &mut NameTable,
) {
    let GroupKey { subject, thread, stack, .. } = key;
    let allocation = AllocationGroup { object_class: subject, thread, stack, values };
    match EVENTS[key.event].kind {
        EventKind::InNewTlab => recording.in_new_tlab.push(allocation),
        EventKind::OutsideTlab => recording.outside_tlab.push(allocation),
        EventKind::SampledAllocation => recording.sampled.push(allocation),
        EventKind::Sample(kind) => {
            let state = if subject == Some(WAITING) { ThreadState::Waiting } else { ThreadState::Running };
            recording.samples.push(SampleGroup { kind, state, thread, stack, count: values.count });
        }
        EventKind::Lock(kind) => {
            recording.locks.push(LockGroup { kind, lock_class: subject, thread, stack, values });
        }
        EventKind::Io(kind) => {
            let bytes = (kind != IoKind::FileForce).then_some(bytes);
            let target = names.name(subject);
            recording.io.push(IoGroup { kind, target, thread, stack, values, bytes });
        }
        EventKind::VmOperation => {
            let name = names.name(subject);
            recording.vm_operations.push(VmOperationGroup { name, safepoint: key.safepoint, values });
        }
        EventKind::Pause
        | EventKind::Collection
        | EventKind::CpuLoad
        | EventKind::ThreadCpuLoad
        | EventKind::HeapSummary
        | EventKind::ThreadAllocation
        | EventKind::Setting
        | EventKind::Jvm => {}
    }
}

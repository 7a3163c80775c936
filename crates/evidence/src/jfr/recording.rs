//! What recordings say. `python/pacenote/model/recording.py` has the same types, with names instead of their indexes:
//! a name that occurs a million times is in memory once.

use serde::Serialize;

/// Whether a recording can have events of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventState {
    /// The recording has events of the type.
    Recorded,
    /// The type was enabled, but no event occurred.
    NoneOccurred,
    /// The type was disabled.
    Disabled,
    /// The JVM does not have the type.
    Unsupported,
    /// The recording has no such event, and does not say whether the type was enabled.
    Unknown,
}

/// What a sample of a running method is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleKind {
    /// A thread that runs Java code.
    Java,
    /// A thread in native code.
    Native,
    /// A thread that has used a certain CPU time.
    CpuTime,
    /// Any thread, running or waiting, at intervals of wall-clock time, as async-profiler writes it.
    Wall,
}

/// Whether a sampled thread was running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    /// The thread was running, or the recording does not say that it was not.
    Running,
    /// The thread slept, was parked, waited for a monitor or a notification, or was in a system call that waits.
    Waiting,
}

impl ThreadState {
    /// Returns the state that a constant of `jdk.types.ThreadState` names.
    pub(super) fn of(name: &str) -> Self {
        const WAITING: [&str; 6] = ["SLEEPING", "IN_OBJECT_WAIT", "PARKED", "BLOCKED", "NEW", "TERMINATED"];
        let state = name.strip_prefix("STATE_").unwrap_or(name);
        if WAITING.iter().any(|waiting| state.starts_with(waiting)) { Self::Waiting } else { Self::Running }
    }
}

/// How a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// To enter a `synchronized` block.
    MonitorEnter,
    /// In `Object.wait`.
    MonitorWait,
    /// In `LockSupport.park`.
    Park,
}

/// An operation on a file or socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoKind {
    /// A read from a file.
    FileRead,
    /// A write to a file.
    FileWrite,
    /// A flush of a file to disk.
    FileForce,
    /// A read from a socket.
    SocketRead,
    /// A write to a socket.
    SocketWrite,
}

/// Count, sum and extremes of sizes or durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedValues {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub total: u64,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
}

impl RecordedValues {
    pub(super) fn of(value: u64) -> Self {
        Self { count: 1, total: value, min: value, max: value }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.total = self.total.saturating_add(other.total);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// A type of event that is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventType {
    /// Its name in current JVMs.
    pub name: String,
    /// Whether the recording has such events, and if not, why.
    pub state: EventState,
    /// Number of events within the window.
    pub count: u64,
    /// How often its events are taken, as far as the recording states it.
    pub settings: Vec<EventSetting>,
}

/// A setting of a type of events that decides which of them are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventSetting {
    /// Its name: `period`, `threshold`, `throttle`, or that of a profiler.
    pub name: String,
    /// Its values, in the order of their texts; more than one if it was changed.
    pub values: Vec<String>,
}

/// A thread of the recorded JVM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedThread {
    /// Index of its Java name, or of that of the operating system; `None` if it has none.
    pub name: Option<u32>,
    /// Its id in Java, unless it is a virtual thread or not a Java thread.
    pub java_id: Option<u64>,
    /// Its id in the operating system, unless it is a virtual thread.
    pub os_id: Option<u64>,
}

/// A method in a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackFrame {
    /// Index of the name of its class and method.
    pub method: Option<u32>,
    /// Line in the source file, if it is known.
    pub line: Option<i32>,
    /// Index of the text that says how the method ran, such as `JIT compiled`; `None` if it is not known.
    pub r#type: Option<u32>,
}

/// A stack of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedStack {
    /// Indexes of its frames; the first one is the method that was running.
    pub frames: Box<[u32]>,
    /// Whether the stack was deeper than the JVM records.
    pub truncated: bool,
}

/// Allocations of one class by one thread with one stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllocationGroup {
    /// Index of the class.
    pub object_class: Option<u32>,
    /// Index of the thread.
    pub thread: Option<u32>,
    /// Index of the stack.
    pub stack: Option<u32>,
    /// Sizes in bytes.
    pub values: RecordedValues,
}

/// Samples of one thread with one stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SampleGroup {
    /// What the samples are based on.
    pub kind: SampleKind,
    /// Whether the thread was running.
    pub state: ThreadState,
    /// Index of the thread.
    pub thread: Option<u32>,
    /// Index of the stack.
    pub stack: Option<u32>,
    /// Number of samples.
    pub count: u64,
}

/// Waits of one thread for objects of one class with one stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LockGroup {
    /// How the thread waited.
    pub kind: LockKind,
    /// Index of the class of the object that it waited for.
    pub lock_class: Option<u32>,
    /// Index of the thread.
    pub thread: Option<u32>,
    /// Index of the stack.
    pub stack: Option<u32>,
    /// Durations in ns.
    pub values: RecordedValues,
}

/// Operations of one thread on one file or peer with one stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoGroup {
    /// The operation.
    pub kind: IoKind,
    /// Index of the path of the file, or of host and port of the peer; `None` if it is not known.
    pub target: Option<u32>,
    /// Index of the thread.
    pub thread: Option<u32>,
    /// Index of the stack.
    pub stack: Option<u32>,
    /// Durations in ns.
    pub values: RecordedValues,
    /// Bytes read or written, or `None` for flushes.
    pub bytes: Option<u64>,
}

/// A pause of the garbage collector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedPause {
    /// Id of the collection.
    pub gc_id: u64,
    /// Index of the name of the phase of the collection.
    pub name: Option<u32>,
    /// When it began, in ns since 1970.
    pub start_ns: i64,
    /// How long it took, in ns.
    pub duration_ns: u64,
}

/// A garbage collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedCollection {
    /// Its id.
    pub gc_id: u64,
    /// Index of the name of the collector.
    pub name: Option<u32>,
    /// Index of the cause.
    pub cause: Option<u32>,
    /// When it began, in ns since 1970.
    pub start_ns: i64,
    /// How long it took including concurrent phases, in ns.
    pub duration_ns: u64,
    /// Sum of its pauses, in ns.
    pub pauses_ns: u64,
    /// Its longest pause, in ns.
    pub longest_pause_ns: u64,
}

/// Executions of one operation of the JVM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VmOperationGroup {
    /// Index of the name of the operation.
    pub name: Option<u32>,
    /// Whether it stops all threads.
    pub safepoint: bool,
    /// Durations in ns.
    pub values: RecordedValues,
}

/// What a gauge measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GaugeKind {
    /// CPU time of the JVM in its own code, as a fraction of all processors.
    CpuJvmUser,
    /// CPU time of the JVM in the kernel, as a fraction of all processors.
    CpuJvmSystem,
    /// CPU time of all processes of the machine, as a fraction of all processors.
    CpuMachine,
    /// CPU time of a thread, as a fraction of all processors.
    CpuThread,
    /// Used part of the heap before a collection, in bytes.
    HeapUsedBefore,
    /// Used part of the heap after a collection, in bytes.
    HeapUsedAfter,
    /// Committed size of the heap after a collection, in bytes.
    HeapCommitted,
}

/// Count, sum and extremes of the readings of a gauge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GaugeValues {
    /// Number of readings.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The smallest reading.
    pub min: f64,
    /// The largest reading.
    pub max: f64,
}

impl GaugeValues {
    pub(super) fn of(value: f64) -> Self {
        Self { count: 1, sum: value, min: value, max: value }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

/// The readings of a gauge.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedGauge {
    /// What it measures.
    pub kind: GaugeKind,
    /// Index of the thread, for the load of a thread.
    pub thread: Option<u32>,
    /// Fractions or bytes.
    pub values: GaugeValues,
}

/// What a thread allocated, as the JVM counts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadAllocation {
    /// Index of the thread.
    pub thread: u32,
    /// Number of readings.
    pub readings: u64,
    /// Bytes between the first and the last reading, or since the thread began after another reading; `None` if
    /// neither is known.
    pub bytes: Option<u64>,
}

/// A JVM that wrote chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedJvm {
    /// Its process id, if the recording states it.
    pub pid: Option<u64>,
    /// When it started in ns since 1970, if the recording states it.
    pub start_ns: Option<i64>,
}

/// Chunks of a file that were not read, because other chunks that were read are the same part of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RepeatedChunks {
    /// Number of the first one in its file, from 1.
    pub first: u64,
    /// How many consecutive ones there are.
    pub count: u64,
    /// Index of the file with the chunks that were read.
    pub file: u32,
    /// Number of the first of these in their file, from 1.
    pub original: u64,
}

/// A recording file, and what of it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordingFile {
    /// The file.
    pub path: String,
    /// Number of chunks that were read.
    pub chunks: u64,
    /// Chunks that were left out.
    pub repeated: Vec<RepeatedChunks>,
    /// Indexes of the JVMs that wrote the chunks that were read.
    pub jvms: Vec<u32>,
    /// Number of events in these chunks.
    pub events: u64,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

/// The events of one or several recordings within a window of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recording {
    /// The files that were read.
    pub files: Vec<RecordingFile>,
    /// Start of the first chunk in ns since 1970.
    pub start_ns: Option<i64>,
    /// End of the last chunk or event in ns since 1970.
    pub end_ns: Option<i64>,
    /// Start and end of the window in ns since 1970.
    pub window_ns: Option<(i64, i64)>,
    /// The JVMs that wrote the chunks, as far as they say so.
    pub jvms: Vec<RecordedJvm>,
    /// All types of events that are read.
    pub event_types: Vec<EventType>,
    /// The names to which all others refer, each once.
    pub names: Vec<Box<str>>,
    /// Indexes of the names of the classes that groups refer to.
    pub classes: Vec<Option<u32>>,
    /// The threads that groups refer to.
    pub threads: Vec<RecordedThread>,
    /// The frames that stacks refer to.
    pub frames: Vec<StackFrame>,
    /// The stacks that groups refer to.
    pub stacks: Vec<RecordedStack>,
    /// Allocations that needed a new TLAB, with the sizes of the TLABs.
    pub in_new_tlab: Vec<AllocationGroup>,
    /// Allocations outside TLABs, with the sizes of the objects.
    pub outside_tlab: Vec<AllocationGroup>,
    /// Samples of allocations, with their weights.
    pub sampled: Vec<AllocationGroup>,
    /// Samples of running methods.
    pub samples: Vec<SampleGroup>,
    /// Waits for monitors and locks.
    pub locks: Vec<LockGroup>,
    /// Operations on files and sockets.
    pub io: Vec<IoGroup>,
    /// All pauses of the garbage collector, by start.
    pub pauses: Vec<RecordedPause>,
    /// All garbage collections, by start.
    pub collections: Vec<RecordedCollection>,
    /// Operations of the JVM.
    pub vm_operations: Vec<VmOperationGroup>,
    /// What the JVM read at intervals, by kind.
    pub gauges: Vec<RecordedGauge>,
    /// What threads allocated, as the JVM counts it.
    pub thread_allocations: Vec<ThreadAllocation>,
    /// Number of events without thread and stack, because more groups occurred than are kept apart.
    pub merged_events: u64,
}

impl Recording {
    /// Returns a name by its index, or an empty text.
    #[must_use]
    pub fn name(&self, index: Option<u32>) -> &str {
        index.and_then(|index| self.names.get(index as usize)).map_or("", |name| name)
    }
}

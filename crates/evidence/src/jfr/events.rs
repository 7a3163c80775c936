//! The events that are read, and which of their fields.

use super::layout::NeededField;
use super::recording::{IoKind, LockKind, SampleKind};

/// Slot of when an event began, in ticks.
pub(super) const START: usize = 0;
/// Slot of how long an event took, in ticks.
pub(super) const DURATION: usize = 1;
/// Slot of the thread.
pub(super) const THREAD: usize = 2;
/// Slot of the stack.
pub(super) const STACK: usize = 3;
/// Slot of the class, file, host, name or operation that the event is about.
pub(super) const SUBJECT: usize = 4;
/// Slot of the size, or of another number of the event.
pub(super) const VALUE: usize = 5;
/// Slot of an address, a cause or a setting.
pub(super) const DETAIL: usize = 6;
/// Slot of a second number.
pub(super) const SECOND: usize = 7;
/// Slot of a third number.
pub(super) const THIRD: usize = 8;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    InNewTlab,
    OutsideTlab,
    SampledAllocation,
    Sample(SampleKind),
    Lock(LockKind),
    Io(IoKind),
    Pause,
    Collection,
    VmOperation,
    CpuLoad,
    ThreadCpuLoad,
    HeapSummary,
    ThreadAllocation,
    Setting,
    Jvm,
}

impl EventKind {
    /// Returns whether events of the kind describe the recording, whatever its window is.
    pub(super) fn is_about_recording(self) -> bool {
        matches!(self, Self::Setting | Self::Jvm)
    }
}

/// A type of events that is read.
#[derive(Debug)]
pub(super) struct EventSpec {
    /// Its name in current JVMs and profilers.
    pub(super) name: &'static str,
    pub(super) kind: EventKind,
    /// Its fields, in addition to those of all events.
    fields: &'static [NeededField],
}

/// Fields that events of most types have.
const COMMON: [NeededField; 4] =
    [("startTime", START), ("duration", DURATION), ("eventThread", THREAD), ("stackTrace", STACK)];

/// All types of events that are read.
pub(super) const EVENTS: &[EventSpec] = &[
    EventSpec {
        name: "jdk.ObjectAllocationInNewTLAB",
        kind: EventKind::InNewTlab,
        fields: &[("objectClass", SUBJECT), ("tlabSize", VALUE)],
    },
    EventSpec {
        name: "jdk.ObjectAllocationOutsideTLAB",
        kind: EventKind::OutsideTlab,
        fields: &[("objectClass", SUBJECT), ("allocationSize", VALUE)],
    },
    EventSpec {
        name: "jdk.ObjectAllocationSample",
        kind: EventKind::SampledAllocation,
        fields: &[("objectClass", SUBJECT), ("weight", VALUE)],
    },
    EventSpec {
        name: "jdk.ExecutionSample",
        kind: EventKind::Sample(SampleKind::Java),
        fields: &[("sampledThread", THREAD), ("state", SUBJECT)],
    },
    EventSpec {
        name: "jdk.NativeMethodSample",
        kind: EventKind::Sample(SampleKind::Native),
        fields: &[("sampledThread", THREAD)],
    },
    EventSpec { name: "jdk.CPUTimeSample", kind: EventKind::Sample(SampleKind::CpuTime), fields: &[] },
    EventSpec {
        name: "profiler.WallClockSample",
        kind: EventKind::Sample(SampleKind::Wall),
        fields: &[("sampledThread", THREAD), ("state", SUBJECT), ("samples", VALUE)],
    },
    EventSpec {
        name: "jdk.JavaMonitorEnter",
        kind: EventKind::Lock(LockKind::MonitorEnter),
        fields: &[("monitorClass", SUBJECT)],
    },
    EventSpec {
        name: "jdk.JavaMonitorWait",
        kind: EventKind::Lock(LockKind::MonitorWait),
        fields: &[("monitorClass", SUBJECT)],
    },
    EventSpec {
        name: "jdk.ThreadPark",
        kind: EventKind::Lock(LockKind::Park),
        fields: &[("parkedClass", SUBJECT)],
    },
    EventSpec {
        name: "jdk.FileRead",
        kind: EventKind::Io(IoKind::FileRead),
        fields: &[("path", SUBJECT), ("bytesRead", VALUE)],
    },
    EventSpec {
        name: "jdk.FileWrite",
        kind: EventKind::Io(IoKind::FileWrite),
        fields: &[("path", SUBJECT), ("bytesWritten", VALUE)],
    },
    EventSpec { name: "jdk.FileForce", kind: EventKind::Io(IoKind::FileForce), fields: &[("path", SUBJECT)] },
    EventSpec {
        name: "jdk.SocketRead",
        kind: EventKind::Io(IoKind::SocketRead),
        fields: &[("host", SUBJECT), ("address", DETAIL), ("port", SECOND), ("bytesRead", VALUE)],
    },
    EventSpec {
        name: "jdk.SocketWrite",
        kind: EventKind::Io(IoKind::SocketWrite),
        fields: &[("host", SUBJECT), ("address", DETAIL), ("port", SECOND), ("bytesWritten", VALUE)],
    },
    EventSpec {
        name: "jdk.GCPhasePause",
        kind: EventKind::Pause,
        fields: &[("gcId", VALUE), ("name", SUBJECT)],
    },
    EventSpec {
        name: "jdk.GarbageCollection",
        kind: EventKind::Collection,
        fields: &[
            ("gcId", VALUE),
            ("name", SUBJECT),
            ("cause", DETAIL),
            ("sumOfPauses", SECOND),
            ("longestPause", THIRD),
        ],
    },
    EventSpec {
        name: "jdk.ExecuteVMOperation",
        kind: EventKind::VmOperation,
        fields: &[("operation", SUBJECT), ("safepoint", VALUE)],
    },
    EventSpec {
        name: "jdk.CPULoad",
        kind: EventKind::CpuLoad,
        fields: &[("jvmUser", VALUE), ("jvmSystem", SECOND), ("machineTotal", THIRD)],
    },
    EventSpec {
        name: "jdk.ThreadCPULoad",
        kind: EventKind::ThreadCpuLoad,
        fields: &[("user", VALUE), ("system", SECOND)],
    },
    EventSpec {
        name: "jdk.GCHeapSummary",
        kind: EventKind::HeapSummary,
        fields: &[("when", SUBJECT), ("heapUsed", VALUE), ("heapSpace.committedSize", SECOND)],
    },
    EventSpec {
        name: "jdk.ThreadAllocationStatistics",
        kind: EventKind::ThreadAllocation,
        fields: &[("thread", THREAD), ("allocated", VALUE)],
    },
    EventSpec {
        name: "jdk.ActiveSetting",
        kind: EventKind::Setting,
        fields: &[("id", VALUE), ("name", SUBJECT), ("value", DETAIL)],
    },
    EventSpec {
        name: "jdk.JVMInformation",
        kind: EventKind::Jvm,
        fields: &[("jvmStartTime", VALUE), ("pid", SECOND)],
    },
];

impl EventSpec {
    /// Returns the position in [`EVENTS`] of the events of a type, by its name in any version of the JVM.
    pub(super) fn find(type_name: &str) -> Option<usize> {
        let current = type_name.strip_prefix("com.oracle.").filter(|name| name.starts_with("jdk."));
        let name = current.unwrap_or(type_name);
        EVENTS.iter().position(|each| each.name == name)
    }

    /// Returns the fields that are read.
    pub(super) fn needed(&self) -> Vec<NeededField> {
        COMMON.iter().chain(self.fields).copied().collect()
    }

    /// Returns the first field without which an event says nothing and that a type does not have, given the slots
    /// that it fills.
    pub(super) fn missing(&self, filled: u32) -> Option<&'static str> {
        let takes_time = matches!(
            self.kind,
            EventKind::Lock(_)
                | EventKind::Io(_)
                | EventKind::Pause
                | EventKind::Collection
                | EventKind::VmOperation
        );
        let is_needed = |slot: usize| match slot {
            START => true,
            DURATION => takes_time,
            THREAD | STACK => false,
            _ => !matches!(self.kind, EventKind::Lock(_) | EventKind::Sample(_) | EventKind::Jvm),
        };
        self.needed()
            .into_iter()
            .find(|&(_, slot)| is_needed(slot) && filled & (1 << slot) == 0)
            .map(|(name, _)| name)
    }
}

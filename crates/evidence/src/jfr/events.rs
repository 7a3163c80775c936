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
}

/// A type of events that is read.
#[derive(Debug)]
pub(super) struct EventSpec {
    /// Its name without `jdk.`.
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
        name: "ObjectAllocationInNewTLAB",
        kind: EventKind::InNewTlab,
        fields: &[("objectClass", SUBJECT), ("tlabSize", VALUE)],
    },
    EventSpec {
        name: "ObjectAllocationOutsideTLAB",
        kind: EventKind::OutsideTlab,
        fields: &[("objectClass", SUBJECT), ("allocationSize", VALUE)],
    },
    EventSpec {
        name: "ObjectAllocationSample",
        kind: EventKind::SampledAllocation,
        fields: &[("objectClass", SUBJECT), ("weight", VALUE)],
    },
    EventSpec {
        name: "ExecutionSample",
        kind: EventKind::Sample(SampleKind::Java),
        fields: &[("sampledThread", THREAD)],
    },
    EventSpec {
        name: "NativeMethodSample",
        kind: EventKind::Sample(SampleKind::Native),
        fields: &[("sampledThread", THREAD)],
    },
    EventSpec { name: "CPUTimeSample", kind: EventKind::Sample(SampleKind::CpuTime), fields: &[] },
    EventSpec {
        name: "JavaMonitorEnter",
        kind: EventKind::Lock(LockKind::MonitorEnter),
        fields: &[("monitorClass", SUBJECT)],
    },
    EventSpec {
        name: "JavaMonitorWait",
        kind: EventKind::Lock(LockKind::MonitorWait),
        fields: &[("monitorClass", SUBJECT)],
    },
    EventSpec {
        name: "ThreadPark",
        kind: EventKind::Lock(LockKind::Park),
        fields: &[("parkedClass", SUBJECT)],
    },
    EventSpec {
        name: "FileRead",
        kind: EventKind::Io(IoKind::FileRead),
        fields: &[("path", SUBJECT), ("bytesRead", VALUE)],
    },
    EventSpec {
        name: "FileWrite",
        kind: EventKind::Io(IoKind::FileWrite),
        fields: &[("path", SUBJECT), ("bytesWritten", VALUE)],
    },
    EventSpec { name: "FileForce", kind: EventKind::Io(IoKind::FileForce), fields: &[("path", SUBJECT)] },
    EventSpec {
        name: "SocketRead",
        kind: EventKind::Io(IoKind::SocketRead),
        fields: &[("host", SUBJECT), ("address", DETAIL), ("port", SECOND), ("bytesRead", VALUE)],
    },
    EventSpec {
        name: "SocketWrite",
        kind: EventKind::Io(IoKind::SocketWrite),
        fields: &[("host", SUBJECT), ("address", DETAIL), ("port", SECOND), ("bytesWritten", VALUE)],
    },
    EventSpec { name: "GCPhasePause", kind: EventKind::Pause, fields: &[("gcId", VALUE), ("name", SUBJECT)] },
    EventSpec {
        name: "GarbageCollection",
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
        name: "ExecuteVMOperation",
        kind: EventKind::VmOperation,
        fields: &[("operation", SUBJECT), ("safepoint", VALUE)],
    },
    EventSpec {
        name: "CPULoad",
        kind: EventKind::CpuLoad,
        fields: &[("jvmUser", VALUE), ("jvmSystem", SECOND), ("machineTotal", THIRD)],
    },
    EventSpec {
        name: "ThreadCPULoad",
        kind: EventKind::ThreadCpuLoad,
        fields: &[("user", VALUE), ("system", SECOND)],
    },
    EventSpec {
        name: "GCHeapSummary",
        kind: EventKind::HeapSummary,
        fields: &[("when", SUBJECT), ("heapUsed", VALUE), ("heapSpace.committedSize", SECOND)],
    },
    EventSpec {
        name: "ThreadAllocationStatistics",
        kind: EventKind::ThreadAllocation,
        fields: &[("thread", THREAD), ("allocated", VALUE)],
    },
    EventSpec {
        name: "ActiveSetting",
        kind: EventKind::Setting,
        fields: &[("id", VALUE), ("name", SUBJECT), ("value", DETAIL)],
    },
];

impl EventSpec {
    /// Returns the position in [`EVENTS`] of the events of a type, by its name in any version of the JVM.
    pub(super) fn find(type_name: &str) -> Option<usize> {
        let name = type_name.strip_prefix("jdk.").or_else(|| type_name.strip_prefix("com.oracle.jdk."))?;
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
            _ => !matches!(self.kind, EventKind::Lock(_)),
        };
        self.needed()
            .into_iter()
            .find(|&(_, slot)| is_needed(slot) && filled & (1 << slot) == 0)
            .map(|(name, _)| name)
    }
}

//! Statistics of durations: pauses, safepoints, stalls and concurrent phases.

use std::collections::BTreeMap;

use pacenote_stats::rank;
use serde::Serialize;

use crate::gc::log::{GcLog, Incident, Pause, Scope, Span, StallKind};
use crate::gc::mmu;
use crate::gc::names::NameId;
use crate::gc::statistics::window::{Window, seconds};

/// Lengths of windows for the minimum mutator utilisation, in nanoseconds.
const WINDOWS_NS: [u64; 4] = [100_000_000, 1_000_000_000, 10_000_000_000, 60_000_000_000];

/// Causes with which a program or a tool requests a collection.
const FORCED: [&str; 6] = [
    "System.gc()",
    "Diagnostic Command",
    "Heap Dump Initiated GC",
    "Heap Inspection Initiated GC",
    "JvmtiEnv ForceGarbageCollection",
    "Archive Share Objects",
];

/// Statistics of durations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Durations {
    /// Number of events.
    pub count: u64,
    /// Sum in seconds.
    pub total_s: f64,
    /// Mean in milliseconds; `None` if events are missing, as the percentiles are.
    pub mean_ms: Option<f64>,
    /// Median in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile in milliseconds.
    pub p99_ms: Option<f64>,
    /// Longest in milliseconds.
    pub max_ms: f64,
    /// Mean time between the ends of consecutive events in seconds; `None` with fewer than two, without times, or if
    /// events are missing.
    pub interval_s: Option<f64>,
}

impl Durations {
    /// Leaves what remains true if events are missing: their number, their sum and the longest are at least these.
    pub(super) fn keep_least(&mut self) {
        (self.mean_ms, self.p50_ms, self.p99_ms, self.interval_s) = (None, None, None, None);
    }
}

/// Statistics of the durations of events with the same name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedDurations {
    /// The name.
    pub name: String,
    /// The statistics.
    pub durations: Durations,
}

/// Statistics of safepoints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SafepointTimes {
    /// From each request until the threads ran again.
    pub stops: Durations,
    /// Seconds until all threads stood still, sum.
    pub reaching_s: f64,
    /// Longest time until all threads stood still, in milliseconds.
    pub reaching_max_ms: f64,
    /// Seconds of safepoints for garbage collection; `None` if the log states neither their purpose nor pauses.
    pub gc_s: Option<f64>,
    /// Seconds of all other safepoints; `None` also if the log does not have them, as those of OpenJ9.
    pub other_s: Option<f64>,
}

/// The least share of any window of this length in which the application could run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Utilisation {
    /// Length of the window in seconds.
    pub window_s: f64,
    /// The share (0 to 1).
    pub minimum: f64,
}

/// Numbers of events that are signs of trouble; `None` if the collector has no such events, or does not log them.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// Collections of the whole heap in a pause.
    pub full_collections: Option<u64>,
    /// Collections that the program or a tool requested, such as with `System.gc()`.
    pub forced_collections: Option<u64>,
    /// Collections in which there was no room for the objects that survived: G1 and `OpenJ9`.
    pub evacuation_failures: Option<u64>,
    /// Concurrent collections that had to be finished in a pause: Shenandoah.
    pub degenerated_collections: Option<u64>,
    /// Concurrent collections that were given up: G1 and `OpenJ9`.
    pub concurrent_aborts: Option<u64>,
    /// Pauses because of objects that are larger than half a region: G1.
    pub humongous_pauses: Option<u64>,
}

/// An event with a duration.
#[derive(Debug, Clone, Copy)]
struct Timed {
    end_ns: u64,
    duration_ns: u64,
}

fn durations(events: &[Timed], has_times: bool) -> Option<Durations> {
    let mut lengths: Vec<u64> = events.iter().map(|event| event.duration_ns).collect();
    lengths.sort_unstable();
    let (count, longest) = (lengths.len() as u64, *lengths.last()?);
    let total: u64 = lengths.iter().fold(0, |sum, length| sum.saturating_add(*length));
    let ms = |ns: u64| ns as f64 / 1e6;
    let quantile = |q: f64| {
        let index = usize::try_from(rank(count, q) - 1).unwrap_or(0);
        ms(lengths.get(index).copied().unwrap_or(longest))
    };
    let ends = || events.iter().map(|event| event.end_ns);
    let interval_s = match (ends().min(), ends().max()) {
        (Some(first), Some(last)) if has_times && count > 1 => {
            Some(seconds(last - first) / (count - 1) as f64)
        }
        _ => None,
    };
    Some(Durations {
        count,
        total_s: seconds(total),
        mean_ms: Some(ms(total) / count as f64),
        p50_ms: Some(quantile(0.5)),
        p99_ms: Some(quantile(0.99)),
        max_ms: ms(longest),
        interval_s,
    })
}

/// Groups events by name, and returns the groups in the order of their total time.
fn by_name(log: &GcLog, events: impl Iterator<Item = (NameId, Timed)>) -> Vec<NamedDurations> {
    let mut groups: BTreeMap<NameId, Vec<Timed>> = BTreeMap::new();
    for (name, event) in events {
        groups.entry(name).or_default().push(event);
    }
    let mut named: Vec<NamedDurations> = groups
        .into_iter()
        .filter_map(|(name, events)| {
            let durations = durations(&events, log.span.is_some())?;
            Some(NamedDurations { name: log.names.text(name).to_owned(), durations })
        })
        .collect();
    named.sort_by(|a, b| b.durations.total_s.total_cmp(&a.durations.total_s));
    named
}

/// Statistics of pauses.
pub(super) struct PauseStatistics {
    pub(super) all: Option<Durations>,
    pub(super) kinds: Vec<NamedDurations>,
    pub(super) causes: Vec<NamedDurations>,
    pub(super) share: Option<f64>,
}

fn of_pause(pause: &Pause) -> Timed {
    Timed { end_ns: pause.end_ns, duration_ns: pause.duration_ns }
}

pub(super) fn pauses(log: &GcLog, window: Window) -> PauseStatistics {
    let inside = || log.pauses.iter().filter(|pause| window.contains(pause.end_ns));
    let events: Vec<Timed> = inside().map(of_pause).collect();
    let stopped = mmu::total_ns(&pause_spans(log, window));
    PauseStatistics {
        all: durations(&events, log.span.is_some()),
        kinds: by_name(log, inside().map(|pause| (pause.kind, of_pause(pause)))),
        causes: by_name(log, inside().filter_map(|pause| Some((pause.cause?, of_pause(pause))))),
        share: window.seconds().filter(|_| log.states_pauses()).map(|length| seconds(stopped) / length),
    }
}

fn pause_spans(log: &GcLog, window: Window) -> Vec<Span> {
    mmu::union(log.pauses.iter().filter_map(|pause| window.clip(pause.end_ns, pause.duration_ns)).collect())
}

/// Statistics of safepoints, or of pauses if the log has no safepoints.
pub(super) struct StopStatistics {
    pub(super) times: Option<SafepointTimes>,
    pub(super) operations: Vec<NamedDurations>,
    pub(super) share: Option<f64>,
    pub(super) utilisation: Vec<Utilisation>,
}

pub(super) fn stops(log: &GcLog, window: Window) -> StopStatistics {
    let inside: Vec<_> = log.safepoints.iter().filter(|each| window.contains(each.end_ns)).collect();
    let events: Vec<Timed> =
        inside.iter().map(|each| Timed { end_ns: each.end_ns, duration_ns: each.total_ns }).collect();
    let sum_s = |is_gc: bool| {
        let lengths = inside.iter().filter(|each| each.is_gc == is_gc).map(|each| each.total_ns);
        seconds(lengths.fold(0, u64::saturating_add))
    };
    // Safepoints without names are told apart by the pauses of the log.
    let is_told = log.states_pauses() || inside.iter().all(|each| each.is_named);
    let reaching = || inside.iter().map(|each| each.reaching_ns);
    let times = durations(&events, log.span.is_some()).map(|stops| SafepointTimes {
        stops,
        reaching_s: seconds(reaching().fold(0, u64::saturating_add)),
        reaching_max_ms: reaching().max().unwrap_or(0) as f64 / 1e6,
        gc_s: is_told.then(|| sum_s(true)),
        other_s: (is_told && log.openj9.is_none()).then(|| sum_s(false)),
    });
    let has_safepoints = !log.safepoints.is_empty();
    let spans = if has_safepoints {
        mmu::union(log.safepoints.iter().filter_map(|each| window.clip(each.end_ns, each.total_ns)).collect())
    } else {
        pause_spans(log, window)
    };
    let named =
        inside.iter().map(|each| (each.name, Timed { end_ns: each.end_ns, duration_ns: each.total_ns }));
    StopStatistics {
        times,
        operations: by_name(log, named),
        share: window
            .seconds()
            .filter(|_| has_safepoints)
            .map(|length| seconds(mmu::total_ns(&spans)) / length),
        utilisation: if has_safepoints || log.states_pauses() {
            utilisation(&spans, window)
        } else {
            Vec::new()
        },
    }
}

fn utilisation(stops: &[Span], window: Window) -> Vec<Utilisation> {
    let Some(span) = window.span else { return Vec::new() };
    let of = |length_ns: &u64| {
        let minimum = mmu::minimum_utilisation(stops, span, *length_ns)?;
        Some(Utilisation { window_s: seconds(*length_ns), minimum })
    };
    WINDOWS_NS.iter().filter_map(of).collect()
}

/// Returns the statistics of waits for memory, and of those for objects.
pub(super) fn stalls(log: &GcLog, window: Window) -> (Option<Durations>, Option<Durations>) {
    let of = |kind: StallKind| {
        let inside = log.stalls.iter().filter(|stall| stall.kind == kind && window.contains(stall.end_ns));
        let events: Vec<Timed> =
            inside.map(|stall| Timed { end_ns: stall.end_ns, duration_ns: stall.duration_ns }).collect();
        durations(&events, log.span.is_some())
    };
    (of(StallKind::Allocation), of(StallKind::Relocation))
}

pub(super) fn concurrent_phases(log: &GcLog, window: Window) -> Vec<NamedDurations> {
    let inside = log.concurrent.iter().filter(|phase| window.contains(phase.end_ns));
    by_name(
        log,
        inside.map(|phase| (phase.name, Timed { end_ns: phase.end_ns, duration_ns: phase.duration_ns })),
    )
}

pub(super) fn trouble(log: &GcLog, window: Window) -> Trouble {
    let count = |incident: Incident| {
        let inside = |at_ns: u64| window.contains(at_ns);
        log.incidents.iter().filter(|each| each.incident == incident && inside(each.at_ns)).count() as u64
    };
    let named =
        |id: Option<NameId>, test: &dyn Fn(&str) -> bool| id.is_some_and(|id| test(log.names.text(id)));
    let pauses = |test: &dyn Fn(&Pause) -> bool| {
        log.pauses.iter().filter(|pause| window.contains(pause.end_ns) && test(pause)).count() as u64
    };
    let forced = |is_young: bool| {
        let is_forced = |cause| named(cause, &|cause| FORCED.contains(&cause));
        let collections = log.collections.iter().filter(|each| window.contains(each.end_ns));
        let forced = collections.filter(|each| is_forced(each.cause));
        forced.filter(|each| (each.scope == Scope::Young) == is_young).count() as u64
    };
    let kinds = |name: &str| pauses(&|pause| named(Some(pause.kind), &|kind| kind.starts_with(name)));
    let full = if log.openj9.is_some() {
        log.collections
            .iter()
            .filter(|each| window.contains(each.end_ns) && each.scope == Scope::Full)
            .count() as u64
    } else {
        kinds("Full")
    };
    // A full collection may begin with a young one of the same cause.
    let forced = match forced(false) {
        0 => forced(true),
        forced => forced,
    };
    let collector = log.jvm.collector.as_deref();
    let (is_g1, is_openj9) = (collector == Some("G1"), log.openj9.is_some());
    let stated = |number: u64, is_logged: bool| (is_logged || number > 0).then_some(number);
    Trouble {
        full_collections: stated(full, log.states_collections()),
        forced_collections: stated(forced, log.states_collections()),
        evacuation_failures: stated(count(Incident::EvacuationFailure), is_g1 || is_openj9),
        degenerated_collections: stated(kinds("Degenerated"), collector == Some("Shenandoah")),
        concurrent_aborts: stated(count(Incident::ConcurrentAbort), is_g1 || is_openj9),
        humongous_pauses: stated(
            pauses(&|pause| named(pause.cause, &|cause| cause.contains("Humongous"))),
            is_g1,
        ),
    }
}

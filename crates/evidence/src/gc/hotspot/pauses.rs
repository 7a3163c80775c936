//! Pauses, concurrent phases and CPU times.

use crate::gc::hotspot::generations;
use crate::gc::hotspot::message::Message;
use crate::gc::hotspot::numbers::{Sizes, decimal, duration_ns, in_parentheses, leading_sizes};
use crate::gc::hotspot::run::Run;
use crate::gc::log::{
    Collection, ConcurrentPhase, CpuTime, HeapChange, Incident, IncidentEvent, Pause, Scope,
};
use crate::gc::names::NameId;

/// Kinds of young collections of G1.
const YOUNG_KINDS: [&[u8]; 5] = [b"Normal", b"Concurrent Start", b"Prepare Mixed", b"Mixed", b"Initial Mark"];
/// Qualifiers of phases that do not distinguish kinds of pauses.
const QUALIFIERS: [&[u8]; 3] = [b"unload classes", b"process weakrefs", b"update refs"];
/// Phases of G1 that contain all other concurrent phases.
const G1_CYCLES: [&[u8]; 3] = [b"Concurrent Cycle", b"Concurrent Mark Cycle", b"Concurrent Undo Cycle"];

/// The parts of `Pause Young (Mixed) (G1 Evacuation Pause) 158M->12M(256M) 6.824ms`.
#[derive(Debug, Default)]
struct Phase<'a> {
    /// `Young`, without `Pause` or `Concurrent`.
    name: &'a [u8],
    /// The first two parts in parentheses.
    groups: [Option<&'a [u8]>; 2],
    has_evacuation_failure: bool,
    sizes: Option<Sizes>,
    /// `None` if the phase has only begun.
    duration_ns: Option<u64>,
}

impl<'a> Phase<'a> {
    fn parse(text: &'a [u8]) -> Option<Self> {
        // Each part follows a space; the name ends where a part begins that is not a word.
        let mut at = text.len();
        let mut word = 0;
        while word < text.len() {
            if text[word] == b'(' || (text[word].is_ascii_digit() && word > 0) {
                at = word;
                break;
            }
            word = memchr::memchr(b' ', &text[word..]).map_or(text.len(), |space| word + space + 1);
        }
        let mut phase = Self { name: text[..at].trim_ascii_end(), ..Self::default() };
        let mut rest = &text[at..];
        while let (Some(group), after) = in_parentheses(rest) {
            if let Some(reason) = group.strip_prefix(b"Evacuation Failure") {
                // From JDK 22 on, regions with pinned objects stay where they are, too: `: Pinned`.
                phase.has_evacuation_failure =
                    reason.is_empty() || memchr::memmem::find(reason, b"Allocation").is_some();
            } else if phase.groups[0].is_none() {
                phase.groups[0] = Some(group);
            } else if phase.groups[1].is_none() {
                phase.groups[1] = Some(group);
            }
            rest = after.strip_prefix(b" ").unwrap_or(after);
        }
        if let Some((sizes, after)) = leading_sizes(rest) {
            phase.sizes = Some(sizes);
            rest = after.strip_prefix(b" ").unwrap_or(after);
        }
        if !rest.is_empty() {
            phase.duration_ns = Some(duration_ns(rest)?);
        }
        Some(phase)
    }

    /// Returns the kind of the pause, and its cause.
    fn kind_and_cause(&self, generation: u8) -> (Vec<u8>, Option<&'a [u8]>) {
        let mut kind = match generation {
            b'y' | b'Y' => b"Young ".to_vec(),
            b'O' => b"Old ".to_vec(),
            _ => Vec::new(),
        };
        kind.extend_from_slice(self.name);
        let [first, second] = self.groups;
        let qualifier = first.filter(|group| match self.name {
            b"Young" => YOUNG_KINDS.contains(group),
            b"Full" | b"Degenerated GC" | b"Mixed" | b"Initial Mark" => false,
            _ => !QUALIFIERS.contains(group),
        });
        if let Some(qualifier) = qualifier {
            kind.extend([b" (", qualifier, b")"].concat());
        }
        let cause = match self.name {
            b"Young" if qualifier.is_some() => second,
            b"Young" | b"Full" | b"Degenerated GC" => first,
            _ if self.is_old_g1() => first,
            _ => None,
        };
        (kind, cause)
    }

    /// Returns whether it is a young collection as G1 of JDK 9 and 10 writes it: `Mixed (G1 Evacuation Pause)`. The phase
    /// `Initial Mark` of CMS has no cause.
    fn is_old_g1(&self) -> bool {
        matches!(self.name, b"Mixed" | b"Initial Mark") && self.groups[0].is_some()
    }

    fn scope(&self) -> Option<Scope> {
        match (self.name, self.groups[0]) {
            (b"Mixed", Some(_)) | (b"Young", Some(b"Mixed")) => Some(Scope::Mixed),
            (b"Initial Mark", Some(_)) | (b"Young", _) => Some(Scope::Young),
            (b"Full", _) => Some(Scope::Full),
            (b"Degenerated GC", _) => Some(Scope::Old),
            _ => None,
        }
    }
}

/// Reads a message that begins with `Pause`; without a duration, the pause only begins.
pub(super) fn read_pause(run: &mut Run, message: Message<'_>) {
    let Some(phase) = Phase::parse(&message.text[b"Pause ".len()..]) else {
        run.log.losses.unread_pauses += 1;
        run.lose();
        return;
    };
    let Some(duration_ns) = phase.duration_ns else { return };
    match phase.name {
        b"Mark Start" => run.infer_collector("ZGC"),
        b"Init Mark" => run.infer_collector("Shenandoah"),
        b"Remark" | b"Cleanup" => run.infer_collector("G1"),
        _ => {}
    }
    let (kind, cause) = phase.kind_and_cause(message.generation);
    let kind = run.log.names.id(&kind);
    let cause = cause.map(|cause| run.log.names.id(cause));
    let end_ns = message.at_ns;
    run.log.push(|log| &mut log.pauses, Pause { end_ns, duration_ns, kind, cause });
    if phase.has_evacuation_failure {
        read_exhausted(run, message);
    }
    let Some(sizes) = phase.sizes else { return };
    let start_ns = end_ns.saturating_sub(duration_ns);
    match phase.scope() {
        Some(scope) => complete(run, message, &Completed { scope, cause, sizes, start_ns }),
        None => push_change(run, (start_ns, end_ns), sizes),
    }
}

/// A collection whose last line was read.
struct Completed {
    scope: Scope,
    cause: Option<NameId>,
    sizes: Sizes,
    start_ns: u64,
}

/// Adds the record of a collection in a pause.
fn complete(run: &mut Run, message: Message<'_>, completed: &Completed) {
    let Completed { scope, cause, sizes, start_ns } = *completed;
    if scope != Scope::Old {
        run.complete(message.id);
    }
    let pending = run.take_pending(message.id).unwrap_or_default();
    let moved = generations::moved(&pending, scope, run.log.jvm.region_bytes);
    let exact = generations::exact_sizes(&pending, sizes);
    let collection = Collection {
        end_ns: message.at_ns,
        scope,
        cause,
        before_bytes: Some(exact.before),
        after_bytes: Some(exact.after),
        capacity_bytes: sizes.capacity,
        promoted_bytes: moved.promoted,
        survived_bytes: moved.survived,
        young_bytes: moved.young,
        live_bytes: (scope == Scope::Full).then_some(exact.after),
        old_share: generations::old_share(&pending),
    };
    run.log.push(|log| &mut log.collections, collection);
    push_change(run, (start_ns, message.at_ns), exact);
}

fn push_change(run: &mut Run, (start_ns, end_ns): (u64, u64), sizes: Sizes) {
    let change = HeapChange {
        start_ns,
        end_ns,
        before_bytes: sizes.before,
        after_bytes: sizes.after,
        allocated_bytes: 0,
    };
    run.log.push(|log| &mut log.heap_changes, change);
}

/// Reads a message that begins with `Concurrent`; without a duration, the phase only begins.
pub(super) fn read_concurrent(run: &mut Run, message: Message<'_>) {
    if message.text.starts_with(b"Concurrent Mark Abort")
        || message.text.starts_with(b"Concurrent Cycle Abort")
    {
        push_incident(run, message, Incident::ConcurrentAbort);
        return;
    }
    let Some(phase) = Phase::parse(message.text) else { return };
    let Some(duration_ns) = phase.duration_ns else { return };
    if run.is_g1() && !G1_CYCLES.contains(&phase.name) {
        return;
    }
    let end_ns = message.at_ns;
    let name = run.log.names.id(phase.name);
    run.log.push(|log| &mut log.concurrent, ConcurrentPhase { end_ns, duration_ns, name });
    if let Some(sizes) = phase.sizes {
        push_change(run, (end_ns.saturating_sub(duration_ns), end_ns), sizes);
        let scope = if phase.groups.contains(&Some(b"Young")) { Scope::Young } else { Scope::Old };
        complete_cycle(run, message, scope, sizes);
    }
}

/// Adds the record of a cycle of Shenandoah, or updates it: a cycle cleans up once or twice.
fn complete_cycle(run: &mut Run, message: Message<'_>, scope: Scope, sizes: Sizes) {
    let trigger = run.trigger.take();
    let pending = run.pending(message.id);
    let (record, cause) = (pending.record, pending.cause.or(trigger));
    if let Some(collection) = record.and_then(|record| run.log.collections.get_mut(record)) {
        collection.end_ns = message.at_ns;
        collection.after_bytes = Some(sizes.after);
        collection.capacity_bytes = sizes.capacity;
        return;
    }
    let position = run.log.collections.len();
    run.pending(message.id).record = Some(position);
    let collection = Collection {
        end_ns: message.at_ns,
        scope,
        cause,
        before_bytes: Some(sizes.before),
        after_bytes: Some(sizes.after),
        capacity_bytes: sizes.capacity,
        promoted_bytes: None,
        survived_bytes: None,
        young_bytes: None,
        live_bytes: None,
        old_share: None,
    };
    run.log.push(|log| &mut log.collections, collection);
}

/// Reads why the next cycle of Shenandoah begins.
pub(super) fn read_trigger(run: &mut Run, text: &[u8]) {
    let text = text.strip_prefix(b"Trigger").unwrap_or_default();
    let reason =
        text.iter().position(|byte| *byte == b':').map_or(text, |at| text[at + 1..].trim_ascii_start());
    let cause: &[u8] = match reason {
        reason if reason.ends_with(b"(System.gc())") => b"System.gc()",
        reason if reason.starts_with(b"Average GC time") => b"Allocation Rate",
        reason if reason.starts_with(b"Free") => b"Low Free Memory",
        reason if reason.starts_with(b"Learning") => b"Learning",
        reason if reason.starts_with(b"Time since last GC") => b"Periodic",
        reason if reason.starts_with(b"Handle Allocation Failure") => b"Allocation Failure",
        _ => b"other",
    };
    run.trigger = Some(run.log.names.id(cause));
}

/// Reads `User=0.01s Sys=0.00s Real=0.01s`.
pub(super) fn read_cpu(run: &mut Run, message: Message<'_>) {
    let mut parts = message.text.split(|byte| *byte == b' ');
    let mut seconds = |name: &[u8]| {
        let number = parts.next()?.strip_prefix(name)?.strip_suffix(b"s")?;
        decimal(number, 1_000_000_000)
    };
    if let (Some(user_ns), Some(system_ns)) = (seconds(b"User="), seconds(b"Sys=")) {
        let cpu = CpuTime { end_ns: message.at_ns, user_ns, system_ns };
        run.log.push(|log| &mut log.cpu, cpu);
    }
}

/// Counts a pause in which there was no room for the objects that survived.
pub(super) fn read_exhausted(run: &mut Run, message: Message<'_>) {
    push_incident(run, message, Incident::EvacuationFailure);
}

fn push_incident(run: &mut Run, message: Message<'_>, incident: Incident) {
    run.log.push(|log| &mut log.incidents, IncidentEvent { at_ns: message.at_ns, incident });
}

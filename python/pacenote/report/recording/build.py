"""The report of one recording, or of two that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from pacenote.model.printable import whole_line
from pacenote.model.recording import EventState, RecordedJvm, Recording, RecordingFile
from pacenote.report.recording import events
from pacenote.report.recording.breakdown import (
    Breakdown,
    BreakdownRow,
    Figures,
    Keys,
    Side,
    Sides,
    breakdown,
    leaf_key,
    merged_rows,
    method_key,
    sum_of,
    thread_key,
    whole_of,
)
from pacenote.report.recording.events import KNOWN, EventGroup, EventKind, thread_groups
from pacenote.report.recording.gauges import (
    GAUGE_TYPES,
    GaugeTable,
    gauge_tables,
    thread_allocation_table,
    unread_gauges,
)
from pacenote.report.recording.stack_tree import callers_of
from pacenote.units import format_count, format_seconds

ALLOCATION = (events.IN_NEW_TLAB, events.OUTSIDE_TLAB)
"""The kinds of events that `allocation` stands for in tables."""

_NS = 1_000_000_000
_STACKS = 3
"""Number of methods whose callers are shown for the class that is allocated most."""

_USUAL = ("allocation", "cpu", "lock", "park", "file-io", "socket-io")
"""The kinds of events of tables without `--event`. Samples by CPU time are added if there are any."""

_HEADS = {"class": "Class", "lock": "Class", "target": "Operation", "state": "State"}

_TLAB_NOTE = (
    "The sizes in new TLABs are those of the TLABs, an estimate of what the class and the method allocated; "
    "the sizes outside TLABs are those of the objects."
)
_SAMPLE_NOTE = "The sizes are the weights of samples, an estimate of what was allocated in and outside TLABs."

_STATES = {
    EventState.NONE_OCCURRED: "None occurred, or none above the threshold of the recording",
    EventState.DISABLED: "Not recorded, because the settings of the recording disable it",
    EventState.UNSUPPORTED: "Not recorded, because the JVM does not have it",
    EventState.UNKNOWN: "Not in the recording, which does not say whether it was enabled",
}


class RecordingFilter(Struct, frozen=True):
    """The events that a report is about."""

    events: tuple[str, ...] = ()
    """Names of kinds of events (`--event`); all that are usually of interest if empty."""

    threads: tuple[str, ...] = ()
    """Parts of the names of threads; all threads if empty."""

    class_name: str = ""
    """The class that is allocated, or whose lock is waited for; all classes if empty."""

    task: str = ""
    """The task to which recordings are cut; empty if they are not cut to a task."""


class RecordingReport(Struct, frozen=True):
    """The report of a recording."""

    facts: tuple[str, ...]
    """What was recorded, when, and what of it the report is about; one line each."""

    tables: tuple[Breakdown, ...]
    """The tables of events."""

    gauges: tuple[GaugeTable, ...]
    """The tables of what the JVM reads at intervals."""

    notes: tuple[str, ...]
    """What was not recorded or not read; one line each."""


def build_recording_report(
    recording: Recording, baseline: Recording | None, chosen: RecordingFilter
) -> RecordingReport:
    """Returns the report of a recording, with the figures of a baseline if there is one."""
    both = [recording] if baseline is None else [recording, baseline]
    kinds = _kinds(chosen, both)
    known = [kind for kind in kinds if all(map(kind.is_known, both)) and not differing_settings(kind, both)]
    tables = [table for kind in known for table in _tables(kind, _sides(kind, recording, baseline, chosen))]
    tables = [*_allocation_totals(known, recording, baseline, chosen), *tables]
    names = [name for kind in kinds for name in kind.types]
    gauges: tuple[GaugeTable, ...] = ()
    if not chosen.events and not chosen.class_name:
        if not chosen.threads:
            tables += _collector_tables(recording, baseline)
            names += _COLLECTOR_TYPES
        names += GAUGE_TYPES
        if (allocated := thread_allocation_table(recording, baseline, chosen.threads)) is not None:
            tables.append(allocated)
        gauges = tuple(gauge_tables(recording, baseline, chosen.threads))
    return RecordingReport(
        tuple(recording_facts(recording, baseline, chosen)),
        tuple(table for table in tables if table.rows),
        gauges,
        (
            *_notes(recording, baseline, names),
            *_uncompared(kinds, both),
            *_unshown(kinds, chosen, both),
            *_left_out(known, tables, both),
            *_unread(names, chosen, both),
        ),
    )


def differing_settings(kind: EventKind, both: Sequence[Recording]) -> str:
    """Returns how the settings of a kind of events differ between two recordings, so that their numbers are
    not comparable; empty if they do not, or if a recording does not state them.
    """
    if len(both) < 2 or kind.leaf == "class":  # The weights of allocations are estimates of all of them.
        return ""
    for event in kind.types:
        new, old = ({each.name: each.values for each in one.settings_of(event)} for one in both)
        for name in new.keys() & old.keys():
            if new[name] != old[name]:
                before, after = " and ".join(old[name]), " and ".join(new[name])
                return f"{event} has {name} {before} in the baseline, {after} in the contender"
    return ""


def _uncompared(kinds: Iterable[EventKind], both: Sequence[Recording]) -> Iterator[str]:
    """Yields the kinds of events that are not compared, because they were recorded with other settings."""
    for kind in kinds:
        if all(map(kind.is_known, both)) and (reason := differing_settings(kind, both)):
            yield f"Not compared: {reason}, so that the numbers of events differ for that alone"


def _unshown(kinds: Iterable[EventKind], chosen: RecordingFilter, both: Sequence[Recording]) -> Iterator[str]:
    """Yields the waits and native samples that only `--event` shows."""
    if chosen.events or chosen.class_name:
        return
    for kind in (events.WAIT, events.NATIVE):
        counts = [sum(one.count_of(name) for name in kind.types) for one in both]
        if kind not in kinds and any(counts):
            count = " and ".join(format_count(each, "event") for each in counts)
            names = ", ".join(kind.types)
            yield f"Recorded, without a table: {count} of {names} (`--event={kind.name}` shows them)"


def _kinds(chosen: RecordingFilter, both: Sequence[Recording]) -> list[EventKind]:
    """Returns the kinds of events of the tables, in their order."""
    names = chosen.events or _USUAL
    kinds: list[EventKind] = []
    for name in names:
        kind = events.event_kind(name, both)
        if kind is events.TLAB_ALLOCATION:
            # What was recorded on one side only is not compared with nothing.
            kinds += ALLOCATION
        else:
            kinds.append(kind)
    if not chosen.events:
        for kind in (events.CPU_TIME, events.WALL):
            if all(kind.state(one) is EventState.RECORDED for one in both):
                kinds.append(kind)
    return list(dict.fromkeys(kinds))


def filtered_groups(recording: Recording, kind: EventKind, chosen: RecordingFilter) -> Iterator[EventGroup]:
    """Yields the groups of a kind that a report is about."""
    for group in thread_groups(recording, kind, chosen.threads):
        if not chosen.class_name or group.leaf == chosen.class_name:
            yield group


def _sides(
    kind: EventKind, recording: Recording, baseline: Recording | None, chosen: RecordingFilter
) -> Sides:
    new = _side(kind, recording, chosen)
    return Sides(new, None if baseline is None else _side(kind, baseline, chosen))


def _side(kind: EventKind, recording: Recording, chosen: RecordingFilter) -> Side:
    groups = tuple(filtered_groups(recording, kind, chosen))
    return Side(recording, groups, whole_of(groups))


def _tables(kind: EventKind, sides: Sides) -> Iterator[Breakdown]:
    if kind.leaf:
        yield breakdown(kind, sides, _HEADS[kind.leaf], leaf_key)
    else:
        yield breakdown(kind, sides, "Method", method_key)
    if kind.leaf == "state":
        yield breakdown(kind, sides, "Method", method_key)
    yield breakdown(kind, sides, "Thread", thread_key)
    if kind.leaf == "class":
        yield from _stacks(kind, sides)


def _stacks(kind: EventKind, sides: Sides) -> Iterator[Breakdown]:
    """Yields the stacks that allocate most of the class that is allocated most."""
    rows = sides.by(leaf_key)
    if not rows or not sides.new.groups:
        return
    (name,) = rows[0].keys
    groups = [group for group in sides.new.groups if group.leaf == name]
    whole = whole_of(groups)
    for number, callers in enumerate(callers_of(sides.new.recording, groups, _STACKS), 1):
        yield Breakdown(
            f"{kind.name}-stack-{number}",
            f"{kind.title}: {name} by method, with its callers ({number})",
            *(("Stack",), kind.counted, kind.unit, whole),
            tuple(BreakdownRow((node.frame.name,), Figures(node.count, node.total)) for node in callers),
            is_stack=True,
        )


def _allocation_totals(
    known: Iterable[EventKind], recording: Recording, baseline: Recording | None, chosen: RecordingFilter
) -> Iterator[Breakdown]:
    """Yields the table of all allocations, in new TLABs and outside, or the samples."""
    kinds = [kind for kind in known if kind.leaf == "class"]
    titled_sides = [(kind.title, _sides(kind, recording, baseline, chosen)) for kind in kinds]
    new: dict[Keys, Figures] = {(title,): sides.new.whole for title, sides in titled_sides}
    old: dict[Keys, Figures] = {
        (title,): sides.old_whole for title, sides in titled_sides if sides.old_whole is not None
    }
    if not kinds:
        return
    yield Breakdown(
        "allocation",
        "Allocation",
        ("Where",),
        "Events",
        "bytes",
        sum_of(new.values()),
        merged_rows(new, old),
        None if baseline is None else sum_of(old.values()),
        has_extremes=True,
        note=_SAMPLE_NOTE if events.SAMPLED_ALLOCATION in kinds else _TLAB_NOTE,
    )


def _collector_tables(recording: Recording, baseline: Recording | None) -> Iterator[Breakdown]:
    """Yields the tables of pauses, collections and operations of the JVM."""
    both = [recording] if baseline is None else [recording, baseline]
    for name, event, title, heads, counted, read in _COLLECTOR_TABLES:
        if not all(one.state_of(event) in KNOWN for one in both):
            continue
        new = _sums(read(recording))
        old = {} if baseline is None else _sums(read(baseline))
        whole, rows = sum_of(new.values()), merged_rows(new, old)
        old_whole = None if baseline is None else sum_of(old.values())
        yield Breakdown(name, title, heads, counted, "ns", whole, rows, old_whole, has_extremes=True)


def _sums(parts: Iterable[tuple[Keys, Figures]]) -> dict[Keys, Figures]:
    sums: dict[Keys, Figures] = {}
    for keys, figures in parts:
        sums[keys] = sums[keys] + figures if keys in sums else figures
    return sums


def _pauses(recording: Recording) -> Iterator[tuple[Keys, Figures]]:
    for pause in recording.pauses:
        yield (pause.name,), Figures(1, pause.duration_ns, pause.duration_ns, pause.duration_ns)


def _collections(recording: Recording) -> Iterator[tuple[Keys, Figures]]:
    for collection in recording.collections:
        yield (
            (collection.name, collection.cause),
            Figures(1, collection.pauses_ns, collection.pauses_ns, collection.pauses_ns),
        )


def _operations(recording: Recording) -> Iterator[tuple[Keys, Figures]]:
    for operation in recording.vm_operations:
        values = operation.values
        keys = (operation.name, "yes" if operation.safepoint else "no")
        yield keys, Figures(values.count, values.total, values.min, values.max)


_COLLECTOR_TABLES: tuple[
    tuple[str, str, str, Keys, str, Callable[[Recording], Iterator[tuple[Keys, Figures]]]], ...
] = (
    ("gc-pauses", "jdk.GCPhasePause", "Pauses of the garbage collector", ("Pause",), "Pauses", _pauses),
    (
        *("gc-collections", "jdk.GarbageCollection", "Pauses by collection"),
        *(("Collector", "Cause"), "Collections", _collections),
    ),
    (
        *("vm-operations", "jdk.ExecuteVMOperation", "Operations of the JVM"),
        *(("Operation", "Stops threads"), "Executions", _operations),
    ),
)
"""Name, type of events, title, heads, what is counted, and the function that reads the rows."""

_COLLECTOR_TYPES = tuple(event for _, event, *_ in _COLLECTOR_TABLES)
"""The types of events of these tables."""


def recording_facts(
    recording: Recording, baseline: Recording | None, chosen: RecordingFilter
) -> Iterator[str]:
    """Yields what was recorded, and what of it is shown; one line each."""
    if baseline is None:
        yield from _side_facts("Recording", recording)
    else:
        yield from _side_facts("Contender", recording)
        yield from _side_facts("Baseline", baseline)
    if chosen.task:
        yield f"Task: {chosen.task}, without its warm-up"
    if chosen.threads:
        yield f"Threads: only those whose names contain {' or '.join(map(repr, chosen.threads))}"
    if chosen.class_name:
        yield f"Class: only {chosen.class_name}"


def _side_facts(side: str, recording: Recording) -> Iterator[str]:
    for file in recording.files:
        chunks, count = format_count(file.chunks, "chunk"), format_count(file.events, "event")
        jvms = (
            [f", {jvm_text(recording.jvms[index])}" for index in file.jvms] if len(recording.jvms) > 1 else ()
        )
        yield f"{side}: {file.path} ({chunks}, {count}{''.join(jvms)})"
    if recording.start_ns is None or recording.end_ns is None:
        return
    yield f"{side} time: {_span(recording.start_ns, recording.end_ns)}"
    if recording.window_ns is not None:
        start, end = recording.window_ns
        recorded = max(0, min(end, recording.end_ns) - max(start, recording.start_ns)) / _NS
        shown = _span(max(start, recording.start_ns), max(start, min(end, recording.end_ns)))
        yield f"{side} window: {shown}" if recorded else f"{side} window: outside of what was recorded"


def jvm_text(jvm: RecordedJvm) -> str:
    """Returns what identifies a JVM."""
    pid = "JVM" if jvm.pid is None else f"JVM with pid {jvm.pid}"
    if jvm.start_ns is None:
        return pid
    return f"{pid}, started {datetime.fromtimestamp(jvm.start_ns / _NS, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _repeated(recording: Recording, file: RecordingFile) -> Iterator[str]:
    """Yields which chunks of a file were left out."""
    for copy in file.repeated:
        chunks = _chunk_numbers(copy.first, copy.count)
        originals = _chunk_numbers(copy.original, copy.count)
        yield f"{chunks} left out: the same as {originals} of {recording.files[copy.file].path}, counted once"


def _chunk_numbers(first: int, count: int) -> str:
    return f"chunk {first}" if count == 1 else f"chunks {first} to {first + count - 1}"


def _span(start_ns: int, end_ns: int) -> str:
    start = datetime.fromtimestamp(start_ns / _NS, UTC)
    return f"{start:%Y-%m-%d %H:%M:%S} UTC, {format_seconds((end_ns - start_ns) / _NS)}"


def _left_out(
    known: Iterable[EventKind], tables: Iterable[Breakdown], both: Sequence[Recording]
) -> Iterator[str]:
    """Yields the events that were recorded, but not at the times, in the threads or for the class shown."""
    empty = {table.name for table in tables if not table.rows}
    for kind in known:
        was_recorded = any(kind.state(one) is EventState.RECORDED for one in both)
        if was_recorded and f"{kind.name}-by-thread" in empty:
            yield f"None at the times, in the threads or for the class shown: {', '.join(kind.types)}"


def _unread(names: Sequence[str], chosen: RecordingFilter, both: Sequence[Recording]) -> Iterator[str]:
    """Yields the readings that were recorded, but not at the times or of the threads shown."""
    unread_names = (name for one in both for name in unread_gauges(one, chosen.threads) if name in names)
    if unread := list(dict.fromkeys(unread_names)):
        yield f"No reading at the times or of the threads shown: {', '.join(unread)}"


def _notes(recording: Recording, baseline: Recording | None, names: Sequence[str]) -> Iterator[str]:
    """Yields what could not be read, and which types of events of `names` are not in a recording."""
    both = [("", recording)] if baseline is None else [("contender: ", recording), ("baseline: ", baseline)]
    for side, side_recording in both:
        yield from (f"{side}{note}" for note in reading_notes(side_recording))
        for state, text in _STATES.items():
            if event_types := [name for name in names if side_recording.state_of(name) is state]:
                yield f"{side}{text}: {', '.join(dict.fromkeys(event_types))}"


def reading_notes(recording: Recording) -> Iterator[str]:
    """Yields what could not be read of a recording, or is not counted as it was recorded; one line each."""
    for file in recording.files:
        yield from (whole_line(f"{file.path}: {problem}") for problem in file.problems)
        yield from (whole_line(f"{file.path}: {text}") for text in _repeated(recording, file))
    if recording.merged_events:
        yield (
            f"{format_count(recording.merged_events, 'event')} are counted without thread and stack, because "
            "there are more different stacks than are kept apart"
        )

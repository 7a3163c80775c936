"""The hottest methods of a recording by kind of event, as the report and the page of a race show them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.printable import shortened, single_line, whole_line
from pacenote.model.recording import EventState, Recording, ThreadState
from pacenote.report.recording import events
from pacenote.report.recording.breakdown import (
    Breakdown,
    Keys,
    Side,
    Sides,
    breakdown,
    method_key,
    whole_of,
)
from pacenote.report.recording.build import RecordingFilter, reading_notes, recording_facts
from pacenote.report.recording.events import EventGroup, EventKind, stable_name
from pacenote.report.recording.flame_frames import FlameFrames, flame_frames
from pacenote.units import format_count, format_share

SHOWN = 15
"""Number of methods of each kind of event."""

MOST_NODES = 4
"""Number of nodes whose recordings are shown; the others are named."""

_MOST_NOTES = 3
_NAME_LENGTH = 160
"""Characters of a name: a recording may have names that fill a page."""

_WAITING_FOR_LOCK = re.compile(r"java\.util\.concurrent\.(locks\.\w+|Semaphore)\$\w*Sync")
"""What a thread is parked for if it waits for a lock, and not for work."""

_LOCKING = ("jdk.internal.misc.Unsafe.", "sun.misc.Unsafe.", "java.util.concurrent.")
"""Beginnings of methods that wait for others."""


def _running(recording: Recording) -> Iterator[EventGroup]:
    """Yields the samples by wall-clock time in which a thread was running."""
    for group in events.WALL.groups(recording):
        if group.leaf == ThreadState.RUNNING:
            yield replace(group, leaf="")


def _waits(recording: Recording) -> Iterator[EventGroup]:
    """Yields the waits for monitors, and those for locks of `java.util.concurrent`."""
    yield from events.LOCK.groups(recording)
    for group in events.PARK.groups(recording):
        if _WAITING_FOR_LOCK.fullmatch(group.leaf):
            yield group


RUNNING_BY_WALL = replace(events.WALL, title="Running threads by wall-clock time", leaf="", groups=_running)
"""Samples of running threads of a profiler that samples all threads."""

WAITS_FOR_LOCKS = EventKind(
    "locks",
    "Waits for locks",
    *("Waits", "ns", "lock", (*events.LOCK.types, *events.PARK.types), _waits),
)
"""Threads that wait until another one leaves a lock. Threads that are parked because they have no work are
not among them.
"""


class NodeProfile(Struct, frozen=True):
    """What the recording of a node shows of its methods."""

    node: str
    """Name of the node; empty for an only node."""

    facts: tuple[str, ...] = ()
    """What was recorded; one line each."""

    tables: tuple[Breakdown, ...] = ()
    """The methods that have most of each kind of event, the heaviest first."""

    flame: FlameFrames | None = None
    """The stacks of the first of these kinds, or None if the recording has no such events."""

    notes: tuple[str, ...] = ()
    """What could not be read; one line each."""

    problem: str = ""
    """Why the recording cannot be read; empty if it was read."""


class ProfileCollector:
    """Makes the profiles of the recordings that are read, of which none is kept."""

    def __init__(self) -> None:
        self.is_empty = True
        self._profiles: list[NodeProfile] = []
        self._left_out: list[str] = []

    def add(self, node: str, recording: Recording) -> None:
        """Adds the recording of a node."""
        self.is_empty = False
        if len(self._profiles) < MOST_NODES:
            self._profiles.append(node_profile(node, recording))
        else:
            self._left_out.append(node)

    def miss(self, node: str, problem: str) -> None:
        """Adds that the recording of a node cannot be read."""
        self.is_empty = False
        if len(self._profiles) < MOST_NODES:
            self._profiles.append(NodeProfile(node, problem=single_line(problem)))
        else:
            self._left_out.append(node)

    def profiles(self) -> tuple[NodeProfile, ...]:
        """Returns the profiles by node."""
        if not self._left_out:
            return tuple(self._profiles)
        left_out = f"Not shown: {single_line(', '.join(self._left_out))}"
        last = self._profiles[-1]
        return (*self._profiles[:-1], replace(last, notes=(*last.notes, left_out)))


def node_profile(node: str, recording: Recording) -> NodeProfile:
    """Returns the hottest methods that a recording shows, and the stacks of the first kind of event."""
    tables: list[Breakdown] = []
    flame: FlameFrames | None = None
    for kind in _kinds(recording):
        groups = tuple(kind.groups(recording))
        whole = whole_of(groups)
        if not whole.total:
            continue
        tables.append(_table(kind, Side(recording, groups, whole)))
        if flame is None:
            flame = flame_frames(recording, kind, groups)
    facts = tuple(map(single_line, recording_facts(recording, None, RecordingFilter())))
    notes = [single_line(note) for note in reading_notes(recording)]
    if not tables:
        notes.append("No samples of methods, allocations or waits for locks while tasks were measured")
    more = len(notes) - _MOST_NOTES
    kept = (*notes[:_MOST_NOTES], *([format_count(more, "more note")] if more > 0 else ()))
    return NodeProfile(node, facts, tuple(tables), flame, kept)


def _kinds(recording: Recording) -> Iterator[EventKind]:
    """Yields the kinds of events that the recording has, those of the CPU first."""
    both = (recording,)
    kinds = (
        events.event_kind("cpu", both),
        events.CPU_TIME,
        RUNNING_BY_WALL,
        events.event_kind("allocation", both),
        WAITS_FOR_LOCKS,
    )
    for kind in dict.fromkeys(kinds):
        if kind.state(recording) is EventState.RECORDED:
            yield kind


def _table(kind: EventKind, side: Side) -> Breakdown:
    key = _lock_key if kind is WAITS_FOR_LOCKS else method_key
    whole = breakdown(kind, Sides(side), "Method", key)
    rows = tuple(
        replace(row, keys=tuple(_short_name(name) for name in row.keys)) for row in whole.rows[:SHOWN]
    )
    return replace(
        whole,
        heads=("Method", "Lock") if kind is WAITS_FOR_LOCKS else whole.heads,
        rows=rows,
        note=" ".join(_table_notes(kind, side.recording, whole)),
    )


def _short_name(name: str) -> str:
    return shortened(whole_line(name[: 4 * _NAME_LENGTH]), _NAME_LENGTH)


def _table_notes(kind: EventKind, recording: Recording, whole: Breakdown) -> Iterator[str]:
    """Yields what the methods that are not shown have, and how many samples are of threads that wait."""
    rest = whole.rows[SHOWN:]
    if rest:
        share = sum(row.figures.total for row in rest) / whole.whole.total
        yield f"{format_count(len(rest), 'more method')} with {format_share(share)}."
    if kind is RUNNING_BY_WALL:
        counts: dict[str, int] = {}
        for group in events.WALL.groups(recording):
            counts[group.leaf] = counts.get(group.leaf, 0) + group.values.count
        waiting = counts.get(ThreadState.WAITING, 0) / sum(counts.values())
        yield f"Threads were waiting in {format_share(waiting)} of all samples, which are not counted here."


def _lock_key(recording: Recording) -> Callable[[EventGroup], Keys]:
    """Returns a function that returns the method that needed a lock, and the class of the lock."""

    def key(group: EventGroup) -> Keys:
        frames = recording.stack_frames(group.stack)
        methods = [frame.method for frame in frames]
        own = (name for name in methods if not name.startswith(_LOCKING))
        return (stable_name(next(own, methods[0] if methods else events.NO_STACK)), group.leaf or "(none)")

    return key

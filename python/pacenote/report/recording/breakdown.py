"""Tables that divide the events of a recording by class, thread, stack, method or file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from pacenote.model.recording import Recording
from pacenote.report.recording.events import NO_STACK, EventGroup, EventKind, Unit, stable_name

Keys = tuple[str, ...]
"""The texts that identify a row of a table, such as the name of a class."""


class Figures(Struct, frozen=True):
    """How many events there were, and what they weigh."""

    count: int
    """Number of events."""

    total: int
    """What they weigh together, in the unit of the table."""

    min: int | None = None
    """What the lightest one weighs, or None if it is not known."""

    max: int | None = None
    """What the heaviest one weighs, or None if it is not known."""

    bytes: int | None = None
    """Bytes that were read or written, or None if the events have none."""

    def __add__(self, other: Figures) -> Figures:
        """Returns the figures of the events of both."""
        sizes = [size for size in (self.bytes, other.bytes) if size is not None]
        return Figures(
            self.count + other.count,
            self.total + other.total,
            None if self.min is None or other.min is None else min(self.min, other.min),
            None if self.max is None or other.max is None else max(self.max, other.max),
            sum(sizes) if sizes else None,
        )


NONE = Figures(0, 0)
"""The figures of no events."""


class BreakdownRow(Struct, frozen=True):
    """A row of a table."""

    keys: Keys
    """What the row is about: a text for each of the heads."""

    figures: Figures
    """The figures of the recording."""

    baseline: Figures = NONE
    """The figures of the baseline; those of no events without one."""


class Breakdown(Struct, frozen=True):
    """A table that divides events."""

    name: str
    """Its name, such as `allocation-outside-tlab-by-class`, which does not change."""

    title: str
    """Its heading."""

    heads: Keys
    """The heads of the texts of a row."""

    counted: str
    """What there is one of for each event, as the head of a column."""

    unit: Unit
    """What the events weigh."""

    whole: Figures
    """The figures of all events, of which the rows have shares."""

    rows: tuple[BreakdownRow, ...]
    """The rows."""

    baseline: Figures | None = None
    """The figures of all events of the baseline, or None without one."""

    is_stack: bool = False
    """Whether the rows are a method and its callers, each of which includes those before it."""

    has_extremes: bool = False
    """Whether the smallest, the average and the largest event are of interest."""

    note: str = ""
    """What a reader has to know about its figures; may be empty."""

    @property
    def has_bytes(self) -> bool:
        """Whether a row has bytes that were read or written."""
        return any(figures.bytes is not None for row in self.rows for figures in (row.figures, row.baseline))


def sums_by(groups: Iterable[EventGroup], key: Callable[[EventGroup], Keys]) -> dict[Keys, Figures]:
    """Returns the figures of the groups with the same key."""
    sums: dict[Keys, _Sum] = {}
    for group in groups:
        at = key(group)
        if at not in sums:
            sums[at] = _Sum()
        sums[at].add(group)
    return {at: one.figures for at, one in sums.items()}


def whole_of(groups: Iterable[EventGroup]) -> Figures:
    """Returns the figures of all groups."""
    whole = _Sum()
    for group in groups:
        whole.add(group)
    return whole.figures


def sum_of(parts: Iterable[Figures]) -> Figures:
    """Returns the figures of all parts that have events."""
    total: Figures | None = None
    for figures in parts:
        if figures.count:
            total = figures if total is None else total + figures
    return total or NONE


class _Sum:
    """Figures that groups are added to: there may be hundreds of thousands of them."""

    __slots__ = ("bytes", "count", "max", "min", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.min: int | None = None
        self.max: int | None = None
        self.bytes: int | None = None

    def add(self, group: EventGroup) -> None:
        """Adds a group."""
        values = group.values
        self.count += values.count
        self.total += values.total
        if self.min is None or values.min < self.min:
            self.min = values.min
        if self.max is None or values.max > self.max:
            self.max = values.max
        if group.bytes is not None:
            self.bytes = group.bytes + (self.bytes or 0)

    @property
    def figures(self) -> Figures:
        """The figures of the groups that were added."""
        return Figures(self.count, self.total, self.min, self.max, self.bytes)


def leaf_key(_recording: Recording) -> Callable[[EventGroup], Keys]:
    """Returns a function that returns the class, the lock or the file of a group."""
    return lambda group: (group.leaf or "(none)",)


def thread_key(recording: Recording) -> Callable[[EventGroup], Keys]:
    """Returns a function that returns the name of the thread of a group."""
    return lambda group: (recording.thread_name(group.thread) or "(unnamed)",)


def method_key(recording: Recording) -> Callable[[EventGroup], Keys]:
    """Returns a function that returns the method that was running."""

    def key(group: EventGroup) -> Keys:
        frames = () if group.stack is None else recording.stacks[group.stack].frames
        return (stable_name(recording.frames[frames[0]].method) if frames else NO_STACK,)

    return key


class Side(Struct, frozen=True):
    """The groups of one kind of events in a recording."""

    recording: Recording
    """The recording."""

    groups: tuple[EventGroup, ...]
    """Its groups."""

    whole: Figures
    """The figures of all groups."""


class Sides(Struct, frozen=True):
    """The groups of one kind of events, and those of the baseline."""

    new: Side
    """Those of the recording."""

    old: Side | None = None
    """Those of the baseline, or None without one."""

    def by(self, key: Callable[[Recording], Callable[[EventGroup], Keys]]) -> tuple[BreakdownRow, ...]:
        """Returns the rows of a table, the heaviest first."""
        old = {} if self.old is None else sums_by(self.old.groups, key(self.old.recording))
        return merged_rows(sums_by(self.new.groups, key(self.new.recording)), old)

    @property
    def old_whole(self) -> Figures | None:
        """The figures of all groups of the baseline, or None without one."""
        return None if self.old is None else self.old.whole


def merged_rows(new: Mapping[Keys, Figures], old: Mapping[Keys, Figures]) -> tuple[BreakdownRow, ...]:
    """Returns the rows of both sides, the heaviest first."""
    rows = [BreakdownRow(keys, new.get(keys, NONE), old.get(keys, NONE)) for keys in {**new, **old}]
    return tuple(sorted(rows, key=_heaviest_first))


def _heaviest_first(row: BreakdownRow) -> tuple[int, int, Keys]:
    return (-max(row.figures.total, row.baseline.total), -row.figures.count, row.keys)


def breakdown(
    kind: EventKind,
    sides: Sides,
    head: str,
    key: Callable[[Recording], Callable[[EventGroup], Keys]],
) -> Breakdown:
    """Returns the table of a kind of events by what `key` returns, whose column has the head `head`."""
    return Breakdown(
        f"{kind.name}-by-{head.lower()}",
        f"{kind.title} by {head.lower()}",
        (head,),
        kind.counted,
        kind.unit,
        sides.new.whole,
        sides.by(key),
        sides.old_whole,
    )

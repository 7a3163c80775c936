"""Stacks with weights, merged into a tree by their common callers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from pacenote.model.recording import Recording
from pacenote.report.recording.events import NO_STACK, EventGroup, LeafKind, stable_name

FrameKind = Literal["all", "thread", "method", "native", "class", "lock", "target", "state", "rest"]
"""What a frame of a tree is: everything, a thread, a method, what it worked on, or small stacks."""

TRUNCATED = "(deeper frames are not recorded)"
"""The outermost frame of a stack that is deeper than the JVM records."""


@dataclass(frozen=True, slots=True)
class TreeFrame:
    """A frame of a tree: an entry of a stack, or a level above or below it."""

    name: str
    """The class and method, or the name of the thread, class, file or peer."""

    kind: FrameKind
    """What it is."""


@dataclass(slots=True)
class StackNode:
    """A frame below its callers."""

    frame: TreeFrame
    """The frame."""

    count: int = 0
    """Number of events of the frame and all below it."""

    total: int = 0
    """What these events weigh."""

    baseline: int = 0
    """What the events of the baseline weigh; 0 without a baseline."""

    own: int = 0
    """What the events weigh that have no frame below this one."""

    own_baseline: int = 0
    """The same of the baseline."""

    children: dict[int, StackNode] = field(default_factory=dict)
    """The frames below it, by their numbers in the tree."""

    def by_weight(self) -> list[StackNode]:
        """Returns the frames below it, the heaviest first."""
        below = list(self.children.values())
        if len(below) > 1:
            below.sort(key=_heaviest_first)
        return below


def _heaviest_first(node: StackNode) -> tuple[int, str]:
    return (-max(node.total, node.baseline), node.frame.name)


class StackTree:
    """The stacks of one or two recordings. The frame `all` is above all others."""

    def __init__(self) -> None:
        self.root = StackNode(TreeFrame("all", "all"))
        self.has_baseline = False
        self._numbers: dict[TreeFrame, int] = {}
        self._frames: list[TreeFrame] = []

    def number(self, frame: TreeFrame) -> int:
        """Returns the number of a frame, with which stacks are added faster than with the frame itself."""
        found = self._numbers.setdefault(frame, len(self._frames))
        if found == len(self._frames):
            self._frames.append(frame)
        return found

    def add(self, frames: Iterable[TreeFrame], count: int, weight: int, *, is_baseline: bool = False) -> None:
        """Adds a stack whose first frame is the outermost one."""
        self.add_numbers(map(self.number, frames), count, weight, is_baseline=is_baseline)

    def add_numbers(
        self, frames: Iterable[int], count: int, weight: int, *, is_baseline: bool = False
    ) -> None:
        """Adds a stack of numbers of frames, of which the first one is the outermost one."""
        self.has_baseline |= is_baseline
        added, new, old = (0, 0, weight) if is_baseline else (count, weight, 0)
        node = self.root
        path = [node]
        for frame in frames:
            below = node.children.get(frame)
            if below is None:
                below = node.children[frame] = StackNode(self._frames[frame])
            node = below
            path.append(node)
        for each in path:
            each.count += added
            each.total += new
            each.baseline += old
        node.own += new
        node.own_baseline += old

    def walk(self) -> Iterator[tuple[int, StackNode]]:
        """Yields all nodes with their depth, each before those below it, which the heaviest precedes."""
        waiting = [(0, self.root)]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            waiting += [(depth + 1, below) for below in reversed(node.by_weight())]

    def paths(self) -> Iterator[tuple[tuple[TreeFrame, ...], StackNode]]:
        """Yields the nodes in which stacks end, each with all frames below `all`."""
        path: list[TreeFrame] = []
        for depth, node in self.walk():
            del path[max(depth - 1, 0) :]
            if depth:
                path.append(node.frame)
            if node.own or node.own_baseline:
                yield tuple(path), node


@dataclass(frozen=True, slots=True)
class TreeLevels:
    """The levels that a tree has beside the frames of stacks."""

    by_thread: bool = False
    """Whether the outermost level is the threads."""

    leaf: LeafKind = ""
    """What the innermost level shows: the class, the lock or the file; nothing if empty."""


class StackReader:
    """Converts the stacks of one recording to numbers of frames in a tree, each stack once."""

    def __init__(self, recording: Recording, tree: StackTree) -> None:
        self._recording = recording
        self._tree = tree
        self._frames = [
            tree.number(
                TreeFrame(stable_name(frame.method), "native" if frame.type == "Native" else "method")
            )
            for frame in recording.frames
        ]
        self._stacks: dict[int | None, tuple[int, ...]] = {}

    def frames(self, stack: int | None) -> tuple[int, ...]:
        """Returns the frames of a stack, the outermost one first."""
        found = self._stacks.get(stack)
        if found is None:
            found = self._stacks[stack] = self._read(stack)
        return found

    def _read(self, stack: int | None) -> tuple[int, ...]:
        if stack is None:
            return (self._tree.number(TreeFrame(NO_STACK, "rest")),)
        recorded = self._recording.stacks[stack]
        cut = (self._tree.number(TreeFrame(TRUNCATED, "rest")),) if recorded.truncated else ()
        return (*cut, *(self._frames[index] for index in reversed(recorded.frames)))


def add_stacks(
    tree: StackTree,
    recording: Recording,
    groups: Iterable[EventGroup],
    levels: TreeLevels,
    *,
    is_baseline: bool = False,
) -> None:
    """Adds the groups of a recording to a tree."""
    reader = StackReader(recording, tree)
    for group in groups:
        frames: list[int] = []
        if levels.by_thread:
            name = recording.thread_name(group.thread) or "(unnamed)"
            frames.append(tree.number(TreeFrame(name, "thread")))
        frames += reader.frames(group.stack)
        if levels.leaf and group.leaf:
            frames.append(tree.number(TreeFrame(group.leaf, levels.leaf)))
        tree.add_numbers(frames, group.values.count, group.values.total, is_baseline=is_baseline)


LEAST_METHOD = 0.01
"""Methods have their callers shown if they have at least this share of the whole."""

LEAST_CALLER = 0.5
"""Callers are shown while they have at least this share of what their method weighs."""


def callers_of(recording: Recording, groups: Iterable[EventGroup], limit: int) -> list[list[StackNode]]:
    """Returns the heaviest methods, at most `limit`, each with its callers, of which every level follows the
    heaviest.
    """
    tree = StackTree()
    reader = StackReader(recording, tree)
    for group in groups:
        tree.add_numbers(reversed(reader.frames(group.stack)), group.values.count, group.values.total)
    found = []
    for method in tree.root.by_weight()[:limit]:
        if method.total < LEAST_METHOD * tree.root.total:
            break
        callers = [method]
        while callers[-1].children:
            heaviest = callers[-1].by_weight()[0]
            if heaviest.total < LEAST_CALLER * method.total:
                break
            callers.append(heaviest)
        found.append(callers)
    return found

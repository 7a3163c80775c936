"""Stacks with weights, merged into a tree by their common callers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from pacenote.model.recording import Recording
from pacenote.report.recording.events import NO_STACK, EventGroup, LeafKind, stable_name

FrameKind = Literal["all", "thread", "method", "native", "class", "lock", "target", "state", "rest"]
"""What a frame of a tree is: everything, a thread, a method, what it worked on, or small stacks."""

TRUNCATED = "(deeper frames are not recorded)"
"""The outermost frame of a stack that is deeper than the JVM records."""


LEFT_OUT = "(deeper frames are left out)"
"""The innermost frame of a stack that does not fit into a tree."""

MOST_NODES = 1 << 20
"""Largest number of frames of a tree, each of which takes about 500 bytes: a small file can have thousands of
stacks of 2,048 frames that have no caller in common.
"""


class TreeFrame(Struct, frozen=True):
    """A frame of a tree: an entry of a stack, or a level above or below it."""

    name: str
    """The class and method, or the name of the thread, class, file or peer."""

    kind: FrameKind
    """What it is."""


_LEFT_OUT = TreeFrame(LEFT_OUT, "rest")


class StackNode(Struct):
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
    """The stacks of one or two recordings. The frame `all` is above all others. A stack that does not fit
    ends in the frame `LEFT_OUT`, so that all sums remain right.
    """

    def __init__(self, most_nodes: int = MOST_NODES) -> None:
        self._left = most_nodes
        self.root = StackNode(TreeFrame("all", "all"))
        self.has_baseline = False
        self._numbers: dict[TreeFrame, int] = {}
        self._frames: list[TreeFrame] = []

    def number(self, frame: TreeFrame) -> int:
        """Returns the number of a frame, with which stacks are added faster than with the frame itself."""
        number = self._numbers.setdefault(frame, len(self._frames))
        if number == len(self._frames):
            self._frames.append(frame)
        return number

    def add(self, frames: Iterable[TreeFrame], count: int, weight: int, *, is_baseline: bool = False) -> None:
        """Adds a stack whose first frame is the outermost one."""
        self.add_numbers(map(self.number, frames), count, weight, is_baseline=is_baseline)

    def add_numbers(
        self, frames: Iterable[int], count: int, weight: int, *, is_baseline: bool = False
    ) -> None:
        """Adds a stack of numbers of frames, of which the first one is the outermost one."""
        path = self._path(frames)
        self._add(path, (count, weight), is_baseline=is_baseline)
        self._add_own(path[-1], weight, is_baseline=is_baseline)

    def add_leaves(
        self, frames: Iterable[int], leaves: Mapping[int | None, Sequence[int]], *, is_baseline: bool = False
    ) -> None:
        """Adds a stack, and below it frames with the count and the weight of their events; None for those
        that have no such frame. The stack is walked once for all of them.
        """
        path = self._path(frames)
        for leaf, (count, weight) in leaves.items():
            last = path[-1]
            if leaf is not None and last.frame is not _LEFT_OUT:
                last = self._below(last, leaf)
                self._add([last], (count, weight), is_baseline=is_baseline)
            self._add_own(last, weight, is_baseline=is_baseline)
        whole = (sum(each[0] for each in leaves.values()), sum(each[1] for each in leaves.values()))
        self._add(path, whole, is_baseline=is_baseline)

    def _path(self, frames: Iterable[int]) -> list[StackNode]:
        """Returns the nodes of a stack, of which the last may be `LEFT_OUT`."""
        node = self.root
        path = [node]
        for frame in frames:
            below = node.children.get(frame)
            if below is None:
                below = self._below(node, frame)
                if below.frame is _LEFT_OUT:
                    path.append(below)
                    break
            node = below
            path.append(node)
        return path

    def _below(self, node: StackNode, frame: int) -> StackNode:
        """Returns the node of a frame below another one; `LEFT_OUT` if the tree has too many."""
        child = node.children.get(frame)
        if child is None:
            if self._left <= 0:
                frame = self.number(_LEFT_OUT)
            self._left -= 1
            child = node.children.setdefault(frame, StackNode(self._frames[frame]))
        return child

    def _add(self, path: Iterable[StackNode], weights: tuple[int, int], *, is_baseline: bool) -> None:
        self.has_baseline |= is_baseline
        count, weight = weights
        added, new, old = (0, 0, weight) if is_baseline else (count, weight, 0)
        for node in path:
            node.count += added
            node.total += new
            node.baseline += old

    def _add_own(self, node: StackNode, weight: int, *, is_baseline: bool) -> None:
        if is_baseline:
            node.own_baseline += weight
        else:
            node.own += weight

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


class TreeLevels(Struct, frozen=True):
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
        frames = self._stacks.get(stack)
        if frames is None:
            frames = self._stacks[stack] = self._read(stack)
        return frames

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
    weights = dict[tuple[str, int | None], dict[int | None, list[int]]]()
    for group in groups:
        name = recording.thread_name(group.thread) or "(unnamed)" if levels.by_thread else ""
        leaf = tree.number(TreeFrame(group.leaf, levels.leaf)) if levels.leaf and group.leaf else None
        _add(weights.setdefault((name, group.stack), {}), leaf, group)
    for (name, stack), leaves in weights.items():
        frames = [tree.number(TreeFrame(name, "thread"))] if levels.by_thread else []
        tree.add_leaves([*frames, *reader.frames(stack)], leaves, is_baseline=is_baseline)


def _add(weights: dict[int | None, list[int]], key: int | None, group: EventGroup) -> None:
    """Adds the events of a group to those with the same key."""
    totals = weights.setdefault(key, [0, 0])
    totals[0] += group.values.count
    totals[1] += group.values.total


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
    weights = dict[int | None, list[int]]()
    for group in groups:
        _add(weights, group.stack, group)
    for stack, (count, total) in weights.items():
        tree.add_numbers(reversed(reader.frames(stack)), count, total)
    chains = []
    for method in tree.root.by_weight()[:limit]:
        if method.total < LEAST_METHOD * tree.root.total:
            break
        callers = [method]
        while callers[-1].children:
            heaviest = callers[-1].by_weight()[0]
            if heaviest.total < LEAST_CALLER * method.total:
                break
            callers.append(heaviest)
        chains.append(callers)
    return chains

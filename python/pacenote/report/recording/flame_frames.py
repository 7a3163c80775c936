"""The frames of a flame graph that is drawn without a script: only the heaviest, each at a fixed place."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from msgspec import Struct

from pacenote.model.printable import shortened, whole_line
from pacenote.model.recording import Recording
from pacenote.report.recording.events import EventGroup, EventKind
from pacenote.report.recording.stack_tree import (
    FrameKind,
    StackNode,
    StackTree,
    TreeLevels,
    add_stacks,
)

MOST_FRAMES = 300
"""Largest number of frames, each of which takes about 220 bytes of a page."""

MOST_LEVELS = 80
"""Largest number of frames above each other, each of which takes a line."""

LEAST_SHARE = 0.002
"""Frames with a smaller share are not wider than a line."""

_MOST_NODES = 1 << 17
"""Largest number of frames of the tree from which these are selected: about 60 MB."""

_NAME_LENGTH = 160


class FlameFrame(Struct, frozen=True):
    """A frame of a flame graph."""

    name: str
    """The class and method, or the class that was allocated, or that of a lock."""

    kind: FrameKind
    """What it is."""

    level: int
    """Number of its callers that are drawn."""

    x: float
    """Where it begins, as a share of the width."""

    share: float
    """Its share of all events, which is its width."""


class FlameFrames(Struct, frozen=True):
    """The heaviest frames of the stacks of one kind of event."""

    title: str
    """What the events are."""

    frames: tuple[FlameFrame, ...]
    """The frames, the heaviest first."""

    left_out: float
    """The largest share of a frame that is left out because it is light; 0 if none is."""

    is_cut: bool
    """Whether there are frames below the last level."""

    @property
    def levels(self) -> int:
        """Number of frames above each other."""
        return 1 + max((frame.level for frame in self.frames), default=-1)


def flame_frames(recording: Recording, kind: EventKind, groups: Sequence[EventGroup]) -> FlameFrames:
    """Returns the heaviest frames of groups, which have a total above 0."""
    tree = StackTree(_MOST_NODES)
    # What does not fit into the tree is that of the lightest stacks.
    heaviest = sorted(groups, key=lambda group: group.values.total, reverse=True)
    add_stacks(tree, recording, heaviest, TreeLevels(leaf=kind.leaf))
    return drawn_frames(tree.root, kind.title)


def drawn_frames(root: StackNode, title: str) -> FlameFrames:
    """Returns the heaviest frames below `root`. A frame is drawn below its caller, so that callers come
    before what they call, of which none is heavier.
    """
    waiting: list[tuple[int, int, int, float, StackNode]] = []
    frames: list[FlameFrame] = []
    number, left_out, is_cut = 0, 0.0, False

    def add_below(node: StackNode, level: int, x: float) -> None:
        nonlocal number
        for below in node.by_weight():
            heapq.heappush(waiting, (-below.total, number, level, x, below))
            number += 1
            x += below.total / root.total

    add_below(root, 0, 0.0)
    while waiting:
        weight, _, level, x, node = heapq.heappop(waiting)
        share = -weight / root.total
        if share < LEAST_SHARE or len(frames) >= MOST_FRAMES:
            left_out = share
            break
        name = shortened(whole_line(node.frame.name[: 4 * _NAME_LENGTH]), _NAME_LENGTH)
        frames.append(FlameFrame(name, node.frame.kind, level, x, share))
        if level + 1 < MOST_LEVELS:
            add_below(node, level + 1, x)
        else:
            is_cut |= bool(node.children)
    return FlameFrames(title, tuple(frames), left_out, is_cut)

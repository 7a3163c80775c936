"""A flame graph as one HTML page without references to other files.

The page draws a JSON document with `flame_graph_page/page.js`. Every text from the recording is data of that
document: nothing that a recording contains becomes markup or code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from pacenote.report.recording.events import Unit
from pacenote.report.recording.stack_tree import StackNode, StackTree, TreeFrame
from pacenote.report.render.html import Frame, document, escaped, json_data, resource, shown

MAX_BYTES = 300_000
"""The most bytes that a page has. The smallest stacks are merged until it has no more."""

_MOST_NODES = 30_000
"""Number of nodes that surely need more than `MAX_BYTES`."""

_REST = TreeFrame("(smaller stacks)", "rest")

_PACKAGE = re.compile(r"(?:[a-z_$][\w$]*\.)+(?=\S)")
"""The package at the beginning of the name of a method or class."""

_JAVA_NAMES = frozenset({"method", "native", "class", "lock"})


class FlameGraph(Struct, frozen=True):
    """What a flame graph shows."""

    title: str
    """Its heading."""

    facts: tuple[str, ...]
    """What was recorded; one line each."""

    unit: Unit
    """What stacks weigh."""

    tree: StackTree
    """The stacks."""


def render_flame_graph(graph: FlameGraph, max_bytes: int = MAX_BYTES) -> str:
    """Returns the page.

    If it would have more than `max_bytes`, the lightest nodes are merged: below each frame, those that are
    left out together are one node, so that all sums remain right, and a line of the page states their limit.
    """
    weights = sorted((max(node.total, node.baseline) for _, node in graph.tree.walk()), reverse=True)
    least = weights[_MOST_NODES] + 1 if len(weights) > _MOST_NODES else 0
    while True:
        page = _page(graph, least)
        kept = sum(1 for weight in weights if weight >= least)
        if len(page.encode()) <= max_bytes or kept <= 1:
            return page
        # A tenth fewer nodes in each attempt; at least one weight fewer.
        least = max(least + 1, weights[kept * 9 // 10] + 1)


def _page(graph: FlameGraph, least: int) -> str:
    frame = Frame(*(resource("flame_graph_page", name) for name in ("page.html", "page.css", "page.js")))
    return document(frame, {"TITLE": escaped(graph.title), "DATA": json_data(_document(graph, least))})


def _document(graph: FlameGraph, least: int) -> dict[str, object]:
    """Returns the document that the page draws: frames by kind and package, and the nodes in preorder, each
    as the number of its frame, the number of its children, and its own weight on each side.
    """
    nodes = list(_kept(graph.tree.root, least))
    numbers, frames = _frame_numbers(node.frame for node in nodes)
    flat: list[int] = []
    for node in nodes:
        flat += (numbers[node.frame], node.children, node.own)
        if graph.tree.has_baseline:
            flat.append(node.own_baseline)
    facts = [shown(fact) for fact in graph.facts]
    if any(node.frame is _REST for node in nodes):
        share = least / max(graph.tree.root.total, graph.tree.root.baseline)
        facts.append(f"Frames with less than {share * 100:.2g} % of the total are merged as {_REST.name}")
    return {
        "title": shown(graph.title),
        "facts": facts,
        "unit": graph.unit,
        "baseline": graph.tree.has_baseline,
        "frames": frames,
        "nodes": flat,
    }


class _KeptNode(Struct, frozen=True):
    """A node of the page."""

    frame: TreeFrame
    children: int
    own: int
    own_baseline: int


def _kept(root: StackNode, least: int) -> Iterator[_KeptNode]:
    """Yields the nodes in preorder, the heaviest of the same parent first; those below `least` are merged."""
    waiting: list[StackNode | _KeptNode] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _KeptNode):
            yield node
            continue
        below: list[StackNode | _KeptNode] = []
        rest, rest_baseline = 0, 0
        for child in node.by_weight():
            if max(child.total, child.baseline) >= least:
                below.append(child)
            else:
                rest, rest_baseline = rest + child.total, rest_baseline + child.baseline
        if rest or rest_baseline:
            below.append(_KeptNode(_REST, 0, rest, rest_baseline))
        yield _KeptNode(node.frame, len(below), node.own, node.own_baseline)
        waiting += reversed(below)


def _frame_numbers(
    frames: Iterator[TreeFrame],
) -> tuple[dict[TreeFrame, int], list[tuple[str, str, list[str]]]]:
    """Returns the numbers of frames, and the frames in their order: kind, package and the names in it."""
    groups: dict[tuple[str, str], dict[str, TreeFrame]] = {}
    for frame in frames:
        package = _PACKAGE.match(frame.name) if frame.kind in _JAVA_NAMES else None
        prefix = package[0] if package else ""
        groups.setdefault((frame.kind, prefix), {})[frame.name] = frame
    numbers: dict[TreeFrame, int] = {}
    grouped = []
    for (kind, prefix), names in groups.items():
        for frame in names.values():
            numbers[frame] = len(numbers)
        grouped.append((kind, shown(prefix), [shown(name[len(prefix) :]) for name in names]))
    return numbers, grouped

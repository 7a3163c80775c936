"""Stacks as folded text, which Brendan Gregg's `flamegraph.pl` and other viewers read."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.printable import encodable, printable, shortened
from pacenote.report.recording.stack_tree import StackTree

_LONGEST_NAME = 500
"""Largest number of characters of a name, which each stack with its frame repeats."""


def render_folded(tree: StackTree) -> Iterator[str]:
    """Yields a line for each stack: its frames from the outermost one, separated by semicolons, a space, and
    what it weighs. With a baseline, its weight stands before that of the recording, as `difffolded.pl` writes
    it.
    """
    for path, node in tree.paths():
        weights = f"{node.own_baseline} {node.own}" if tree.has_baseline else f"{node.own}"
        yield f"{';'.join(folded_name(frame.name) for frame in path) or 'all'} {weights}\n"


def folded_name(name: str) -> str:
    """Returns a name without semicolons, which separate frames, and without control characters."""
    return shortened(printable(encodable(name)).replace(";", ":"), _LONGEST_NAME)

"""Compares tools in blocks, within which a drift of the machine affects all tools alike.

In a block, each tool runs once in one order and once in the opposite order: A B B A, or A B C C B A. A
constant drift then has the same effect on the mean of the two runs of each tool. The two runs of a block are
not independent, so each block gives one value of a figure, and one ratio of two tools.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from outcome import Figure

Run = TypeVar("Run")


def run_blocks(count: int, tools: Mapping[str, Callable[[], Run]]) -> dict[str, list[Run]]:
    """Runs all tools in `count` blocks; returns the runs by tool, two for each block."""
    runs: dict[str, list[Run]] = {name: [] for name in tools}
    for _ in range(count):
        for name in (*tools, *reversed(tuple(tools))):
            runs[name].append(tools[name]())
    return runs


def figure_by_block(name: str, unit: str, runs: Sequence[float]) -> Figure:
    """Returns the figure of a tool, from the values of its runs: the geometric mean of each block."""
    pairs = zip(runs[::2], runs[1::2], strict=True)
    return Figure(name, unit, tuple(math.sqrt(first * second) for first, second in pairs))


def ratio_by_block(name: str, above: Figure, below: Figure) -> Figure:
    """Returns the ratio of two figures of `figure_by_block` for each block."""
    pairs = zip(above.values, below.values, strict=True)
    return Figure(f"{name}, per block", "ratio", tuple(over / under for over, under in pairs))

"""Compares tools in blocks, within which a drift of the machine affects all tools alike.

In a block, each tool runs once in one order and once in the opposite order: A B B A, or A B C C B A. A
constant drift then has the same effect on the mean of the two runs of each tool. The ratio of two tools is
computed for each block, and the blocks are the independent values from which its interval is computed.
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


def ratio_by_block(name: str, above: Figure, below: Figure) -> Figure:
    """Returns the ratio of two figures for each block; both have two values for each block."""
    pairs = zip(_by_block(above.values), _by_block(below.values), strict=True)
    return Figure(f"{name}, per block", "ratio", tuple(over / under for over, under in pairs))


def _by_block(values: Sequence[float]) -> list[float]:
    """Returns the geometric mean of each pair of values."""
    return [math.sqrt(first * second) for first, second in zip(values[::2], values[1::2], strict=True)]

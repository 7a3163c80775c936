"""The measured seconds of a probe, with the operations that failed or were slower than a limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pacenote.model.saturation import LatencyLimit
from pacenote.stats.dependence import Block

MOST_SAMPLES = 4_000_000
"""Number of samples up to which they are read: reading this many takes some seconds."""

_ROWS = 20_000
_LONGEST_S = 366 * 86_400
_NS_PER_MS = 1e6
_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class SlowSeconds:
    """The seconds of a window in their order, as blocks for the design effect."""

    failed: tuple[Block, ...] = ()
    """How many operations failed."""

    slow: tuple[tuple[Block, ...], ...] = ()
    """For each limit of latency, how many operations failed or were slower."""


def read_slow_seconds(samples: Path, task: str, expected: int, limits: Sequence[LatencyLimit]) -> SlowSeconds:
    """Returns the seconds of a task from its `samples.parquet`; none if it does not have all of the
    `expected` samples, or more than can be read between two probes.
    """
    from pacenote import _core

    if not 0 < expected <= MOST_SAMPLES:
        return SlowSeconds()
    limits_ns = [limit.ms * _NS_PER_MS for limit in limits]
    counts: dict[int, list[int]] = {}
    try:
        reader = _core.SampleReader(samples)
        while rows := reader.next_rows(_ROWS):
            for name, _, _, part, _, sample_type, due_ns, _, done_ns, _, success, *_ in rows:
                if part or sample_type != "normal" or name != task:
                    continue
                second = counts.setdefault(due_ns // _NS_PER_S, [0] * (2 + len(limits)))
                second[0] += 1
                second[1] += not success
                for number, limit_ns in enumerate(limits_ns, 2):
                    second[number] += not success or done_ns - due_ns > limit_ns
    except _core.CoreError:
        return SlowSeconds()
    if not counts or sum(second[0] for second in counts.values()) != expected:
        return SlowSeconds()
    if max(counts) - min(counts) > _LONGEST_S:  # No probe lasts so long.
        return SlowSeconds()
    none = [0] * (2 + len(limits))
    seconds = [counts.get(number, none) for number in range(min(counts), max(counts) + 1)]
    return SlowSeconds(
        _blocks(seconds, 1), tuple(_blocks(seconds, 2 + number) for number in range(len(limits)))
    )


def _blocks(seconds: Iterable[Sequence[int]], column: int) -> tuple[Block, ...]:
    return tuple(Block(second[0], second[column]) for second in seconds)

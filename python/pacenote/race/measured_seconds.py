"""The measured seconds of a probe: the latency of each of their operations, and when operations ended."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from pacenote.model.result import OperationTotals
from pacenote.stats.dependence import Block

MOST_SAMPLES = 4_000_000
"""Number of samples up to which they are read: reading this many takes some seconds."""

ENDLESS_NS = 2**63 - 1
"""The latency of an operation that failed: it ranks above all others."""

_ROWS = 20_000
_LONGEST_S = 366 * 86_400
_NS_PER_MS = 1e6
_NS_PER_S = 1_000_000_000
_NONE: array[int] = array("q")


class MeasuredSeconds(Struct, frozen=True):
    """The seconds of a window in their order."""

    latencies_ns: tuple[array[int], ...] = ()
    """The latency of each operation that was due in a second, in ns; that of one that failed is endless."""

    ended_ns: array[int] = field(default_factory=lambda: array("q"))
    """When each operation that succeeded ended, in ns since the task began, in any order. Those of the
    warm-up are among them: its backlog is answered while others are due. Empty if not all are known.
    """

    service_ns: array[int] = field(default_factory=lambda: array("q"))
    """The service time of each of these, in ns, in the same order."""

    waited: int | None = None
    """How many measured operations were due when the client that sent them was busy; None if not all
    operations are known.
    """

    def silent_s(self, least_s: float, from_s: float, length_s: float) -> float:
        """Returns for how many seconds of a window no operation succeeded, in pauses longer than `least_s`
        seconds. The window begins `from_s` after the task; the last replies come after it, and far apart.
        """
        import numpy as np

        first_ns, last_ns = from_s * _NS_PER_S, (from_s + length_s) * _NS_PER_S
        ended_ns = np.asarray(self.ended_ns)
        within = ended_ns[(ended_ns > first_ns) & (ended_ns < last_ns)]
        pauses_ns = np.diff(np.sort(np.concatenate(([first_ns], within, [last_ns]))))
        return float(pauses_ns[pauses_ns > least_s * _NS_PER_S].sum()) / _NS_PER_S

    def service_ms(self, from_s: float, length_s: float) -> float | None:
        """Returns the mean service time in ms of the operations that succeeded and ended in a window; None if
        there are none.
        """
        import numpy as np

        ended_ns = np.asarray(self.ended_ns)
        within = (ended_ns > from_s * _NS_PER_S) & (ended_ns < (from_s + length_s) * _NS_PER_S)
        return float(np.asarray(self.service_ns)[within].mean()) / _NS_PER_MS if within.any() else None

    def failed(self) -> tuple[Block, ...]:
        """Returns how many operations of each second failed."""
        return tuple(Block(len(second), second.count(ENDLESS_NS)) for second in self.latencies_ns)

    def above(self, ms: float) -> tuple[Block, ...]:
        """Returns how many operations of each second failed or took longer than `ms`."""
        import numpy as np  # Slow to import; without it, counting millions takes seconds.

        limit_ns = ms * _NS_PER_MS
        return tuple(
            Block(len(second), int(np.count_nonzero(np.asarray(second) > limit_ns)))
            for second in self.latencies_ns
        )

    def at_rank(self, rank: int) -> float | None:
        """Returns the latency in ms at a rank (1 = smallest), or None if that operation failed or is none of
        those that were measured.
        """
        if not 1 <= rank <= sum(map(len, self.latencies_ns)):
            return None
        import numpy as np

        latencies = np.concatenate(self.latencies_ns)
        latency_ns = int(np.partition(latencies, rank - 1)[rank - 1])
        return None if latency_ns == ENDLESS_NS else latency_ns / _NS_PER_MS


def read_measured_seconds(samples: Path, task: str, counts: OperationTotals) -> MeasuredSeconds:
    """Returns the seconds of a task from its `samples.parquet`; none if it does not have all samples of the
    measured operations in `counts`, or more than can be read between two probes.
    """
    from pacenote import _core

    every = counts.normal + counts.warmup
    if not every or counts.normal > MOST_SAMPLES:
        return MeasuredSeconds()
    has_ends = every <= MOST_SAMPLES
    seconds: dict[int, array[int]] = {}
    ended, service, rows_read = array("q"), array("q"), 0
    free_ns: dict[int, int] = {}
    waited: int | None = 0
    try:
        reader = _core.SampleReader(samples)
        while rows := reader.next_rows(_ROWS):
            for name, _, _, part, client, sample_type, due_ns, sent_ns, done_ns, _, success, *_ in rows:
                if part or name != task:
                    continue
                rows_read += 1
                if success and has_ends:
                    ended.append(done_ns)
                    service.append(done_ns - sent_ns)
                before_ns = free_ns.get(client, 0)
                free_ns[client] = done_ns
                if done_ns < before_ns:  # The samples of a client are in their order.
                    waited = None
                elif waited is not None and sample_type == "normal":
                    waited += due_ns < before_ns
                if sample_type == "normal":
                    second = seconds.setdefault(due_ns // _NS_PER_S, array("q"))
                    second.append(done_ns - due_ns if success else ENDLESS_NS)
    except _core.CoreError:
        return MeasuredSeconds()
    if sum(map(len, seconds.values())) != counts.normal:
        return MeasuredSeconds()
    # Without a sample, nothing seems to have ended.
    if rows_read != every:
        ended, service, waited = array("q"), array("q"), None
    return MeasuredSeconds(_in_order(seconds), ended, service, waited)


def _in_order(seconds: Mapping[int, array[int]]) -> tuple[array[int], ...]:
    """Returns the seconds from the first to the last, with those in which nothing was due."""
    first, last = min(seconds, default=0), max(seconds, default=-1)
    if last - first > _LONGEST_S:  # No probe lasts so long.
        return ()
    return tuple(seconds.get(number, _NONE) for number in range(first, last + 1))

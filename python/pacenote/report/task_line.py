"""What one line says about a task that has ended, wherever it is shown: on the last screen, on pages, in the
live display, in plain progress and in a browser. They only lay it out.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from pacenote.model.headline import early_end
from pacenote.model.printable import single_line
from pacenote.model.result import DurationSummary, Percentile, TaskResult, percentiles_for
from pacenote.model.target_rate import TargetRate, achieved_rate
from pacenote.model.task_kinds import indexes, runs_once
from pacenote.model.warmup_backlog import throughput_includes_backlog
from pacenote.units import format_seconds

_LEAST_S = 1.0
"""Seconds below which a rate is extrapolated."""


class TaskLine(Struct, frozen=True):
    """The figures of a line."""

    name: str
    """The name of the task, printable."""

    unit: str
    """The unit of its throughput, printable."""

    rate: float | None
    """Its mean throughput, per second; None if it has none, or so few operations that a rate says nothing."""

    is_extrapolated: bool
    """Whether it was measured for less than a second."""

    target: TargetRate | None
    """Its target rate."""

    achieved: float | None
    """The rate that is compared with the target."""

    times: DurationSummary | None
    """Its latency, or the service time of a task without a schedule; None without a rate."""

    times_name: str
    """`latency` or `service time`."""

    late_p99: Percentile | None
    """The lateness of the driver, if it has enough samples."""

    has_backlog: bool
    """Whether `times` include the backlog of the warm-up, so that all of them are marked."""

    rate_has_backlog: bool
    """Whether `rate` and `achieved` include the backlog of the warm-up."""

    failed: int
    """Documents of bulks that failed, or operations of other tasks."""

    reason: str
    """An example of why they failed, printable; empty if it is not known."""

    ended: str
    """How it ended before its end, such as `interrupted`; empty if it did not."""

    def percentile(self, q: float) -> Percentile | None:
        """Returns a percentile that is shown for this number of samples; it need not be supported by them."""
        if self.times is None or q not in percentiles_for(self.times.count):
            return None
        return self.times.at(q)


def task_line(result: TaskResult, target: TargetRate | None = None) -> TaskLine:
    """Returns the line about a task."""
    ended = result.accounting.succeeded + result.accounting.failed
    says_rate = ended > result.clients and not runs_once(result)
    mean = result.throughput.mean if result.throughput and says_rate else None
    times = result.latency or result.service_time
    late = result.lateness.at(99.0) if result.lateness else None
    window_s = result.window_s if result.reported_s is None else result.reported_s
    return TaskLine(
        name=single_line(result.task),
        unit=single_line(result.unit),
        rate=mean,
        is_extrapolated=bool(mean) and window_s < _LEAST_S,
        target=target,
        achieved=None if target is None else achieved_rate(result, target),
        times=times if says_rate else None,
        times_name="latency" if result.latency else "service time",
        late_p99=late if late and late.supported else None,
        has_backlog=result.warmup_backlog.marked,
        rate_has_backlog=throughput_includes_backlog(result),
        failed=failed_count(result),
        reason=single_line(result.errors[0].reason) if result.errors else "",
        ended=early_end(result) or "",
    )


def failed_count(result: TaskResult) -> int:
    """Returns how many documents of a task's bulks failed, or how many of its operations if it has none."""
    return result.work.failed if indexes(result) and result.work.failed else result.accounting.failed


def percentile_text(percentile: Percentile | None) -> str:
    """Returns a percentile or, with too few samples, its lower bound; empty if there is none."""
    if percentile is None:
        return ""
    if percentile.supported:
        return format_seconds(percentile.ms / 1000)
    return "" if percentile.low_ms is None else f"≥ {format_seconds(percentile.low_ms / 1000)}"


def percentile_texts(line: TaskLine) -> Iterator[str]:
    """Yields p50 and p99 for displays of one line, without those of which nothing is known."""
    name = f"{line.times_name} with the backlog of the warm-up," if line.has_backlog else line.times_name
    if p50 := percentile_text(line.percentile(50.0)):
        yield f"{name} p50 {p50}"
    if p99 := percentile_text(line.percentile(99.0)):
        yield f"p99 {p99}" if p50 else f"{name} p99 {p99}"

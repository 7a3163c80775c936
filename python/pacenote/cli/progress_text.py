"""Progress as text: of jobs before a race, of running tasks, and of finished tasks."""

from __future__ import annotations

import time
from collections.abc import Callable

from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskProgress, TaskResult
from pacenote.units import format_bytes, format_number, format_seconds

_MEASURED_S = 1.0
"""Seconds that a job must run before its rate is shown."""

_IN_BYTES = ("downloading", "verifying", "unpacking", "compressing")
_IN_DOCUMENTS = ("generating", "reading")
"""First words of labels whose work is counted in bytes or in documents."""


class ProgressEstimator:
    """Estimates rate and remaining time of each job before a race, such as a download."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started: dict[str, tuple[float, int]] = {}

    def describe(self, label: str, done: int, total: int) -> str:
        """Returns the share, rate and remaining time of a job.

        The rate does not include work done before the first call.
        """
        now = self._clock()
        started_at, initial = self._started.setdefault(label, (now, done))
        if now - started_at < _MEASURED_S or done <= initial:
            return share_done(done, total)
        rate = (done - initial) / (now - started_at)
        parts = [share_done(done, total), _rate_text(label, rate)]
        if done < total:
            parts.append(f"{format_seconds(max(1, round((total - done) / rate)))} left")
        return ", ".join(filter(None, parts))


def _rate_text(label: str, rate: float) -> str:
    kind = label.partition(" ")[0]
    if kind in _IN_BYTES:
        return f"{format_bytes(rate)}/s"
    return f"{rate:,.0f} docs/s" if kind in _IN_DOCUMENTS else ""


def share_done(done: int, total: int) -> str:
    """Returns the amount of work that is done: a percentage, or the number itself if the total is not known
    (0).
    """
    if total <= 0:
        return f"{done:,}" if done else "…"
    return "done" if done >= total else f"{done * 100 // total} %"


def race_line(record: RaceRecord) -> str:
    """Returns the line that announces a race."""
    engine = " ".join(part for part in (record.cluster.distribution, record.cluster.version) if part)
    challenge = f", challenge '{record.challenge}'" if record.challenge else ""
    on = f" on {engine}" if engine else ""
    return single_line(f"race {record.race_id}: track '{record.track.name}'{challenge}{on}")


def progress_line(task: TaskProgress) -> str:
    """Returns the line about a running task."""
    parts = [f"{task.rate:,.0f} {task.unit}/s"]
    if task.p50_ms is not None:
        parts.append(f"p50 {format_seconds(task.p50_ms / 1e3)}")
    if task.p99_ms is not None:
        parts.append(f"p99 {format_seconds(task.p99_ms / 1e3)}")
    if task.errors:
        parts.append(f"{task.errors:,} errors")
    if task.warming_up:
        parts.append("warming up")
    if task.done_share is not None:
        parts.append(f"{task.done_share * 100:.0f} %")
    if task.eta_s is not None:
        parts.append(f"{format_seconds(round(task.eta_s))} left")
    return f"{single_line(task.task)}: {', '.join(parts)}"


def result_line(result: TaskResult) -> str:
    """Returns the line about a finished task."""
    parts = [f"{format_seconds(result.duration_s)}"]
    if result.throughput:
        parts.append(f"{format_number(result.throughput.mean)} {result.unit}/s")
    p50 = result.service_time.at(50.0) if result.service_time else None
    if p50:
        parts.append(f"p50 {format_seconds(p50.ms / 1e3)}")
    if result.bytes_out:
        parts.append(f"{format_bytes(result.bytes_out)} sent")
    if rate := result.error_rate or result.accounting.failed_share:
        # Later tasks may depend on this one, so the reason is shown now and not only in the report.
        reason = f" ({single_line(result.errors[0].reason)[:200]})" if result.errors else ""
        parts.append(f"error rate {rate * 100:.3g} %{reason}")
    return f"{single_line(result.task)} done: {', '.join(parts)}"

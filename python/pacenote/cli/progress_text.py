"""Progress as text: how far the preparation is, how a running task does, what a finished task did."""

from __future__ import annotations

import time
from collections.abc import Callable

from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskProgress, TaskResult
from pacenote.units import format_bytes, format_number, format_seconds

_MEASURED_S = 1.0
"""How long work must have gone on before its rate says something."""

_IN_BYTES = ("downloading", "verifying", "unpacking", "packing")
_IN_DOCUMENTS = ("generating", "reading")
"""First words of labels, by what they count."""


class Pace:
    """How far each piece of work before the race is, how fast it goes and how long it will take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: dict[str, tuple[float, int]] = {}

    def words(self, label: str, done: int, total: int) -> str:
        """How it goes, in words; what was done before the first call counts as had, not as work."""
        now = self._clock()
        since, before = self._begun.setdefault(label, (now, done))
        if now - since < _MEASURED_S or done <= before:
            return share_done(done, total)
        rate = (done - before) / (now - since)
        said = [share_done(done, total), _rate_words(label, rate)]
        if done < total:
            said.append(f"{format_seconds(max(1, round((total - done) / rate)))} left")
        return ", ".join(filter(None, said))


def _rate_words(label: str, rate: float) -> str:
    kind = label.partition(" ")[0]
    if kind in _IN_BYTES:
        return f"{format_bytes(rate)}/s"
    return f"{rate:,.0f} docs/s" if kind in _IN_DOCUMENTS else ""


def share_done(done: int, total: int) -> str:
    """How far something is; a total of 0 is not known. Large numbers are bytes or documents: shown as they
    are.
    """
    if total <= 0:
        return f"{done:,}" if done else "…"
    return "done" if done >= total else f"{done * 100 // total} %"


def race_line(record: RaceRecord) -> str:
    """What is about to be raced."""
    engine = " ".join(part for part in (record.cluster.distribution, record.cluster.version) if part)
    challenge = f", challenge '{record.challenge}'" if record.challenge else ""
    on = f" on {engine}" if engine else ""
    return single_line(f"race {record.race_id}: track '{record.track.name}'{challenge}{on}")


def progress_line(task: TaskProgress) -> str:
    """How a task is doing right now."""
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
    """What a finished task did, in one line."""
    parts = [f"{format_seconds(result.duration_s)}"]
    if result.throughput:
        parts.append(f"{format_number(result.throughput.mean)} {result.unit}/s")
    p50 = result.service_time.at(50.0) if result.service_time else None
    if p50:
        parts.append(f"p50 {format_seconds(p50.ms / 1e3)}")
    if result.bytes_out:
        parts.append(f"{format_bytes(result.bytes_out)} sent")
    if result.error_rate:
        # What comes next may wait for what has failed: the reason must not wait for the report.
        reason = f" ({single_line(result.errors[0].reason)[:200]})" if result.errors else ""
        parts.append(f"error rate {result.error_rate * 100:.3g} %{reason}")
    return f"{single_line(result.task)} done: {', '.join(parts)}"

"""Progress as text: of jobs before a race, of running tasks, and of finished tasks."""

from __future__ import annotations

import time
from collections.abc import Callable

from pacenote.model.printable import single_line
from pacenote.model.race_progress import RaceProgress, TaskProgress
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.report.task_line import percentile_texts, task_line
from pacenote.units import format_bytes, format_count, format_number, format_seconds

_REASON = 200
"""Maximum length of the reason for a failure, in characters."""

_SHOWN_WAIT_S = 2.0
"""Seconds that an operation must be retried before this is shown."""

_MEASURED_S = 1.0
"""Seconds that a job must run before its rate is shown."""

_IN_BYTES = ("downloading", "verifying", "unpacking", "compressing")
_IN_DOCUMENTS = ("generating", "reading")
_IN_SECONDS = ("starting",)
"""First words of labels whose work is counted in bytes, in documents, or in seconds up to a limit."""


class ProgressEstimator:
    """Estimates rate and remaining time of each job before a race, such as a download."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started: dict[str, tuple[float, int]] = {}

    def describe(self, label: str, done: int, total: int) -> str:
        """Returns the share, rate and remaining time of a job; the time since the first call if the amount of
        work is not known.

        The rate does not include work done before the first call.
        """
        now = self._clock()
        started_at, initial = self._started.setdefault(label, (now, done))
        if _kind(label) in _IN_SECONDS and total:
            return f"{format_seconds(done)} of at most {format_seconds(total)}"
        if now - started_at < _MEASURED_S:
            return share_done(done, total)
        if done <= initial:
            waited = format_seconds(int(now - started_at))
            return f"{share_done(done, total)}, {waited}" if done or total else waited
        rate = (done - initial) / (now - started_at)
        parts = [share_done(done, total), _rate_text(label, rate)]
        if done < total:
            parts.append(f"{format_seconds(max(1, round((total - done) / rate)))} left")
        return ", ".join(filter(None, parts))


def _kind(label: str) -> str:
    return label.partition(" ")[0]


def _rate_text(label: str, rate: float) -> str:
    kind = _kind(label)
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


def progress_line(task: TaskProgress, progress: RaceProgress) -> str:
    """Returns the line about a running task."""
    wait = wait_text(task, progress)
    parts = [wait] if wait else _progress_parts(task)
    left = left_text(progress)
    # The last task of a race ends with it.
    if left and progress.step < progress.steps:
        parts.append(left)
    return f"{single_line(task.task)}: {', '.join(parts)}"


def wait_text(task: TaskProgress, progress: RaceProgress) -> str:
    """Returns what a task waits for if it is retried until it succeeds; otherwise an empty text."""
    for wait in progress.waits:
        if wait.task == task.task and wait.waited_s >= _SHOWN_WAIT_S:
            attempts = format_count(wait.attempts, "attempt")
            return (
                f"no success after {attempts} in {format_seconds(round(wait.waited_s))} "
                f"({single_line(wait.reason)[:_REASON]}), gives up after {format_seconds(wait.limit_s)}"
            )
    return ""


def silence_text(task: TaskProgress) -> str:
    """Returns for how long no operation of a task has ended, or an empty text if that is not unusual."""
    if task.silent_s is None:
        return ""
    return f"no operation has ended for {format_seconds(round(task.silent_s))}"


def left_text(progress: RaceProgress) -> str:
    """Returns how long the race still takes, or an empty text if nothing is known about it."""
    if progress.left is None:
        return ""
    seconds = format_seconds(round(progress.left.seconds))
    return f"race: about {seconds} left{'' if progress.left.complete else ', plus tasks of unknown duration'}"


def rate_text(task: TaskProgress) -> str:
    """Returns the rate of a running task beside its target; empty for a task of which it says nothing."""
    if task.one_off:
        return ""
    target = "" if task.target is None else f" of {format_number(task.target)}"
    return f"{task.rate:,.0f}{target} {task.unit}/s"


def _progress_parts(task: TaskProgress) -> list[str]:
    parts = [rate_text(task), silence_text(task)]
    if task.p50_ms is not None and not task.one_off:
        times = "latency" if task.has_latency else "service time"
        parts.append(f"{times} p50 {format_seconds(task.p50_ms / 1e3)}")
    if task.p99_ms is not None and not task.one_off:
        parts.append(f"p99 {format_seconds(task.p99_ms / 1e3)}")
    if task.errors:
        parts.append(format_count(task.errors, "error"))
    if task.warming_up:
        parts.append("warming up")
    if task.done_share is not None and not task.one_off:
        parts.append(f"{task.done_share * 100:.0f} %")
    if task.eta_s is not None:
        parts.append(f"{format_seconds(round(task.eta_s))} left")
    return list(filter(None, parts)) or ["running"]


def result_line(result: TaskResult) -> str:
    """Returns the line about a task that ended; one that each client executed at most once has no rates."""
    ended = result.accounting.succeeded + result.accounting.failed
    unanswered = result.accounting.unanswered
    # The duration ends with the last reply: without any, it says nothing.
    parts = [_duration(result)] if ended or not unanswered else []
    if unanswered:
        parts.append(f"{format_count(unanswered, 'operation')} unanswered")
    line = task_line(result)
    if line.rate is not None:
        including = " with the backlog of the warm-up" if line.rate_has_backlog else ""
        parts += [f"{format_number(line.rate)} {line.unit}/s{including}", *percentile_texts(line)]
    elif result.work.done > ended:
        parts.append(f"{result.work.done:,} {result.unit}")
    if result.bytes_out:
        parts.append(f"{format_bytes(result.bytes_out)} sent")
    if failures := failures_text(result):
        parts.append(failures)
    how = line.ended
    end = "done:" if not how else f"{how} after" if ended or not unanswered else f"{how}:"
    return f"{line.name} {end} {', '.join(parts)}"


def failures_text(result: TaskResult) -> str:
    """Returns how much of a task failed and why, or an empty text. Later tasks may depend on this one, so the
    reason is shown when it ends and not only in the report.
    """
    failures = _failures(result)
    reason = f" ({single_line(result.errors[0].reason)[:_REASON]})" if failures and result.errors else ""
    return f"{failures}{reason}"


def _failures(result: TaskResult) -> str:
    """Returns the error rate, or what failed although none of the measured operations did; may be empty."""
    if result.error_rate:
        return f"error rate {result.error_rate * 100:.3g} %"
    if not result.accounting.failed:
        return ""
    text = f"{result.accounting.failed_share * 100:.3g} % of all operations failed"
    return text if result.error_rate is None else f"{text}, only in the warm-up"


def _duration(result: TaskResult) -> str:
    """Returns the duration, and that of the measured window if there was a warm-up."""
    text = format_seconds(result.duration_s)
    return f"{text} ({format_seconds(result.window_s)} measured)" if result.accounting.warmup else text

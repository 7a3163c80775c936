"""Operations of a schedule that no latency has, because they failed, or were not answered or not sent.

Distributions of latency are those of successes: an engine that stops answering has only fast ones.
"""

from __future__ import annotations

from pacenote.model.result import TaskResult, find_percentile

UNSERVED = "failed, or were not answered or not sent"
"""What happened to operations without a latency."""

ENDLESS_REASON = f"so many operations {UNSERVED}, that this percentile of latency is theirs"
"""Says why a latency does not decide."""


def has_unserved(task: TaskResult) -> bool:
    """Returns whether operations of a task failed while it was measured, or were not answered or not sent."""
    return bool(task.error_rate or task.accounting.unanswered or task.accounting.unsent)


def is_endless(task: TaskResult, q: float) -> bool:
    """Returns whether the percentile `q` (0 to 100) of the latency of all operations that were due is that of
    operations without one; false if an older version did not record it.
    """
    with_unserved = find_percentile(task.latency_with_failures, q)
    return with_unserved is not None and with_unserved.ms is None

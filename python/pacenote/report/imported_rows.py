"""The report of an imported race: its figures as the file of the other tool has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.figures.metric import PercentileKind
from pacenote.model.imported import (
    ERROR_RATE,
    ImportedResults,
    ImportedTask,
    imported_tasks,
    percentile_of,
    throughput_of,
)
from pacenote.model.sample_counts import SAMPLES_NEEDED
from pacenote.report.rows import UNKNOWN_SAMPLES_MARK, Row

_KINDS: dict[str, PercentileKind] = {
    "latency": "latency",
    "service time": "service-time",
    "processing time": "processing-time",
}
_SHARDS = "primary shards"

_NEEDED = ", ".join(f"{count:,} for p{q:g}" for q, count in SAMPLES_NEEDED.items())

UNKNOWN_SAMPLES = (
    f"{UNKNOWN_SAMPLES_MARK} The file does not show whether there are enough samples for this percentile "
    f"(at least {_NEEDED}). The verdict does not depend on it."
)
"""Explains the mark."""


def imported_rows(imported: ImportedResults) -> Iterator[Row]:
    """Yields the figures in the order of the file. Percentiles are marked unless the file shows that there
    are enough samples for them.
    """
    tasks = {task.task: task for task in imported_tasks(imported.values)}
    for value in imported.values:
        two_decimals = value.metric == ERROR_RATE or throughput_of(value.metric) is not None
        percentile = percentile_of(value.metric)
        yield Row(
            value.metric,
            value.task,
            value.value,
            value.unit,
            kind=_KINDS[percentile[0]]
            if percentile
            else "shards"
            if value.metric.endswith(_SHARDS)
            else "other",
            mark=_mark(tasks.get(value.task), percentile),
            decimals=2 if two_decimals else None,
        )


def _mark(task: ImportedTask | None, percentile: tuple[str, float] | None) -> str:
    # The 100th percentile is the largest value, not an estimate.
    if task is None or percentile is None or percentile[1] >= 100 or task.supports(*percentile):
        return ""
    return UNKNOWN_SAMPLES_MARK


def imported_footnotes(rows: Sequence[Row], imported: ImportedResults) -> tuple[str, ...]:
    """Returns explanations of the marks, and of rows that need one."""
    texts = []
    if any(row.mark == UNKNOWN_SAMPLES_MARK for row in rows):
        texts.append(UNKNOWN_SAMPLES)
    if any(row.kind == "shards" for row in rows):
        texts.append(
            f"Times and counts of primary shards are as {imported.tool_name} reports them: since the indices "
            "were created, not since the race began."
        )
    return tuple(texts)

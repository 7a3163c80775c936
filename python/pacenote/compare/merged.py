"""Percentiles of all operations of each side, from the merged histograms of its races. They describe; nothing
is decided by them, because the operations of one race are not independent of each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.compare.metrics import percentile_metric
from pacenote.compare.race_findings import names_text
from pacenote.model.comparison import (
    ComparedRace,
    Comparison,
    ComparisonOptions,
    MergedPercentileChange,
    MetricId,
    MetricWord,
    PercentileTime,
)
from pacenote.model.merged_series import MergedSeries, MergedTimes
from pacenote.model.result import REPORTED_PERCENTILES, DurationSummary, TaskResult, find_percentile
from pacenote.model.warmup_backlog import includes_backlog
from pacenote.units import format_count

_TIMES: tuple[PercentileTime, ...] = ("latency", "service time")
"""In the order of Rally's table."""


class SideSeries(Struct, frozen=True):
    """The races of one side with their merged series."""

    races: Sequence[ComparedRace]
    """The races, in the order of the files that were merged."""

    series: MergedSeries
    """The merged series."""

    @property
    def read(self) -> list[ComparedRace]:
        """The races that are part of the merged series."""
        unread = {each.index for each in self.series.unread}
        return [race for index, race in enumerate(self.races) if index not in unread]


def with_merged_percentiles(
    comparison: Comparison, sides: tuple[SideSeries, SideSeries], options: ComparisonOptions
) -> Comparison:
    """Returns the comparison with the percentiles of all operations of each side, except those that must not
    be compared, and with notes about races and operations that are not part of them.
    """
    words = {each.metric: each.word for each in comparison.metrics}
    changes, notes = list[MergedPercentileChange](), [*_unread_notes(sides, options)]
    for task in dict.fromkeys(metric.task for metric in words):
        for time in _TIMES:
            shown = _comparable(task, time, words)
            if not shown:
                continue
            times = [_side_times(side, task, time) for side in sides]
            for name, side in zip(("baseline", "contender"), times, strict=True):
                if side.missing:
                    notes.append(
                        f"the series of the {name} lack {format_count(side.missing, 'operation')} of {task}, "
                        f"which its merged percentiles of {time} do not contain"
                    )
            for q in shown:
                has_backlog = time == "latency" and any(_includes_backlog(side, task, q) for side in sides)
                if change := _change(percentile_metric(task, time, q), times):
                    changes.append(replace(change, has_backlog=has_backlog))
    return replace(comparison, merged_percentiles=tuple(changes), notes=(*comparison.notes, *notes))


def _includes_backlog(side: SideSeries, name: str, q: float) -> bool:
    """Returns whether a percentile of the latency of a task includes the backlog of the warm-up in a race."""
    tasks = (task for race in side.read for task in race.record.tasks)
    return any(task.task == name and includes_backlog(task, q) for task in tasks)


def _comparable(task: str, time: PercentileTime, words: Mapping[MetricId, MetricWord]) -> tuple[float, ...]:
    """Returns the percentiles that are not void. One that the races do not have, because each has too few
    operations for it, is void if the next one that they have is: what is doubtful begins at a percentile.
    """
    percentiles, is_void = list[float](), True
    for q in reversed(REPORTED_PERCENTILES):
        word = words.get(percentile_metric(task, time, q))
        if word is not None:
            is_void = word == "void"
        if not is_void:
            percentiles.append(q)
    return tuple(reversed(percentiles))


class _SideTimes(Struct, frozen=True):
    """One kind of time of a task, of all races of a side."""

    times: MergedTimes
    """The merged times."""

    longest_ms: float
    """The longest duration: the merged histograms know it with three digits only."""

    missing: int
    """How many operations the races counted beyond those of their series."""

    def at(self, q: float) -> float | None:
        """Returns a percentile, or None if there are too few operations for it."""
        percentile = find_percentile(self.times.percentiles, q)
        return None if percentile is None else min(percentile.ms, self.longest_ms)


def _side_times(side: SideSeries, task: str, time: PercentileTime) -> _SideTimes:
    merged = side.series.tasks.get(task)
    times = MergedTimes(0, ()) if merged is None else getattr(merged, _FIELDS[time])
    own = [summary for race in side.read if (summary := _summary(race.record.tasks, task, time)) is not None]
    counted = sum(each.count for each in own)
    return _SideTimes(times, max((each.max_ms for each in own), default=0.0), max(counted - times.count, 0))


_FIELDS: Mapping[PercentileTime, str] = {"latency": "latency", "service time": "service_time"}
"""The fields of a time in a result and in merged series."""


def _summary(tasks: Sequence[TaskResult], name: str, time: PercentileTime) -> DurationSummary | None:
    times = (getattr(each, _FIELDS[time]) for each in tasks if each.task == name)
    return next((each for each in times if each is not None), None)


def _change(metric: MetricId, sides: Sequence[_SideTimes]) -> MergedPercentileChange | None:
    """Returns a percentile of both sides, or None if one of them has too few operations for it."""
    old, new = (side.at(metric.q) for side in sides)
    if old is None or new is None:
        return None
    old_count, new_count = (side.times.count for side in sides)
    return MergedPercentileChange(metric, old, new, old_count, new_count)


def _unread_notes(sides: Sequence[SideSeries], options: ComparisonOptions) -> Iterator[str]:
    reasons = dict[str, list[ComparedRace]]()
    for side in sides:
        for unread in side.series.unread:
            reasons.setdefault(unread.reason, []).append(side.races[unread.index])
    for reason, races in reasons.items():
        word = "race" if len(races) == 1 else "races"
        names = names_text(races, options)
        yield f"not in the merged percentiles: {word} {names}, whose series.parquet {reason}"

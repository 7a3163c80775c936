"""A trend as CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.output_text import csv_text, json_text
from pacenote.model.trend import Trend
from pacenote.report.comparison_rows import backlog_mark

_COLUMNS = (
    *("Race", "Time", "Verdict", "Engine", "Revision", "Metric", "Task", "Unit", "Value", "Low", "High"),
    *("Level", "Change", "Word", "Regression", "Doubtful", "Outlier", "Mark"),
)


def render_trend_json(trend: Trend) -> str:
    """Returns the trend as one JSON object; docs/reference/trend.md describes it."""
    return json_text(trend.to_document())


def render_trend_csv(trend: Trend) -> str:
    """Returns one line for each metric and race: its value, its level, and the change that begins there."""
    return csv_text([_COLUMNS, *_rows(trend)])


def _rows(trend: Trend) -> Iterator[tuple[object, ...]]:
    for metric in trend.metrics:
        changes = {change.after: change for change in metric.changes}
        levels = {at: level.value for level in metric.levels for at in range(level.first, level.last + 1)}
        for point in metric.points:
            race, change = trend.races[point.race], changes.get(point.race)
            yield (
                *(race.race_id, race.timestamp.isoformat(), race.verdict, race.engine, race.revision),
                *(metric.metric.label, metric.metric.task, metric.metric.unit, point.value),
                *(_known(point.low), _known(point.high), levels.get(point.race, "")),
                *((change.change.value, change.word, int(change.is_regression)) if change else ("", "", 0)),
                *(int(point.is_doubtful), int(point.is_outlier), backlog_mark(point)),
            )


def _known(value: float | None) -> float | str:
    return "" if value is None else value

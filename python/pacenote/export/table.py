"""The columns of exported figures, one row per race, task, metric and statistic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from pacenote.export.document import ExportedRace
from pacenote.export.figures import ExportedFigure


class ExportColumn(Struct, frozen=True):
    """A column of the table."""

    name: str
    """Its name."""

    kind: Literal["text", "number", "flag", "time"]
    """What its values are."""

    text: str
    """Its meaning in one phrase."""

    of_race: Callable[[ExportedRace], object] | None = None
    """Returns its value, if that is the same for all figures of a race."""

    of_figure: Callable[[ExportedFigure], object] | None = None
    """Returns its value, if that differs between figures."""


def _tags(race: ExportedRace) -> str:
    return json.dumps(race.user_tags, ensure_ascii=False, sort_keys=True)


COLUMNS = (
    ExportColumn("race_id", "text", "id of the race", lambda race: race.race_id),
    ExportColumn("race_time", "time", "when the race began, in UTC", lambda race: race.timestamp),
    ExportColumn("state", "text", "how far the race is, or how it ended", lambda race: race.state),
    ExportColumn("verdict", "text", "`valid`, `suspect` or `void`", lambda race: race.verdict.state),
    ExportColumn("track", "text", "name of the track", lambda race: race.track),
    ExportColumn("challenge", "text", "name of the challenge", lambda race: race.challenge),
    ExportColumn("car", "text", "names of the cars, separated by `+`", lambda race: "+".join(race.car)),
    ExportColumn(
        "distribution", "text", "`elasticsearch` or `opensearch`", lambda race: race.engine.distribution
    ),
    ExportColumn("version", "text", "version of the engine", lambda race: race.engine.version),
    ExportColumn("user_tags", "text", "tags of the user, as a JSON object", _tags),
    ExportColumn("folder", "text", "folder of the race", lambda race: race.files.folder),
    ExportColumn("task", "text", "name of the task; empty for the whole race", None, lambda each: each.task),
    ExportColumn("operation", "text", "name of the operation", None, lambda each: each.operation),
    ExportColumn(
        "part",
        "text",
        "what of the task or engine it describes; empty for all of it",
        None,
        lambda each: each.part,
    ),
    ExportColumn("metric", "text", "name of the metric", None, lambda each: each.metric),
    ExportColumn("statistic", "text", "`mean`, `p99`, `value`, …", None, lambda each: each.statistic),
    ExportColumn("value", "number", "the figure", None, lambda each: each.value),
    ExportColumn("unit", "text", "its unit; empty for a number of things", None, lambda each: each.unit),
    ExportColumn(
        "low",
        "number",
        "lower bound of the 95 % interval of a percentile or mean",
        None,
        lambda each: each.low,
    ),
    ExportColumn("high", "number", "upper bound of the interval", None, lambda each: each.high),
    ExportColumn(
        "supported", "flag", "whether a percentile has enough samples", None, lambda each: each.supported
    ),
)
"""The columns of CSV, and the first of Parquet."""

FILE_COLUMNS = (
    ExportColumn(
        "samples", "text", "path of `samples.parquet`, if it exists", lambda race: race.files.samples
    ),
    ExportColumn("series", "text", "path of `series.parquet`, if it exists", lambda race: race.files.series),
    ExportColumn(
        "telemetry", "text", "path of `telemetry.parquet`, if it exists", lambda race: race.files.telemetry
    ),
)
"""Further columns of Parquet, where a text that is the same in all rows of a race takes no room."""


def race_rows(race: ExportedRace) -> Iterator[list[object]]:
    """Yields the values of `COLUMNS` for each figure of a race."""
    columns = table_columns(race, COLUMNS)
    yield from map(list, zip(*columns, strict=True))


def table_columns(race: ExportedRace, columns: tuple[ExportColumn, ...]) -> list[list[object]]:
    """Returns the values of each column for the figures of a race."""
    return [_values(race, column) for column in columns]


def _values(race: ExportedRace, column: ExportColumn) -> list[object]:
    if column.of_race is not None:
        return [column.of_race(race)] * len(race.figures)
    assert column.of_figure is not None  # A column has one of both.
    return list(map(column.of_figure, race.figures))

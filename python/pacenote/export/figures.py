"""The figures of a race: one for each task, metric and statistic."""

from __future__ import annotations

from msgspec import Struct

from pacenote.figures.of_race import Figure, race_figures
from pacenote.model.race_record import RaceRecord


class ExportedFigure(Struct, frozen=True):
    """One figure of a race."""

    metric: str
    """Name of the metric."""

    statistic: str
    """Which figure of the metric it is: `mean`, `p99.9`, or `value` if there is only one."""

    value: float
    """The figure in `unit`."""

    unit: str
    """The unit; empty for a number of things."""

    task: str = ""
    """Name of the task; empty for a figure of the whole race."""

    operation: str = ""
    """Name of the operation of the task, or of its sub-operation; empty for a figure of the whole race."""

    part: str = ""
    """What of the task or the engine it describes, such as a sub-operation or an index; empty for all of it.
    """

    low: float | None = None
    """Lower bound of the 95 % interval of a percentile, or of the mean of what a runner returned, in `unit`;
    null if it has none.
    """

    high: float | None = None
    """Upper bound of the 95 % interval of a percentile, or of the mean of what a runner returned, in `unit`;
    null if it has none.
    """

    supported: bool = True
    """Whether there are enough samples for this percentile; true for other figures."""


def exported_figures(record: RaceRecord) -> tuple[ExportedFigure, ...]:
    """Returns the figures of a race, each once: those of its tasks, then those of the engine and the indices.
    What was not measured has none.
    """
    unique: dict[tuple[str, str, str, str], ExportedFigure] = {}
    for figure in sorted(race_figures(record), key=lambda figure: not figure.task):
        if figure.value is not None:
            key = (figure.task, figure.part, figure.metric.key, figure.statistic)
            unique.setdefault(key, _exported(figure, figure.value))
    return tuple(unique.values())


def _exported(figure: Figure, value: float) -> ExportedFigure:
    return ExportedFigure(
        metric=figure.metric.key,
        statistic=figure.statistic,
        value=value,
        unit=figure.unit,
        task=figure.task,
        operation=figure.operation,
        part=figure.part,
        low=figure.low,
        high=figure.high,
        supported=figure.supported,
    )

"""Races as OpenMetrics text 1.0, for Prometheus and what reads its format.

All samples of a metric family must follow one another, so that the samples of each family wait in a file of
their own until the last race was read. A race is a set of labels; the time of each sample is when its race
began.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import IO, get_args

from msgspec import Struct

from pacenote.export.document import ExportedRace
from pacenote.export.figures import ExportedFigure
from pacenote.figures.catalogue import METRICS
from pacenote.figures.metric import VALUE, Metric
from pacenote.model.printable import visible
from pacenote.model.race_record import VerdictState
from pacenote.model.unique_names import UniqueNames
from pacenote.model.user_tags import tag_texts

PREFIX = "pacenote_"
"""Beginning of the names of all metric families."""

_UNITS = {"ms": ("seconds", 1e-3), "s": ("seconds", 1.0), "bytes": ("bytes", 1.0), "ratio": ("ratio", 1.0)}
"""Base unit of OpenMetrics for a unit, and the factor."""

_IN_MEMORY = 1 << 18
"""Characters of a family that wait in memory; more of them wait in a file."""

_CHUNK = 1 << 16

_QUANTILES = {"min": 0.0, "max": 1.0}
"""Statistics of a distribution that are quantiles, besides percentiles."""

_LABEL = re.compile(r"[^a-zA-Z0-9_]")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class MetricFamily(Struct, frozen=True):
    """The lines before the samples of a metric family."""

    name: str
    """Its name."""

    form: str
    """Its type."""

    unit: str
    """Its base unit; empty if it has none."""

    text: str
    """What it is."""

    def lines(self) -> str:
        """Returns its description."""
        unit = f"# UNIT {self.name} {self.unit}\n" if self.unit else ""
        return f"# TYPE {self.name} {self.form}\n{unit}# HELP {self.name} {self.text.translate(_ESCAPES)}\n"


_RACE = MetricFamily(f"{PREFIX}race", "info", "", "a race, with what identifies it")
_VERDICT = MetricFamily(f"{PREFIX}race_verdict", "stateset", "", "whether the figures of a race may be used")


def family_of(metric: Metric) -> MetricFamily:
    """Returns the metric family of a metric."""
    unit, _ = _UNITS.get(metric.unit, ("", 1.0))
    form = "summary" if metric.form == "times" else metric.form
    return MetricFamily(f"{PREFIX}{metric.key}{f'_{unit}' if unit else ''}", form, unit, metric.text)


def openmetrics_text(races: Iterable[ExportedRace], in_memory: int = _IN_MEMORY) -> Iterator[str]:
    """Yields all metric families. `in_memory` is the number of characters of a family that wait in memory."""
    with contextlib.ExitStack() as files:
        waiting: dict[MetricFamily, IO[str]] = {}
        for race in races:
            for family, sample in _race_samples(race):
                if family not in waiting:
                    waiting[family] = files.enter_context(
                        tempfile.SpooledTemporaryFile(in_memory, "w+", encoding="utf-8", newline="")
                    )
                waiting[family].write(sample)
        for family, file in waiting.items():
            yield family.lines()
            file.seek(0)
            # Each line is whole: texts are cleaned line by line where they are printed.
            while chunk := file.read(_CHUNK):
                yield chunk + file.readline()
    yield "# EOF\n"


def _race_samples(race: ExportedRace) -> Iterator[tuple[MetricFamily, str]]:
    """Yields the samples of a race as lines, each with its family."""
    time = f"{datetime.fromisoformat(race.timestamp).timestamp():.3f}".rstrip("0").rstrip(".")
    labels = {"race": race.race_id, "track": race.track, "challenge": race.challenge or "", **_tags(race)}
    yield _RACE, f"{_RACE.name}_info{_labels(labels | _facts(race))} 1 {time}\n"
    for state in get_args(VerdictState):
        sample = f"{_VERDICT.name}{_labels({**labels, _VERDICT.name: state})}"
        yield _VERDICT, f"{sample} {race.verdict.state == state:d} {time}\n"
    by_metric: dict[str, list[ExportedFigure]] = {}
    for figure in race.figures:
        by_metric.setdefault(figure.metric, []).append(figure)
    for name, figures in by_metric.items():
        metric, family = METRICS[name], family_of(METRICS[name])
        # Names that are shown alike may not be written twice.
        for sample, value in dict(_samples(metric, figures, labels)).items():
            yield family, f"{sample} {value} {time}\n"


def _tags(race: ExportedRace) -> dict[str, str]:
    """Returns the user tags as labels `tag_NAME`. A name that is the same as another one without the
    characters that labels cannot have gets a number.
    """
    labels = UniqueNames("_")
    texts = tag_texts(race.user_tags).items()
    return {labels.add(f"tag_{_LABEL.sub('_', name)}"): text for name, text in texts}


def _facts(race: ExportedRace) -> dict[str, str]:
    """Returns what else is known of a race, as labels of one sample."""
    return {
        "car": "+".join(race.car),
        "distribution": race.engine.distribution or "",
        "version": race.engine.version or "",
        "pipeline": race.pipeline,
        "environment": race.environment,
        "host": race.host.name or "",
        "state": race.state,
        "pacenote": race.pacenote or "",
    }


def _samples(
    metric: Metric, figures: Sequence[ExportedFigure], labels: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yields the samples of a metric in one race, each as its name with labels, and its value."""
    family = family_of(metric)
    _, factor = _UNITS.get(metric.unit, ("", 1.0))
    for _, group in groupby(figures, key=lambda each: (each.task, each.operation, each.part)):
        of_part = list(group)
        first = of_part[0]
        own = {**labels, "task": first.task, "operation": first.operation, "part": first.part}
        if family.form == "summary":
            yield from _summary(family, of_part, own, factor)
            continue
        name = f"{family.name}_total" if family.form == "counter" else family.name
        for figure in of_part:
            if figure.supported:
                varied = {"unit": figure.unit} if metric.unit in ("rate", "other") else {}
                which = {} if figure.statistic == VALUE else {"statistic": figure.statistic}
                yield f"{name}{_labels({**own, **varied, **which})}", _number(figure.value * factor)


def _summary(
    family: MetricFamily, figures: Sequence[ExportedFigure], labels: Mapping[str, str], factor: float
) -> Iterator[tuple[str, str]]:
    """Yields the quantiles of a distribution that have enough samples, its sum and its count."""
    values = {figure.statistic: figure.value for figure in figures if figure.supported}
    quantiles = {name: _quantile(name) for name in values}
    for name, quantile in sorted(quantiles.items(), key=lambda each: each[1] or 0.0):
        if quantile is not None:
            labelled = _labels({**labels, "quantile": _number(quantile)})
            yield f"{family.name}{labelled}", _number(values[name] * factor)
    if "mean" in values and "count" in values:
        yield f"{family.name}_sum{_labels(labels)}", _number(values["mean"] * values["count"] * factor)
    if "count" in values:
        yield f"{family.name}_count{_labels(labels)}", _number(values["count"])


def _quantile(statistic: str) -> float | None:
    if statistic.startswith("p"):
        return round(float(statistic[1:]) / 100, 12)
    return _QUANTILES.get(statistic)


def _labels(labels: Mapping[str, str]) -> str:
    """Returns labels as text; an empty one is the same as none."""
    pairs = (f'{name}="{visible(text).translate(_ESCAPES)}"' for name, text in labels.items() if text)
    return f"{{{','.join(pairs)}}}"


def _number(value: float) -> str:
    """Returns a number without the rounding error of its conversion to the base unit."""
    return str(value) if isinstance(value, int) else f"{value:.15g}"

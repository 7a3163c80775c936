"""What the series of `telemetry.parquet` say about each task of a race, or about its measured window: what is
counted in a warm-up says nothing about figures that were measured later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from pacenote.model.telemetry_sample import SampleKind


class TaskTimes(Struct, frozen=True):
    """When a task ran or, if series are cut to its measured window, when it was measured."""

    task: str
    """Name of the task."""

    begin_ns: int
    """The beginning, in nanoseconds since 1970."""

    end_ns: int
    """The end, in nanoseconds since 1970."""

    @property
    def duration_s(self) -> float:
        """The time from the beginning to the end in seconds."""
        return (self.end_ns - self.begin_ns) / 1e9


class CounterCut(Struct, frozen=True):
    """What a counter has counted while a task ran."""

    increase: float
    """By how much it has grown, in its unit. Between two samples, it is assumed to grow evenly."""

    covered_s: float
    """The part of the task in which that is known, in seconds."""

    span_s: float
    """The time between the samples from which that is known, in seconds: it is longer than `covered_s` if the
    task began or ended between two samples.
    """

    peak_per_s: float | None
    """Largest growth per second between two samples within the task; None if there are none."""

    samples: int
    """Number of samples within the task."""

    gaps: int
    """Number of times within the task at which it could not be read."""

    resets: int
    """How often it has begun again from 0; what it counted between these samples is not known."""

    @property
    def per_s(self) -> float | None:
        """Growth per second, or None if it is not known of any part of the task."""
        return self.increase / self.covered_s if self.covered_s > 0 else None


class GaugeCut(Struct, frozen=True):
    """The values of a gauge while a task ran."""

    first: float
    """The first value."""

    last: float
    """The last value."""

    min: float
    """The smallest value."""

    mean: float
    """The mean of all values."""

    max: float
    """The largest value."""

    samples: int
    """Number of values within the task."""

    gaps: int
    """Number of times within the task at which it could not be read."""


@dataclass(frozen=True, slots=True)
class SeriesCuts:
    """A series, cut to the tasks."""

    source: str
    """What has read it: the name of a telemetry device, or `host`."""

    name: str
    """Name of the value."""

    unit: str
    """Its unit; empty if it has none."""

    kind: SampleKind
    """Whether its cuts are those of a gauge or of a counter."""

    labels: Mapping[str, str]
    """What it belongs to."""

    cuts: tuple[CounterCut | GaugeCut | None, ...] = field(repr=False)
    """What it says about each task, in the order of the tasks; None if it says nothing."""


class TelemetryCuts(Struct, frozen=True):
    """The series of a race, cut to its tasks."""

    tasks: tuple[TaskTimes, ...] = ()
    """The tasks of the race."""

    series: tuple[SeriesCuts, ...] = ()
    """The series, sorted by source, name and labels."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> TelemetryCuts:
        """Reads the document of the core. Raises KeyError and TypeError if it is not one."""
        return cls(
            tuple(TaskTimes(**task) for task in document["tasks"]),
            tuple(_series(series) for series in document["series"]),
        )

    def of_source(self, source: str, task: str) -> TaskTelemetry:
        """Returns what the series of a source say about a task; nothing if there is no such task."""
        return self.of_sources((source,), task)

    def of_sources(self, sources: Collection[str], task: str) -> TaskTelemetry:
        """Returns the same for several sources, which must not have series with the same name and labels."""
        position = next((number for number, cut_task in enumerate(self.tasks) if cut_task.task == task), None)
        cuts_by_name = dict[str, list[tuple[Mapping[str, str], CounterCut | GaugeCut]]]()
        for series in self.series if position is not None else ():
            cut = None if position is None else series.cuts[position]
            if series.source in sources and cut is not None:
                cuts_by_name.setdefault(series.name, []).append((series.labels, cut))
        return TaskTelemetry({name: tuple(cuts) for name, cuts in cuts_by_name.items()})


@dataclass(frozen=True, slots=True)
class TaskTelemetry:
    """What the series of one source, or of several, say about one task."""

    cuts: Mapping[str, tuple[tuple[Mapping[str, str], CounterCut | GaugeCut], ...]]
    """Labels and cuts by name of the series."""

    _by_labels: Mapping[tuple[str, frozenset[tuple[str, str]]], tuple[CounterCut | GaugeCut, ...]] = field(
        init=False, repr=False, compare=False
    )
    """Cuts by name and labels: there may be thousands of series with one name, each of a node."""

    def __post_init__(self) -> None:
        cuts_by_labels = dict[tuple[str, frozenset[tuple[str, str]]], tuple[CounterCut | GaugeCut, ...]]()
        for name, cuts in self.cuts.items():
            for labels, cut in cuts:
                key = (name, frozenset(labels.items()))
                cuts_by_labels[key] = (*cuts_by_labels.get(key, ()), cut)
        object.__setattr__(self, "_by_labels", cuts_by_labels)

    def counters(self, name: str, **labels: str) -> Iterator[tuple[Mapping[str, str], CounterCut]]:
        """Yields the counters with this name, and with these labels among others."""
        for own_labels, cut in self.cuts.get(name, ()):
            if isinstance(cut, CounterCut) and labels.items() <= own_labels.items():
                yield own_labels, cut

    def gauges(self, name: str, **labels: str) -> Iterator[tuple[Mapping[str, str], GaugeCut]]:
        """Yields the gauges with this name, and with these labels among others."""
        for own_labels, cut in self.cuts.get(name, ()):
            if isinstance(cut, GaugeCut) and labels.items() <= own_labels.items():
                yield own_labels, cut

    def counter(self, name: str, **labels: str) -> CounterCut | None:
        """Returns the counter with exactly these labels, or None if there is none."""
        cuts = self._by_labels.get((name, frozenset(labels.items())), ())
        return next((cut for cut in cuts if isinstance(cut, CounterCut)), None)

    def gauge(self, name: str, **labels: str) -> GaugeCut | None:
        """Returns the gauge with exactly these labels, or None if there is none."""
        cuts = self._by_labels.get((name, frozenset(labels.items())), ())
        return next((cut for cut in cuts if isinstance(cut, GaugeCut)), None)


def _series(document: Mapping[str, Any]) -> SeriesCuts:
    kind = CounterCut if document["kind"] == "counter" else GaugeCut
    cuts = tuple(None if cut is None else kind(**cut) for cut in document["cuts"])
    return SeriesCuts(**{**document, "cuts": cuts})

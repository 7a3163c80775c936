"""The series of `telemetry.parquet`, cut to tasks: what counters have counted, and the values of gauges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEAST_COVERAGE = 0.5
"""Part of a task of which a counter must be known."""


@dataclass(frozen=True, slots=True)
class CutTask:
    """A task of a race."""

    task: str
    """Its name."""

    begin_ns: int
    """When it began, in nanoseconds since 1970."""

    end_ns: int
    """When it ended, in nanoseconds since 1970."""

    @property
    def duration_s(self) -> float:
        """Its length in seconds."""
        return (self.end_ns - self.begin_ns) / 1e9


@dataclass(frozen=True, slots=True)
class CutSeries:
    """A series, and what it says about each task."""

    source: str
    """The device that has read it, or `host`."""

    name: str
    """Name of the value."""

    labels: Mapping[str, str]
    """What the value belongs to."""

    cuts: tuple[Mapping[str, float | None] | None, ...]
    """What it says about each task; None if it says nothing."""


@dataclass(frozen=True, slots=True)
class CutRace:
    """The telemetry of a race, cut to its tasks."""

    tasks: tuple[CutTask, ...] = ()
    """The tasks."""

    series: tuple[CutSeries, ...] = ()
    """The series."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> CutRace:
        """Reads what the core has cut. Raises KeyError and TypeError for a document in another form."""
        return cls(
            tuple(CutTask(each["task"], each["begin_ns"], each["end_ns"]) for each in document["tasks"]),
            tuple(
                CutSeries(each["source"], each["name"], each["labels"], tuple(each["cuts"]))
                for each in document["series"]
            ),
        )

    def of_task(self, number: int, source: str) -> TaskSeries:
        """Returns the series that a device, or the host sampler, has read during a task."""
        return TaskSeries(
            self.tasks[number].duration_s,
            [(each, cut) for each in self.series if each.source == source and (cut := each.cuts[number])],
        )


class TaskSeries:
    """The series of one source during one task. Values that are not known are None."""

    def __init__(
        self, duration_s: float, series: Sequence[tuple[CutSeries, Mapping[str, float | None]]]
    ) -> None:
        self.duration_s = duration_s
        self._found: dict[tuple[str, tuple[tuple[str, str], ...]], Mapping[str, float | None]] = {}
        self._labels: dict[str, list[Mapping[str, str]]] = {}
        for each, cut in series:
            self._found[each.name, tuple(sorted(each.labels.items()))] = cut
            self._labels.setdefault(each.name, []).append(each.labels)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was read during the task."""
        return not self._found

    def values_of(self, name: str, label: str, **labels: str) -> tuple[str, ...]:
        """Returns the values of a label for which there is a series with this name and these labels."""
        found = [each for each in self._labels.get(name, ()) if label in each]
        alike = [each for each in found if all(each.get(key) == value for key, value in labels.items())]
        return tuple(dict.fromkeys(each[label] for each in alike))

    def names(self, beginning: str, end: str) -> Iterator[str]:
        """Yields the names of series with this beginning and end."""
        yield from (name for name in self._labels if name.startswith(beginning) and name.endswith(end))

    def per_s(self, name: str, **labels: str) -> float | None:
        """Returns the mean increase of a counter per second, in its unit."""
        cut = self._cut(name, labels)
        increase, covered = (cut or {}).get("increase"), (cut or {}).get("covered_s")
        if increase is None or not covered or covered < LEAST_COVERAGE * self.duration_s:
            return None
        return increase / covered

    def increase(self, name: str, **labels: str) -> float | None:
        """Returns the increase of a counter during the whole task, as far as it is known."""
        per_s = self.per_s(name, **labels)
        return None if per_s is None else per_s * self.duration_s

    def share(self, name: str, **labels: str) -> float | None:
        """Returns the increase of a counter of milliseconds, as a part of the time."""
        per_s = self.per_s(name, **labels)
        return None if per_s is None else per_s / 1000

    def mean(self, name: str, **labels: str) -> float | None:
        """Returns the mean of a gauge."""
        return (self._cut(name, labels) or {}).get("mean")

    def largest(self, name: str, **labels: str) -> float | None:
        """Returns the largest value of a gauge."""
        return (self._cut(name, labels) or {}).get("max")

    def smallest(self, name: str, **labels: str) -> float | None:
        """Returns the smallest value of a gauge."""
        return (self._cut(name, labels) or {}).get("min")

    def last(self, name: str, **labels: str) -> float | None:
        """Returns the last value of a gauge."""
        return (self._cut(name, labels) or {}).get("last")

    def growth(self, name: str, **labels: str) -> float | None:
        """Returns the last value of a gauge minus its first one."""
        cut = self._cut(name, labels) or {}
        first, last = cut.get("first"), cut.get("last")
        return None if first is None or last is None else last - first

    def _cut(self, name: str, labels: Mapping[str, str]) -> Mapping[str, float | None] | None:
        return self._found.get((name, tuple(sorted(labels.items()))))


def total(values: Iterable[float | None]) -> float | None:
    """Returns the sum of the values that are known, or None if none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def ratio(part: float | None, whole: float | None) -> float | None:
    """Returns a quotient, or None if a value is not known or the divisor is 0."""
    return part / whole if part is not None and whole else None

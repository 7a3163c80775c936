"""The percentiles of several races together, from their merged histograms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pacenote.model.codec import decode


@dataclass(frozen=True, slots=True)
class MergedPercentile:
    """A percentile of merged durations."""

    q: float
    """The percentile, from 0 to 100."""

    ms: float
    """Its value, in milliseconds."""


@dataclass(frozen=True, slots=True)
class MergedTimes:
    """The distribution of merged durations."""

    count: int
    """Number of durations."""

    percentiles: tuple[MergedPercentile, ...]
    """The percentiles below 100 that the number of durations is enough for."""


@dataclass(frozen=True, slots=True)
class MergedTask:
    """The times of the measured operations of a task that succeeded."""

    service_time: MergedTimes
    """Service time."""

    latency: MergedTimes
    """Latency; empty in a task without a target rate."""


@dataclass(frozen=True, slots=True)
class UnreadSeries:
    """A series that is not part of the merged ones."""

    index: int
    """Its position among the files."""

    reason: str
    """Why it could not be read, as the end of a sentence about the file."""


@dataclass(frozen=True, slots=True)
class MergedSeries:
    """The merged times of the tasks of several series."""

    tasks: Mapping[str, MergedTask] = field(default_factory=dict)
    """The tasks that any series has, by name."""

    unread: tuple[UnreadSeries, ...] = ()
    """The series that could not be read; none of their rows are merged."""

    @classmethod
    def from_document(cls, document: object) -> MergedSeries:
        """Reads the document of the driver. Raises PacenoteError if it is invalid."""
        return decode(cls, document, "series")

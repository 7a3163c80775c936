"""The percentiles of several races together, from their merged histograms."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from pacenote.model.codec import Integer, Number, Stored, decode


class MergedPercentile(Stored, frozen=True):
    """A percentile of merged durations."""

    q: Number
    """The percentile, from 0 to 100."""

    ms: Number
    """Its value, in milliseconds."""


class MergedTimes(Stored, frozen=True):
    """The distribution of merged durations."""

    count: Integer
    """Number of durations."""

    percentiles: tuple[MergedPercentile, ...]
    """The percentiles below 100 that the number of durations is enough for."""


class MergedTask(Stored, frozen=True):
    """The times of the measured operations of a task that succeeded."""

    service_time: MergedTimes
    """Service time."""

    latency: MergedTimes
    """Latency; empty in a task without a target rate."""


class UnreadSeries(Stored, frozen=True):
    """A series that is not part of the merged ones."""

    index: Integer
    """Its position among the files."""

    reason: str
    """Why it could not be read, as the end of a sentence about the file."""


class MergedSeries(Stored, frozen=True):
    """The merged times of the tasks of several series."""

    tasks: Mapping[str, MergedTask] = field(default_factory=dict)
    """The tasks that any series has, by name."""

    unread: tuple[UnreadSeries, ...] = ()
    """The series that could not be read; none of their rows are merged."""

    @classmethod
    def from_document(cls, document: object) -> MergedSeries:
        """Reads the document of the driver. Raises PacenoteError if it is invalid."""
        return decode(cls, document, "series")

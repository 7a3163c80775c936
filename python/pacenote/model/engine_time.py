"""The part of the service time that the engine reports as its own (`took`)."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

SHORT_MS = 10.0
"""Mean service time in milliseconds below which that part is not known, because the engine reports whole
milliseconds.
"""

_MEAN_REMAINDER_MS = 0.5
"""What the engine leaves out of each reply on average, since it does not round up."""


class EngineTime(Struct, frozen=True):
    """Times of the measured operations of a task that succeeded and for which the engine reported `took`."""

    operations: int
    """Number of operations."""

    replies: int
    """Number of replies with a `took`: one for each page of a search, and for each time that documents of a
    bulk were sent.
    """

    took_ms: int
    """Sum of what the engine reports, in whole milliseconds of each reply."""

    service_ns: int
    """Sum of their service times in nanoseconds."""

    @property
    def service_mean_ms(self) -> float:
        """Mean service time in milliseconds."""
        return self.service_ns / 1e6 / self.operations

    @property
    def took_share(self) -> float | None:
        """Mean time that the engine reports / mean service time; None if they are too short."""
        if self.service_mean_ms < SHORT_MS:
            return None
        reported_ms = self.took_ms + _MEAN_REMAINDER_MS * self.replies
        return min(1.0, reported_ms / self.operations / self.service_mean_ms)

    def with_resends(self, resends: float) -> EngineTime:
        """Returns these times if documents of an operation were sent again so often on average, each time
        with a reply of its own.
        """
        return replace(self, replies=self.replies + round(resends * self.operations))

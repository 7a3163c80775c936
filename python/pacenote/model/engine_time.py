"""The part of the service time that the engine reports as its own (`took`)."""

from __future__ import annotations

from dataclasses import dataclass

SHORT_MS = 10.0
"""Mean service time in milliseconds below which that part is not known, because the engine reports whole
milliseconds.
"""

_MEAN_REMAINDER_MS = 0.5
"""What the engine leaves out on average, since it does not round up."""


@dataclass(frozen=True, slots=True)
class EngineTime:
    """Times of the measured operations of a task that succeeded and for which the engine reported `took`."""

    operations: int
    """Number of operations."""

    took_ms: int
    """Sum of what the engine reports, in whole milliseconds of each operation."""

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
        return min(1.0, (self.took_ms / self.operations + _MEAN_REMAINDER_MS) / self.service_mean_ms)

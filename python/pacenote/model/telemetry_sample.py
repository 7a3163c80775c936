"""Values that are sampled while a race runs, and where telemetry devices write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct, field

SampleKind = Literal["gauge", "counter"]
"""A gauge is the value at one instant. A counter grows while its source runs; it begins again from 0 when the
source is started again, and only its differences have a meaning.
"""


class TelemetrySample(Struct, frozen=True):
    """One value at one instant: a row of `telemetry.parquet`.

    Samples with the same source, name and labels are one series; their units and kinds must not differ.
    """

    time_ns: int
    """When the value was read, in nanoseconds since 1970 (UTC), as returned by `TelemetrySink.now_ns`."""

    source: str
    """What has read it: the name of a telemetry device, or `host`."""

    name: str
    """Name of the value, such as `jvm.gc.collectors.young.collection_time`."""

    value: float | None
    """The value in `unit`, or None if it could not be read at this time: a gap."""

    unit: str = ""
    """Unit of the value, such as `ms` or `B`; empty if it has none, as a number of things."""

    kind: SampleKind = "gauge"
    """Whether the value itself or its differences are reported."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """What the value belongs to, such as `node`, `index`, `device` or `cpu`."""


class TelemetrySink(Protocol):
    """Where samples are written; any thread may call it."""

    def now_ns(self) -> int:
        """Returns the time for samples: nanoseconds since 1970 that never go backwards during a race."""

    def write(self, samples: Sequence[TelemetrySample]) -> None:
        """Stores samples, in any order of time.

        Never raises: if they cannot be stored, the race says so at its end.
        """

"""Rally's `transform-stats`: the progress of transforms, and their totals at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from pacenote.model.codec import as_number
from pacenote.model.system_metrics import TransformFigure
from pacenote.telemetry.device import ControlConnection, DeviceReading, expected_form
from pacenote.telemetry.parameters import DeviceParameter
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter
from pacenote.telemetry.short_names import ShortNames

_TRANSFORMS = DeviceParameter(
    "transform-stats-transforms", "names", (), "ids of the transforms; all by default"
)

_COUNTS = (
    *("pages_processed", "documents_processed", "documents_indexed", "index_total", "index_failures"),
    *("search_total", "search_failures", "processing_total"),
)
_TIMES = ("search", "index", "processing")


class TransformStats(SampledDevice):
    """Progress of transforms."""

    name = "transform-stats"
    description = "Progress of transforms: documents, times and throughput."
    always_on = False
    serverless = "public"
    interval = interval_parameter("transform-stats", 1.0)
    parameters = (interval, _TRANSFORMS)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the transforms. Raises EngineError."""
        yield from (
            figure for name, stats in self._transforms(connection) for figure in _figures("", name, stats)
        )

    def conclude(self, connection: ControlConnection, /) -> DeviceReading:
        """Returns the totals of the transforms. Raises EngineError."""
        transforms = list(self._transforms(connection))
        times = {
            f"total_transform_{kind}_times": tuple(
                TransformFigure(name, as_number(stats[f"{kind}_time_in_ms"]), "ms")
                for name, stats in transforms
            )
            for kind in _TIMES
        }
        throughput = tuple(
            TransformFigure(name, rate, "docs/s")
            for name, stats in transforms
            if (rate := _throughput(stats)) is not None
        )
        values = {
            f"transform.{name}.{figure.name}": figure.value
            for name, stats in transforms
            for figure in _figures("total_", name, stats)
        }
        return DeviceReading({**times, "total_transform_throughput": throughput}, values)

    def _transforms(self, connection: ControlConnection) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yields the id and the statistics of each transform."""
        names = ",".join(self._cluster.params.names(_TRANSFORMS)) or "_all"
        reply = connection.get(f"/_transform/{quote(names, safe='*,')}/_stats?size=1000")
        with expected_form('"transforms" with their "id" and "stats"'):
            short = ShortNames()
            for transform in reply["transforms"]:
                stats = transform["stats"]
                missing = [key for key in (*_COUNTS, *(f"{kind}_time_in_ms" for kind in _TIMES))
                           if not isinstance(stats.get(key), int | float)]  # fmt: skip
                if missing:
                    raise ValueError(f"{missing[0]} is missing")
                yield short.of(transform["id"]), stats


def _figures(prefix: str, name: str, stats: Mapping[str, Any]) -> Iterator[SampledValue]:
    labels = {"transform_id": name}
    for key in _COUNTS:
        yield SampledValue(f"{prefix}transform_{key}", as_number(stats[key]), "", "counter", labels)
    for kind in _TIMES:
        time_ms = as_number(stats[f"{kind}_time_in_ms"])
        yield SampledValue(f"{prefix}transform_{kind}_time", time_ms, "ms", "counter", labels)
    rate = _throughput(stats)
    if rate is not None:
        yield SampledValue(f"{prefix}transform_throughput", rate, "docs/s", "gauge", labels)


def _throughput(stats: Mapping[str, Any]) -> float | None:
    """Returns the documents per second that the transform worked, or None if it has not worked yet."""
    time_ms = sum(as_number(stats[f"{kind}_time_in_ms"]) for kind in _TIMES)
    return as_number(stats["documents_processed"]) / time_ms * 1000 if time_ms > 0 else None

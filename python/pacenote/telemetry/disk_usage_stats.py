"""Rally's `disk-usage-stats`: the disk space of each field after the last task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pacenote.errors import EngineError
from pacenote.model.codec import as_number
from pacenote.model.system_metrics import FieldUsage
from pacenote.net.reply import FailedStatus
from pacenote.telemetry.device import ControlConnection, DeviceReading, TelemetryDevice, expected_form
from pacenote.telemetry.parameters import DeviceParameter
from pacenote.telemetry.shard_stats import index_path
from pacenote.telemetry.short_names import ShortNames
from pacenote.units import format_count

_MISSING_API = (400, 405)
"""Statuses with which an engine says that it cannot analyse indices."""

_INDICES = DeviceParameter(
    "disk-usage-stats-indices", "names", (), "the indices; all of the track by default"
)
_TIMEOUT = DeviceParameter(
    "disk-usage-stats-timeout", "seconds", 600.0, "seconds within which an index is read"
)
_FLUSH = DeviceParameter("disk-usage-stats-flush", "flag", True, "whether the indices are flushed before")

_STRUCTURES = (
    *("inverted_index", "stored_fields", "doc_values", "points", "norms", "term_vectors", "knn_vectors"),
    "total",
)
"""Structures of fields, as the engine names them and as fields of `SystemMetrics` do."""


class DiskUsageStats(TelemetryDevice):
    """The disk space of each field, by the structures that it needs."""

    name = "disk-usage-stats"
    description = "Disk space of each field after the last task."
    always_on = False
    parameters = (_INDICES, _TIMEOUT, _FLUSH)

    def start(self) -> None:
        """Checks that there are indices to read. Raises EngineError."""
        if not self._indices:
            raise EngineError(
                "the track has no indices", hint=f"name them: --telemetry-params={_INDICES.name}:INDEX"
            )

    def stop(self) -> DeviceReading:
        """Reads the fields of each index. An index that cannot be read is a problem."""
        usage: dict[str, list[FieldUsage]] = {}
        problems: list[str] = []
        connection = self._cluster.connect(self._cluster.params.seconds(_TIMEOUT))
        try:
            for index in self._indices:
                try:
                    problems += self._read(connection, index, usage)
                except FailedStatus as error:
                    if error.status in _MISSING_API and not usage:
                        raise
                    problems.append(f"{index}: {error.message}")
                except EngineError as error:
                    problems.append(f"{index}: {error.message}")
        finally:
            connection.close()
        ordered = {name: tuple(sorted(rows, key=_position)) for name, rows in usage.items()}
        return DeviceReading(ordered, problems=tuple(problems))

    @property
    def _indices(self) -> tuple[str, ...]:
        return self._cluster.params.names(_INDICES) or self._cluster.indices

    def _read(
        self, connection: ControlConnection, index: str, usage: dict[str, list[FieldUsage]]
    ) -> list[str]:
        """Adds the fields of an index to `usage`, and returns its problems. Raises EngineError."""
        flush = str(self._cluster.params.flag(_FLUSH)).lower()
        path = f"{index_path((index,))}/_disk_usage?run_expensive_tasks=true&flush={flush}"
        reply = connection.request("POST", path)
        with expected_form('"_shards", and "fields" with their sizes for each index'):
            indices = ShortNames()
            rows = [
                row
                for name, stats in reply.items()
                if name != "_shards"
                for row in _rows(indices.of(name), stats["fields"])
            ]
            problems = list(_failed_shards(index, reply["_shards"]))
        for result, row in rows:
            usage.setdefault(result, []).append(row)
        return problems


def _rows(index: str, fields: Mapping[str, Any]) -> Iterator[tuple[str, FieldUsage]]:
    names = ShortNames()
    for field, sizes in fields.items():
        for part in _STRUCTURES:
            size = sizes.get(f"{part}_in_bytes")
            if size is None:
                size = sizes.get(part, {}).get("total_in_bytes")
            # A structure that a field does not have has no row in the report.
            if size:
                yield f"disk_usage_{part}", FieldUsage(index, names.of(field), as_number(size))


def _position(usage: FieldUsage) -> tuple[str, float, str]:
    return usage.index, -usage.value, usage.field


def _failed_shards(index: str, shards: Mapping[str, Any]) -> Iterator[str]:
    failed = shards.get("failed")
    if isinstance(failed, int) and failed:
        yield f"{index}: {format_count(failed, 'shard')} could not be read, so its sizes are too small"

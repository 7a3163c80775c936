"""Reads `telemetry.parquet` of a race: its series cut to the tasks, and the figures of the host."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pacenote.errors import StoreError
from pacenote.model.telemetry_cuts import TelemetryCuts
from pacenote.stats.device_history import SERIES, DeviceInterval, Point, device_history
from pacenote.stats.host_figures import Figures, SampledHost, host_figures

HOST = "host"
"""Source of the series of the host sampler."""


def telemetry_cuts(file: Path) -> TelemetryCuts:
    """Returns the series of `telemetry.parquet`, cut to the tasks. Raises StoreError.

    The last file that was read is kept, because several parts of a diagnosis need it.
    """
    try:
        status = file.stat()
    except OSError:
        return _read_cuts(file, (0, 0))
    return _read_cuts(file, (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=1)
def _read_cuts(file: Path, _version: tuple[int, int]) -> TelemetryCuts:
    from pacenote import _core  # Not needed for races without telemetry, such as imported ones.

    try:
        return TelemetryCuts.from_document(json.loads(_core.telemetry_cuts(str(file))))
    except _core.CoreError as error:
        raise StoreError(str(error)) from None


def device_histories(file: Path) -> dict[str, tuple[DeviceInterval, ...]]:
    """Returns what each block device did between samples, by its name. Raises StoreError."""
    from pacenote import _core

    points = dict[str, dict[str, list[Point]]]()
    try:
        for name, _, labels, values in _core.telemetry_points(str(file), HOST, list(SERIES)):
            points.setdefault(labels.get("device", ""), {})[name] = values
    except _core.CoreError as error:
        raise StoreError(str(error)) from None
    return {device: device_history(series) for device, series in points.items()}


def host_figures_by_task(file: Path, cuts: TelemetryCuts, telemetry: Mapping[str, Any]) -> dict[str, Figures]:
    """Returns the figures of the sampled host by task; `cuts` are those of the file, and `telemetry` that of
    the race record.

    Raises StoreError if the file does not exist or cannot be read.
    """
    histories = device_histories(file)
    host = SampledHost.from_record(telemetry)
    return {
        task.task: host_figures(cuts.of_source(HOST, task.task), task, host, histories) for task in cuts.tasks
    }


def sampled_nodes(telemetry: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the nodes that ran on the sampled host; `telemetry` is that of the race record."""
    return SampledHost.from_record(telemetry).nodes

"""In what state the cluster was while tasks ran, from its sampled counters and its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from pacenote.model.telemetry_cuts import TelemetryCuts
from pacenote.model.telemetry_series import TaskSeries

Health = Literal["green", "yellow", "red"]
"""The health of a cluster, as the engine reports it."""

COUNTERS = "node-counters"
"""The telemetry device that reads it."""

NO_WATERMARK = "the engine does not check watermarks"
"""Why it is not known whether a disk is fuller than the engine allows, if the engine allows everything."""

UNKNOWN_WATERMARK = "the watermarks of the engine are not known"
"""Why that is not known if the settings do not say."""

LEAST_SHARE = 0.1
"""Part of a task from which on a state counts: new indices are yellow until their replicas have started."""

_LEAST_READINGS = 3
"""Number of readings from which on a mean of the cluster's state says something."""

_HEALTH: tuple[Health, ...] = ("green", "yellow", "red")
_SETTING = "setting.cluster.routing.allocation.disk"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)b", re.IGNORECASE)
_POWERS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
_UNSET = "-1"


class ClusterState(Struct, frozen=True):
    """The worst state of the cluster while a task was measured; None for what is not known."""

    health: Health | None = None
    """The worst health; yellow only if it lasted for at least a tenth of the task."""

    relocating_shards: float | None = None
    """The most shards that moved to another node at a time; 0 if that was brief."""

    above_watermark: bool | None = None
    """Whether the disk of a node was fuller than the low watermark of the engine."""

    pending_tasks: float | None = None
    """Changes of the cluster's state that waited or ran, on average after the first reading, which has those
    for indices that were just created; None for fewer than three readings.
    """


class Watermark(Struct, frozen=True):
    """The low watermark: above it, no shards are allocated to a node."""

    used_share: float | None = None
    """Share of the space that is used; None if the watermark is a size."""

    free_bytes: float | None = None
    """Free space; with `used_share`, the space above which the share does not count."""

    def is_exceeded(self, available: float, size: float) -> bool:
        """Returns whether a disk with this space is fuller."""
        is_full = self.used_share is None or size - available > self.used_share * size
        return is_full and (self.free_bytes is None or available < self.free_bytes)


def cluster_states(cuts: TelemetryCuts, facts: Mapping[str, str]) -> dict[str, ClusterState]:
    """Returns the worst state of the cluster by task; `facts` is the configuration of the engine."""
    watermark = low_watermark(facts)
    states = {}
    for task in cuts.tasks:
        series = TaskSeries(cuts.of_source(COUNTERS, task.task), task.duration_s)
        states[task.task] = ClusterState(
            health=_health(series),
            relocating_shards=_relocating_shards(series),
            pending_tasks=_pending_tasks(series),
            above_watermark=_is_exceeded(watermark, series) if isinstance(watermark, Watermark) else None,
        )
    return states


def _health(series: TaskSeries) -> Health | None:
    """Returns the worst health; red counts at once, because data was missing."""
    status = series.gauge("cluster.status")
    if status is None:
        return None
    is_brief = status.max < len(_HEALTH) - 1 and status.mean < LEAST_SHARE
    return _HEALTH[0 if is_brief else round(status.max)]


def _pending_tasks(series: TaskSeries) -> float | None:
    gauge = series.gauge("cluster.pending_tasks")
    if gauge is None or gauge.samples < _LEAST_READINGS:
        return None
    return max(0.0, gauge.mean * gauge.samples - gauge.first) / (gauge.samples - 1)


def _relocating_shards(series: TaskSeries) -> float | None:
    shards = series.gauge("cluster.relocating_shards")
    if shards is None:
        return None
    return shards.max if shards.mean >= LEAST_SHARE else 0.0


def low_watermark(facts: Mapping[str, str]) -> Watermark | str:
    """Returns the low watermark of the engine: a share of used space as `85%` or `0.85`, or free space as
    `1gb`; or why there is none. Elasticsearch reference: cluster-level shard allocation, disk-based.
    """
    if facts.get(f"{_SETTING}.threshold_enabled") == "false":
        return NO_WATERMARK
    text = facts.get(f"{_SETTING}.watermark.low", "").strip()
    if (free := _bytes(text)) is not None:
        return Watermark(free_bytes=free)
    with suppress(ValueError):
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        headroom = facts.get(f"{_SETTING}.watermark.low.max_headroom", _UNSET).strip()
        return Watermark(share, _bytes(headroom))
    return UNKNOWN_WATERMARK


def _is_exceeded(watermark: Watermark, series: TaskSeries) -> bool | None:
    spaces = [
        (available.min, size)
        for node in series.values_of("process.cpu.total", "node")
        if (available := series.gauge("fs.total.available", node=node)) is not None
        and (size := series.largest("fs.total.total", node=node))
    ]
    return any(watermark.is_exceeded(*space) for space in spaces) if spaces else None


def _bytes(text: str) -> float | None:
    match = _SIZE.fullmatch(text)
    return None if match is None else float(match[1]) * (1 << _POWERS[match[2].lower()])

"""Whether the disk of a node was fuller than the engine allows, from its counters and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.diagnose.telemetry_series import TaskSeries
from pacenote.model.telemetry_cuts import TelemetryCuts

_DEVICE = "node-counters"
_FIGURE = "cluster.disk_watermark"
_SETTING = "setting.cluster.routing.allocation.disk"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)b", re.IGNORECASE)
_POWERS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
_UNSET = "-1"


@dataclass(frozen=True, slots=True)
class _Watermark:
    """The low watermark: above it, no shards are allocated to a node."""

    used_share: float | None = None
    """Share of the space that is used; None if the watermark is a size."""

    free_bytes: float | None = None
    """Free space; with `used_share`, the space above which the share does not count."""

    def is_exceeded(self, available: float, size: float) -> bool:
        """Returns whether a disk with this space is fuller."""
        is_full = self.used_share is None or size - available > self.used_share * size
        return is_full and (self.free_bytes is None or available < self.free_bytes)


def add_disk_watermark(builder: EvidenceBuilder, cuts: TelemetryCuts, facts: Mapping[str, str]) -> None:
    """Adds for each task whether a node exceeded the low watermark; `facts` is the configuration of the
    engine. Elasticsearch reference: cluster-level shard allocation, disk-based.
    """
    if facts.get(f"{_SETTING}.threshold_enabled") == "false":
        builder.miss(_FIGURE, "the engine does not check watermarks")
        return
    watermark = _watermark(facts)
    if watermark is None:
        builder.miss(_FIGURE, "the watermarks of the engine are not known")
        return
    for task in cuts.tasks:
        series = TaskSeries(cuts.of_source(_DEVICE, task.task), task.duration_s)
        spaces = [
            (available.min, size)
            for node in series.values_of("process.cpu.total", "node")
            if (available := series.gauge("fs.total.available", node=node)) is not None
            and (size := series.largest("fs.total.total", node=node))
        ]
        if spaces:
            builder.set(Window(task.task), _FIGURE, any(watermark.is_exceeded(*each) for each in spaces))


def _watermark(facts: Mapping[str, str]) -> _Watermark | None:
    """Returns the low watermark: a share of used space as `85%` or `0.85`, or free space as `1gb`."""
    text = facts.get(f"{_SETTING}.watermark.low", "").strip()
    if (free := _bytes(text)) is not None:
        return _Watermark(free_bytes=free)
    with suppress(ValueError):
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        headroom = facts.get(f"{_SETTING}.watermark.low.max_headroom", _UNSET).strip()
        return _Watermark(share, _bytes(headroom))
    return None


def _bytes(text: str) -> float | None:
    match = _SIZE.fullmatch(text)
    return None if match is None else float(match[1]) * (1 << _POWERS[match[2].lower()])

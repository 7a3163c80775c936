"""The figures of the state of the cluster, by task."""

from __future__ import annotations

from collections.abc import Mapping

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.model.cluster_states import Watermark, cluster_states, low_watermark
from pacenote.model.telemetry_cuts import TelemetryCuts


def add_cluster_states(builder: EvidenceBuilder, cuts: TelemetryCuts, facts: Mapping[str, str]) -> None:
    """Adds the worst state of the cluster during each task; `facts` is the configuration of the engine."""
    watermark = low_watermark(facts)
    if not isinstance(watermark, Watermark):
        builder.miss("cluster.disk_watermark", watermark)
    for task, state in cluster_states(cuts, facts).items():
        builder.set(Window(task), "cluster.health", state.health)
        builder.set(Window(task), "cluster.relocating_shards", state.relocating_shards)
        builder.set(Window(task), "cluster.pending_tasks", state.pending_tasks)
        builder.set(Window(task), "cluster.disk_watermark", state.above_watermark)

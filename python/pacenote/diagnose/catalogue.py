"""The figures that rules may use: their names, units, sources and meanings.

A figure is a value of one task, of one node during a task, or of a whole race. Shares are fractions from 0 to
1 and rates are per second of the measured window, unless the meaning says otherwise. `SOURCES` states where
the figures of each source come from. A figure that cannot be read is missing, with a reason; it is never 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from pacenote.diagnose import host_figures, jvm_figures, race_figures
from pacenote.diagnose.expression import Kind
from pacenote.diagnose.figure_units import KINDS, FigureTable, Unit
from pacenote.model.messages import did_you_mean

SOURCES: Mapping[str, str] = {
    "race results": "results, verdict and the driver's checks of itself, in race.json and samples.parquet",
    "engine totals": "the engine's counters before and after the race, in race.json",
    "node counters": "the engine's counters, sampled during the race, in telemetry.parquet",
    "host sampler": "the counters of the host of a node, sampled once a second, in telemetry.parquet",
    "snapshot": "the configuration of engine and machine, in snapshot.json and race.json",
    "GC log": "the log of the garbage collector, in artifacts/",
    "recording": "a Flight Recorder recording, in artifacts/",
    "comparison": "the races that are diagnosed together",
}
"""Where figures come from, with the file that has them."""


class RuleFigure(Struct, frozen=True):
    """A figure that rules may use."""

    name: str
    """The name, whose first word is its group."""

    unit: Unit
    """The unit; `text` and `truth` for figures that are not numbers."""

    source: str
    """Where it comes from, a key of `SOURCES`."""

    meaning: str
    """What it is."""

    @property
    def kind(self) -> Kind:
        """The kind of its values."""
        return KINDS[self.unit]


def _read(source: str, table: FigureTable) -> dict[str, RuleFigure]:
    return {name: RuleFigure(name, unit, source, meaning) for name, (unit, meaning) in table.items()}


FIGURES: Mapping[str, RuleFigure] = {
    **_read("race results", race_figures.RACE_RESULTS),
    **_read("engine totals", race_figures.ENGINE_TOTALS),
    **_read("comparison", race_figures.COMPARISON),
    **_read("snapshot", jvm_figures.SNAPSHOT),
    **_read("GC log", jvm_figures.GC_LOG),
    **_read("recording", jvm_figures.RECORDING),
    **_read("node counters", host_figures.NODE_COUNTERS),
    **_read("host sampler", host_figures.HOST_SAMPLER),
}
"""All figures by name."""


RETIRED: Mapping[str, str] = {
    "gc.safepoint_ratio": "gc.stop_share / gc.pause_share",
    "host.architecture": "host.deflate_hardware",
    "jvm.version": "jvm.name",
    "network.link_bytes_per_s": "network.link_share",
    "node.disk_util_share": "disk.util_share",
    "node.disk_write_bytes_per_s": "disk.write_bytes_per_s",
    "task.kind": "the key tasks of the rule",
    "total.flush_s": "node.flush_share",
    "total.flushes": "node.flushes_per_min",
    "total.indexing_s": "node.indexing_share",
    "total.old_gc_s": "node.old_gc_share",
    "total.old_gcs": "gc.global_collections or gc.full_collections",
    "total.refresh_s": "node.refresh_share",
    "total.refreshes": "node.refreshes_per_s",
    "total.segments": "node.segments",
    "total.store_bytes": "node.store_bytes",
    "total.translog_bytes": "node.translog_bytes",
    "total.young_gc_s": "node.young_gc_share",
    "total.young_gcs": "gc.young_interval_s",
}
"""What rules of earlier versions may name, with what they use instead."""


def figure_named(name: str) -> RuleFigure | str:
    """Returns a figure, or a message that there is none with this name, and what to use instead."""
    if name in FIGURES:
        return FIGURES[name]
    instead = f" (use {RETIRED[name]})" if name in RETIRED else did_you_mean(name, FIGURES)
    return f"there is no figure '{name}'{instead}"

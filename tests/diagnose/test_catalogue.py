"""Every figure of the catalogue has code that sets it, which a test of that code executes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from diagnose import (
    test_cluster_facts,
    test_gc_facts,
    test_node_facts,
    test_pair_facts,
    test_race_facts,
    test_recording_facts,
    test_snapshot_facts,
)
from diagnose.cuts import TASK, counter, gauge, telemetry
from pacenote.diagnose.catalogue import FIGURES
from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.host_facts import add_host_figures
from pacenote.diagnose.node_facts import SOURCES as SERIES
from pacenote.diagnose.node_facts import NodeSettings, add_node_figures
from pacenote.diagnose.race_facts import race_builder
from pacenote.diagnose.snapshot_facts import add_snapshot_figures
from pacenote.model.sampler_facts import SamplerFacts
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.model.system_metrics import SystemMetrics
from support.records import record

SOURCES = (
    test_cluster_facts,
    test_gc_facts,
    test_node_facts,
    test_pair_facts,
    test_race_facts,
    test_recording_facts,
    test_snapshot_facts,
)

NODES = tuple(
    series
    for node in ("a", "b")
    for series in (
        counter("process.cpu.total", 10, node=node),
        counter("fs.io_stats.total.io_time", 1, node=node),
        counter("indices.fielddata.evictions", 1, node=node),
        counter("indices.flush.total", 1, node=node),
        counter("indices.flush.total_time", 1, node=node),
        counter("indices.indexing.index_total", 400, node=node),
        counter("indices.query_cache.evictions", 1, node=node),
        counter("indices.query_cache.hit_count", 1, node=node),
        counter("indices.query_cache.miss_count", 1, node=node),
        counter("indices.request_cache.evictions", 1, node=node),
        counter("indices.search.fetch_time", 1, node=node),
        counter("indices.search.query_time", 1, node=node),
        counter("jvm.gc.collectors.old.collection_time", 1, node=node),
        counter("thread_pool.search.rejected", 1, node=node),
        counter("transport.rx_size", 1, node=node),
        counter("transport.tx_size", 1, node=node),
        gauge("indices.docs.count", 1, node=node),
        gauge("indices.docs.deleted", 1, node=node),
        gauge("indices.translog.uncommitted_size", 1, node=node),
        gauge("thread_pool.search.active", 1, node=node),
        gauge("thread_pool.search.queue", 1, node=node),
        gauge("thread_pool.search.threads", 1, node=node),
    )
)
"""What nodes report beside the series of other tests."""

FACTS = {
    "node.n0.jvm.vm_name": "OpenJDK 64-Bit Server VM",
    "node.n0.jvm.flag.MaxTenuringThreshold": "15",
    "sysctl.kernel.sched_migration_cost_ns": "500000",
}
"""Facts of a snapshot beside those of other tests."""

TOTALS = SystemMetrics(
    flush_time=1.0,
    flush_count=1,
    indexing_throttle_time=1.0,
    merge_throttle_time=1.0,
    old_gc_time=1.0,
    old_gc_count=1,
    refresh_time=1.0,
    refresh_count=1,
    translog_size=1,
)
"""Totals of the engine that the usual record of tests lacks."""

TESTED_WITH_THE_SAMPLER = "host sampler"
"""The source whose figures `tests/stats/test_host_figures.py` compares with those of the catalogue."""


def plain_tests(module: ModuleType) -> Iterator[str]:
    """Yields the names of the tests without parameters besides a folder."""
    for name, function in vars(module).items():
        if name.startswith("test_") and set(inspect.signature(function).parameters) <= {"tmp_path"}:
            yield name


def add_others() -> None:
    """Sets the figures that no other test without parameters sets."""
    builder = EvidenceBuilder("race", [TaskFacts(TASK, "indexing")])
    builder.set(Window(TASK), "task.documents", 4_000)
    add_node_figures(builder, telemetry(SERIES[0], *NODES), NodeSettings())
    add_host_figures(builder, {TASK: {"cpu.idle_share": 0.1}}, SamplerFacts(("a",)))
    environment = replace(record().environment, architecture="x86_64")
    race = record(system=TOTALS, driver={"machine": {"stolen_share": 0.01}}, environment=environment)
    add_snapshot_figures(race_builder(race), race, RaceSnapshot(Snapshot(FACTS)))


def test_every_figure_is_set_by_the_code_for_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = set()
    set_figure = EvidenceBuilder.set

    def spy(
        self: EvidenceBuilder, window: Window, name: str, value: float | str | None, source: str = ""
    ) -> None:
        set_figure(self, window, name, value, source)
        known.update([name] if value is not None else [])

    monkeypatch.setattr(EvidenceBuilder, "set", spy)
    for module in SOURCES:
        for number, name in enumerate(plain_tests(module)):
            function = getattr(module, name)
            folder = tmp_path / f"{module.__name__}-{number}"
            folder.mkdir()
            function(**{"tmp_path": folder} if inspect.signature(function).parameters else {})
    (tmp_path / "openj9").mkdir()
    test_gc_facts.test_a_log_of_openj9_has_what_was_copied(tmp_path / "openj9", None)
    add_others()
    expected = {name for name, figure in FIGURES.items() if figure.source != TESTED_WITH_THE_SAMPLER}
    assert len(known) > 100
    assert sorted(expected - known) == []

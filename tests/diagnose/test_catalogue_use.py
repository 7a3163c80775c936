"""Every figure is used by a rule or by the division of time, or is listed here as one for rules of users."""

from __future__ import annotations

import re
from pathlib import Path

from pacenote.diagnose import time_shares
from pacenote.diagnose.catalogue import FIGURES
from pacenote.diagnose.rules_file import BUNDLED

_LIST = """
cpu.engine_waiting cpu.system_share
disk.read_bytes_per_s disk.request_bytes disk.util_share
driver.clock_gaps_s driver.core_wait_share driver.lateness_p99_ms driver.processing_share
driver.time_share
engine.data_paths engine.memory_lock
gc.global_collections gc.pause_mean_ms gc.safepoint_ratio
host.architecture host.swap_bytes host.swappiness
jvm.transparent_huge_pages jvm.version
machine.busy_share machine.steal_share
network.link_bytes_per_s
node.disk_util_share node.disk_write_bytes_per_s node.flushes_per_min node.heap_share node.old_gc_share
node.young_gc_share
pair.change pair.races pair.worst_error_rate
profile.samples
task.bytes_in_per_s task.kind task.latency_p99_ms task.service_p50_ms task.throughput task.tls
total.flush_s total.flushes total.indexing_s total.old_gc_s total.old_gcs total.refresh_s
total.refreshes total.segments total.store_bytes total.translog_bytes total.young_gc_s total.young_gcs
"""

ONLY_FOR_OWN_RULES = frozenset(_LIST.split())
"""Figures that no bundled rule uses."""

POOLS = re.compile(r"node\.(?:write|search)_(?:queue|active|readings)")
"""Figures whose names the division of time puts together."""


def used_figures() -> set[str]:
    """Returns the figures that rules and the division of time use."""
    texts = [file.read_text() for file in BUNDLED.glob("*.toml")]
    texts.append(Path(str(time_shares.__file__)).read_text())
    names = {name for text in texts for name in re.findall(r"[a-z]+\.[a-z_0-9]+", text)}
    return (names & FIGURES.keys()) | {name for name in FIGURES if POOLS.fullmatch(name)}


def test_a_figure_that_nothing_uses_is_listed_and_a_listed_one_is_not_used() -> None:
    unused = FIGURES.keys() - used_figures()
    assert sorted(unused - ONLY_FOR_OWN_RULES) == [], "a rule must use it, or it is not needed"
    assert sorted(ONLY_FOR_OWN_RULES - unused) == [], "it is used: remove it from the list"

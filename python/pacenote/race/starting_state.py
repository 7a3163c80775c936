"""Brings about the state in which the first task starts: waits, and drops or fills the page cache."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec.structs import replace

from pacenote.cluster.cluster import Cluster, EmbeddedCluster
from pacenote.cluster.container_cluster import StartedCluster
from pacenote.errors import EngineError
from pacenote.model.data_options import StartConditions, StartingState
from pacenote.model.progress import ProgressCallback
from pacenote.provision.data_sets import DataSet
from pacenote.provision.page_cache import drop_page_cache, fill_page_cache, measure_page_cache
from pacenote.units import format_bytes

_TICK_S = 0.5

_RECOVERY_TIMEOUT_S = 600.0
_RECOVERED = {
    "wait_for_no_initializing_shards": "true",
    "wait_for_no_relocating_shards": "true",
    "timeout": "1s",
}

WARM_SHARE = 0.9
"""Share of the data that must be in the page cache after it was read, or else a warning is given."""


def cool_down(
    seconds: float, exit_reason: Callable[[], str | None] | None, progress: ProgressCallback
) -> None:
    """Waits. Raises EngineError if the engine ends in the meantime.

    `exit_reason` returns why it has ended, or None while it runs; it is None for an existing cluster.
    """
    start = time.monotonic()
    while (rest_s := seconds - (waited_s := time.monotonic() - start)) > 0:
        progress("cooling down", int(waited_s), max(1, round(seconds)))
        if exit_reason is not None and (reason := exit_reason()):
            raise EngineError(reason)
        time.sleep(min(_TICK_S, rest_s))


def bring_about(
    conditions: StartConditions, cluster: Cluster, warn: Callable[[str], None], progress: ProgressCallback
) -> StartingState:
    """Waits, also until stored data has recovered, drops or fills the page cache of the data, and returns the
    state that was reached.

    Raises EngineError if the engine ends in the meantime. An existing cluster is only waited for.
    """
    ended = cluster.exit_reason if isinstance(cluster, StartedCluster) else None
    if isinstance(cluster, EmbeddedCluster) and cluster.initial_data is not None:
        _await_shards(cluster, progress)
    cool_down(conditions.cooldown_s, ended, progress)
    if not isinstance(cluster, EmbeddedCluster):
        return StartingState()
    state = StartingState(*_origin(cluster.initial_data))
    if conditions.caches is None and cluster.initial_data is None:
        return state
    folders = [folder for node in cluster.local_nodes() for folder in node.data_paths]
    if conditions.caches == "cold":
        progress("dropping the page cache", 0, 0)
        state = replace(state, dropped_with=drop_page_cache(folders))
    elif conditions.caches == "warm":
        progress("reading the data into the page cache", 0, 0)
        fill_page_cache(folders)
    pages = measure_page_cache(folders)
    if conditions.caches == "warm" and pages.share < WARM_SHARE:
        warn(
            f"--caches=warm: only {format_bytes(pages.cached)} of {format_bytes(pages.bytes)} of the data "
            "fit into the page cache"
        )
    return replace(state, data_bytes=pages.bytes, cached_bytes=pages.cached)


def _await_shards(cluster: EmbeddedCluster, progress: ProgressCallback) -> None:
    """Waits until the shards of stored data have recovered: a healthy cluster may still copy replicas."""
    start = time.monotonic()
    while (waited_s := time.monotonic() - start) < _RECOVERY_TIMEOUT_S:
        progress("recovering shards", int(waited_s), int(_RECOVERY_TIMEOUT_S))
        if reason := cluster.exit_reason():
            raise EngineError(reason)
        health = cluster.rest().exchange("GET", "/_cluster/health", params=_RECOVERED).body
        if isinstance(health, dict) and health.get("timed_out") is False:
            return
    raise EngineError(
        f"the shards of the data set have not recovered after {_RECOVERY_TIMEOUT_S:.0f} s",
        hint=f"read {cluster.fleet.logs[0]}",
    )


def _origin(data: DataSet | None) -> tuple[str | None, str | None]:
    return (None, None) if data is None else (data.name, data.origin.race_id)

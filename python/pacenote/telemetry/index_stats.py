"""What the engine did to the indices during the race: indexing, merging, refreshing, flushing.

Rally reports the absolute counters of all indices at the end, so a cluster that was not empty adds its past
to the result. Here every counter is a difference per primary shard between the start and the end of the race.
An index that was made during the race counts in full, also one that replaces an index of the same name (its
uuid differs). An index that is gone at the end is not counted: the engine has forgotten its counters. Where a
shard's counters went down (it moved to another node, or its node restarted) the difference is not known: that
figure is then missing, with a reason.

Indices whose name begins with a dot belong to the system and are left out, except backing indices of data
streams (`.ds-…`), whose own stream must not be a system one (`.ds-.…`).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from pacenote.model.system_metrics import PerShardTimes
from pacenote.telemetry.device import Get, Reading
from pacenote.units import format_count

_PATH = (
    "/_all/_stats/docs,store,indexing,merge,refresh,flush,translog,segments"
    "?level=shards&expand_wildcards=open,hidden"
)
_TIMES = {
    "total_time": ("indexing", "index_time_in_millis"),
    "indexing_throttle_time": ("indexing", "throttle_time_in_millis"),
    "merge_time": ("merges", "total_time_in_millis"),
    "merge_throttle_time": ("merges", "total_throttled_time_in_millis"),
    "refresh_time": ("refresh", "total_time_in_millis"),
    "flush_time": ("flush", "total_time_in_millis"),
}
_COUNTS = {
    "merge_count": ("merges", "total"),
    "refresh_count": ("refresh", "total"),
    "flush_count": ("flush", "total"),
}
_SIZES = {
    "dataset_size": ("store", "total_data_set_size_in_bytes"),
    "store_size": ("store", "size_in_bytes"),
    "translog_size": ("translog", "size_in_bytes"),
}

ShardKey = tuple[str, str]
Shards = dict[ShardKey, Mapping[str, Any]]
"""Statistics of primary shards by index (name and uuid) and shard number."""


def is_measured(index: str) -> bool:
    """Whether an index belongs to the race rather than to the system."""
    if index.startswith(".ds-"):
        return not index.startswith(".ds-.")
    return not index.startswith(".")


class IndexStats:
    """Rally's index statistics as differences over the race; sizes and segments as they are at the end."""

    name = "index-stats"

    def __init__(self, get: Get) -> None:
        self._get = get
        self._before: Shards = {}

    def start(self) -> None:
        """Reads the counters before the first task. Raises EngineError."""
        self._before = _primaries(self._get(_PATH))

    def stop(self) -> Reading:
        """Reads the counters after the last task. Raises EngineError."""
        reply = self._get(_PATH)
        after = _primaries(reply)
        system: dict[str, Any] = {}
        problems: list[str] = []
        for name, field in (_TIMES | _COUNTS).items():
            deltas, reset = _deltas(self._before, after, field)
            if reset:
                problems.append(f"{name} is missing: the counters of shard {reset} went back during the race")
            elif deltas is not None:
                system[name] = sum(deltas)
                if name in _TIMES and deltas:
                    spread = PerShardTimes(min(deltas), statistics.median(deltas), max(deltas))
                    system[f"{name}_per_shard"] = spread
        for name, field in _SIZES.items():
            system[name] = _total(_copies(reply), field)
        system["segment_count"] = _total(list(after.values()), ("segments", "count"))
        found = {name: value for name, value in system.items() if value is not None}
        return Reading(found, {}, (*problems, *_shard_failures(reply)))


def _indices(reply: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {name: index for name, index in reply["indices"].items() if is_measured(name)}


def _primaries(reply: Mapping[str, Any]) -> Shards:
    found: Shards = {}
    for name, index in _indices(reply).items():
        for number, copies in index["shards"].items():
            for copy in copies:
                if copy["routing"]["primary"]:
                    found[f"{name}/{index.get('uuid', '')}", number] = copy
    return found


def _copies(reply: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Every shard copy, primaries and replicas."""
    indices = _indices(reply).values()
    return [copy for index in indices for copies in index["shards"].values() for copy in copies]


def _figure(shard: Mapping[str, Any], field: tuple[str, str]) -> int | None:
    group, name = field
    value = shard.get(group, {}).get(name)
    return value if isinstance(value, int) else None


def _deltas(before: Shards, after: Shards, field: tuple[str, str]) -> tuple[list[int] | None, str]:
    """Differences per shard, or None if a shard does not have the figure; and a shard that was reset, or
    ''.
    """
    deltas: list[int] = []
    for key, shard in after.items():
        now = _figure(shard, field)
        # A shard that was not there before starts from nothing.
        then = _figure(before[key], field) if key in before else 0
        if now is None or then is None:
            return None, ""
        if now < then:
            return None, f"{key[0].split('/')[0]}[{key[1]}]"
        deltas.append(now - then)
    return deltas, ""


def _total(shards: Sequence[Mapping[str, Any]], field: tuple[str, str]) -> int | None:
    """The sum over shards, or None if one of them does not say: a sum with gaps would mislead."""
    figures = [figure for shard in shards if (figure := _figure(shard, field)) is not None]
    return sum(figures) if len(figures) == len(shards) else None


def _shard_failures(reply: Mapping[str, Any]) -> tuple[str, ...]:
    failed = reply.get("_shards", {}).get("failed", 0)
    return (f"{format_count(failed, 'shard')} did not answer: figures leave them out",) if failed else ()

"""Index statistics of the race: indexing, merging, refreshing, flushing, sizes and segments.

Rally reports the counters of all indices at the end, which include everything before the race unless the
cluster was empty. Here, every counter is the difference per primary shard between the end and the start of
the race. An index that was created during the race counts in full, even if it replaces an index of the same
name (its UUID differs). An index that was deleted before the end is not counted, because its counters are
lost. If the counters of a shard began again with 0 (it moved to another node, another copy was promoted, or
its node restarted), the difference is not known: the values are then missing, with a reason. If a shard did
not answer before the race, all differences are missing, and if one did not answer after it, all values.

Indices whose name begins with a dot belong to the system and are omitted, except for backing indices of data
streams (`.ds-…`), unless the stream itself is a system stream (`.ds-.…`).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from pacenote.model.codec import as_text
from pacenote.model.system_metrics import PerShardTimes
from pacenote.telemetry.device import DeviceReading, ObservedCluster, TelemetryDevice, expected_form
from pacenote.telemetry.shard_recoveries import CopyId, Recovery, read_recoveries
from pacenote.units import format_count

_PATH = (
    "/_all/_stats/docs,store,indexing,merge,refresh,flush,translog,segments"
    "?level=shards&expand_wildcards=open,hidden"
)


class _Counter(Struct, frozen=True):
    """The position of a value in the statistics of a shard."""

    group: str
    field: str

    def read(self, shard: Mapping[str, Any]) -> int | None:
        """Returns the value of a shard, or None if the engine does not report it."""
        with expected_form(f'an object "{self.group}" for each shard'):
            value = shard.get(self.group, {}).get(self.field)
        return value if isinstance(value, int) else None


_TIMES = {
    "total_time": _Counter("indexing", "index_time_in_millis"),
    "indexing_throttle_time": _Counter("indexing", "throttle_time_in_millis"),
    "merge_time": _Counter("merges", "total_time_in_millis"),
    "merge_throttle_time": _Counter("merges", "total_throttled_time_in_millis"),
    "refresh_time": _Counter("refresh", "total_time_in_millis"),
    "flush_time": _Counter("flush", "total_time_in_millis"),
}
_COUNTS = {
    "merge_count": _Counter("merges", "total"),
    "refresh_count": _Counter("refresh", "total"),
    "flush_count": _Counter("flush", "total"),
}
_SIZES = {
    "dataset_size": _Counter("store", "total_data_set_size_in_bytes"),
    "store_size": _Counter("store", "size_in_bytes"),
    "translog_size": _Counter("translog", "size_in_bytes"),
}
_SEGMENT_COUNT = _Counter("segments", "count")
_MEMORY = {
    "memory_segments": _Counter("segments", "memory_in_bytes"),
    **{
        f"memory_{what}": _Counter("segments", f"{what}_memory_in_bytes")
        for what in ("doc_values", "terms", "norms", "points", "stored_fields")
    },
}


class _ShardId(Struct, frozen=True):
    """A primary shard; its index may be deleted and created again with the same name."""

    index: str
    uuid: str
    number: str

    def __str__(self) -> str:
        return f"{self.index}[{self.number}]"

    def on(self, shard: Mapping[str, Any]) -> CopyId:
        """Returns the copy that these are the statistics of."""
        with expected_form('"node" in the "routing" of each shard'):
            return CopyId(self.index, self.number, as_text(shard["routing"].get("node") or ""))


_Shards = dict[_ShardId, Mapping[str, Any]]
"""Statistics of primary shards."""


class _Differences(Struct, frozen=True):
    """The growth of a counter during the race, over all shards."""

    values: tuple[int, ...] = ()
    reset: _ShardId | None = None
    """A shard whose counter went down, so that no difference is known."""
    missing: bool = False
    """Whether a shard does not report the counter."""


def is_measured(index: str) -> bool:
    """Returns whether the statistics include the index: it is not a system index."""
    if index.startswith(".ds-"):
        return not index.startswith(".ds-.")
    return not index.startswith(".")


class IndexStats(TelemetryDevice):
    """Rally's index statistics: counters as differences over the race, sizes and segments at its end."""

    name = "index-stats"
    description = "Rally's index statistics: counters and times during the race, sizes at its end."

    def __init__(self, cluster: ObservedCluster) -> None:
        super().__init__(cluster)
        self._before: _Shards = {}
        self._failed_before = 0
        self._recoveries: dict[CopyId, Recovery] = {}

    def start(self) -> None:
        """Reads the counters before the first task. Raises EngineError."""
        reply = self._cluster.get(_PATH)
        self._before = _primaries(reply)
        self._failed_before = _failed_shards(reply)
        self._recoveries = read_recoveries(self._cluster)

    def stop(self) -> DeviceReading:
        """Reads the counters after the last task. Raises EngineError."""
        reply = self._cluster.get(_PATH)
        if failed := _failed_shards(reply):
            problem = f"{format_count(failed, 'shard')} did not answer after the race: all values are missing"
            return DeviceReading(problems=(problem,))
        after = _primaries(reply)
        system, problems = self._growth(after)
        for name, size in _SIZES.items():
            system[name] = _total(_copies(reply), size)
        primaries = list(after.values())
        system["segment_count"] = _total(primaries, _SEGMENT_COUNT)
        memory = {name: _total(primaries, counter) for name, counter in _MEMORY.items()}
        # Engines that do not measure it report 0 for everything.
        if any(memory.values()):
            system |= memory
        known = {name: value for name, value in system.items() if value is not None}
        return DeviceReading(known, {}, problems)

    def _growth(self, after: _Shards) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Returns the differences of all counters, and a problem for each that is not known."""
        if self._failed_before:
            # Their counters before the race are not known, and are not 0.
            shards = format_count(self._failed_before, "shard")
            return {}, (f"{shards} did not answer before the race: all times and counts are missing",)
        if again := self._begun_again(after):
            shard = next(iter(again))
            more = f" and {len(again) - 1} more" if len(again) > 1 else ""
            return {}, (
                f"shard {shard}{more} moved, was promoted or restarted during the race, and its counters "
                "began again: all times and counts are missing",
            )
        system: dict[str, Any] = {}
        problems: list[str] = []
        for name, counter in (_TIMES | _COUNTS).items():
            grown = _differences(self._before, after, counter)
            if grown.reset is not None:
                problems.append(
                    f"{name} is missing: the counters of shard {grown.reset} went down during the race"
                )
            elif not grown.missing:
                system[name] = sum(grown.values)
                if name in _TIMES and grown.values:
                    system[f"{name}_per_shard"] = PerShardTimes(
                        min(grown.values), statistics.median(grown.values), max(grown.values)
                    )
        return system, tuple(problems)

    def _begun_again(self, after: _Shards) -> list[_ShardId]:
        """Returns the primary shards whose counters do not cover the race from its beginning, or from the
        creation of their index: another copy had counted, or this one before a restart.
        """
        recoveries = read_recoveries(self._cluster)
        again = []
        for shard_id, shard in after.items():
            recovery = recoveries.get(shard_id.on(shard))
            if shard_id not in self._before:
                has_begun = recovery is not None and recovery.continues_another
            else:
                copy = shard_id.on(self._before[shard_id])
                known = self._recoveries.get(copy)
                has_moved = copy != shard_id.on(shard)
                has_restarted = None not in (known, recovery) and known != recovery
                has_begun = has_moved or has_restarted
                has_begun = has_begun and (recovery is None or recovery.continues_another)
            if has_begun:
                again.append(shard_id)
        return again


def _indices(reply: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    with expected_form('an object "indices"'):
        return {name: index for name, index in reply["indices"].items() if is_measured(name)}


def _primaries(reply: Mapping[str, Any]) -> _Shards:
    indices = _indices(reply)
    with expected_form('"shards" with their "routing" for each index'):
        return {
            _ShardId(name, index.get("uuid", ""), number): copy
            for name, index in indices.items()
            for number, copies in index["shards"].items()
            for copy in copies
            if copy["routing"]["primary"]
        }


def _copies(reply: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns every shard copy, primaries and replicas."""
    indices = _indices(reply).values()
    with expected_form('"shards" for each index'):
        return [copy for index in indices for copies in index["shards"].values() for copy in copies]


def _differences(before: _Shards, after: _Shards, counter: _Counter) -> _Differences:
    values: list[int] = []
    for shard_id, shard in after.items():
        end = counter.read(shard)
        # A shard that did not exist at the start counts from 0.
        start = counter.read(before[shard_id]) if shard_id in before else 0
        if end is None or start is None:
            return _Differences(missing=True)
        if end < start:
            return _Differences(reset=shard_id)
        values.append(end - start)
    return _Differences(tuple(values))


def _total(shards: Sequence[Mapping[str, Any]], counter: _Counter) -> int | None:
    """Returns the sum over shards, or None if a shard lacks the value, because an incomplete sum would be
    misleading.
    """
    values = [value for shard in shards if (value := counter.read(shard)) is not None]
    return sum(values) if len(values) == len(shards) else None


def _failed_shards(reply: Mapping[str, Any]) -> int:
    """Returns the number of shards whose statistics the reply lacks."""
    with expected_form('an object "_shards"'):
        failed = reply.get("_shards", {}).get("failed", 0)
    return failed if isinstance(failed, int) else 0

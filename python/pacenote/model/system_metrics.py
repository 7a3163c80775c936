"""What the engine did during a race: the system metrics of Rally's results document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PerShardTimes:
    """One kind of time over the primary shards."""

    min: float
    median: float
    max: float
    unit: str = "ms"


@dataclass(frozen=True, slots=True)
class SystemMetrics:
    """What the engine did during the race, under the names of Rally's results document.

    Times are milliseconds, sizes bytes. Times and counts are differences between end and start of the race,
    where Rally has absolute values. None means that it could not be read, which is not 0.
    """

    total_time: float | None = None
    total_time_per_shard: PerShardTimes | None = None
    indexing_throttle_time: float | None = None
    indexing_throttle_time_per_shard: PerShardTimes | None = None
    merge_time: float | None = None
    merge_time_per_shard: PerShardTimes | None = None
    merge_count: int | None = None
    merge_throttle_time: float | None = None
    merge_throttle_time_per_shard: PerShardTimes | None = None
    refresh_time: float | None = None
    refresh_time_per_shard: PerShardTimes | None = None
    refresh_count: int | None = None
    flush_time: float | None = None
    flush_time_per_shard: PerShardTimes | None = None
    flush_count: int | None = None
    young_gc_time: float | None = None
    young_gc_count: int | None = None
    old_gc_time: float | None = None
    old_gc_count: int | None = None
    zgc_cycles_gc_time: float | None = None
    zgc_cycles_gc_count: int | None = None
    zgc_pauses_gc_time: float | None = None
    zgc_pauses_gc_count: int | None = None
    dataset_size: int | None = None
    store_size: int | None = None
    translog_size: int | None = None
    segment_count: int | None = None

"""System metrics of the engine during a race, as in Rally's results document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PerShardTimes:
    """One kind of time over the primary shards."""

    min: float
    """The smallest time of a shard, in `unit`."""

    median: float
    """The median time of the shards, in `unit`."""

    max: float
    """The largest time of a shard, in `unit`."""

    unit: str = "ms"
    """The unit, `ms`."""


@dataclass(frozen=True, slots=True)
class MlProcessingTime:
    """Processing times of the buckets of one machine learning job."""

    job: str
    """The id of the job."""

    min: float
    """The shortest time, in `unit`."""

    mean: float
    """The mean time, in `unit`."""

    median: float
    """The median time as the engine estimates it, in `unit`."""

    max: float
    """The longest time, in `unit`."""

    unit: str = "ms"
    """The unit, `ms`."""


@dataclass(frozen=True, slots=True)
class TransformFigure:
    """One figure of a transform at the end of the race."""

    id: str
    """The id of the transform."""

    mean: float
    """The figure, in `unit`."""

    unit: str
    """The unit: `ms` or `docs/s`."""


@dataclass(frozen=True, slots=True)
class FieldUsage:
    """Disk space that one structure of a field needs in an index."""

    index: str
    """The name of the index."""

    field: str
    """The name of the field."""

    value: float
    """The space, in `unit`."""

    unit: str = "byte"
    """The unit, `byte`, as Rally writes it."""


@dataclass(frozen=True, slots=True)
class SystemMetrics:
    """System metrics of the engine during the race, under the names of Rally's results document.

    Times and counts are differences between the end and the start of the race; Rally reports absolute values.
    None means that a value could not be read.
    """

    total_time: float | None = None
    """Time spent indexing, in ms."""

    total_time_per_shard: PerShardTimes | None = None
    """Time spent indexing by shard."""

    indexing_throttle_time: float | None = None
    """Time for which indexing was throttled, in ms."""

    indexing_throttle_time_per_shard: PerShardTimes | None = None
    """Time for which indexing was throttled, by shard."""

    merge_time: float | None = None
    """Time spent merging, in ms."""

    merge_time_per_shard: PerShardTimes | None = None
    """Time spent merging by shard."""

    merge_count: int | None = None
    """Number of merges."""

    merge_throttle_time: float | None = None
    """Time for which merges were throttled, in ms."""

    merge_throttle_time_per_shard: PerShardTimes | None = None
    """Time for which merges were throttled, by shard."""

    refresh_time: float | None = None
    """Time spent refreshing, in ms."""

    refresh_time_per_shard: PerShardTimes | None = None
    """Time spent refreshing by shard."""

    refresh_count: int | None = None
    """Number of refreshes."""

    flush_time: float | None = None
    """Time spent flushing, in ms."""

    flush_time_per_shard: PerShardTimes | None = None
    """Time spent flushing by shard."""

    flush_count: int | None = None
    """Number of flushes."""

    young_gc_time: float | None = None
    """Time of young collections, in ms."""

    young_gc_count: int | None = None
    """Number of young collections."""

    old_gc_time: float | None = None
    """Time of old collections, in ms."""

    old_gc_count: int | None = None
    """Number of old collections."""

    zgc_cycles_gc_time: float | None = None
    """Time of ZGC cycles, in ms."""

    zgc_cycles_gc_count: int | None = None
    """Number of ZGC cycles."""

    zgc_pauses_gc_time: float | None = None
    """Time of ZGC pauses, in ms."""

    zgc_pauses_gc_count: int | None = None
    """Number of ZGC pauses."""

    dataset_size: int | None = None
    """Size of the indices in bytes (serverless: their dataset)."""

    store_size: int | None = None
    """Size of the stores in bytes."""

    translog_size: int | None = None
    """Size of the transaction logs in bytes."""

    memory_segments: int | None = None
    """Heap that segments use at the end of the race, in bytes; newer engines do not measure it."""

    memory_doc_values: int | None = None
    """The part of it for doc values, in bytes."""

    memory_terms: int | None = None
    """The part of it for terms, in bytes."""

    memory_norms: int | None = None
    """The part of it for norms, in bytes."""

    memory_points: int | None = None
    """The part of it for points, in bytes."""

    memory_stored_fields: int | None = None
    """The part of it for stored fields, in bytes."""

    segment_count: int | None = None
    """Number of segments at the end of the race."""

    ingest_pipeline_cluster_count: int | None = None
    """Number of documents that ingest pipelines processed."""

    ingest_pipeline_cluster_time: float | None = None
    """Time spent in ingest pipelines, in ms."""

    ingest_pipeline_cluster_failed: int | None = None
    """Number of documents for which ingest pipelines failed."""

    ml_processing_time: tuple[MlProcessingTime, ...] = ()
    """Processing times of machine learning jobs."""

    total_transform_processing_times: tuple[TransformFigure, ...] = ()
    """Time that transforms spent processing."""

    total_transform_index_times: tuple[TransformFigure, ...] = ()
    """Time that transforms spent indexing."""

    total_transform_search_times: tuple[TransformFigure, ...] = ()
    """Time that transforms spent searching."""

    total_transform_throughput: tuple[TransformFigure, ...] = ()
    """Documents that transforms processed per second of these times."""

    disk_usage_total: tuple[FieldUsage, ...] = ()
    """Disk space of fields."""

    disk_usage_inverted_index: tuple[FieldUsage, ...] = ()
    """Disk space of the inverted indices of fields."""

    disk_usage_stored_fields: tuple[FieldUsage, ...] = ()
    """Disk space of the stored values of fields."""

    disk_usage_doc_values: tuple[FieldUsage, ...] = ()
    """Disk space of the doc values of fields."""

    disk_usage_points: tuple[FieldUsage, ...] = ()
    """Disk space of the points of fields."""

    disk_usage_norms: tuple[FieldUsage, ...] = ()
    """Disk space of the norms of fields."""

    disk_usage_term_vectors: tuple[FieldUsage, ...] = ()
    """Disk space of the term vectors of fields."""

    disk_usage_knn_vectors: tuple[FieldUsage, ...] = ()
    """Disk space of the vectors of fields."""

    index_size: int | None = None
    """Size of the data folders of the nodes that the race started, in bytes."""

    bytes_written: int | None = None
    """Bytes that the nodes which the race started wrote to disks."""

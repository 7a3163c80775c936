"""System metrics of the engine during a race, as in Rally's results document."""

from __future__ import annotations

from pacenote.model.codec import Integer, Name, Number, Stored


class PerShardTimes(Stored, frozen=True):
    """One kind of time over the primary shards."""

    min: Number
    """The smallest time of a shard, in `unit`."""

    median: Number
    """The median time of the shards, in `unit`."""

    max: Number
    """The largest time of a shard, in `unit`."""

    unit: Name = "ms"
    """The unit, `ms`."""


class MlProcessingTime(Stored, frozen=True):
    """Processing times of the buckets of one machine learning job."""

    job: Name
    """The id of the job."""

    min: Number
    """The shortest time, in `unit`."""

    mean: Number
    """The mean time, in `unit`."""

    median: Number
    """The median time as the engine estimates it, in `unit`."""

    max: Number
    """The longest time, in `unit`."""

    unit: Name = "ms"
    """The unit, `ms`."""


class TransformFigure(Stored, frozen=True):
    """One figure of a transform at the end of the race."""

    id: Name
    """The id of the transform."""

    mean: Number
    """The figure, in `unit`."""

    unit: Name
    """The unit: `ms` or `docs/s`."""


class FieldUsage(Stored, frozen=True):
    """Disk space that one structure of a field needs in an index."""

    index: Name
    """The name of the index."""

    field: Name
    """The name of the field."""

    value: Number
    """The space, in `unit`."""

    unit: Name = "byte"
    """The unit, `byte`, as Rally writes it."""


class SystemMetrics(Stored, frozen=True):
    """System metrics of the engine during the race, under the names of Rally's results document.

    Times and counts are differences between the end and the start of the race; Rally reports absolute values.
    None means that a value could not be read.
    """

    total_time: Number | None = None
    """Time spent indexing, in ms."""

    total_time_per_shard: PerShardTimes | None = None
    """Time spent indexing by shard."""

    indexing_throttle_time: Number | None = None
    """Time for which indexing was throttled, in ms."""

    indexing_throttle_time_per_shard: PerShardTimes | None = None
    """Time for which indexing was throttled, by shard."""

    merge_time: Number | None = None
    """Time spent merging, in ms."""

    merge_time_per_shard: PerShardTimes | None = None
    """Time spent merging by shard."""

    merge_count: Integer | None = None
    """Number of merges."""

    merge_throttle_time: Number | None = None
    """Time for which merges were throttled, in ms."""

    merge_throttle_time_per_shard: PerShardTimes | None = None
    """Time for which merges were throttled, by shard."""

    refresh_time: Number | None = None
    """Time spent refreshing, in ms."""

    refresh_time_per_shard: PerShardTimes | None = None
    """Time spent refreshing by shard."""

    refresh_count: Integer | None = None
    """Number of refreshes."""

    flush_time: Number | None = None
    """Time spent flushing, in ms."""

    flush_time_per_shard: PerShardTimes | None = None
    """Time spent flushing by shard."""

    flush_count: Integer | None = None
    """Number of flushes."""

    young_gc_time: Number | None = None
    """Time of young collections, in ms."""

    young_gc_count: Integer | None = None
    """Number of young collections."""

    old_gc_time: Number | None = None
    """Time of old collections, in ms."""

    old_gc_count: Integer | None = None
    """Number of old collections."""

    zgc_cycles_gc_time: Number | None = None
    """Time of ZGC cycles, in ms."""

    zgc_cycles_gc_count: Integer | None = None
    """Number of ZGC cycles."""

    zgc_pauses_gc_time: Number | None = None
    """Time of ZGC pauses, in ms."""

    zgc_pauses_gc_count: Integer | None = None
    """Number of ZGC pauses."""

    dataset_size: Integer | None = None
    """Size of the indices in bytes (serverless: their dataset)."""

    store_size: Integer | None = None
    """Size of the stores in bytes."""

    translog_size: Integer | None = None
    """Size of the transaction logs in bytes."""

    memory_segments: Integer | None = None
    """Heap that segments use at the end of the race, in bytes; newer engines do not measure it."""

    memory_doc_values: Integer | None = None
    """The part of it for doc values, in bytes."""

    memory_terms: Integer | None = None
    """The part of it for terms, in bytes."""

    memory_norms: Integer | None = None
    """The part of it for norms, in bytes."""

    memory_points: Integer | None = None
    """The part of it for points, in bytes."""

    memory_stored_fields: Integer | None = None
    """The part of it for stored fields, in bytes."""

    segment_count: Integer | None = None
    """Number of segments at the end of the race."""

    ingest_pipeline_cluster_count: Integer | None = None
    """Number of documents that ingest pipelines processed."""

    ingest_pipeline_cluster_time: Number | None = None
    """Time spent in ingest pipelines, in ms."""

    ingest_pipeline_cluster_failed: Integer | None = None
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

    index_size: Integer | None = None
    """Size of the data folders of the nodes that the race started, in bytes."""

    bytes_written: Integer | None = None
    """Bytes that the nodes which the race started wrote to disks."""

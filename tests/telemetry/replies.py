"""One reply of an engine to each request of a telemetry device, with the parts that the devices read."""

from __future__ import annotations

COUNTERS = {"count": 5, "time_in_millis": 5, "failed": 0}

FIGURES = {
    "docs": {"count": 5},
    "store": {"size_in_bytes": 5},
    "indexing": {"index_time_in_millis": 5, "throttle_time_in_millis": 0},
    "merges": {"total": 1, "total_time_in_millis": 5, "total_throttled_time_in_millis": 0},
    "refresh": {"total": 1, "total_time_in_millis": 5},
    "flush": {"total": 1, "total_time_in_millis": 5},
    "segments": {"count": 3, "memory_in_bytes": 4},
    "translog": {"size_in_bytes": 5},
}

SHARD = {"routing": {"primary": True, "state": "STARTED", "node": "id"}, **FIGURES}

NODE = {
    "name": "n",
    "indices": {"docs": {"count": 5}, "merges": {"total": 1}},
    "process": {"cpu": {"total_in_millis": 5}},
    "jvm": {
        "uptime_in_millis": 5,
        "mem": {"heap_used_in_bytes": 5, "pools": {"old": {"used_in_bytes": 1, "peak_used_in_bytes": 2}}},
        "gc": {"collectors": {"young": {"collection_count": 5, "collection_time_in_millis": 5}}},
    },
    "thread_pool": {"write": {"queue": 0, "active": 0, "rejected": 0, "completed": 5}},
    "fs": {"io_stats": {"devices": [{"device_name": "sda", "operations": 5}], "total": {"operations": 5}}},
    "breakers": {"parent": {"tripped": 0}},
    "ingest": {
        "total": COUNTERS,
        "pipelines": {"p": {**COUNTERS, "processors": [{"set": {"type": "set", "stats": COUNTERS}}]}},
    },
}

NODE_INFO = {
    "name": "n",
    "host": "h",
    "version": "3.3.0",
    "os": {"name": "Linux", "version": "5", "available_processors": 2},
    "jvm": {"vm_vendor": "x", "version": "21"},
    "plugins": [{"name": "p"}],
    "settings": {"node": {"attr": {"a": "b"}}},
}

TRANSFORM = {
    "pages_processed": 2, "documents_processed": 500, "documents_indexed": 50, "index_time_in_ms": 100,
    "index_total": 1, "index_failures": 0, "search_time_in_ms": 300, "search_total": 2,
    "search_failures": 0, "processing_time_in_ms": 600, "processing_total": 2,
}  # fmt: skip

BUCKET = {
    "key": "job", "min": {"value": 1.0}, "mean": {"value": 2.5}, "max": {"value": 9.0},
    "median": {"values": {"50.0": 2.0}},
}  # fmt: skip

_BLOBS = {"object_store_stats": {"request_counts": {"GetObject": 6}}}

REPLIES: dict[str, object] = {
    "/": {
        "cluster_name": "c",
        "version": {"number": "3.3.0", "build_hash": "abc", "build_flavor": "default"},
    },
    "/_nodes/stats/indices/docs": {
        "nodes": {"id": {"name": "n", "indices": {"shards": {"logs": [{"0": SHARD}]}}}}
    },
    "/_nodes/stats": {"nodes": {"id": NODE}},
    "/_nodes/_master": {"nodes": {"id": {"name": "n"}}},
    "/_nodes": {"nodes": {"id": NODE_INFO}},
    "/_cluster/health": {"status": "green", "number_of_nodes": 1, "unassigned_shards": 0},
    "/_cat/segments": "index shard",
    "_recovery": {
        "logs": {
            "shards": [
                {
                    "id": 0,
                    "type": "PEER",
                    "stage": "INDEX",
                    "primary": True,
                    "source": {"name": "a"},
                    "target": {"name": "b", "id": "id"},
                    "index": {"size": {"total_in_bytes": 5, "percent": "5%"}},
                    "translog": {"recovered": 3},
                }
            ]
        }
    },
    "_ccr/stats": {"follow_stats": {"indices": [{"index": "logs", "shards": [{"shard_id": 0, "ops": 1}]}]}},
    "/_transform": {"transforms": [{"id": "t", "state": "started", "stats": TRANSFORM}]},
    "_searchable_snapshots": {"total": [{"file_ext": "fdt", "num_files": 3, "reads": {"sum": 4}}]},
    "/_data_stream": {
        "_shards": {"total": 4, "failed": 0},
        "backing_indices": 2,
        "total_store_size_bytes": 9,
        "data_stream_count": 1,
        "data_streams": [
            {"data_stream": "logs", "backing_indices": 2, "store_size_bytes": 9, "maximum_timestamp": 5}
        ],
    },
    "_disk_usage": {
        "_shards": {"total": 1, "failed": 0},
        "logs": {"fields": {"a": {"total_in_bytes": 5, "inverted_index": {"total_in_bytes": 3}}}},
    },
    "/_internal/blob_store": {"_all": _BLOBS, "nodes": {"id": _BLOBS}},
    "/_ingest/geoip": {"nodes": {"id": {"cache_stats": {"count": 5, "hits": 40}}}},
    ".ml-anomalies-*/_count": {"count": 3},
    ".ml-anomalies-*/_search": {"aggregations": {"jobs": {"buckets": [BUCKET]}}},
    "_stats": {
        "_shards": {"total": 1, "successful": 1, "failed": 0},
        "_all": {"primaries": FIGURES, "total": FIGURES},
        "indices": {"logs": {"primaries": FIGURES, "shards": {"0": [SHARD]}}},
    },
}
"""Replies by a part of the path, the first one that fits."""


def part_of(path: str) -> str:
    """Returns the part of a path by which its reply is found."""
    return path if path == "/" else next(part for part in REPLIES if part in path and part != "/")


def reply_to(path: str) -> object:
    """Returns the reply to a request; statistics of nodes only have what the path names."""
    part = part_of(path)
    if part != "/_nodes/stats":
        return REPLIES[part]
    return {
        "nodes": {
            "id": {key: value for key, value in NODE.items() if key == "name" or key in path or path == part}
        }
    }

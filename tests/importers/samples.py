"""Files as other tools write them, with figures of our own or of published tables."""

from __future__ import annotations

from typing import Any

SUMMARY = """\
[INFO] Racing on track [geonames], challenge [append-no-conflicts] and car ['4gheap'] with version [7.17.0].

------------------------------------------------------
|                                        Metric |         Task |    Value |   Unit |
|----------------------------------------------:|-------------:|---------:|-------:|
|    Cumulative indexing time of primary shards |              |  12.5    |    min |
|       Cumulative merge count of primary shards |             |     7    |        |
|                                Min Throughput | index-append | 61000.5  | docs/s |
|                               Mean Throughput | index-append | 62000    | docs/s |
|                             Median Throughput | index-append | 62100    | docs/s |
|                                Max Throughput | index-append | 63000    | docs/s |
|                  50th percentile service time | index-append |   320    |     ms |
|                  99th percentile service time | index-append |   800    |     ms |
|                99.9th percentile service time | index-append |  1200    |     ms |
|                 100th percentile service time | index-append |  1300    |     ms |
|                                    error rate | index-append |     0    |      % |
|                       50th percentile latency |         term |     3    |     ms |
|                       99th percentile latency |         term |     9    |     ms |
|                  50th percentile service time |         term |     2.5  |     ms |
|                  99th percentile service time |         term |     8    |     ms |
|                                    error rate |         term |     0    |      % |

[INFO] SUCCESS (took 12 seconds)
"""
"""A summary of Rally as it prints it."""

PUBLISHED = """\
Comparing baseline
  Race ID: 2716fc79-3d9e-4985-9061-832a78794231
  Race timestamp: 2021-12-07 01:23:39
  Challenge: append-no-conflicts
  Car: external
  User tags: jvm_memory_size=32GB(default)

with contender
  Race ID: b2836ba5-4b5d-4fb9-8c23-d6eb94112010
  Race timestamp: 2021-12-07 04:46:31
  Challenge: append-no-conflicts
  Car: external
  User tags: jvm_memory_size=64GB

|                                   Metric |  Task |    Baseline |   Contender |     Diff |   Unit |
|-----------------------------------------:|------:|------------:|------------:|---------:|-------:|
| Max cumulative merge time across primary shard |  |     15.9374 |     24.5854 |  8.64797 |    min |
|                       Total Young Gen GC |       |        0.88 |       0.689 |   -0.191 |      s |
|                               Store size |       |     7.76016 |      8.6953 |  0.93514 |     GB |
|                        Median Throughput | index |      100017 |      115730 |  15713.4 | docs/s |
|                  50th percentile latency | index |     89.9578 |     92.2309 |  2.27314 |     ms |
|             50th percentile service time | index |     89.9578 |     92.2309 |  2.27314 |     ms |
|                               error rate | index |     80.1289 |     74.8857 | -5.24328 |      % |
|                        Median Throughput | range |    0.705763 |    0.706075 |  0.00031 |  ops/s |
|                  50th percentile latency | range |     256.054 |     193.034 | -63.0194 |     ms |
|                  99th percentile latency | range |      282.01 |     193.938 | -88.0715 |     ms |
|             50th percentile service time | range |     254.869 |     191.784 | -63.0847 |     ms |
|             99th percentile service time | range |      280.83 |     192.689 | -88.1409 |     ms |
|                               error rate | range |           0 |           0 |        0 |      % |
"""
"""Figures of a published comparison of two heap sizes."""


def race_document(**changes: Any) -> dict[str, Any]:
    """A `race.json` of Rally."""
    times = {"50_0": 2.0, "90_0": 3.0, "99_0": 5.0, "99_9": 8.0, "100_0": 9.0, "mean": 2.2, "unit": "ms"}
    return {
        "rally-version": "2.7.1",
        "environment": "local",
        "race-id": "0f0e0d0c-1111-2222-3333-444455556666",
        "race-timestamp": "20230504T101112Z",
        "pipeline": "benchmark-only",
        "user-tags": {"intention": "baseline"},
        "track": "geonames",
        "track-revision": "abc1234",
        "track-params": {"bulk_size": 500, "password": "hunter2", "host": "https://me:hunter2@es:9200"},
        "challenge": "append-no-conflicts",
        "car": ["4gheap", "ea"],
        "cluster": {
            "distribution-version": "7.17.0",
            "distribution-flavor": "default",
            "revision": "bee86328",
        },
        "results": {
            "op_metrics": [
                {
                    "task": "index-append",
                    "operation": "bulk",
                    "throughput": {"min": 1.0, "mean": 2.0, "median": 2.5, "max": 3.0, "unit": "docs/s"},
                    "latency": times,
                    "service_time": times,
                    "error_rate": 0.002,
                }
            ],
            "total_time": 120_000,
            "total_time_per_shard": {"min": 0, "median": 60_000, "max": 60_000, "unit": "ms"},
            "merge_count": 3,
            "young_gc_time": 500,
            "store_size": 3 * 1024**3,
            "memory_segments": None,
        },
    } | changes


def osb_document(**changes: Any) -> dict[str, Any]:
    """A `test_execution.json` of OpenSearch Benchmark."""
    return {
        "benchmark-version": "1.8.0",
        "environment": "local",
        "test-execution-id": "aaaabbbb-1111-2222-3333-444455556666",
        "test-execution-timestamp": "20240504T101112Z",
        "pipeline": "benchmark-only",
        "user-tags": {},
        "workload": "big5",
        "provision-config-instance": "external",
        "cluster": {"distribution-version": "2.11.0"},
        "test_procedure": "big5",
        "results": {
            "op_metrics": [
                {
                    "task": "term",
                    "operation": "term",
                    "throughput": {"min": 1, "mean": 2, "median": 2, "max": 3, "unit": "ops/s"},
                    "service_time": {"50_0": 2.0, "unit": "ms"},
                    "error_rate": 0.0,
                }
            ],
            "correctness_metrics": [{"task": "knn", "operation": "knn", "recall@k": {"mean": 0.93}}],
        },
    } | changes

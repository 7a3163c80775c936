"""Processing times of machine learning jobs, from the results that the jobs store (Rally's ML processing
time).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.model.codec import as_number
from pacenote.model.system_metrics import MlProcessingTime
from pacenote.telemetry.device import DeviceReading, TelemetryDevice, expected_form
from pacenote.telemetry.short_names import ShortNames

_FIELD = {"field": "processing_time_ms"}
_INDICES = "/.ml-anomalies-*"
_OPTIONS = "ignore_unavailable=true&allow_no_indices=true"
_QUERY = {
    "size": 0,
    "query": {"term": {"result_type": "bucket"}},
    "aggs": {
        "jobs": {
            "terms": {"field": "job_id", "size": 1000},
            "aggs": {
                "min": {"min": _FIELD},
                "mean": {"avg": _FIELD},
                "median": {"percentiles": {**_FIELD, "percents": [50]}},
                "max": {"max": _FIELD},
            },
        }
    },
}


class MlProcessingTimes(TelemetryDevice):
    """Shortest, mean, median and longest time in which a job processed a bucket."""

    name = "ml-bucket-processing-time"
    description = "Times in which machine learning jobs process a bucket."
    serverless = "public"

    def start(self) -> None:
        """Reads nothing: the results are stored."""

    def stop(self) -> DeviceReading:
        """Reads the results of all jobs; none if the cluster has no results. Raises EngineError."""
        connection = self._cluster.connect()
        try:
            # Most clusters have no results: counting them is cheaper than the search.
            counted = connection.get(f"{_INDICES}/_count?{_OPTIONS}")
            with expected_form('"count" of the results'):
                if not counted.get("count"):
                    return DeviceReading({})
            reply = connection.request("POST", f"{_INDICES}/_search?{_OPTIONS}", _QUERY)
        finally:
            connection.close()
        with expected_form('"aggregations" with the times of each job'):
            # Without indices, an engine leaves out the aggregations.
            buckets = reply.get("aggregations", {}).get("jobs", {}).get("buckets", ())
            names = ShortNames()
            times = tuple(_times(bucket, names) for bucket in buckets)
        return DeviceReading({"ml_processing_time": times} if times else {})


def _times(bucket: Mapping[str, Any], names: ShortNames) -> MlProcessingTime:
    return MlProcessingTime(
        job=names.of(bucket["key"]),
        min=as_number(bucket["min"]["value"]),
        mean=as_number(bucket["mean"]["value"]),
        median=as_number(bucket["median"]["values"]["50.0"]),
        max=as_number(bucket["max"]["value"]),
    )

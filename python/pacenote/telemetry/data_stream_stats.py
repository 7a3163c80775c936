"""Rally's `data-stream-stats`: number and size of data streams and their backing indices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pacenote.model.codec import as_number, as_text
from pacenote.telemetry.device import ControlConnection, expected_form
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter


class DataStreamStats(SampledDevice):
    """Number and size of data streams and their backing indices."""

    name = "data-stream-stats"
    description = "Number and size of data streams and their backing indices."
    always_on = False
    serverless = "public"
    interval = interval_parameter("data-stream-stats", 10.0)
    parameters = (interval,)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads all data streams. Raises EngineError."""
        reply = connection.get("/_data_stream/*/_stats")
        with expected_form('"data_streams" and their numbers'):
            yield from _figures(reply)


def _figures(reply: Mapping[str, Any]) -> Iterator[SampledValue]:
    everything = {"data_stream": "_all"}
    yield SampledValue("shards", as_number(reply["_shards"]["total"]), labels=everything)
    yield SampledValue("data_stream_count", as_number(reply["data_stream_count"]), labels=everything)
    yield SampledValue("backing_indices", as_number(reply["backing_indices"]), labels=everything)
    yield SampledValue("total_store_size", as_number(reply["total_store_size_bytes"]), "B", labels=everything)
    for stream in reply["data_streams"]:
        labels = {"data_stream": as_text(stream["data_stream"])}
        yield SampledValue("backing_indices", as_number(stream["backing_indices"]), labels=labels)
        yield SampledValue("store_size", as_number(stream["store_size_bytes"]), "B", labels=labels)
        yield SampledValue("maximum_timestamp", as_number(stream["maximum_timestamp"]), "ms", labels=labels)

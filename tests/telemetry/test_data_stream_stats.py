"""Rally's data-stream-stats."""

from pacenote.telemetry.data_stream_stats import DataStreamStats
from telemetry.sampling import run_device


def test_all_data_streams_and_each_of_them_are_read():
    reply = {
        "_shards": {"total": 4, "failed": 0},
        "data_stream_count": 1,
        "backing_indices": 2,
        "total_store_size_bytes": 900,
        "data_streams": [
            {"data_stream": "logs", "backing_indices": 2, "store_size_bytes": 900, "maximum_timestamp": 5}
        ],
    }
    run = run_device(DataStreamStats, {"/_data_stream/*/_stats": reply})
    assert run.result.errors == ()
    assert run.values() == {
        ("shards", "_all"): 4,
        ("data_stream_count", "_all"): 1,
        ("backing_indices", "_all"): 2,
        ("total_store_size", "_all"): 900,
        ("backing_indices", "logs"): 2,
        ("store_size", "logs"): 900,
        ("maximum_timestamp", "logs"): 5,
    }

"""Race folders written by earlier versions can still be read and reported.

`earlier/race.json` is the record of a real race of http_logs with OpenSearch 3.3.0, written by commit eda047b
and reduced to two of its tasks.
"""

import json
from pathlib import Path

import pytest

from pacenote.report.summary import build_report
from pacenote.store.race_store import RaceStore

EARLIER = Path(__file__).with_name("earlier") / "race.json"
RACE_ID = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "races" / RACE_ID
    folder.mkdir(parents=True)
    (folder / "race.json").write_bytes(EARLIER.read_bytes())
    return RaceStore(tmp_path)


def test_an_earlier_race_is_reported_with_its_stored_values(store):
    written = {task["task"]: task for task in json.loads(EARLIER.read_text("utf-8"))["tasks"]}
    rows = {(row.metric, row.task): row.value for row in build_report(store.load("latest")).rows}
    bulks, searches = written["index-append"], written["default"]
    assert rows["Mean Throughput", "index-append"] == pytest.approx(bulks["throughput"]["mean"], rel=1e-5)
    assert rows["50th percentile service time", "index-append"] == pytest.approx(
        percentile(bulks, "service_time", 50), rel=1e-5
    )
    assert rows["99th percentile latency", "default"] == pytest.approx(
        percentile(searches, "latency", 99), rel=1e-5
    )
    assert rows["error rate", "default"] == 0
    assert rows["documents counted", "logs-181998"] == 548


def test_the_record_of_an_earlier_race_is_read_in_full(store):
    record = store.load(RACE_ID)
    assert record.complete
    assert record.verdict is not None
    assert record.verdict.state == "suspect"
    assert [task.clients for task in record.tasks] == [4, 1]
    assert record.telemetry["node_startup_time"] > 0


def percentile(task, name, q):
    return next(one["ms"] for one in task[name]["percentiles"] if one["q"] == q)

"""Race folders written by earlier versions can still be read and reported.

`earlier/format-N` is the folder of a real race of http_logs with OpenSearch 3.3.0, reduced to two of its
tasks and some facts of its snapshot. Commit eda047b wrote that of format 1.
"""

import json
import shutil
from pathlib import Path

import pytest

from pacenote.model.codec import MAX_NAME
from pacenote.model.race_record import FORMAT_VERSION, RaceRecord
from pacenote.report.summary import build_report
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore

EARLIER = Path(__file__).with_name("earlier")
FORMATS = tuple(f"format-{number}" for number in range(1, FORMAT_VERSION + 1))
RACE_ID = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def store(tmp_path):
    shutil.copytree(EARLIER / "format-1", tmp_path / "races" / RACE_ID)
    return RaceStore(tmp_path)


def test_an_earlier_race_is_reported_with_its_stored_values(store):
    written = {
        task["task"]: task
        for task in json.loads((EARLIER / "format-1" / "race.json").read_text("utf-8"))["tasks"]
    }
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


@pytest.mark.parametrize("name", FORMATS)
def test_a_race_of_each_format_is_read_listed_and_stored_again(tmp_path, name):
    shutil.copytree(EARLIER / name, tmp_path / "races" / RACE_ID)
    store = RaceStore(tmp_path)
    race = store.load(RACE_ID)
    (listed,) = store.list(RaceFilter())
    assert (listed.track, listed.state, listed.verdict) == ("http_logs", "complete", race.verdict.state)
    assert RaceRecord.from_document(json.loads(json.dumps(race.to_document()))) == race


def test_nothing_of_a_race_of_this_format_is_lost_when_it_is_stored_again(tmp_path):
    stored = json.loads((EARLIER / FORMATS[-1] / "race.json").read_bytes())
    folder = RaceFolder(tmp_path)
    folder.write(RaceRecord.from_document(stored))
    assert list(lost(stored, json.loads(folder.race_json.read_bytes()))) == []
    shutil.copy(EARLIER / FORMATS[-1] / "snapshot.json", folder.snapshot)
    assert folder.read_snapshot().to_document() == json.loads(folder.snapshot.read_bytes())


def lost(old, new, path="race"):
    """Yields the places at which `new` lacks a value of `old`; it may have more keys."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            yield from lost(old[key], new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from lost(before, after, f"{path}[{number}]")
    elif old != new:
        yield path


def percentile(task, name, q):
    return next(one["ms"] for one in task[name]["percentiles"] if one["q"] == q)


@pytest.mark.parametrize("index", ["i" * 400_000, "," * 400_000, ",".join(map(str, range(100_000)))])
def test_a_race_of_an_earlier_version_with_a_long_label_of_indices_is_read_and_reported(tmp_path, index):
    shutil.copytree(EARLIER / FORMATS[-1], tmp_path / "races" / RACE_ID)
    path = tmp_path / "races" / RACE_ID / "race.json"
    document = json.loads(path.read_bytes())
    document["documents"][0]["index"] = index
    path.write_text(json.dumps(document), "utf-8")
    race = RaceStore(tmp_path).load(RACE_ID)
    assert race.documents[0].index == index
    counted = [row for row in build_report(race).rows if row.metric == "documents counted"]
    assert counted
    assert max(len(row.task) for row in counted) <= MAX_NAME

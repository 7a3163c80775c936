"""The bundled track http_logs, with both of its corpora and all of its challenges."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.model.track import Track
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import find_track


def http_logs(**params: Any) -> Track:
    return load_track(find_track("http_logs"), params, RenderOptions(now=0.0))


def test_the_generated_corpus_has_seven_indices() -> None:
    track = http_logs(docs=500_000)
    assert len(track.indices) == len(track.corpora[0].documents) == 7
    assert {index.name for index in track.indices} == {doc.target_index for doc in track.corpora[0].documents}
    assert sum(doc.document_count or 0 for doc in track.corpora[0].documents) == 247_249_096
    assert track.corpora[0].generator is not None
    assert sum(count or 0 for count in track.corpora[0].declared_counts()) == 500_000


def test_a_corpus_in_a_single_file_has_its_own_index() -> None:
    track = http_logs(corpus_file="./mine.json.gz")
    (index,), (documents,) = track.indices, track.corpora[0].documents
    assert not index.name.startswith("logs-")
    assert (documents.target_index, documents.document_count) == (index.name, None)
    assert (documents.is_local, documents.document_file) == (True, "./mine.json")
    assert track.corpora[0].generator is None
    searched = {op.params["index"] for op in track.operations if op.type == "search"}
    assert searched == {index.name}


@pytest.mark.parametrize(
    ("name", "tasks"),
    [("append-no-conflicts", 16), ("append-no-conflicts-index-only", 8), ("query-only", 8)],
)
def test_challenges_have_the_expected_number_of_tasks(name: str, tasks: int) -> None:
    track = http_logs()
    assert len(list(track.challenge(name).tasks())) == tasks
    assert track.default_challenge.name == "append-no-conflicts"


def test_all_settings_can_be_set_with_track_parameters() -> None:
    track = http_logs(
        bulk_size=7, bulk_indexing_clients=3, number_of_shards=2, target_throughput=0, iterations=9,
        query_range_ts_start=5,
    )  # fmt: skip
    tasks = {task.name: task for task in track.default_challenge.tasks()}
    assert tasks["index-append"].clients == 3
    assert tasks["index-append"].operation.params["bulk-size"] == 7
    assert (tasks["term"].iterations, tasks["term"].target_throughput) == (9, None)
    assert track.indices[0].body is not None
    assert track.indices[0].body["settings"]["index.number_of_shards"] == 2
    assert '"gte": 5' in str(tasks["range"].operation.params).replace("'", '"')


def test_fast_queries_have_enough_samples_for_the_99th_percentile() -> None:
    cheap = [task for task in http_logs().challenge("query-only").tasks() if (task.iterations or 0) >= 368]
    assert [task.name for task in cheap] == ["default", "term", "range", "200s-in-range", "400s-in-range"]

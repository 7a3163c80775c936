"""Documents are counted after a race."""

import math
import time
from typing import Any

import pytest

from pacenote.errors import EngineError
from pacenote.net.reply import FailedStatus
from pacenote.race.document_counts import MAX_CHECK_S, CheckStopped, LimitedReads, count_documents


def test_indices_are_counted_after_a_refresh():
    paths = []

    def get(path):
        paths.append(path)
        if path.startswith("/gone"):
            raise FailedStatus("HTTP 404 for /gone/_refresh", 404)
        if path.startswith("/closed"):
            raise EngineError("it is closed")
        return {"count": 7, "_shards": {"failed": 1 if path == "/half/_count" else 0}}

    counted = count_documents(get, ["logs", "gone", "half", "a/b", "closed"])
    assert counted.counts == {"logs": 7, "a/b": 7}
    assert counted.problems == {
        "gone": "HTTP 404 for /gone/_refresh",
        "half": "1 shard failed",
        "closed": "it is closed",
    }
    assert counted.missing == {"gone"}
    assert paths[:2] == ["/logs/_refresh", "/logs/_count"]
    assert paths[-2:] == ["/a%2Fb/_count", "/closed/_refresh"]


@pytest.mark.parametrize(
    ("refreshed", "shards", "problem"),
    [
        # A shard without a running copy (a red index) is neither successful nor failed.
        ({}, {"total": 5, "successful": 3, "skipped": 0, "failed": 0}, "2 shards failed"),
        ({"_shards": {"total": 2, "successful": 1, "failed": 1}}, {}, "1 shard could not be refreshed"),
        # A replica without a node is not refreshed, and not counted either.
        ({"_shards": {"total": 2, "successful": 1, "failed": 0}}, {"total": 1, "successful": 1}, None),
    ],
)
def test_an_index_is_counted_only_if_all_its_shards_answer(
    refreshed: dict[str, Any], shards: dict[str, Any], problem: str | None
):
    counted = count_documents(
        lambda path: refreshed if path.endswith("_refresh") else {"count": 7, "_shards": shards}, ["a"]
    )
    assert counted.problems == ({} if problem is None else {"a": problem})
    assert counted.counts == ({"a": 7} if problem is None else {})


@pytest.mark.parametrize("count", [None, "7", {}, True, -5, 7.0, 2**62, 10**30, math.inf])
def test_a_reply_without_a_number_is_a_problem(count: object):
    counted = count_documents(lambda _: {"count": count}, ["a"])
    assert counted.problems == {
        "a": "the cluster's reply about the number of documents has an unexpected form"
    }


def test_no_request_is_sent_after_the_time_of_the_check():
    asked = []

    def get(path: str) -> dict[str, Any]:
        asked.append(path)
        time.sleep(0.02)
        return {"count": 7}

    indices = [f"i{number}" for number in range(1_000)]
    counted = count_documents(LimitedReads(get, 0.05), indices)
    assert 2 <= len(asked) <= 4
    assert counted.counts["i0"] == 7
    assert counted.problems["i999"] == "the time for counting, 0.05 s, was over"
    assert counted.stopped == counted.problems.keys()


def test_the_time_of_the_check_grows_with_the_indices_that_are_counted():
    reads = LimitedReads(lambda _: {"count": 7}, -1.0)
    assert count_documents(reads, ["i"]).stopped == {"i"}
    reads.extend(1)
    assert count_documents(reads, ["i"]).counts == {"i": 7}


def test_the_time_of_the_check_is_an_hour_at_most(monkeypatch: pytest.MonkeyPatch):
    reads = LimitedReads(lambda _: {"count": 7})
    reads.extend(100_000)
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s + MAX_CHECK_S - 10)
    assert reads("/i/_count") == {"count": 7}
    monkeypatch.setattr(time, "monotonic", lambda: now_s + MAX_CHECK_S + 1)
    with pytest.raises(CheckStopped, match="the time for counting, 3,600 s, was over"):
        reads("/i/_count")

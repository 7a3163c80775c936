"""A value of a reply of another form than expected is not made text, which could be much longer."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from pacenote.capture.readers import _expired, _failed, _hits
from pacenote.capture.sources import _index
from pacenote.cluster.info import read_info
from pacenote.errors import EngineError
from pacenote.metrics_store.client import reason_in
from pacenote.metrics_store.templates import _lacks_wildcard
from pacenote.model.codec import as_integer, as_number, as_text
from pacenote.model.node_names import NodeNames
from pacenote.model.printable import printable, visible
from pacenote.net.hosts import HttpHost
from pacenote.net.rest import RestClient, RestResponse, _reason
from pacenote.python_tasks.response_errors import parse_response_error
from pacenote.race.index_names import resolve_names
from pacenote.race.ingest_pipelines import removing_pipeline
from pacenote.race.local_engines import _reported
from pacenote.telemetry.device import ObservedCluster
from pacenote.telemetry.segment_stats import SegmentStats

LONG = "\N{GRINNING FACE}" + "\x7f" * (1 << 20)
"""A text of 1 MiB that takes 4 MiB of memory; in the text of a list it takes 16 MiB."""

MAX_BYTES = 15 << 20
"""What a reader may take: a copy of the text, as JSON and parsed."""


class _Answers(RestClient):
    """A client whose replies are all the same."""

    def __init__(self, body: Any, status: int = 200) -> None:
        super().__init__([HttpHost("http", "127.0.0.1", 1)])
        self._reply = RestResponse(status, body, b"")

    def exchange(self, *_: object, **__: object) -> RestResponse:
        return self._reply

    def get(self, *_: object, **__: object) -> Any:
        return self._reply.body


def _reply(body: Any, status: int = 200) -> RestResponse:
    return RestResponse(status, body, b"")


def _pipelines(definition: object) -> Callable[[str], Any]:
    return lambda _: {"p": {"processors": [definition]}}


READERS: dict[str, Callable[[object], object]] = {
    "expired": lambda value: _expired(_reply({"error": value, "_shards": {"failures": [value]}})),
    "failed": lambda value: _failed("documents", _reply({"error": {"reason": value}}, 500)),
    "hits": lambda value: _hits("notes", _reply({"_shards": {"failed": value}})),
    "shards": lambda value: _index(
        _Answers({}), "notes", {"settings": {"index": {"number_of_shards": value}}}
    ),
    "info": lambda value: read_info(
        _Answers({"version": {"number": "9.1.0"}, "cluster_name": value}), NodeNames()
    ),
    "store reason": lambda value: reason_in({"error": {"reason": value, "root_cause": [{"reason": value}]}}),
    "templates": lambda value: _lacks_wildcard(_reply({"error": value}, 400), {}),
    "reason": lambda value: _reason({"error": value}),
    "reason of an object": lambda value: _reason({"error": {"reason": value}}),
    "driver": lambda value: parse_response_error(
        json.dumps({"error": {"reason": value}}, ensure_ascii=False).encode()
    ),
    "index settings": lambda value: resolve_names(
        lambda _: {"i": {"settings": {"index.default_pipeline": value}}}, ["i"]
    ),
    "pipeline": lambda value: removing_pipeline(_pipelines({"pipeline": {"name": value}}), ["p"]),
    "script": lambda value: removing_pipeline(_pipelines({"script": {"source": value}}), ["p"]),
    "local engines": lambda value: list(
        _reported(
            {
                "nodes": {
                    "n": {
                        "name": value,
                        "ip": value,
                        "process": {"id": 1},
                        "jvm": {"start_time_in_millis": 1},
                    }
                }
            },
            NodeNames(),
        )
    ),
    "process id": lambda value: list(
        _reported(
            {"nodes": {"n": {"name": "n", "process": {"id": LONG}, "jvm": {"start_time_in_millis": 1}}}},
            NodeNames(),
        )
    ),
    "node names": lambda value: NodeNames().of({"n": {"name": value}}),
    "segments": lambda value: SegmentStats(
        ObservedCluster(lambda _: None, None, lambda _=10.0: _Answers(value))
    ).stop(),
}


@pytest.mark.parametrize("name", READERS)
def test_a_list_in_the_place_of_a_text_takes_no_memory(name: str) -> None:
    value = [LONG]
    tracemalloc.start()
    try:
        with suppress(EngineError, TypeError, ValueError):
            READERS[name](value)
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("read", [as_integer, as_number])
def test_the_error_of_a_number_does_not_repeat_a_long_text(read: Callable[[object], object]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="longer than a number") as caught:
            read(LONG)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 100
    assert read("12") == read(12) == 12


def test_texts_and_numbers_are_text() -> None:
    assert [as_text(value) for value in ("a", 1, 1.5, True)] == ["a", "1", "1.5", "True"]
    for value in (None, [], {}, ["a"]):
        with pytest.raises(TypeError):
            as_text(value)


@pytest.mark.parametrize("clean", [printable, visible])
def test_a_long_text_is_cleaned_in_parts(clean: Callable[[str], str]) -> None:
    """Each character on its own takes 80 bytes."""
    text = "\N{GRINNING FACE}" * (1 << 18) + "\x7f"
    tracemalloc.start()
    try:
        assert clean(text).startswith(text[:-1])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * len(text)


def test_causes_in_any_place_of_an_error_count() -> None:
    missing = {"type": "search_context_missing_exception"}
    for error in (
        missing,
        {"type": "search_phase_execution_exception", "root_cause": [missing]},
        {"type": "search_phase_execution_exception", "caused_by": {"type": "x", "caused_by": missing}},
        {"type": "search_phase_execution_exception", "failed_shards": [{"shard": 0, "reason": missing}]},
    ):
        assert _expired(_reply({"error": error}, 404))
    assert _expired(_reply({"_shards": {"failures": [{"shard": 0, "reason": missing}]}}))
    assert not _expired(_reply({"error": {"type": "x", "reason": "search_context_missing_exception"}}))

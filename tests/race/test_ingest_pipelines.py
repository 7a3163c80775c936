"""Pipelines that drop documents or send them elsewhere are told from those that do not."""

import time
from typing import Any

import pytest

from pacenote.errors import EngineError
from pacenote.net.reply import FailedStatus
from pacenote.race.ingest_pipelines import removing_pipeline


def engine(definitions: dict[str, Any]):
    def get(path: str) -> Any:
        name = path.removeprefix("/_ingest/pipeline/")
        if name not in definitions:
            raise FailedStatus("missing", 404)
        if isinstance(definitions[name], Exception):
            raise definitions[name]
        return {name: definitions[name]}

    return get


@pytest.mark.parametrize(
    ("processor", "removes"),
    [
        ({"drop": {}}, True),
        ({"reroute": {"dataset": "x"}}, True),
        ({"date_index_name": {"field": "d", "date_rounding": "M"}}, True),
        ({"set": {"field": "_index", "value": "x"}}, True),
        ({"rename": {"field": "a", "target_field": "_id"}}, True),
        ({"script": {"source": "ctx.op = 'noop'"}}, True),
        ({"script": {"source": "ctx._index = 'x'"}}, True),
        ({"script": {"id": "stored"}}, True),
        ({"script": {"source": "ctx.a = ctx.b"}}, False),
        ({"set": {"field": "a", "value": "_index"}}, False),
        ({"grok": {"field": "message", "patterns": ["%{IP:ip}"]}}, False),
        ({"grok": {"field": "message", "on_failure": [{"drop": {}}]}}, True),
        ({"foreach": {"field": "v", "processor": {"drop": {}}}}, True),
        ({"pipeline": {"name": "dropping"}}, True),
        ({"pipeline": {"name": "p"}}, False),
        ({"pipeline": {"name": "gone"}}, False),
        ({"pipeline": {"name": "{{field}}"}}, True),
        ({"pipeline": {"name": "secret"}}, True),
    ],
)
def test_a_processor_removes_documents_or_not(processor: dict[str, Any], removes: bool):
    definitions = {
        "p": {"processors": [{"set": {"field": "a", "value": 1}}, processor]},
        "dropping": {"processors": [{"drop": {}}]},
        "secret": EngineError("no permission"),
    }
    assert removing_pipeline(engine(definitions), {"p"}) == ("p" if removes else "")


def test_what_runs_after_a_failure_counts_as_well():
    definitions = {"p": {"processors": [], "on_failure": [{"set": {"field": "_index", "value": "failed"}}]}}
    assert removing_pipeline(engine(definitions), {"p"}) == "p"


@pytest.mark.parametrize(("width", "requests"), [(1, 100), (10_000, 1)])
def test_a_server_that_names_further_pipelines_without_end_is_not_followed(width: int, requests: int):
    read = []

    def get(path: str) -> Any:
        name = path.rpartition("/")[2]
        read.append(name)
        called = [f"{name}-{number}" if width > 1 else f"p{len(read)}" for number in range(width)]
        return {name: {"processors": [{"pipeline": {"name": each}} for each in called]}}

    assert removing_pipeline(get, {"p", "q"}) == "p"
    assert len(read) == requests


def test_a_pipeline_is_read_once_whoever_calls_it():
    read = []
    definitions = {name: {"processors": [{"pipeline": {"name": "common"}}]} for name in ("a", "b", "c")}
    get = engine({**definitions, "common": {"processors": []}})

    def counted(path: str) -> Any:
        read.append(path.rpartition("/")[2])
        return get(path)

    assert removing_pipeline(counted, set(definitions)) == ""
    assert read == ["a", "common", "b", "c"]


def test_a_reply_may_name_a_pipeline_any_number_of_times():
    called = {"p": "q", "q": "r", "r": "p"}
    definitions = {
        name: {"processors": [{"pipeline": {"name": other}}] * 30_000} for name, other in called.items()
    }
    began_s = time.process_time()
    assert removing_pipeline(engine(definitions), called) == ""
    assert time.process_time() - began_s < 5

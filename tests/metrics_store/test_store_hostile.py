"""Whatever a store puts into the place of any value of its replies is not called a bug."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pacenote.errors import StoreError
from pacenote.metrics_store.bulk import BulkWriter
from pacenote.metrics_store.client import StoreClient
from pacenote.metrics_store.metrics_documents import Document
from pacenote.metrics_store.store import MetricsStore, StoreQuery
from pacenote.metrics_store.store_annotations import StoreAnnotations
from support.http_server import HttpRequest, HttpResponse, json_response
from support.metrics_store import fake_store

pytestmark = pytest.mark.process

HOSTILE: tuple[object, ...] = (None, True, "x", -1, 1e999, 10**30, [], {}, [[]], [None], [{}], {"a": None})

RACE = {"race-id": "race-1", "race-timestamp": "20260301T000000Z", "environment": "local"}

OPERATIONS: dict[str, Callable[[StoreClient], object]] = {
    "races": lambda client: MetricsStore(client).races(StoreQuery()),
    "race": lambda client: MetricsStore(client).race("race-1"),
    "race by prefix": lambda client: MetricsStore(client).race("race"),
    "count": lambda client: MetricsStore(client).count("race-1"),
    "delete": lambda client: MetricsStore(client).delete("race-1"),
    "annotations": lambda client: StoreAnnotations(client).list(),
    "bulk": lambda client: BulkWriter(client).write("i", [Document("1", b'{"a":1}')]),
}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the places of all values in a document."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield from places(child, (*at, key))


def changed(document: Any, at: tuple[Any, ...], value: object) -> Any:
    if not at:
        return value
    document = copy.deepcopy(document)
    container = document
    for key in at[:-1]:
        container = container[key]
    container[at[-1]] = value
    return document


def test_a_race_that_was_not_asked_for_is_not_returned() -> None:
    reply = json_response({"hits": {"hits": [{"_source": RACE}]}})
    with fake_store(answer=lambda request: reply) as store:
        races = MetricsStore(store.client())
        assert [races.race(text) is not None for text in ("race-1", "race", "other", "race-12")] == [
            True,
            True,
            False,
            False,
        ]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_reply_of_another_form_is_an_error_of_the_store(operation: str) -> None:
    replies: dict[str, Any] = {}
    hostile: dict[str, HttpResponse] = {}

    def answer(request: HttpRequest) -> HttpResponse:
        if request.line in hostile:
            return hostile[request.line]
        # The document that is counted and deleted is there again.
        store.indices["rally-races-v1"] = {"1": RACE, "2": {**RACE, "race-id": "race-2"}}
        store.indices["rally-annotations"] = {"1": {"message": "m", "environment": "local"}}
        response = store._respond(request)
        replies[request.line] = json.loads(response.body)
        return response

    with fake_store() as store:
        store.answer = answer
        client = store.client()
        with contextlib.suppress(StoreError):  # Two races begin with the prefix.
            OPERATIONS[operation](client)
        assert replies
        for line, reply in list(replies.items()):
            for at in list(places(reply)):
                for value in HOSTILE:
                    hostile[line] = json_response(changed(reply, at, value))
                    with contextlib.suppress(StoreError):
                        OPERATIONS[operation](client)
            del hostile[line]


@pytest.mark.parametrize(
    "damaged", [None, "x", {}, {"_id": "a", "_source": None}, {"_id": "a", "_source": [1]}]
)
def test_one_document_of_another_form_hides_no_other(damaged: object) -> None:
    whole = {"_id": "b", "_source": {**RACE, "message": "new disks"}}
    reply = json_response({"hits": {"hits": [damaged, whole]}})
    with fake_store(answer=lambda request: reply) as store:
        (note,) = StoreAnnotations(store.client()).list()
        assert note.message == "new disks"
        (race,) = MetricsStore(store.client()).races(StoreQuery())
        assert race["race-id"] == "race-1"


@pytest.mark.parametrize("race_id", [None, "", [], ["race-1"], {"a": 1}])
def test_a_document_of_a_race_without_an_id_is_left_out(race_id: object) -> None:
    documents = ({**RACE, "race-id": race_id}, {key: RACE[key] for key in RACE if key != "race-id"})
    with fake_store() as store:
        hits: list[object] = []
        store.answer = lambda _request: json_response({"hits": {"hits": hits}})
        races = MetricsStore(store.client())
        for document in documents:
            hits[:] = [{"_id": "1", "_source": document}]
            assert races.race("race-1") is None
            hits.append({"_id": "2", "_source": RACE})
            assert races.race("race-1") == RACE
            assert races.races(StoreQuery()) == [RACE]

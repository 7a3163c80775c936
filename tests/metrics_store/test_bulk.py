"""Documents are written in requests of limited size, and refusals are counted."""

from __future__ import annotations

import json
import socket
import time

import pytest

from pacenote.metrics_store import bulk, client
from pacenote.metrics_store.bulk import BulkWriter
from pacenote.metrics_store.client import StoreClient, StoreRetries, StoreUnavailable
from pacenote.metrics_store.metrics_documents import Document
from support.http_server import HttpResponse, json_response
from support.metrics_store import fake_store


def documents(count: int, text: bytes = b'{"a":1}') -> list[Document]:
    return [Document(f"id{number}", text) for number in range(count)]


def test_requests_have_a_limited_number_of_documents_and_bytes():
    with fake_store() as store:
        writer = BulkWriter(store.client())
        writer.write("i", documents(bulk.MOST_DOCUMENTS + 1))
        writer.write("j", documents(3, b'{"a":"%b"}' % (b"x" * (bulk.MOST_BYTES // 2))))
        sizes = [request.body.count(b"\n") // 2 for request in store.requests]
    assert sizes == [bulk.MOST_DOCUMENTS, 1, 2, 1]
    assert writer.written.documents == bulk.MOST_DOCUMENTS + 4


@pytest.mark.parametrize(("streams", "action"), [(True, "create"), (False, "index")])
def test_writing_twice_does_not_double(streams, action):
    with fake_store() as store:
        writer = BulkWriter(store.client(use_data_streams=streams))
        writer.write("i", documents(2))
        writer.write("i", documents(2))
        assert len(store.documents("i")) == 2
        assert json.loads(store.requests[0].body.splitlines()[0]) == {action: {"_id": "id0"}}
    assert (writer.written.documents, writer.written.refused.total()) == (4, 0)


def test_only_documents_that_the_store_was_too_busy_for_are_written_again():
    busy = {"create": {"status": 429, "error": {"type": "rejected", "reason": "queue full"}}}
    replies = [{"errors": True, "items": [{"create": {"status": 201}}, busy]}]

    with fake_store(answer=lambda request: json_response(replies.pop()) if replies else None) as store:
        writer = BulkWriter(store.client())
        writer.write("i", documents(2))
        assert [request.body.count(b"\n") // 2 for request in store.requests] == [2, 1]
        assert b'"id1"' in store.requests[1].body
    assert writer.written.documents == 2


def test_a_store_that_answers_each_request_slowly_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "FREE_S", 0.3)
    monkeypatch.setattr(client, "LEAST_RATE", 1_000)
    monkeypatch.setattr(bulk, "MOST_DOCUMENTS", 10)

    def answer(request):
        time.sleep(0.1)

    with fake_store(answer=answer) as store:
        writer = BulkWriter(store.client())
        with pytest.raises(StoreUnavailable, match="is too slow: its replies have taken"):
            writer.write("i", documents(1_000))
    assert 20 <= writer.written.documents <= 50


def test_a_store_may_take_long_for_many_documents(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "FREE_S", 0.0)
    monkeypatch.setattr(client, "LEAST_RATE", 5)
    monkeypatch.setattr(bulk, "MOST_DOCUMENTS", 10)
    with fake_store() as store:
        writer = BulkWriter(store.client())
        writer.write("i", documents(100))
    assert writer.written.documents == 100


def test_a_store_that_remains_too_busy_is_an_error():
    busy = {"create": {"status": 429, "error": {"type": "rejected", "reason": "queue full"}}}
    reply = json_response({"errors": True, "items": [busy]})
    with fake_store(answer=lambda request: reply) as store:
        with pytest.raises(StoreUnavailable, match="too busy: it refused 1 documents 4 times"):
            BulkWriter(store.client()).write("i", documents(1))
        assert len(store.requests) == 4


def test_refused_documents_are_counted_by_reason():
    reason = {"type": "mapper_parsing_exception", "reason": "failed to parse field [a]"}
    bad = {"create": {"status": 400, "error": reason}}
    items = [{"create": {"status": 201}}, bad, bad]
    with fake_store(answer=lambda request: json_response({"errors": True, "items": items})) as store:
        writer = BulkWriter(store.client())
        writer.write("i", documents(3))
    assert writer.written.documents == 1
    assert writer.written.refused == {"failed to parse field [a]": 2}


def test_reasons_that_differ_for_each_document_do_not_take_memory():
    written = bulk.Written()
    for number in range(1_000):
        written.refuse(f"failed to parse field [a] in document with id '{number}'")
    assert len(written.refused) == bulk.MOST_REASONS + 1
    assert written.refused[bulk.OTHER_REASONS] == 1_000 - bulk.MOST_REASONS


def test_reasons_that_are_not_kept_are_not_searched_for_secrets():
    reasons = [f"{number} " + "pw=x " * 2_000 for number in range(500)]
    items = [{"create": {"status": 400, "error": {"reason": reason}}} for reason in reasons]
    with fake_store(answer=lambda request: json_response({"errors": True, "items": items})) as store:
        writer = BulkWriter(store.client())
        began_s = time.thread_time()
        writer.write("i", documents(500))
    assert time.thread_time() - began_s < 4.0
    assert len(writer.written.refused) == bulk.MOST_REASONS + 1
    assert writer.written.refused[bulk.OTHER_REASONS] == 500 - bulk.MOST_REASONS


def test_a_reply_for_other_documents_is_an_error():
    reply = json_response({"errors": True, "items": []})
    with fake_store(answer=lambda request: reply) as store:
        writer = BulkWriter(store.client())
        with pytest.raises(StoreUnavailable, match="0 items for 2 documents"):
            writer.write("i", documents(2))


def test_a_store_that_dies_in_the_middle_is_an_error():
    listener = socket.create_server(("127.0.0.1", 0))
    with fake_store() as store:
        done = iter((None, HttpResponse(200, b'{"errors', (("content-length", "100"),), close=True)))
        store.answer = lambda request: next(
            done, HttpResponse(200, b"", (("content-length", "9"),), close=True)
        )
        client = StoreClient(store.settings(), StoreRetries(attempts=1), 5.0)
        with pytest.raises(StoreUnavailable, match=r"cannot be reached at .*: the response ended early"):
            BulkWriter(client).write("i", documents(bulk.MOST_DOCUMENTS * 3))
        assert len(store.documents("i")) == bulk.MOST_DOCUMENTS
    listener.close()

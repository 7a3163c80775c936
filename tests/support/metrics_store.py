"""A small store for tests: real sockets, and the requests that Pacenote sends to a metrics store, no others.

Documents are kept by index and id. Searches support the conditions that Rally sends; anything else is an
error, so that a test does not pass by accident. Tests with a real engine are in `tests/e2e`.
"""

from __future__ import annotations

import fnmatch
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pacenote.metrics_store.client import StoreClient, StoreRetries
from pacenote.metrics_store.settings import StoreSettings
from support.http_server import HttpRequest, HttpResponse, HttpServer, http_server, json_response

OPENSEARCH = {"version": {"distribution": "opensearch", "number": "3.3.0"}}

Answer = Callable[[HttpRequest], HttpResponse | None]
"""Answers a request in place of the store, or returns None."""


@dataclass
class FakeStore:
    """A running store."""

    root: dict[str, Any] = field(default_factory=lambda: OPENSEARCH)
    answer: Answer = lambda request: None
    templates: dict[str, Any] = field(default_factory=dict)
    indices: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    server: HttpServer | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def port(self) -> int:
        assert self.server is not None
        return self.server.port

    @property
    def requests(self) -> list[HttpRequest]:
        assert self.server is not None
        return self.server.requests

    @property
    def url(self) -> str:
        assert self.server is not None
        return self.server.url

    def settings(self, **changes: Any) -> StoreSettings:
        return StoreSettings(host="127.0.0.1", port=self.port, **changes)

    def client(self, **changes: Any) -> StoreClient:
        """Returns a client that does not wait between attempts."""
        return StoreClient(self.settings(**changes), StoreRetries(sleep=lambda seconds: None), 5.0)

    def reporting(self) -> dict[str, str]:
        return {
            "datastore.type": "opensearch",
            "datastore.host": "127.0.0.1",
            "datastore.port": str(self.port),
        }

    def documents(self, pattern: str) -> list[dict[str, Any]]:
        return [one for name in self._matching(pattern) for one in self.indices[name].values()]

    def respond(self, request: HttpRequest) -> HttpResponse:
        with self._lock:
            return self.answer(request) or self._respond(request)

    def _respond(self, request: HttpRequest) -> HttpResponse:
        path, action = request.path, request.path.rpartition("/")[2]
        first = path.split("/")[1]
        if path == "/":
            return json_response(self.root)
        if first in ("_index_template", "_component_template") or path.startswith("/_ilm/policy/"):
            return self._template(request)
        handlers: dict[str, Callable[[HttpRequest], HttpResponse]] = {
            "_bulk": self._bulk,
            "_search": self._search,
            "_count": self._count,
            "_delete_by_query": self._delete_by_query,
            "_refresh": lambda request: json_response({}),
        }
        if action in handlers:
            return handlers[action](request)
        if "/_doc/" in path:
            return self._document(request)
        if request.method == "PUT":
            self.indices.setdefault(first, {})
            return json_response({"acknowledged": True})
        return json_response({}, 200 if first in self.indices else 404)

    def _template(self, request: HttpRequest) -> HttpResponse:
        if request.method == "PUT":
            self.templates[request.path] = json.loads(request.body)
            return json_response({"acknowledged": True})
        stored = self.templates.get(request.path)
        return json_response(
            {"error": {"reason": "missing"}} if stored is None else stored, 404 if stored is None else 200
        )

    def _bulk(self, request: HttpRequest) -> HttpResponse:
        lines = [json.loads(line) for line in request.body.splitlines()]
        documents = self.indices.setdefault(request.path.split("/")[1], {})
        items = []
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            ((kind, about),) = action.items()
            exists = about["_id"] in documents
            if kind == "create" and exists:
                error = {"type": "version_conflict_engine_exception", "reason": "exists"}
                items.append({kind: {"status": 409, "error": error}})
                continue
            documents[about["_id"]] = document
            items.append({kind: {"status": 200 if exists else 201}})
        errors = any("error" in next(iter(item.values())) for item in items)
        return json_response({"errors": errors, "items": items})

    def _search(self, request: HttpRequest) -> HttpResponse:
        name = request.path.split("/")[1]
        if "*" not in name and name not in self.indices:
            return json_response({"error": {"reason": f"no such index [{name}]"}}, 404)
        body = json.loads(request.body)
        matching = self._found(request, body)
        for sort in reversed(body.get("sort", [])):
            ((key, how),) = sort.items()
            matching.sort(key=lambda hit: hit["_source"].get(key) or "", reverse=how["order"] == "desc")
        hits = matching[: body.get("size", 10)]
        return json_response({"hits": {"total": {"value": len(matching)}, "hits": hits}})

    def _count(self, request: HttpRequest) -> HttpResponse:
        return json_response({"count": len(self._found(request, json.loads(request.body)))})

    def _delete_by_query(self, request: HttpRequest) -> HttpResponse:
        hits = self._found(request, json.loads(request.body))
        for hit in hits:
            del self.indices[hit["_index"]][hit["_id"]]
        return json_response({"deleted": len(hits)})

    def _document(self, request: HttpRequest) -> HttpResponse:
        _, index, _, key = request.path.split("/")
        documents = self.indices.setdefault(index, {})
        if request.method == "PUT":
            documents[key] = json.loads(request.body)
            return json_response({"result": "created"}, 201)
        assert request.method == "DELETE"
        return json_response({}, 404 if documents.pop(key, None) is None else 200)

    def _found(self, request: HttpRequest, body: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            {"_index": name, "_id": key, "_source": document}
            for name in self._matching(request.path.split("/")[1])
            for key, document in self.indices[name].items()
            if matches(document, body.get("query", {"bool": {}}))
        ]

    def _matching(self, pattern: str) -> list[str]:
        return [name for name in self.indices if fnmatch.fnmatch(name, pattern)]


def matches(document: dict[str, Any], query: dict[str, Any]) -> bool:
    """Returns whether a document matches a query of the kinds that Rally uses."""
    ((kind, content),) = query.items()
    if kind == "bool":
        assert content.keys() <= {"filter", "should"}, content
        some = content.get("should", [])
        return all(matches(document, one) for one in content.get("filter", [])) and (
            not some or any(matches(document, one) for one in some)
        )
    ((name, wanted),) = content.items()
    value: Any = document
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if kind == "term":
        return bool(value == wanted)
    if kind == "prefix":
        return str(value).startswith(wanted)
    assert kind == "range"
    assert wanted.pop("format", "basic_date") == "basic_date"
    day = str(value)[:8]
    return bool(wanted.get("gte", "") <= day <= wanted.get("lte", "9"))


@contextmanager
def fake_store(tls: ssl.SSLContext | None = None, **state: Any) -> Iterator[FakeStore]:
    """Runs a store."""
    store = FakeStore(**state)
    with http_server(store.respond, tls=tls) as store.server:
        yield store

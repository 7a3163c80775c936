"""Sources are described by what a server returns, which may not be an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pacenote.capture import sources
from pacenote.capture.sources import CaptureSource, find_data_streams, find_indices
from pacenote.errors import EngineError, PacenoteError
from pacenote.net.hosts import HttpHost
from pacenote.net.reply import expected_form
from pacenote.net.rest import RestClient
from support.http_server import HttpRequest, HttpResponse, http_server

Described = dict[str, Any]


class Server:
    """Returns these indices, and a data stream that consists of them."""

    def __init__(self) -> None:
        self.indices: Described = {}
        self.stream = "notes"
        self.count: object = 1
        self.port = 0

    def reply(self, request: HttpRequest) -> HttpResponse:
        document: object = self.indices
        if request.path.endswith("/_count"):
            document = {"count": self.count}
        elif request.path.startswith("/_data_stream"):
            indices = [{"index_name": name} for name in self.indices]
            document = {"data_streams": [{"name": self.stream, "indices": indices}]}
        return HttpResponse(200, json.dumps(document).encode())

    def find(
        self, find: Callable[..., tuple[CaptureSource, ...]] = find_indices
    ) -> tuple[CaptureSource, ...]:
        with expected_form("its indices"):
            return find(RestClient([HttpHost("http", "127.0.0.1", self.port)]), ("x",))


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    fake = Server()
    with http_server(fake.reply) as http:
        fake.port = http.port
        yield fake


@pytest.fixture
def server(running: Server) -> Server:
    running.indices, running.stream, running.count = {}, "notes", 1
    return running


def _index(**settings: object) -> Described:
    return {"settings": {"index": settings}, "mappings": {}}


_NAMES = (
    *(
        "a/b",
        "..",
        "../x",
        "a\0b",
        "-rf",
        "_all",
        "+x",
        "a*",
        "a,b",
        "a b",
        "a\nb",
        "a\tb",
        "a\x1bb",
        "a\u202eb",
    ),
    *(
        "",
        "Notes",
        "a" * 229,
        "ä" * 115,
        "con",
        "nul.x",
        "com1",
        "a\\b",
        "<a>",
        "a|b",
        'a"b',
        "a?",
        "a#b",
        "a:b",
    ),
)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("named", ["index", "stream", "index of a stream"])
def test_names_that_engines_or_file_systems_do_not_accept_are_rejected(
    server: Server, name: str, named: str
) -> None:
    server.indices = {"notes" if named == "stream" else name: _index()}
    server.stream = name if named == "stream" else "notes"
    with pytest.raises(PacenoteError, match=r"cannot be the name|unexpected form") as caught:
        server.find(find_indices if named == "index" else find_data_streams)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "name", ["notes", ".kibana-1", "a" * 228, "日本", "logs-2026.01.01", "a~b", "c{{d}}"]
)
def test_names_of_engines_are_accepted(server: Server, name: str) -> None:
    server.indices = {name: _index(number_of_shards="2", number_of_replicas="1")}
    (source,) = server.find()
    assert (source.name, source.indices[0].shards, source.replicas) == (name, 2, 1)


def test_names_of_the_same_file_are_rejected(server: Server) -> None:
    server.indices = {"stra\u00dfe": _index(), "strasse": _index()}
    with pytest.raises(PacenoteError, match="are those of one file on some systems"):
        server.find()


@pytest.mark.parametrize("key", ["number_of_shards", "number_of_replicas"])
@pytest.mark.parametrize(
    "value", ["{{ 1 }}", "1) }}{{ x(", "", "-1", "1e9", "9" * 9, "\uff11", " 1", None, {}, 1.5, True]
)
def test_numbers_are_numbers(server: Server, key: str, value: object) -> None:
    server.indices = {"notes": _index(**{key: value})}
    for find in (find_indices, find_data_streams):
        with pytest.raises(PacenoteError, match=f"the setting {key} of 'notes' is not a number"):
            server.find(find)


@pytest.mark.parametrize("count", ["1", -1, 1.5, True, None, "{{ x }}"])
def test_the_number_of_documents_is_a_number(server: Server, count: object) -> None:
    server.indices, server.count = {"notes": _index()}, count
    with pytest.raises(PacenoteError, match="the number of documents of 'notes' is not a number"):
        server.find()


@pytest.mark.parametrize("value", [[], "x", 1, {"a": float("inf")}])
@pytest.mark.parametrize("key", ["mappings", "settings"])
def test_mappings_and_settings_are_objects(server: Server, key: str, value: object) -> None:
    server.indices = {"notes": {**_index(), key: {"index": value} if key == "settings" else value}}
    with pytest.raises(PacenoteError, match="unexpected form"):
        server.find()


@pytest.mark.parametrize("find", [find_indices, find_data_streams])
def test_the_memory_of_all_mappings_together_is_limited(
    server: Server, monkeypatch: pytest.MonkeyPatch, find: Callable[..., tuple[CaptureSource, ...]]
) -> None:
    """A server may have a thousand data streams, each with mappings of 3 MB."""
    monkeypatch.setattr(sources, "MAX_MEMORY_BYTES", 100_000)
    alike = {"mappings": {"_meta": {"numbers": [1] * 1_000}}}
    server.indices = {f"notes-{number}": _index() | alike for number in range(3)}
    assert server.find(find)
    server.indices = {
        f"notes-{number}": _index() | {"mappings": {"_meta": {"numbers": [number] * count}}}
        for number, count in enumerate((1_000, 1_000, 2_000))
    }
    with pytest.raises(EngineError, match=r"mappings and settings of all sources take more than .* memory"):
        server.find(find)

"""A fake cluster on loopback, with one index of two shards that can only be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pacenote.capture.create import CaptureRequest, create_track
from pacenote.net.hosts import HttpHost
from pacenote.net.rest import RestClient
from support.http_server import HttpRequest, HttpResponse, http_server

NAME = "notes"
SHARDS = 2
COUNT = 25


@dataclass
class FakeCluster:
    """Responds like a given version of OpenSearch or Elasticsearch."""

    distribution: str = "opensearch"
    version: str = "2.19.4"
    has_points: bool = True
    keeps_source: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    mappings: dict[str, Any] = field(default_factory=dict)
    uuid: str = "u"
    raw: str = ""
    """The `_source` of every document, exactly as sent; generated if empty."""
    drop_page: bool = False
    """Whether one document is lost when the second page of a scroll is read."""
    statuses: list[int] = field(default_factory=list)
    """HTTP statuses of the next searches, which return no hits."""
    points: dict[str, str] = field(default_factory=dict)
    """Open points in time, with their search preferences."""
    opened: int = 0
    lose_points: bool = False
    searches: int = 0
    port: int = 0

    def rest(self) -> RestClient:
        return RestClient([HttpHost("http", "127.0.0.1", self.port)])

    def answer(self, method: str, path: str, query: str, body: dict[str, Any]) -> tuple[int, object]:
        if path == "/":
            named = {"distribution": self.distribution} if self.distribution == "opensearch" else {}
            return 200, {"version": {"number": self.version, **named}, "cluster_name": "c"}
        if path == f"/{NAME}":
            index = {"number_of_shards": str(SHARDS), "number_of_replicas": "1", "uuid": self.uuid}
            return 200, {NAME: {"mappings": self.mappings, "settings": {"index": index | self.settings}}}
        if path == f"/_cluster/health/{NAME}":
            return 200, {"status": "yellow"}
        if path == f"/{NAME}/_count":
            return 200, {"count": COUNT}
        if "point_in_time" in path or path.endswith("_pit"):
            return self.point(method, query, body)
        if path == "/_search":
            return self.search(body)
        if path == f"/{NAME}/_search" or path == "/_search/scroll":
            return self.scroll(method, body)
        return 404, {}

    def point(self, method: str, query: str, body: dict[str, Any]) -> tuple[int, object]:
        if not self.has_points:
            return 400, {"error": "no handler found"}
        if method == "DELETE":
            for point in body.get("pit_id") or [body["id"]]:
                self.points.pop(point, None)
            return 200, {}
        self.opened += 1
        point = f"point-{self.opened}"
        self.points[point] = (re.findall(r"_shards%3A(\d)", query) or [""])[0]
        return 200, {"pit_id" if self.distribution == "opensearch" else "id": point}

    def search(self, body: dict[str, Any]) -> tuple[int, object]:
        self.searches += 1
        if self.statuses:
            return self.statuses.pop(0), {}
        if self.lose_points and self.searches > 1:
            self.points.clear()
        point = body["pit"]["id"]
        if point not in self.points:
            return 404, {"error": {"type": "search_context_missing_exception"}}
        shard = self.points[point]
        by_shard = body["sort"] == [{"_doc": "asc"}]
        # With the sort order `_doc`, documents of different shards have the same sort values.
        assert by_shard == bool(shard)
        numbers = [n for n in range(COUNT) if not by_shard or n % SHARDS == int(shard)]
        places = list(enumerate(numbers))
        after = body.get("search_after", [-1])[0]
        if not isinstance(after, int):
            return 400, {"error": "the value does not have the type of the field"}
        page = [(place, n) for place, n in places if place > after][: body["size"]]
        return 200, {"pit_id": point, **self.hits([self.hit(n, place) for place, n in page])}

    def scroll(self, method: str, body: dict[str, Any]) -> tuple[int, object]:
        if method == "DELETE":
            self.points.clear()
            return 200, {}
        first = int(body["scroll_id"]) if "scroll_id" in body else 0
        if self.drop_page and first:
            self.drop_page, first = False, first + 1
        if "size" in body:
            self.points["size"] = str(body["size"])
        last = min(first + int(self.points["size"]), COUNT)
        page = self.hits([self.hit(n, n) for n in range(first, last)])
        page["hits"]["total"] = {"value": COUNT} if self.version > "7" else COUNT
        return 200, {"_scroll_id": str(last), **page}

    def hits(self, hits: list[dict[str, Any]]) -> dict[str, Any]:
        return {"_shards": {"failed": 0}, "timed_out": False, "hits": {"hits": hits}}

    def hit(self, n: int, place: int) -> dict[str, Any]:
        source = "RAW" if self.raw else {"n": n, "said": "search_context_missing"}
        return {"sort": [place], **({"_source": source} if self.keeps_source else {})}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    fake = FakeCluster()

    def respond(request: HttpRequest) -> HttpResponse:
        body = json.loads(request.body or b"{}")
        status, document = fake.answer(request.method, request.path, request.query, body)
        return HttpResponse(status, json.dumps(document).replace('"RAW"', fake.raw).encode())

    with http_server(respond) as server:
        fake.port = server.port
        yield fake


class TrackCreator:
    """Creates a track from the cluster's index, and records the messages."""

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder / "mine"
        self.labels: list[str] = []
        self.warnings: list[str] = []

    def create(self, pattern: str = "notes", batch: int = 4) -> list[int]:
        wanted = CaptureRequest("mine", self.folder, indices=(pattern,), batch_size=batch)
        create_track(
            wanted, self.cluster.rest(), lambda label, *_: self.labels.append(label), self.warnings.append
        )
        return self.numbers()

    def numbers(self) -> list[int]:
        lines = (self.folder / "notes-documents.json").read_text().splitlines()
        return [json.loads(line)["n"] for line in lines]


@pytest.fixture
def creator(cluster: FakeCluster, tmp_path: Path) -> TrackCreator:
    return TrackCreator(cluster, tmp_path)

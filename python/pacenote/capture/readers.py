"""Reading all documents of an index, page by page, from a point in time where the engine has such a thing.

A point in time can be gone on with after a cut; a scroll, for older engines, cannot.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pacenote.capture.raw_documents import raw_sources
from pacenote.capture.sources import Source, path_of
from pacenote.cluster.info import ClusterInfo
from pacenote.errors import EngineError
from pacenote.net.rest import RestClient, RestResponse

KEEP_ALIVE = "15m"
"""How long the engine waits for the next page: how soon a cut run has to be taken up again."""

_TRIES = 6
_PAUSE_S = 0.5
_BUSY = (408, 429, 502, 503, 504)
_SHARD_DOC_SINCE = (3, 3)
"""The OpenSearch version that can sort by `_shard_doc`."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A document as the engine sent it (None: it does not keep them), and its place in the order."""

    source: str | None
    sort: tuple[Any, ...] = ()


class Expired(Exception):
    """The point in time is no more."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is read in one go: an index, or one shard of it."""

    index: str
    preference: str = ""
    sort: str = "_shard_doc"


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading stands: in which stretch, in which point in time ("" for a new one), after which hit."""

    stretch: int = 0
    point: str = ""
    after: tuple[Any, ...] = ()


class Reading(Protocol):
    """A way to read the documents of a source."""

    resumable: bool

    def pages(self, source: Source, position: Position) -> Iterator[tuple[Sequence[Hit], Position]]:
        """Pages from a position on, each with the position behind it.

        Raises Expired where the position is of no use any more, EngineError when the cluster fails.
        """


def choose(rest: RestClient, info: ClusterInfo, sample: Source, batch: int) -> Reading:
    """The best way this cluster knows; `batch` documents a page. Raises EngineError."""
    points = PointsInTime(rest, info, batch)
    return points if points.possible(sample.parts[0][0]) else Scroll(rest, batch)


class PointsInTime:
    """By `search_after` within a point in time."""

    resumable = True

    def __init__(self, rest: RestClient, info: ClusterInfo, batch: int) -> None:
        self._rest = rest
        self._opensearch = info.distribution == "opensearch"
        self._by_shard = self._opensearch and _version(info.version) < _SHARD_DOC_SINCE
        self._batch = batch

    def possible(self, index: str) -> bool:
        """Whether the cluster opens a point in time. Raises EngineError when it does not answer."""
        reply = self._open(Stretch(index))
        if reply.ok:
            self._close(self._id(reply))
        return reply.ok

    def pages(self, source: Source, position: Position) -> Iterator[tuple[Sequence[Hit], Position]]:
        """See `Reading`."""
        stretches = self._stretches(source)
        point, after = position.point, position.after
        for number in range(position.stretch, len(stretches)):
            stretch = stretches[number]
            if not point:
                opened = self._open(stretch)
                if not opened.ok:
                    raise _failed(f"a point in time of {stretch.index}", opened)
                point, after = self._id(opened), ()
            while True:
                hits, point = self._page(stretch, point, after)
                if not hits:
                    break
                after = hits[-1].sort
                yield hits, Position(number, point, after)
            self._close(point)
            point = ""
            yield (), Position(number + 1)

    def _stretches(self, source: Source) -> list[Stretch]:
        """Documents of several shards have an order of their own only where `_shard_doc` is known."""
        if not self._by_shard:
            return [Stretch(index) for index, _ in source.parts]
        return [
            Stretch(index, f"_shards:{shard}", "_doc")
            for index, shards in source.parts
            for shard in range(shards)
        ]

    def _page(self, stretch: Stretch, point: str, after: tuple[Any, ...]) -> tuple[Sequence[Hit], str]:
        body: dict[str, Any] = {
            "size": self._batch,
            "pit": {"id": point, "keep_alive": KEEP_ALIVE},
            "sort": [{stretch.sort: "asc"}],
            "track_total_hits": False,
            "query": {"match_all": {}},
        }
        if after:
            body["search_after"] = list(after)
        reply = self._patiently(body)
        if _expired(reply):
            raise Expired
        hits = _hits(stretch.index, reply)
        # The engine may give it another name from page to page.
        return hits, str(reply.body.get("pit_id", point))

    def _patiently(self, body: Mapping[str, Any]) -> RestResponse:
        """A page asks for the same again, however often it is sent."""
        for tried in range(1, _TRIES + 1):
            try:
                reply = self._rest.exchange("POST", "/_search", body)
                if reply.status not in _BUSY or tried == _TRIES:
                    return reply
            except EngineError:
                if tried == _TRIES:
                    raise
            time.sleep(_PAUSE_S * 2 ** (tried - 1))
        raise AssertionError

    def _open(self, stretch: Stretch) -> RestResponse:
        name = "_search/point_in_time" if self._opensearch else "_pit"
        preference = {"preference": stretch.preference} if stretch.preference else {}
        where = f"/{path_of(stretch.index)}/{name}"
        return self._rest.exchange("POST", where, None, {"keep_alive": KEEP_ALIVE, **preference})

    def _id(self, reply: RestResponse) -> str:
        return str(reply.body["pit_id" if self._opensearch else "id"])

    def _close(self, point: str) -> None:
        if self._opensearch:
            self._rest.exchange("DELETE", "/_search/point_in_time", {"pit_id": [point]})
        else:
            self._rest.exchange("DELETE", "/_pit", {"id": point})


class Scroll:
    """By scrolling, which every version knows, and which cannot be gone on with."""

    resumable = False

    def __init__(self, rest: RestClient, batch: int) -> None:
        self._rest = rest
        self._batch = batch

    def pages(
        self,
        source: Source,
        position: Position,  # noqa: ARG002  # always the beginning
    ) -> Iterator[tuple[Sequence[Hit], Position]]:
        """See `Reading`."""
        for number, (index, _) in enumerate(source.parts):
            read = 0
            body = {"size": self._batch, "sort": ["_doc"], "query": {"match_all": {}}}
            reply = self._rest.exchange("POST", f"/{path_of(index)}/_search", body, {"scroll": KEEP_ALIVE})
            hits, scroll = _hits(index, reply), reply.body["_scroll_id"]
            total = reply.body["hits"]["total"]
            total = total["value"] if isinstance(total, dict) else total
            try:
                while hits:
                    yield hits, Position(number)
                    read += len(hits)
                    again = {"scroll": KEEP_ALIVE, "scroll_id": scroll}
                    reply = self._rest.exchange("POST", "/_search/scroll", again)
                    hits, scroll = _hits(index, reply), reply.body["_scroll_id"]
            finally:
                self._rest.exchange("DELETE", "/_search/scroll", {"scroll_id": scroll})
            if read != total:
                # A page that was lost on its way does not come again: another host may have been asked.
                raise EngineError(
                    f"{read:,} of {total:,} documents of {index} came", hint="try again, with one host"
                )


def _hits(index: str, reply: RestResponse) -> Sequence[Hit]:
    """The hits of a page. Raises EngineError when it is not whole."""
    if not reply.ok or not isinstance(reply.body, dict):
        raise _failed(f"the documents of {index}", reply)
    shards = reply.body.get("_shards", {})
    if reply.body.get("timed_out") or shards.get("failed"):
        raise EngineError(
            f"the documents of {index} cannot be read: {shards.get('failed', 0)} shards failed",
            hint="see the log of the engine",
        )
    sources = raw_sources(reply.data.decode("utf-8", "surrogatepass"))
    hits = reply.body["hits"]["hits"]
    return [Hit(source, tuple(hit.get("sort", ()))) for source, hit in zip(sources, hits, strict=True)]


def _expired(reply: RestResponse) -> bool:
    """Whether the engine says so, in its error or of some shards. Documents may speak of such things, too."""
    if not isinstance(reply.body, dict):
        return False
    said = reply.body.get("error"), reply.body.get("_shards", {}).get("failures")
    return "search_context_missing" in str(said)


def _failed(what: str, reply: RestResponse) -> EngineError:
    error = reply.body.get("error", {}) if isinstance(reply.body, dict) else "the reply is not JSON"
    reason = error.get("reason") if isinstance(error, dict) else error
    return EngineError(f"{what} cannot be read: HTTP status {reply.status}: {reason or 'no reason given'}")


def _version(text: str) -> tuple[int, int]:
    numbers = [int(part) for part in text.split(".")[:2] if part.isdigit()]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)

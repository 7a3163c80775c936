"""Reading all documents of an index page by page, from a point in time if the engine supports it.

Reading from a point in time can be resumed. Scrolling, which older engines need, cannot.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from pacenote.capture.raw_documents import raw_sources
from pacenote.capture.sources import CaptureSource, url_path
from pacenote.cluster.info import ClusterInfo
from pacenote.errors import EngineError
from pacenote.model.codec import as_integer, as_text
from pacenote.model.failure_group import OVERLOAD
from pacenote.model.foreign_errors import error_causes
from pacenote.model.foreign_messages import message_line, reason_text
from pacenote.model.printable import single_line
from pacenote.net.reply import ReplyLimitError, expected_form
from pacenote.net.rest import Params, RestClient, RestResponse

KEEP_ALIVE = "15m"
"""Time for which the engine keeps a point in time after a page; an aborted run must be resumed within it."""

_MAX_ATTEMPTS = 6
_RETRY_DELAY_S = 0.5
_BUSY_STATUSES = (408, *OVERLOAD)

_EXPIRED = "search_context_missing_exception"
"""Type of the error of a point in time that the engine has deleted."""

_MOST_SORT_VALUES = 16
"""Values by which a document is sorted, at most: the requests here sort by one or two."""


class Hit(Struct, frozen=True):
    """A document of a page."""

    source: bytes | None
    """The document as the engine sent it, or None if the index does not store documents."""

    sort: tuple[Any, ...] = ()
    """Sort values, from which `search_after` continues."""


class PointInTimeExpired(Exception):
    """The engine has deleted the point in time."""


class ReadTarget(Struct, frozen=True):
    """An index, or one shard of it, that is read from one point in time."""

    index: str
    """Name of the index."""

    preference: str = ""
    """Search preference that selects a shard; empty for all shards."""

    sort: str = "_shard_doc"
    """Field to sort by."""


class ReadCursor(Struct, frozen=True):
    """The position from which reading continues."""

    target: int = 0
    """Position of the target."""

    pit_id: str = ""
    """Id of the point in time; if it is empty, a new one is opened."""

    after: tuple[Any, ...] = ()
    """Sort values of the last hit; empty for the first page."""


class Page(Struct, frozen=True):
    """One page of documents."""

    hits: Sequence[Hit]
    """The documents; empty at the end of a target."""

    next: ReadCursor
    """The cursor of the next page."""


class DocumentReader(Protocol):
    """Reads the documents of a source."""

    resumable: bool
    """Whether reading can continue from a cursor of an earlier run."""

    def pages(self, source: CaptureSource, cursor: ReadCursor) -> Iterator[Page]:
        """Returns the pages starting at a cursor.

        Raises PointInTimeExpired if the cursor is no longer valid, and EngineError if the cluster fails.
        """


def choose_reader(
    rest: RestClient, info: ClusterInfo, sample: CaptureSource, batch_size: int
) -> DocumentReader:
    """Returns the best reader that the cluster supports, with `batch_size` documents per page.

    Raises EngineError.
    """
    reader = PointInTimeReader(rest, info, batch_size)
    return reader if reader.supported(sample.indices[0].name) else ScrollReader(rest, batch_size)


class PointInTimeReader:
    """Reads with `search_after` within a point in time."""

    resumable = True

    def __init__(self, rest: RestClient, info: ClusterInfo, batch_size: int) -> None:
        self._rest = rest
        self._api = info.engine.api
        self._by_shard = not info.engine.sorts_by_shard_doc
        self._batch_size = batch_size

    def supported(self, index: str) -> bool:
        """Returns whether the cluster can open a point in time. Raises EngineError if it does not respond."""
        reply = self._open(ReadTarget(index))
        if reply.ok:
            self._close(self._id(reply))
        return reply.ok

    def pages(self, source: CaptureSource, cursor: ReadCursor) -> Iterator[Page]:
        """Yields the pages starting at a cursor. Raises PointInTimeExpired and EngineError."""
        targets = self._targets(source)
        for position in range(cursor.target, len(targets)):
            target = targets[position]
            if not cursor.pit_id:
                opened = self._open(target)
                if not opened.ok:
                    raise _failed(f"a point in time of {target.index}", opened)
                cursor = ReadCursor(position, self._id(opened))
            while True:
                page = self._page(target, cursor)
                cursor = page.next
                if not page.hits:
                    break
                yield page
            self._close(cursor.pit_id)
            cursor = ReadCursor(position + 1)
            yield Page((), cursor)

    def _targets(self, source: CaptureSource) -> list[ReadTarget]:
        """Returns the indices, or their shards if the engine cannot sort by `_shard_doc` (`_doc` is unique
        only within a shard).
        """
        if not self._by_shard:
            return [ReadTarget(index.name) for index in source.indices]
        return [
            ReadTarget(index.name, f"_shards:{shard}", "_doc")
            for index in source.indices
            for shard in range(index.shards)
        ]

    def _page(self, target: ReadTarget, cursor: ReadCursor) -> Page:
        with expected_form(f"the documents of {target.index}"):
            return self._read_page(target, cursor)

    def _read_page(self, target: ReadTarget, cursor: ReadCursor) -> Page:
        body: dict[str, Any] = {
            "size": self._batch_size,
            "pit": {"id": cursor.pit_id, "keep_alive": KEEP_ALIVE},
            "sort": [{target.sort: "asc"}],
            "track_total_hits": False,
            "query": {"match_all": {}},
        }
        if cursor.after:
            body["search_after"] = list(cursor.after)
        reply = self._search_with_retries(body)
        if _expired(reply):
            raise PointInTimeExpired
        hits = _hits(target.index, reply)
        # The engine may return a different id with each page.
        pit_id = as_text(reply.body.get("pit_id", cursor.pit_id))
        return Page(hits, ReadCursor(cursor.target, pit_id, hits[-1].sort if hits else ()))

    def _search_with_retries(self, body: Mapping[str, Any]) -> RestResponse:
        """Requests a page and retries while the cluster is busy; a repeated request returns the same page."""
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            try:
                reply = self._rest.exchange("POST", "/_search", body)
                if reply.status not in _BUSY_STATUSES or attempt == _MAX_ATTEMPTS:
                    return reply
            except ReplyLimitError as error:
                raise _with_smaller_pages(error) from None
            except EngineError:
                if attempt == _MAX_ATTEMPTS:
                    raise
            time.sleep(_RETRY_DELAY_S * 2 ** (attempt - 1))
        raise AssertionError

    def _open(self, target: ReadTarget) -> RestResponse:
        preference = {"preference": target.preference} if target.preference else {}
        path = f"/{url_path(target.index)}/{self._api.point_in_time}"
        return self._rest.exchange("POST", path, None, {"keep_alive": KEEP_ALIVE, **preference})

    def _id(self, reply: RestResponse) -> str:
        with expected_form("a point in time"):
            return as_text(reply.body[self._api.point_in_time_id])

    def _close(self, pit_id: str) -> None:
        self._rest.exchange("DELETE", f"/{self._api.point_in_time}", self._api.close_body(pit_id))


class ScrollReader:
    """Reads by scroll, which all versions support and which cannot be resumed."""

    resumable = False

    def __init__(self, rest: RestClient, batch_size: int) -> None:
        self._rest = rest
        self._batch_size = batch_size

    def pages(
        self,
        source: CaptureSource,
        cursor: ReadCursor,  # noqa: ARG002  # reads from the beginning
    ) -> Iterator[Page]:
        """Yields all pages. Raises EngineError."""
        for position, index in enumerate(index.name for index in source.indices):
            read = 0
            body = {"size": self._batch_size, "sort": ["_doc"], "query": {"match_all": {}}}
            reply = self._search(f"/{url_path(index)}/_search", body, {"scroll": KEEP_ALIVE})
            hits, scroll = _scroll_page(index, reply)
            with expected_form(f"the documents of {index}"):
                total = reply.body["hits"]["total"]
                total = as_integer(total["value"] if isinstance(total, dict) else total)
            try:
                while hits:
                    yield Page(hits, ReadCursor(position))
                    read += len(hits)
                    if read > total:
                        break
                    next_page = {"scroll": KEEP_ALIVE, "scroll_id": scroll}
                    reply = self._search("/_search/scroll", next_page)
                    hits, scroll = _scroll_page(index, reply)
            finally:
                self._rest.exchange("DELETE", "/_search/scroll", {"scroll_id": scroll})
            if read != total:
                # A lost page is not returned again by a repeated request, which may go to a different host.
                raise EngineError(
                    f"received {'only ' if read < total else ''}{read:,} of {total:,} documents of {index}",
                    hint="try again with one host",
                )

    def _search(self, path: str, body: object, params: Params | None = None) -> RestResponse:
        try:
            return self._rest.exchange("POST", path, body, params)
        except ReplyLimitError as error:
            raise _with_smaller_pages(error) from None


def _with_smaller_pages(error: ReplyLimitError) -> EngineError:
    return EngineError(error.message, hint="read fewer documents per request: --batch-size")


def _scroll_page(index: str, reply: RestResponse) -> tuple[Sequence[Hit], str]:
    """Returns the hits of a page and the id of the scroll. Raises EngineError if the page is incomplete."""
    with expected_form(f"the documents of {index}"):
        return _hits(index, reply), reply.body["_scroll_id"]


def _hits(index: str, reply: RestResponse) -> Sequence[Hit]:
    """Returns the hits of a page. Raises EngineError if the page is incomplete."""
    if not reply.ok or not isinstance(reply.body, dict):
        raise _failed(f"the documents of {index}", reply)
    shards = reply.body.get("_shards", {})
    if reply.body.get("timed_out") or shards.get("failed"):
        failed = single_line(as_text(shards.get("failed", 0)))
        raise EngineError(
            f"the documents of {index} cannot be read: {failed} shards failed",
            hint="see the log of the engine",
        )
    hits = reply.body["hits"]["hits"]
    sorts = [_sort_values(hit) for hit in hits]
    # The parsed documents, which may take four times the memory of their text, are not needed any more.
    hits.clear()
    return [Hit(source, sort) for source, sort in zip(raw_sources(reply.data), sorts, strict=True)]


def _sort_values(hit: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns the values by which a hit was sorted, with which the next page is asked for. Raises ValueError
    if it has others than an engine has.
    """
    values = hit.get("sort", [])
    if not isinstance(values, list) or len(values) > _MOST_SORT_VALUES:
        raise ValueError("the values by which a document was sorted are not a short list")
    return tuple(values)


def _expired(reply: RestResponse) -> bool:
    """Returns whether the error or a shard failure reports a missing point in time; ignores the text of
    documents.
    """
    if not isinstance(reply.body, dict):
        return False
    shards = reply.body.get("_shards")
    failures = shards.get("failures") if isinstance(shards, dict) else None
    causes = error_causes([reply.body.get("error"), failures])
    return any(cause.get("type") == _EXPIRED for cause in causes)


def _failed(what: str, reply: RestResponse) -> EngineError:
    error = reply.body.get("error", {}) if isinstance(reply.body, dict) else "the reply is not JSON"
    shown = message_line(reason_text(error.get("reason") if isinstance(error, dict) else error), ())
    return EngineError(f"{what} cannot be read: HTTP status {reply.status}: {shown}")

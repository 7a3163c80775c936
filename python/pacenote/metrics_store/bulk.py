"""Writes documents in bulk requests of limited size, so that memory does not depend on their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from pacenote.metrics_store.client import RETRIED, StoreClient, StoreUnavailable, reason_in
from pacenote.metrics_store.metrics_documents import Document

MOST_DOCUMENTS = 5_000
"""The most documents of a request, as in Rally."""

MOST_BYTES = 5 << 20
"""Bytes from which on a request gets no further document."""

MOST_REASONS = 100
"""The most reasons of refusals that are counted separately."""

OTHER_REASONS = "other reasons"
"""What all further reasons are counted as."""

_EXISTS = 409
_FILTER = {"filter_path": "errors,items.*.status,items.*.error.type,items.*.error.reason"}


class Written(Struct):
    """What was written to a store."""

    documents: int = 0
    """Documents that the store has now."""

    refused: Counter[str] = field(default_factory=Counter)
    """Documents that the store refused, by reason; beyond `MOST_REASONS`, all others are `OTHER_REASONS`."""

    def refuse(self, reason: str) -> None:
        """Counts a document that the store refused."""
        # Reasons name ids and values, so that each of millions of documents may have its own.
        is_kept = reason in self.refused or len(self.refused) < MOST_REASONS
        self.refused[reason if is_kept else OTHER_REASONS] += 1


class BulkWriter:
    """Writes documents to indices and data streams."""

    def __init__(self, client: StoreClient) -> None:
        self.written = Written()
        self._client = client
        self._reasons: dict[str, str] = {}
        """Reasons of refusals without secrets, by those that the store gives."""

    def write(self, index: str, documents: Iterable[Document]) -> None:
        """Writes documents; one that exists with its id is replaced, or kept in a data stream.

        Those that the store is too busy for are written again, others that it refuses are counted. Raises
        StoreUnavailable if the store does not answer, or remains too busy.
        """
        for chunk in _chunks(documents):
            self._write_chunk(index, chunk)

    def _write_chunk(self, index: str, chunk: Sequence[Document]) -> None:
        attempt, waiting = 0, chunk
        while waiting:
            attempt += 1
            sent, waiting = len(waiting), self._send(index, waiting)
            self._client.allow_time(sent - len(waiting))
            if waiting and not self._client.retries.wait(attempt):
                raise StoreUnavailable(
                    f"the metrics store at {self._client.settings.url} is too busy: it refused "
                    f"{len(waiting):,} documents {attempt} times (status 429 or 5xx)"
                )

    def _send(self, index: str, documents: Sequence[Document]) -> list[Document]:
        """Sends documents once, and returns those that the store was too busy for."""
        path = f"/{index}/_bulk"
        response = self._client.exchange("POST", path, self._body(documents), _FILTER)
        if not response.ok:
            raise self._client.refusal(f"POST {path}", response)
        with self._client.expected_form(f"POST {path}"):
            return self._unwritten(path, documents, response.body)

    def _unwritten(self, path: str, documents: Sequence[Document], body: Any) -> list[Document]:
        """Counts what a reply says about each document, and returns those that the store was too busy for."""
        reply = body if isinstance(body, dict) else {}
        if reply.get("errors") is False:
            self.written.documents += len(documents)
            return []
        outcomes: list[dict[str, Any]] = [next(iter(item.values()), {}) for item in reply.get("items", ())]
        if len(outcomes) != len(documents):
            raise StoreUnavailable(
                f"the metrics store at {self._client.settings.url} answered POST {path} with "
                f"{len(outcomes)} items for {len(documents)} documents"
            )
        waiting = []
        for document, outcome in zip(documents, outcomes, strict=True):
            status = outcome.get("status", 0)
            if status in RETRIED:
                waiting.append(document)
            elif 200 <= status < 300 or status == _EXISTS:
                self.written.documents += 1
            else:
                self.written.refuse(self._reason(outcome))
        return waiting

    def _reason(self, outcome: object) -> str:
        """Returns the reason of a refusal; only those counted separately are searched for secrets."""
        given = reason_in(outcome)
        if given not in self._reasons:
            if len(self._reasons) >= MOST_REASONS:
                return OTHER_REASONS
            self._reasons[given] = self._client.public(given)
        return self._reasons[given]

    def _body(self, documents: Sequence[Document]) -> bytes:
        # A data stream only accepts documents that it creates.
        action = b"create" if self._client.settings.use_data_streams else b"index"
        lines = [
            b'{"%b":{"_id":"%b"}}\n%b\n' % (action, document.id.encode(), document.text)
            for document in documents
        ]
        return b"".join(lines)


def _chunks(documents: Iterable[Document]) -> Iterator[Sequence[Document]]:
    chunk, size = list[Document](), 0
    for document in documents:
        chunk.append(document)
        size += len(document.text)
        if len(chunk) == MOST_DOCUMENTS or size >= MOST_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk

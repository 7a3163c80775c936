"""A metrics store: writes races as Rally's documents, finds them as Rally does, and deletes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from pacenote.errors import StoreError
from pacenote.metrics_store.bulk import BulkWriter, Written
from pacenote.metrics_store.client import StoreClient, StoreUnavailable
from pacenote.metrics_store.metrics_documents import (
    Document,
    MetricsDocuments,
    MetricSources,
    json_encoder,
    race_key,
)
from pacenote.metrics_store.race_documents import race_document, result_documents
from pacenote.metrics_store.templates import (
    KINDS,
    IndexKind,
    ensure_templates,
    index_name,
    index_pattern,
    probe_features,
)
from pacenote.model.race_record import RaceRecord
from pacenote.model.user_tags import tag_texts
from pacenote.net.rest import Params

_MOST_RACES = 10_000
"""The most races of one search: the limit of the engines."""

_IGNORED = {"ignore_unavailable": True, "allow_no_indices": True}
_NOT_SUPPORTED = (400, 404, 405)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreQuery:
    """Conditions for races in a store. A condition that is None or empty matches all races."""

    environment: str | None = None
    """Name of the environment."""

    limit: int = 10
    """The most races, at most 10,000."""

    track: str | None = None
    """Name of the track."""

    challenge: str | None = None
    """Name of the challenge."""

    benchmark_name: str | None = None
    """Value of the user tag `name` or `benchmark-name`."""

    from_date: date | None = None
    """First day, in UTC."""

    to_date: date | None = None
    """Last day, in UTC."""

    user_tags: Mapping[str, object] | None = None
    """Tags that a race must have, compared as text."""


class MetricsStore:
    """The races of a metrics store."""

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    def write(self, record: RaceRecord, sources: MetricSources) -> Written:
        """Writes a race: first its metrics, then its results, and last the race itself, so that a race that
        is listed is complete. What the store has of the race is replaced.

        Raises StoreUnavailable if the store does not answer or refuses a request, and StoreError if a source
        cannot be read.
        """
        features = probe_features(self._client)
        for kind in KINDS:
            ensure_templates(self._client, features, kind)
        self._delete_stored(record.race_id)
        writer = BulkWriter(self._client)
        names = {kind: index_name(kind, record.timestamp, self._client.settings) for kind in KINDS}
        metrics = MetricsDocuments(record, self._client.settings.every_nth_sample)
        writer.write(names["metrics"], metrics.all(sources))
        writer.write(names["results"], _results(record))
        writer.write(names["races"], [_race(record)])
        for name in names.values():
            self._client.exchange("POST", f"/{name}/_refresh")
        return writer.written

    def races(self, query: StoreQuery) -> list[dict[str, Any]]:
        """Returns the documents of the races that match, newest first. Raises StoreUnavailable."""
        body = {
            "query": {"bool": {"filter": list(_filters(query))}},
            "size": min(query.limit, _MOST_RACES),
            "sort": [{"race-timestamp": {"order": "desc", "unmapped_type": "date"}}],
        }
        return self._search("races", body)

    def race(self, reference: str) -> dict[str, Any] | None:
        """Returns the document of a race, by its id or a unique prefix of it, or None if there is none.

        Raises StoreUnavailable, and StoreError if several ids begin with it.
        """
        term = {"bool": {"should": [{"term": {"race-id": reference}}, {"prefix": {"race-id": reference}}]}}
        found = self._search("races", {"query": term, "size": 100})
        by_id = {str(one.get("race-id")): one for one in found}
        if reference in by_id or len(by_id) < 2:
            return by_id.get(reference) or next(iter(by_id.values()), None)
        raise StoreError(
            f"'{reference}' matches {len(by_id)} races in the metrics store",
            hint="give more characters of the id",
        )

    def count(self, race_id: str, kind: IndexKind) -> int:
        """Returns how many documents of a kind the store has of a race. Raises StoreUnavailable."""
        body = {"query": _of_race(race_id)}
        path = f"/{index_pattern(kind)}/_count"
        reply = self._client.request("POST", path, body, _IGNORED)
        return int(reply.get("count", 0)) if isinstance(reply, dict) else 0

    def has(self, race_id: str) -> bool:
        """Returns whether there are documents of a race; if writing it was interrupted, it is not listed.

        Raises StoreUnavailable.
        """
        return any(self.count(race_id, kind) for kind in reversed(KINDS))

    def delete(self, race_id: str) -> int:
        """Deletes all documents of a race, and returns their number. Raises StoreUnavailable."""
        return sum(self._delete(race_id, kind) for kind in reversed(KINDS))

    def _delete(self, race_id: str, kind: IndexKind) -> int:
        params: Params = {**_IGNORED, "conflicts": "proceed", "refresh": True}
        path = f"/{index_pattern(kind)}/_delete_by_query"
        reply = self._client.request("POST", path, {"query": _of_race(race_id)}, params)
        return int(reply.get("deleted", 0)) if isinstance(reply, dict) else 0

    def _delete_stored(self, race_id: str) -> None:
        """Deletes what was written before, so that documents of backing indices that were rolled over since
        then are not doubled. Without the module for it, ids prevent most of that.
        """
        for kind in reversed(KINDS):
            if self.count(race_id, kind):
                try:
                    self._delete(race_id, kind)
                except StoreUnavailable as error:
                    if not any(f"status {status}" in error.message for status in _NOT_SUPPORTED):
                        raise

    def _search(self, kind: IndexKind, body: Mapping[str, object]) -> list[dict[str, Any]]:
        path = f"/{index_pattern(kind)}/_search"
        reply = self._client.request("POST", path, body, _IGNORED)
        try:
            return [hit["_source"] for hit in reply["hits"]["hits"] if isinstance(hit["_source"], dict)]
        except (LookupError, TypeError) as error:
            raise StoreUnavailable(
                f"the reply of the metrics store at {self._client.settings.url} to POST {path} has an "
                "unexpected form",
                hint="check datastore.host and datastore.port in [reporting]",
            ) from error


def _results(record: RaceRecord) -> Iterator[Document]:
    encode, key = json_encoder(), race_key(record.race_id)
    for number, document in enumerate(result_documents(record)):
        yield Document(f"{key}r{number}", encode(document))


def _race(record: RaceRecord) -> Document:
    return Document(record.race_id, json_encoder()(race_document(record)))


def _of_race(race_id: str) -> dict[str, Any]:
    return {"bool": {"filter": [{"term": {"race-id": race_id}}]}}


def _filters(query: StoreQuery) -> Iterator[dict[str, Any]]:
    days = {"gte": query.from_date, "lte": query.to_date}
    texts = {name: f"{day:%Y%m%d}" for name, day in days.items() if day is not None}
    if texts:
        yield {"range": {"race-timestamp": {**texts, "format": "basic_date"}}}
    for field, value in (
        ("environment", query.environment),
        ("track", query.track),
        ("challenge", query.challenge),
    ):
        if value:
            yield {"term": {field: value}}
    if query.benchmark_name:
        names = [{"term": {f"user-tags.{tag}": query.benchmark_name}} for tag in ("benchmark-name", "name")]
        yield {"bool": {"should": names}}
    for tag, text in tag_texts(query.user_tags or {}).items():
        yield {"term": {f"user-tags.{tag}": text}}

"""A metrics store: writes races as Rally's documents, finds them as Rally does, and deletes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from msgspec import Struct

from pacenote.errors import StoreError
from pacenote.metrics_store.bulk import BulkWriter, Written
from pacenote.metrics_store.client import StoreClient, StoreUnavailable
from pacenote.metrics_store.document_ids import DocumentIds, race_key
from pacenote.metrics_store.metrics_documents import (
    Document,
    MetricsDocuments,
    MetricSources,
    json_encoder,
)
from pacenote.metrics_store.race_documents import (
    RESULT_IS_ABOUT,
    race_document,
    race_timestamp,
    result_documents,
)
from pacenote.metrics_store.same_race import check_same_race
from pacenote.metrics_store.templates import (
    KINDS,
    IndexKind,
    ensure_templates,
    index_name,
    index_pattern,
    probe_features,
)
from pacenote.model.codec import as_integer, as_text
from pacenote.model.race_record import RaceRecord
from pacenote.model.user_tags import tag_texts
from pacenote.net.rest import Params

_MOST_RACES = 10_000
"""The most races of one search: the limit of the engines."""

_MOST_COMPARED = 20
"""The most documents of a kind that are compared with a race before they are deleted or replaced."""

_IGNORED = {"ignore_unavailable": True, "allow_no_indices": True}
_NOT_SUPPORTED = (400, 404, 405)


class StoreQuery(Struct, frozen=True, kw_only=True):
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
        is listed is complete. What the store has of the race is replaced; a race with the same id that began
        at another time, for example on another machine, is kept.

        Raises StoreUnavailable if the store does not answer or refuses a request, OtherRaceStored before
        a document is changed, and StoreError if a source cannot be read.
        """
        features = probe_features(self._client)
        for kind in KINDS:
            ensure_templates(self._client, features, kind)
        self.check_same(record)
        self._delete_stored(record)
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
        """Returns the documents of the races that match and have an id, newest first. Raises
        StoreUnavailable.
        """
        body = {
            "query": {"bool": {"filter": list(_filters(query))}},
            "size": min(query.limit, _MOST_RACES),
            "sort": [{"race-timestamp": {"order": "desc", "unmapped_type": "date"}}],
        }
        return self._search("races", body)

    def race(self, reference: str) -> dict[str, Any] | None:
        """Returns the document of a race, by its id or a unique prefix of it, or None if there is none: those
        without an id are left out.

        Raises StoreUnavailable, and StoreError if several ids begin with it, or several races have the id.
        """
        term = {"bool": {"should": [{"term": {"race-id": reference}}, {"prefix": {"race-id": reference}}]}}
        documents = self._search("races", {"query": term, "size": 100})
        # Backing indices that were rolled over may have a race twice.
        races = {
            (one["race-id"], str(one.get("race-timestamp"))): one
            for one in documents
            # A store may answer with others than those it was asked for.
            if one["race-id"].startswith(reference)
        }
        exact = [one for (race_id, _), one in races.items() if race_id == reference]
        matching = exact or list(races.values())
        if len(matching) < 2:
            return matching[0] if matching else None
        ids = {one["race-id"] for one in matching}
        if len(ids) == 1:
            raise StoreError(
                f"{len(matching)} races in the metrics store have the id '{ids.pop()}'",
                hint="give races that share a store different values of --race-id",
            )
        raise StoreError(
            f"'{reference}' matches {len(ids)} races in the metrics store",
            hint="give more characters of the id",
        )

    def _count(self, query: Mapping[str, object], kind: IndexKind) -> int:
        body = {"query": query}
        path = f"/{index_pattern(kind)}/_count"
        reply = self._client.request("POST", path, body, _IGNORED)
        with self._client.expected_form(f"POST {path}"):
            return as_integer(reply.get("count", 0)) if isinstance(reply, dict) else 0

    def count(self, race_id: str, timestamp: str = "") -> int:
        """Returns how many documents the store has of the races with an id; with `timestamp`, only of the one
        that began then, as Rally writes times.

        Documents of a race whose export was interrupted count, although it is not listed. Raises
        StoreUnavailable.
        """
        query = _of_race(race_id, timestamp)
        return sum(self._count(query, kind) for kind in KINDS)

    def delete(self, race_id: str, timestamp: str = "") -> int:
        """Deletes the documents that `count` counts, and returns their number. Raises StoreUnavailable."""
        query = _of_race(race_id, timestamp)
        return sum(self._delete(query, kind) for kind in reversed(KINDS))

    def _delete(self, query: Mapping[str, object], kind: IndexKind) -> int:
        params: Params = {**_IGNORED, "conflicts": "proceed", "refresh": True}
        path = f"/{index_pattern(kind)}/_delete_by_query"
        reply = self._client.request("POST", path, {"query": query}, params)
        with self._client.expected_form(f"POST {path}"):
            return as_integer(reply.get("deleted", 0)) if isinstance(reply, dict) else 0

    def check_same(self, record: RaceRecord) -> None:
        """Raises OtherRaceStored if what the store has with the id and time of a race is about another one,
        and StoreUnavailable.
        """
        own = race_document(record)
        body = {"query": _of_race(record.race_id, race_timestamp(record)), "size": _MOST_COMPARED}
        # Of an interrupted export, only metrics and results are there.
        for kind in reversed(KINDS):
            for document in self._search(kind, body):
                if document["race-id"] == record.race_id:
                    check_same_race(own, document)

    def _delete_stored(self, record: RaceRecord) -> None:
        """Deletes what was written of this race before, so that documents of backing indices that were rolled
        over since then are not doubled. Without the module for it, ids prevent most of that.
        """
        query = _of_race(record.race_id, race_timestamp(record))
        for kind in reversed(KINDS):
            if self._count(query, kind):
                try:
                    self._delete(query, kind)
                except StoreUnavailable as error:
                    if not any(f"status {status}" in error.message for status in _NOT_SUPPORTED):
                        raise

    def _search(self, kind: IndexKind, body: Mapping[str, object]) -> list[dict[str, Any]]:
        path = f"/{index_pattern(kind)}/_search"
        reply = self._client.request("POST", path, body, _IGNORED)
        with self._client.expected_form(f"POST {path}"):
            sources = (hit.get("_source") for hit in reply["hits"]["hits"] if isinstance(hit, dict))
            return [
                _with_names(source)
                for source in sources
                if isinstance(source, dict) and _is_name(source.get("race-id"))
            ]


def _is_name(value: object) -> bool:
    """Returns whether a value identifies a race: a race without an id cannot be read or deleted."""
    return isinstance(value, str | int | float) and value != ""


def _with_names(document: Mapping[str, object]) -> dict[str, Any]:
    """Returns the document of a race with its id as text, and only with a time that is a text or a number."""
    kept = {key: value for key, value in document.items() if key != "race-timestamp" or _is_name(value)}
    return {**kept, "race-id": as_text(kept["race-id"])}


def _results(record: RaceRecord) -> Iterator[Document]:
    encode, ids = json_encoder(), DocumentIds(record)
    for document in result_documents(record):
        about = {key: document[key] for key in RESULT_IS_ABOUT if key in document}
        yield Document(ids.of("r", about), encode(document))


def _race(record: RaceRecord) -> Document:
    return Document(race_key(record), json_encoder()(race_document(record)))


def _of_race(race_id: str, timestamp: str = "") -> dict[str, Any]:
    terms = {"race-id": race_id, **({"race-timestamp": timestamp} if timestamp else {})}
    return {"bool": {"filter": [{"term": {name: value}} for name, value in terms.items()]}}


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

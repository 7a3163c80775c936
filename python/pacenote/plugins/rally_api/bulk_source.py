"""Rally's bulk parameter source, for plug-ins that extend it.

The driver reads the data of ordinary bulk tasks; this source is for plug-ins that change the requests.
"""

from __future__ import annotations

import enum
import json
import math
import random
from collections.abc import Iterator
from typing import Any

from pacenote.plugins.rally_api.errors import InvalidSyntax, RallyAssertionError, RallyError
from pacenote.plugins.rally_api.files import MmapSource, skip_lines
from pacenote.plugins.rally_api.track import DocumentCorpus, Documents, Track

Params = dict[str, Any]

_RECENCY_SLOPE = 30
"""Factor of the recency in the exponential distribution of updated ids."""


class IndexIdConflict(enum.Enum):
    """Which ids are reused."""

    NoConflicts = 0
    SequentialConflicts = 1
    RandomConflicts = 2


_CONFLICTS = {
    None: IndexIdConflict.NoConflicts,
    "sequential": IndexIdConflict.SequentialConflicts,
    "random": IndexIdConflict.RandomConflicts,
}


class ParamSource:
    """Base class of parameter sources. It returns the operation's parameters endlessly."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        self.track = track
        self._params = params
        self.kwargs = kwargs

    def partition(self, partition_index: int, total_partitions: int) -> Any:  # noqa: ARG002
        """Returns the source for one client; by default, all clients share one source."""
        return self

    @property
    def infinite(self) -> bool:
        """Whether the source never ends."""
        return self.size() is None

    def size(self) -> int | None:
        """Returns the number of operations, or None if endless. Only the default `infinite` uses it."""
        return None

    def params(self) -> Params:
        """Returns the parameters of the next operation. Raises `StopIteration` at the end."""
        return self._params

    def _client_params(self) -> Params:
        return {key: self._params.get(key) for key in ("request-timeout", "headers", "opaque-id")}


class Slice:
    """Consecutive lines of a file, in chunks of the bulk size."""

    def __init__(self, source_class: Any, offset: int, number_of_lines: int) -> None:
        self.source_class = source_class
        self.source: Any = None
        self.offset = offset
        self.number_of_lines = number_of_lines
        self.current_line = 0
        self.bulk_size: int = 0

    def open(self, file_name: str, mode: str, bulk_size: int) -> Slice:
        """Opens the file and moves to the first line of the slice."""
        self.bulk_size = bulk_size
        self.source = self.source_class(file_name, mode).open()
        skip_lines(file_name, self.source, self.offset)
        return self

    def close(self) -> None:
        """Closes the file."""
        self.source.close()
        self.source = None

    def __iter__(self) -> Iterator[list[bytes]]:
        return self

    def __next__(self) -> list[bytes]:
        left = self.number_of_lines - self.current_line
        lines = list(self.source.readlines(min(self.bulk_size, left))) if left > 0 else []
        if not lines:
            raise StopIteration
        self.current_line += len(lines)
        return lines

    def __str__(self) -> str:
        return f"{self.source}[{self.offset};{self.offset + self.number_of_lines}]"


class BulkIndexParamSource(ParamSource):
    """Bulk requests from the track's corpora, partitioned over clients."""

    def __init__(self, track: Track, params: Params, **kwargs: Any) -> None:
        super().__init__(track, params, **kwargs)
        self.bulk_size = _whole(params, "bulk-size")
        self.batch_size = _whole(params, "batch-size", self.bulk_size)
        if self.batch_size % self.bulk_size:
            raise InvalidSyntax("'batch-size' must be a multiple of 'bulk-size'")
        self.ingest_percentage = _number(params, "ingest-percentage", 100, 100, above=True)
        self.ingest_doc_count = _doc_count(params, self.bulk_size)
        self.pipeline = params.get("pipeline")
        self.refresh = params.get("refresh")
        self.looped = params.get("looped", False)
        self.corpora = self.used_corpora(track, params)
        self._read_conflicts(params)

    def _read_conflicts(self, params: Params) -> None:
        order = params.get("conflicts") or None
        if order not in _CONFLICTS:
            raise InvalidSyntax(f"Unknown 'conflicts' setting [{order}]")
        self.id_conflicts = _CONFLICTS[order]
        self.conflict_probability: float | None = None
        self.on_conflict: str | None = None
        self.recency: float | None = None
        if self.id_conflicts is IndexIdConflict.NoConflicts:
            return
        if "data-streams" in params:
            raise InvalidSyntax("'conflicts' cannot be used with 'data-streams'")
        for documents in (document for corpus in self.corpora for document in corpus.documents):
            if documents.includes_action_and_meta_data:
                raise InvalidSyntax(
                    f"Cannot generate id conflicts [{order}], because [{documents.document_file}] already "
                    "contains an action and meta-data line."
                )
        self.conflict_probability = _number(params, "conflict-probability", 25, 100)
        self.recency = _number(params, "recency", 0, 1)
        self.on_conflict = params.get("on-conflict", "index")
        if self.on_conflict not in ("index", "update"):
            raise InvalidSyntax(f"Unknown 'on-conflict' setting [{self.on_conflict}]")

    def used_corpora(self, track: Track, params: Params) -> list[DocumentCorpus]:
        """Returns the corpora that the operation selects, with only the selected files."""
        names = params.get("corpora") or [corpus.name for corpus in track.corpora]
        chosen = [
            corpus.filter(Documents.SOURCE_FORMAT_BULK, params.get("indices"), params.get("data-streams"))
            for corpus in track.corpora
            if corpus.name in ([names] if isinstance(names, str) else names)
        ]
        filled = [corpus for corpus in chosen if corpus.number_of_documents(Documents.SOURCE_FORMAT_BULK) > 0]
        if not filled:
            raise RallyAssertionError(f"The track has no documents for the corpora {names}.")
        return filled

    def partition(self, partition_index: int, total_partitions: int) -> Any:
        """Returns the bulk requests of one client."""
        return PartitionBulkIndexParamSource(self, partition_index, total_partitions)

    def params(self) -> Params:
        """Raises `RallyError`, because only partitions have parameters."""
        raise RallyError("Do not use a BulkIndexParamSource without partitioning")


def _whole(params: Params, key: str, default: int | None = None) -> int:
    value = params.get(key, default)
    if value is None:
        raise InvalidSyntax(f"Mandatory parameter '{key}' is missing")
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise InvalidSyntax(f"'{key}' must be numeric") from None
    if number <= 0:
        raise InvalidSyntax(f"'{key}' must be positive but was {number}")
    return number


def _number(params: Params, key: str, default: float, most: float, *, above: bool = False) -> float:
    """Returns a number from 0 to `most`; with `above`, it must be greater than 0."""
    try:
        number = float(params.get(key, default))
    except (TypeError, ValueError):
        raise InvalidSyntax(f"'{key}' must be numeric") from None
    if not 0 <= number <= most or (above and number == 0):
        bracket = "(" if above else "["
        raise InvalidSyntax(f"'{key}' must be in the range {bracket}0.0, {most:.1f}] but was {number:.1f}")
    return number


def _doc_count(params: Params, bulk_size: int) -> int | None:
    """Returns the number of documents that all clients send, or None for all."""
    if "ingest-doc-count" not in params:
        return None
    if "ingest-percentage" in params:
        raise InvalidSyntax("'ingest-doc-count' and 'ingest-percentage' are mutually exclusive")
    count = _whole(params, "ingest-doc-count")
    if count % bulk_size:
        raise InvalidSyntax(f"'ingest-doc-count' must be a multiple of 'bulk-size' ({bulk_size})")
    return count


class PartitionBulkIndexParamSource:
    """The bulk requests of one client."""

    def __init__(self, whole: BulkIndexParamSource, index: int, total: int) -> None:
        self._whole = whole
        self._index = index
        self._total = total
        self._bulks: Iterator[Params] | None = None
        self.infinite = False
        self.current_bulk = 0
        self.total_bulks = max(1, self._count())

    def partition(self, partition_index: int, total_partitions: int) -> PartitionBulkIndexParamSource:
        """Returns the partition of another client."""
        return PartitionBulkIndexParamSource(self._whole, partition_index, total_partitions)

    @property
    def percent_completed(self) -> float:
        """The fraction of requests that have been returned, from 0 to 1."""
        return self.current_bulk / self.total_bulks

    def params(self) -> Params:
        """Returns the next bulk request; starts over after the last one if the source is looped."""
        if self.current_bulk >= self.total_bulks:
            self._bulks = None
            if not self._whole.looped:
                raise StopIteration
            self.current_bulk = 0
        if self._bulks is None:
            self._bulks = self._read()
        bulk = next(self._bulks)
        self.current_bulk += 1
        return bulk

    def _count(self) -> int:
        whole = self._whole
        if whole.ingest_doc_count is not None:
            return whole.ingest_doc_count // self._total // whole.bulk_size
        shares = (self._share(document) for corpus in whole.corpora for document in corpus.documents)
        bulks = sum(math.ceil(count / whole.bulk_size) for _, count in shares)
        return math.ceil(bulks * whole.ingest_percentage / 100)

    def _share(self, documents: Documents) -> tuple[int, int]:
        """Returns the index of the client's first document in a file, and the number of its documents."""
        share = documents.number_of_documents / self._total
        first = round(share * self._index)
        return first, round(share * (self._index + 1)) - first

    def _read(self) -> Iterator[Params]:
        for documents in self._in_order():
            first, count = self._share(documents)
            if count:
                yield from self._file(documents, first, count)

    def _in_order(self) -> Iterator[Documents]:
        """Yields the files of all corpora in turn; clients start with different corpora."""
        corpora = self._whole.corpora
        start = self._index % len(corpora)
        queues = [list(corpus.documents) for corpus in corpora[start:] + corpora[:start]]
        while any(queues):
            for queue in queues:
                if queue:
                    yield queue.pop(0)

    def _file(self, documents: Documents, first: int, count: int) -> Iterator[Params]:
        whole = self._whole
        lines_per_document = 2 if documents.includes_action_and_meta_data else 1
        lines = Slice(MmapSource, first * lines_per_document, count * lines_per_document)
        lines.open(documents.document_file or "", "rt", whole.bulk_size * lines_per_document)
        actions = None if lines_per_document == 2 else _actions(whole, documents, first, count)
        target = documents.target_index or documents.target_data_stream
        try:
            for chunk in lines:
                body = chunk if actions is None else _with_actions(chunk, actions)
                params = {**whole._params, "index": target, "action-metadata-present": True, "unit": "docs"}
                params["body"] = b"".join(body)
                params["bulk-size"] = len(chunk) // lines_per_document
                if whole.pipeline:
                    params["pipeline"] = whole.pipeline
                yield params
        finally:
            lines.close()


def _with_actions(lines: list[bytes], actions: Iterator[tuple[bytes, bool]]) -> list[bytes]:
    body = []
    for line in lines:
        action, is_update = next(actions)
        body.append(action)
        body.append(b'{"doc":%s}\n' % line.strip() if is_update else line)
    return body


def _actions(
    whole: BulkIndexParamSource, documents: Documents, first: int, count: int
) -> Iterator[tuple[bytes, bool]]:
    """Yields the action line of each document, and whether the document is an update."""
    target = documents.target_index or documents.target_data_stream
    if whole.id_conflicts is IndexIdConflict.NoConflicts:
        verb = "index" if documents.target_index else "create"
        line = json.dumps({verb: {"_index": target}}).encode() + b"\n"
        while True:
            yield line, False
    ids = [f"{first + number:010d}" for number in range(count)]
    if whole.id_conflicts is IndexIdConflict.RandomConflicts:
        random.shuffle(ids)
    used = 0
    while True:
        reuse = used > 0 and random.random() <= (whole.conflict_probability or 0) / 100
        if not reuse and used >= len(ids):
            return
        chosen = ids[_earlier(used, whole.recency or 0) if reuse else used]
        verb = str(whole.on_conflict) if reuse else "index"
        used += 0 if reuse else 1
        yield json.dumps({verb: {"_index": target, "_id": chosen}}).encode() + b"\n", verb == "update"


def _earlier(used: int, recency: float) -> int:
    """Returns the position of one of the ids that were used before."""
    if recency == 0:
        return random.randint(0, used - 1)
    return round((used - 1) * (1 - min(random.expovariate(_RECENCY_SLOPE * recency), 1)))

"""The number of documents in each index, for comparison with the acknowledged documents."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from pacenote.errors import EngineError, PacenoteError
from pacenote.model.codec import as_integer
from pacenote.model.engine import GetJson
from pacenote.net.reply import FailedStatus, expected_form
from pacenote.units import format_count

CHECK_LIMIT_S = 120.0
"""Seconds after which the check of documents sends no further request, without those for each index."""

INDEX_LIMIT_S = 2.0
"""Seconds by which each index that is counted extends the limit: a refresh may have much to write."""

_MAX_COUNT = 2**41
"""Documents of an index, at most: engines store up to 2**31 in a shard, and 1,024 shards of an index."""

MAX_CHECK_S = 3_600.0
"""The longest limit, in seconds, however many indices there are."""


class CheckStopped(EngineError):
    """The time of the check is over, which is not the engine's fault."""


class LimitedReads:
    """Reads paths of the engine, which may name any number of further ones, for a limited time."""

    def __init__(self, get: GetJson, limit_s: float = CHECK_LIMIT_S) -> None:
        self._get = get
        self._limit_s = limit_s
        self._began_s = time.monotonic()

    def extend(self, indices: int) -> None:
        """Extends the limit by the time for counting this many indices."""
        self._limit_s = min(self._limit_s + indices * INDEX_LIMIT_S, MAX_CHECK_S)

    def __call__(self, path: str) -> Mapping[str, Any]:
        """Returns the parsed response. Raises EngineError, and CheckStopped if the time is over."""
        if time.monotonic() > self._began_s + self._limit_s:
            raise CheckStopped(f"the time for counting, {self._limit_s:,g} s, was over")
        return self._get(path)


class DocumentCounts(Struct, frozen=True):
    """Searchable documents by index, without nested documents (which `_stats` would include)."""

    counts: Mapping[str, int]
    """Number of documents by index; an index that could not be counted is omitted."""

    problems: Mapping[str, str]
    """Why an index could not be counted, by index."""

    missing: frozenset[str] = frozenset()
    """The indices of `problems` that do not exist."""

    stopped: frozenset[str] = frozenset()
    """The indices of `problems` that are not counted because the time of the check was over."""


def count_documents(get: GetJson, indices: Iterable[str]) -> DocumentCounts:
    """Refreshes and counts indices. Call it after index statistics were read, because a refresh changes them.

    An index that cannot be counted is a problem in the result; PacenoteError is never raised.
    """
    counts: dict[str, int] = {}
    problems: dict[str, str] = {}
    missing: set[str] = set()
    stopped: set[str] = set()
    for index in indices:
        try:
            counts[index] = _count(get, quote(index, safe=""))
        except PacenoteError as error:
            problems[index] = error.message
            if isinstance(error, FailedStatus) and error.is_not_found:
                missing.add(index)
            if isinstance(error, CheckStopped):
                stopped.add(index)
    return DocumentCounts(counts, problems, frozenset(missing), frozenset(stopped))


def _count(get: GetJson, name: str) -> int:
    """Returns the number of documents of an index, whatever its refresh interval. Raises PacenoteError."""
    refreshed = get(f"/{name}/_refresh")
    with expected_form("a refresh"):
        if failed := as_integer(refreshed.get("_shards", {}).get("failed", 0)):
            raise PacenoteError(f"{format_count(failed, 'shard')} could not be refreshed")
    reply = get(f"/{name}/_count")
    with expected_form("the number of documents"):
        shards = reply.get("_shards", {})
        # A shard without a running copy is neither successful nor failed.
        total = as_integer(shards.get("total", 0))
        unanswered = total - as_integer(shards.get("successful", total))
        if failed := max(as_integer(shards.get("failed", 0)), unanswered):
            raise PacenoteError(f"{format_count(failed, 'shard')} failed")
        count = reply["count"]
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MAX_COUNT:
            raise ValueError(count)
        return count

"""The number of documents in each index, for comparison with the acknowledged documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from pacenote.errors import PacenoteError
from pacenote.model.engine import GetJson
from pacenote.net.reply import expected_form
from pacenote.units import format_count


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """Searchable documents by index, without nested documents (which `_stats` would include)."""

    counts: Mapping[str, int]
    """Number of documents by index; an index that could not be counted is omitted."""

    problems: tuple[str, ...]
    """A message for each index that could not be counted."""


def count_documents(get: GetJson, indices: Iterable[str]) -> DocumentCounts:
    """Refreshes and counts indices. Call it after index statistics were read, because a refresh changes them.

    An index that cannot be counted is a problem in the result; PacenoteError is never raised.
    """
    counts: dict[str, int] = {}
    problems: list[str] = []
    for index in indices:
        name = quote(index, safe="")
        try:
            get(f"/{name}/_refresh")
            reply = get(f"/{name}/_count")
            with expected_form("the number of documents"):
                count, failed = reply.get("count"), int(reply.get("_shards", {}).get("failed", 0))
        except PacenoteError as error:
            problems.append(f"documents of index '{index}' could not be counted: {error.message}")
            continue
        if isinstance(count, int) and not failed:
            counts[index] = count
        else:
            problems.append(
                f"documents of index '{index}' could not be counted: {format_count(failed, 'shard')} failed"
            )
    return DocumentCounts(counts, tuple(problems))

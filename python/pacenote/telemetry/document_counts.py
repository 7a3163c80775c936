"""How many documents the engine has, for the check against what it acknowledged."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from pacenote.errors import PacenoteError
from pacenote.telemetry.device import Get
from pacenote.units import format_count


def count_documents(get: Get, indices: Iterable[str]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Searchable documents per index after a refresh, and sentences on indices that could not be counted.

    Nested documents are not counted (as `_stats` would). Call it after the index statistics were read, since
    it refreshes. Never raises PacenoteError: an index that cannot be counted is missing from the result.
    """
    counts: dict[str, int] = {}
    problems: list[str] = []
    for index in indices:
        name = quote(index, safe="")
        try:
            get(f"/{name}/_refresh")
            reply = get(f"/{name}/_count")
        except PacenoteError as error:
            problems.append(f"documents of index '{index}' could not be counted: {error.message}")
            continue
        count, failed = reply.get("count"), reply.get("_shards", {}).get("failed", 0)
        if isinstance(count, int) and not failed:
            counts[index] = count
        else:
            problems.append(
                f"documents of index '{index}' could not be counted: {format_count(failed, 'shard')} failed"
            )
    return counts, tuple(problems)

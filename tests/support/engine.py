"""Responses of an engine to the requests of a race."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPENSEARCH: Mapping[str, str] = {"distribution": "opensearch", "number": "3.3.0", "build_hash": "0"}

SUCCESS: Mapping[str, Any] = {
    "took": 1, "timed_out": False, "_shards": {"failed": 0}, "errors": False, "items": [{"index": {}}],
}  # fmt: skip


def engine_document(target: str, version: Mapping[str, str] = OPENSEARCH) -> dict[str, Any]:
    """Returns the body of the response to a request for `target`, a path with its query."""
    if target == "/":
        return {"cluster_name": "c", "version": dict(version)}
    if target.startswith("/_nodes"):
        return {"nodes": {}}
    return {**SUCCESS, "indices": {}}

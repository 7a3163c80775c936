"""Media types that every version of both engines accepts."""

from __future__ import annotations

JSON = "application/json"
"""Media type of bodies."""

NDJSON = "application/x-ndjson"
"""Media type of bulk bodies."""

_ELASTIC = "application/vnd.elasticsearch+"


def plain_media_types(value: str) -> str:
    """Returns a list of media types without vendor and API version."""
    kinds = [kind.strip().partition(";")[0].strip() for kind in value.split(",")]
    return ", ".join(
        f"application/{kind.removeprefix(_ELASTIC)}" if kind.startswith(_ELASTIC) else kind for kind in kinds
    )

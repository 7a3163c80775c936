"""The nodes of a race record, which may come from someone else: what is not of a known form is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote.errors import PacenoteError
from pacenote.model.codec import decode

_TYPES: Mapping[str, Any] = {
    "name": str,
    "host": str,
    "os": str,
    "jvm_version": str,
    "jvm_vendor": str,
    "heap_max_bytes": int,
    "cpus": int,
    "plugins": tuple[str, ...],
    "modules": tuple[str, ...],
}
"""The facts about a node that are used, with their types."""


def recorded_nodes(nodes: object) -> tuple[Mapping[str, object], ...]:
    """Returns the nodes in a record, without facts of another type. Raises PacenoteError if they are not a
    list of objects.
    """
    documents = decode(tuple[Mapping[str, object], ...], nodes, "race.cluster.nodes")
    return tuple(
        {name: value for name, value in document.items() if _is_usable(name, value)} for document in documents
    )


def _is_usable(name: str, value: object) -> bool:
    kind = _TYPES.get(name)
    if kind is None or value is None:
        return True
    try:
        decode(kind, value, name)
    except PacenoteError:
        return False
    return True

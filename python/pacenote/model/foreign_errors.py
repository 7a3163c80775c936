"""Errors in replies of servers: their causes, and what is shown of those of unknown forms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pacenote.model.printable import shortened

_CAUSES = ("root_cause", "caused_by", "failed_shards", "reason")
"""Keys of an error under which it has its causes; the reason of the failure of a shard is an error."""

_MAX_CAUSES = 10_000
"""Parts of an error that are looked at."""

_SHOWN_LEVELS, _SHOWN_ENTRIES, _SHOWN_CHARACTERS = 4, 16, 300
"""What is shown of a value: levels, entries of each list or object, and characters of each text."""


def error_causes(error: object) -> Iterator[Mapping[str, Any]]:
    """Yields an error in a reply and its causes, also those of failed shards, as far as they are objects;
    `error` may also be a list of errors.
    """
    waiting, seen = [error], 0
    while waiting and seen < _MAX_CAUSES:
        part = waiting.pop()
        seen += 1
        if isinstance(part, dict):
            yield part
            waiting += [part[key] for key in _CAUSES if key in part]
        elif isinstance(part, list):
            waiting += part[:_MAX_CAUSES]


def brief_json(value: object) -> str:
    """Returns a value of a reply as JSON, of which only the beginning is kept: the first characters of texts,
    and the first entries of lists and objects.
    """
    return json.dumps(_beginning(value, _SHOWN_LEVELS))


def _beginning(value: object, levels: int) -> object:
    if isinstance(value, str):
        return shortened(value, _SHOWN_CHARACTERS)
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        return "…"
    if isinstance(value, dict):
        entries = islice(value.items(), _SHOWN_ENTRIES)
        return {shortened(key, _SHOWN_CHARACTERS): _beginning(item, levels - 1) for key, item in entries}
    return [_beginning(item, levels - 1) for item in value[:_SHOWN_ENTRIES]]

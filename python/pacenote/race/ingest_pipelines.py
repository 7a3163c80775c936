"""Ingest pipelines that drop documents or send them to another index.

The engine acknowledges a document that a pipeline drops or sends elsewhere like one that it adds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from pacenote.errors import PacenoteError
from pacenote.model.engine import GetJson
from pacenote.net.reply import FailedStatus

_REMOVING = frozenset({"drop", "reroute", "date_index_name"})
"""Types of processors that drop documents or send them to another index."""

_DESTINATION_FIELDS = ("_index", "_id")
"""Fields of a document that determine where it is stored; two documents with one id are one."""

_DESTINATION_IN_SCRIPT = re.compile(r"\b(?:_index|_id|op)\b")
"""Names with which a script changes where a document is stored, or drops it (`ctx.op = 'noop'`)."""


def removing_pipeline(get: GetJson, names: Iterable[str]) -> str:
    """Returns the first of the pipelines that may drop documents or send them to another index, or an empty
    string if none does.

    Follows the pipelines that they call. A pipeline that cannot be read may do it; one that does not exist
    does not.
    """
    return next((name for name in sorted(names) if _removes(get, name, set())), "")


def _removes(get: GetJson, name: str, seen: set[str]) -> bool:
    if name in seen:
        return False
    seen.add(name)
    if "{{" in name:
        return True  # Each document determines the name.
    try:
        definition = get(f"/_ingest/pipeline/{quote(name, safe='')}").get(name)
    except FailedStatus as failure:
        return not failure.is_not_found
    except (PacenoteError, AttributeError):
        return True
    return _any_removes(definition, lambda called: _removes(get, called, seen))


def _any_removes(block: object, calls: Callable[[str], bool]) -> bool:
    return any(_processor_removes(kind, config, calls) for kind, config in _processors(block))


def _processors(block: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields types and configurations of the processors of a pipeline, or of those after a failure."""
    for key in ("processors", "on_failure"):
        listed = block.get(key) if isinstance(block, Mapping) else None
        for processor in listed if isinstance(listed, list) else ():
            for kind, config in processor.items() if isinstance(processor, Mapping) else ():
                yield kind, config if isinstance(config, Mapping) else {}


def _processor_removes(kind: str, config: Mapping[str, Any], calls: Callable[[str], bool]) -> bool:
    if kind in _REMOVING or _any_removes(config, calls):
        return True
    if any(config.get(key) in _DESTINATION_FIELDS for key in ("field", "target_field")):
        return True
    if kind == "pipeline":
        return calls(str(config.get("name")))
    if kind == "foreach":
        return _any_removes({"processors": [config.get("processor")]}, calls)
    # The text of a stored script is not read.
    return kind == "script" and _DESTINATION_IN_SCRIPT.search(str(config.get("source", "_id"))) is not None

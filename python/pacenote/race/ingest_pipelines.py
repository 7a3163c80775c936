"""Ingest pipelines that drop documents or send them to another index.

The engine acknowledges a document that a pipeline drops or sends elsewhere like one that it adds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from pacenote.errors import PacenoteError
from pacenote.model.engine import GetJson
from pacenote.model.printable import shortened
from pacenote.net.reply import FailedStatus
from pacenote.race.document_counts import CheckStopped

_REMOVING = frozenset({"drop", "reroute", "date_index_name"})
"""Types of processors that drop documents or send them to another index."""

_DESTINATION_FIELDS = ("_index", "_id")
"""Fields of a document that determine where it is stored; two documents with one id are one."""

_DESTINATION_IN_SCRIPT = re.compile(r"\b(?:_index|_id|op)\b")
"""Names with which a script changes where a document is stored, or drops it (`ctx.op = 'noop'`)."""


_MAX_NAME = 1_000
"""Characters of the name of a pipeline that is read."""

_MAX_SHOWN = 300
"""Characters of the name of a pipeline that are shown."""

_MAX_PIPELINES = 100
"""Pipelines that are followed, at most: the engine names those that others call."""


def removing_pipeline(get: GetJson, names: Iterable[str]) -> str:
    """Returns the first of the pipelines that may drop documents or send them to another index, shortened for
    messages, or an empty string if none does.

    Follows the pipelines that they call. A pipeline that cannot be read may do it, also because there are too
    many or because its name is too long; one that does not exist does not. Raises CheckStopped.
    """
    read: dict[str, _Pipeline] = {}
    return next((shortened(name, _MAX_SHOWN) for name in sorted(names) if _removes(get, name, read)), "")


class _Pipeline(Struct, frozen=True):
    """What the processors of a pipeline do."""

    removes: bool = False
    """Whether one of them drops documents or sends them to another index."""

    called: tuple[str, ...] = ()
    """The pipelines that they call, each once."""


def _removes(get: GetJson, name: str, read: dict[str, _Pipeline]) -> bool:
    """Returns whether a pipeline, or one that it calls, may remove documents; `read` has those that have been
    read.
    """
    waiting, seen = [name], {name}
    while waiting:
        if len(seen) > _MAX_PIPELINES:
            return True
        next_name = waiting.pop()
        if next_name not in read:
            if len(read) >= _MAX_PIPELINES:
                return True
            read[next_name] = _read(get, next_name)
        pipeline = read[next_name]
        if pipeline.removes:
            return True
        waiting += [called for called in pipeline.called if called not in seen]
        seen.update(waiting)
    return False


def _read(get: GetJson, name: str) -> _Pipeline:
    if "{{" in name or len(name) > _MAX_NAME:
        return _Pipeline(removes=True)  # Each document determines the name.
    try:
        definition = get(f"/_ingest/pipeline/{quote(name, safe='')}").get(name)
    except FailedStatus as failure:
        return _Pipeline(removes=not failure.is_not_found)
    except CheckStopped:
        raise
    except (PacenoteError, AttributeError):
        return _Pipeline(removes=True)
    called = list[str]()
    removes = _any_removes(definition, called)
    # A reply may name a pipeline a million times.
    return _Pipeline(removes, tuple(dict.fromkeys(called)))


def _any_removes(block: object, called: list[str]) -> bool:
    return any(_processor_removes(kind, config, called) for kind, config in _processors(block))


def _processors(block: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields types and configurations of the processors of a pipeline, or of those after a failure."""
    for key in ("processors", "on_failure"):
        listed = block.get(key) if isinstance(block, Mapping) else None
        for processor in listed if isinstance(listed, list) else ():
            for kind, config in processor.items() if isinstance(processor, Mapping) else ():
                yield kind, config if isinstance(config, Mapping) else {}


def _processor_removes(kind: str, config: Mapping[str, Any], called: list[str]) -> bool:
    """Returns whether a processor removes documents. Adds the pipelines to `called` that it calls."""
    if kind in _REMOVING or _any_removes(config, called):
        return True
    if any(config.get(key) in _DESTINATION_FIELDS for key in ("field", "target_field")):
        return True
    if kind == "pipeline":
        called_name = config.get("name")
        # One with another name is no pipeline, and cannot be looked at.
        if not isinstance(called_name, str):
            return True
        called.append(called_name)
        return False
    if kind == "foreach":
        return _any_removes({"processors": [config.get("processor")]}, called)
    # The text of a stored script is not read.
    source = config.get("source")
    is_known = isinstance(source, str) and _DESTINATION_IN_SCRIPT.search(source) is None
    return kind == "script" and not is_known

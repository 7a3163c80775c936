"""Helpers that compile one operation of a small track."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import TrackError
from pacenote.model.engine import EngineInfo
from pacenote.model.track import Challenge, Corpus, Documents, Index, Operation, Track
from pacenote.model.work import CallSequence, Request
from pacenote.operations.base import CompileContext, CompiledOperation, DataFile
from pacenote.operations.compile import compile_operation
from pacenote.operations.registry import resolve_type

BODY = {"settings": {"a": 1, "b": 1}, "mappings": {}}
LIBRARY = Corpus(
    "library",
    (
        Documents("one.json.gz", document_count=10, target_index="books"),
        Documents("two.json", document_count=5, target_index="films"),
    ),
)
STREAMS = Corpus("streams", (Documents("s.json", document_count=3, target_data_stream="events"),))
MIXED = Corpus("mixed", (Documents("m.json", document_count=2, includes_action_and_meta_data=True),))
BOOKS = (Index("books", BODY),)

OPENSEARCH = EngineInfo("opensearch", "3.3.0")
ELASTICSEARCH = EngineInfo("elasticsearch", "8.15.0")

_SPELT = {"retries_on_429": "retries_on_429", "index_filter": "index_filter"}
"""Parameters whose names contain underscores in tracks."""


def track(**fields: Any) -> Track:
    base = {"name": "t", "root": Path("/t"), "challenges": (Challenge("c", ()),), "indices": BOOKS}
    return Track(**{**base, **fields})


def context(in_track: Track | None = None, **fields: Any) -> CompileContext:
    """Returns a compile context in which every data file has 7 documents."""
    return CompileContext(
        in_track or track(),
        lambda file: DataFile(Path("/d", file.corpus.name, file.documents.document_file), 7),
        **fields,
    )


def compiled(kind: str, within: Track | CompileContext | None = None, **params: Any) -> CompiledOperation:
    """Compiles an operation; keyword arguments are its parameters, with underscores instead of dashes."""
    named = {_SPELT.get(key, key.replace("_", "-")): value for key, value in params.items()}
    operation = Operation("op", kind, named, key_path=("operations", 0))
    known = within if isinstance(within, CompileContext) else context(within)
    return compile_operation(resolve_type(kind), operation, known)


def requests(kind: str, within: Track | CompileContext | None = None, **params: Any) -> tuple[Request, ...]:
    """Returns the requests of an operation."""
    work = compiled(kind, within, **params).work
    assert isinstance(work, CallSequence)
    requests = tuple(call for call in work.calls if isinstance(call, Request))
    assert len(requests) == len(work.calls)
    return requests


def lines(kind: str, within: Track | CompileContext | None = None, **params: Any) -> tuple[str, ...]:
    """Returns the requests of an operation as text: method, path and body."""
    return tuple(
        f"{request.method} {request.path}" + ("" if request.body is None else f" {request.body}")
        for request in requests(kind, within, **params)
    )


def refused(kind: str, within: Track | CompileContext | None = None, **params: Any) -> tuple[str, ...]:
    """Returns the problems of an operation."""
    with pytest.raises(TrackError) as caught:
        compiled(kind, within, **params)
    assert caught.value.message == f'operation "op" ({kind}) cannot be run'
    return caught.value.problems

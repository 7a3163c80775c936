"""`bulk`: indexes the documents of the track's corpora.

Accepted without effect: `detailed-results`, which only adds details about items to Rally's records.
"""

from __future__ import annotations

from collections.abc import Iterable

from pacenote.model.names import listed, near, quoted
from pacenote.model.reader import Reader, shown
from pacenote.model.track import Corpus, Documents, Track
from pacenote.model.work import Action, ActionInFile, ActionLine, Bulk, BulkFile, LimitShare
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import NDJSON, json_body, read_common, with_content_type, with_query

_MOST_DOCUMENTS = 2**32 - 1
"""Of one request: what the driver can count."""

_REFRESH = ("true", "wait_for", "false")


def select_documents(params: Reader, track: Track) -> tuple[tuple[Corpus, Documents], ...]:
    """The data files that the operation's `corpora`, `indices` and `data-streams` choose, in the track's
    order.
    """
    chosen = params.names("corpora")
    known = [corpus.name for corpus in track.corpora]
    for name in chosen:
        if name not in known:
            params.problem(
                "corpora", f"names {quoted(name)}, which is no corpus of the track{near(name, known)}"
            )
    indices, streams = params.names("indices"), params.names("data-streams")
    return tuple(
        (corpus, documents)
        for corpus in track.corpora
        if not chosen or corpus.name in chosen
        for documents in corpus.documents
        if not indices or documents.target_index in indices
        if not streams or documents.target_data_stream in streams
    )


def _compile(params: Reader, context: Context) -> Compiled:
    common = read_common(params)
    size = _bulk_size(params)
    query = {**common.query, **_bulk_query(params)}
    selected = select_documents(params, context.track)
    if not selected:
        known = listed(corpus.name for corpus in context.track.corpora)
        params.problem(None, f"has no documents to index; corpora of the track: {known}")
    params.flag("detailed-results", False)
    looped = params.flag("looped", False)
    work = Bulk(
        path=with_query("/_bulk", query),
        headers=with_content_type(common.headers, NDJSON),
        files=_files(selected, context),
        bulk_size=size,
        limit=LimitShare(_share(params)),
        looped=looped,
        conflicts=None,
        retries_on_429=0,
        timeout_ms=common.timeout_ms,
    )
    return Compiled(work, weight=size, unit="docs", finite=not looped)


def _bulk_size(params: Reader) -> int:
    params.required("bulk-size")
    size = params.integer("bulk-size", 1, _MOST_DOCUMENTS) or 1
    batch = params.integer("batch-size", 1)
    if batch is not None and batch % size:
        params.problem("batch-size", f"is {batch}, must be a multiple of bulk-size, which is {size}")
    return size


def _bulk_query(params: Reader) -> dict[str, str]:
    query = {key: params.text(key) for key in ("pipeline", "timeout") if params.has(key)}
    if not params.has("refresh"):
        return query
    refresh = params.data["refresh"]
    text = json_body(refresh)
    if text not in _REFRESH:
        params.problem("refresh", f"is {shown(refresh)}, must be one of {', '.join(_REFRESH)}")
    return {**query, "refresh": text}


def _share(params: Reader) -> float:
    percentage = params.number("ingest-percentage", above=True)
    if percentage is None:
        return 1.0
    if percentage > 100:
        params.problem("ingest-percentage", f"is {percentage:g}, must be at most 100")
    return min(percentage, 100.0) / 100


def _files(selected: Iterable[tuple[Corpus, Documents]], context: Context) -> tuple[BulkFile, ...]:
    """Files with their corpora numbered from 0, since clients start with different corpora."""
    numbers: dict[str, int] = {}
    files = []
    for corpus, documents in selected:
        path, count = context.data_file(corpus, documents)
        number = numbers.setdefault(corpus.name, len(numbers))
        files.append(BulkFile(str(path), count, _action(documents), number))
    return tuple(files)


def _action(documents: Documents) -> Action:
    if documents.includes_action_and_meta_data:
        return ActionInFile()
    if documents.target_data_stream:
        # A data stream only ever takes new documents.
        return ActionLine(json_body({"create": {"_index": documents.target_data_stream}}))
    return ActionLine(json_body({"index": {"_index": documents.target_index}}))


OPERATION = OperationType(
    name="bulk",
    unit="docs",
    compile=_compile,
    later={
        "conflicts": "conflicting document ids come later",
        "ingest-doc-count": "choose a share with ingest-percentage instead",
        "retries_on_429": "a rejected bulk is counted as rejected, never sent again unseen",
    },
)

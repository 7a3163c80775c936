"""`bulk`: indexes the documents of the track's corpora.

The items of a response with errors are always checked; `detailed-results` keeps counts of the items of each
response with its sample. `batch-size` is accepted but has no effect: documents are not copied before they are
sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted_list
from pacenote.model.problems import preview
from pacenote.model.track import CorpusFile, Documents
from pacenote.model.work import (
    ActionInFile,
    ActionLine,
    ActionWithId,
    BulkFile,
    BulkWork,
    ConflictSettings,
    IdOrder,
    IngestDocuments,
    IngestLimit,
    IngestShare,
    OnConflict,
    PlannedActionLines,
)
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.corpus_files import select_files
from pacenote.operations.request import (
    NDJSON,
    json_body,
    read_common,
    require_json,
    with_content_type,
    with_query,
)

_MAX_DOCUMENTS = 2**32 - 1
"""Maximum number of documents in one request that the driver can count."""

_MAX_RETRIES = 2**32 - 1
"""Maximum number of retries that the driver can count."""

_REFRESH = ("true", "wait_for", "false")


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    common = read_common(params)
    require_json(params, common)
    _require_errors(params, common.query.get("filter_path", ""))
    size = _bulk_size(params)
    query = {**common.query, **_bulk_query(params)}
    selected = select_files(params, context.track)
    if not selected:
        known = quoted_list(corpus.name for corpus in context.track.corpora)
        params.problem(None, f"has no documents to index; corpora of the track: {known}")
    looped = params.flag("looped", False)
    conflicts = _conflicts(params, selected)
    files = _files(selected, conflicts is not None, context)
    work = BulkWork(
        path=with_query("/_bulk", query),
        headers=with_content_type(common.headers, NDJSON),
        files=files,
        bulk_size=size,
        limit=_limit(params, size, files, context.clients),
        looped=looped,
        conflicts=conflicts,
        retries_on_429=params.integer("retries_on_429", 0, _MAX_RETRIES) or 0,
        timeout_ms=common.timeout_ms,
        detailed_results=params.flag("detailed-results", False),
    )
    return CompiledOperation(work, weight=size, unit="docs", until_exhausted=not looped)


def _require_errors(params: FieldReader, filter_path: str) -> None:
    """Reports a problem if the response would lack the field that tells whether documents were rejected."""
    patterns = [pattern.strip() for pattern in filter_path.split(",") if pattern.strip()]
    included = [pattern for pattern in patterns if not pattern.startswith("-")]
    excluded = [pattern[1:] for pattern in patterns if pattern.startswith("-")]
    is_lost = included and not any(fnmatchcase("errors", pattern) for pattern in included)
    if is_lost or any(fnmatchcase("errors", pattern) for pattern in excluded):
        why = "which tells whether documents were rejected"
        text = f"is {preview(filter_path)}, but must include errors, {why}"
        params.child("request-params").problem("filter_path", text)


def _bulk_size(params: FieldReader) -> int:
    params.required("bulk-size")
    size = params.integer("bulk-size", 1, _MAX_DOCUMENTS, from_text=True) or 1
    batch = params.integer("batch-size", 1, from_text=True)
    if batch is not None and batch % size:
        params.problem("batch-size", f"is {batch}, but must be a multiple of bulk-size, which is {size}")
    return size


def _bulk_query(params: FieldReader) -> dict[str, str]:
    query = {key: params.text(key) for key in ("pipeline", "timeout") if params.has(key)}
    if not params.has("refresh"):
        return query
    refresh = params.data["refresh"]
    text = json_body(refresh)
    if text not in _REFRESH:
        params.problem("refresh", f"is {preview(refresh)}, but must be one of {', '.join(_REFRESH)}")
    return {**query, "refresh": text}


def _share(params: FieldReader) -> float:
    percentage = params.number("ingest-percentage", above=True, from_text=True)
    if percentage is None:
        return 1.0
    if percentage > 100:
        params.problem("ingest-percentage", f"is {percentage:g}, but must be at most 100")
    return min(percentage, 100.0) / 100


def _limit(params: FieldReader, size: int, files: Iterable[BulkFile], clients: int) -> IngestLimit:
    """Reads how much of the corpora is sent: a percentage, or a number of documents."""
    count = params.integer("ingest-doc-count", 1, from_text=True)
    if count is None:
        return IngestShare(_share(params))
    if params.has("ingest-percentage"):
        params.problem("ingest-doc-count", "cannot be used together with ingest-percentage")
    available = sum(file.documents for file in files)
    text = ""
    if count % size:
        text = f"but must be a multiple of bulk-size, which is {size:,}"
    elif count % (size * clients):
        text = f"but must be a multiple of {size * clients:,}, which is bulk-size times {clients} clients"
    elif available and count > available:
        text = f"but there are only {available:,} documents"
    if text:
        params.problem("ingest-doc-count", f"is {count:,}, {text}")
    return IngestDocuments(count)


def _conflicts(params: FieldReader, selected: Sequence[CorpusFile]) -> ConflictSettings | None:
    """Reads the settings for id conflicts, which require the driver to write the action lines."""
    if not params.data.get("conflicts"):
        return None
    order = params.choice("conflicts", [order.value for order in IdOrder], IdOrder.RANDOM.value)
    for documents in (file.documents for file in selected):
        if documents.includes_action_and_meta_data:
            text = f"cannot be used with {documents.source_file}, whose action lines are in the file"
            params.problem("conflicts", text)
        elif documents.target_data_stream:
            text = f"cannot be used with a data stream, which {documents.source_file} is written to"
            params.problem("conflicts", text)
    return ConflictSettings(
        ids=IdOrder(order),
        probability=_read_up_to(params, "conflict-probability", 100, 25) / 100,
        on_conflict=OnConflict(params.choice("on-conflict", [do.value for do in OnConflict], "index")),
        recency=_read_up_to(params, "recency", 1, 0),
    )


def _read_up_to(params: FieldReader, key: str, maximum: float, default: float) -> float:
    value = params.number(key, from_text=True)
    if value is None:
        return default
    if value > maximum:
        params.problem(key, f"is {value:g}, but must be at most {maximum:g}")
    return min(value, maximum)


def _files(
    selected: Sequence[CorpusFile], has_conflicts: bool, context: CompileContext
) -> tuple[BulkFile, ...]:
    """Returns the files, with their corpora numbered from 0 because clients start with different corpora."""
    numbers: dict[str, int] = {}
    files = []
    for file in selected:
        prepared = context.data_file(file)
        number = numbers.setdefault(file.corpus.name, len(numbers))
        action = ActionWithId(file.documents.target_index or "") if has_conflicts else _action(file.documents)
        files.append(BulkFile(str(prepared.path), prepared.documents, action, number))
    return tuple(files)


def _action(documents: Documents) -> PlannedActionLines:
    if documents.includes_action_and_meta_data:
        return ActionInFile()
    if documents.target_data_stream:
        # A data stream only accepts new documents.
        return ActionLine(json_body({"create": {"_index": documents.target_data_stream}}))
    return ActionLine(json_body({"index": {"_index": documents.target_index}}))


OPERATION = OperationType(
    name="bulk",
    unit="docs",
    compile=_compile,
    indexes_documents=True,
    may_create_indices=True,
    assertable_details=(
        *("success", "success-count", "error-count", "request-status", "max-doc-status"),
        *("retried", "retry-count", "took", "ingest_took", "ops."),
        *("bulk-request-size-bytes", "total-document-size-bytes"),
    ),
)

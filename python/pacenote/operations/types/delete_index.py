"""`delete-index`: deletes the named indices, or all those of the track.

A missing index is neither a failure nor work, even without `only-if-exists`: Rally ignores it as well.
Engines reject wildcards unless `action.destructive_requires_name` is false. If a wildcard is used, the
setting is turned off before the deletion and restored after it, whether or not the deletion succeeds.
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.named_resources import allowing_wildcards, compile_requests, has_wildcard, if_exists
from pacenote.operations.request import build_path, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    common = read_common(params)
    key = "indices" if context.supplied and "indices" in params.data else "index"
    names = params.names(key) or tuple(index.name for index in context.track.indices)
    if not names:
        params.problem("index", "is missing, and the track declares no indices")
    params.flag("only-if-exists", True)
    deletes = tuple(if_exists(common.request("DELETE", build_path(name))) for name in names)
    if any(map(has_wildcard, names)) and not context.engine.is_serverless:
        deletes = allowing_wildcards(common, deletes)
    return compile_requests(params, deletes)


OPERATION = OperationType(name="delete-index", compile=_compile, admin=True, deletes_indices=True)

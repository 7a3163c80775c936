"""`delete-index`: deletes the indices of the track, or those named.

An index that is not there is no failure and no work, also without `only-if-exists`: Rally ignores it, too.
Engines refuse wildcards unless `action.destructive_requires_name` is off; only where a wildcard is used it is
switched off before and taken back after.
"""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.named_resources import allowing_patterns, compiled, if_there, is_pattern
from pacenote.operations.request import path_of, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    common = read_common(params)
    key = "indices" if context.supplied and "indices" in params.data else "index"
    names = params.names(key) or tuple(index.name for index in context.track.indices)
    if not names:
        params.problem("index", "is missing, and the track declares no indices")
    params.flag("only-if-exists", True)
    deletes = tuple(if_there(common.request("DELETE", path_of(name))) for name in names)
    if any(map(is_pattern, names)) and not context.is_serverless:
        deletes = allowing_patterns(common, deletes)
    return compiled(params, deletes)


OPERATION = OperationType(name="delete-index", compile=_compile, admin=True)

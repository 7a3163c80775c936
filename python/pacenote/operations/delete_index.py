"""`delete-index`: deletes the indices of the track, or those named.

With `only-if-exists` (the default) an index that is not there is no failure and no work. Engines refuse
wildcards unless `action.destructive_requires_name` is off; only where a wildcard is used it is switched off
before and taken back after.
"""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.reader import Reader
from pacenote.model.work import Calls, Request
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import Common, json_body, path_of, read_common, read_retry

_NOT_FOUND = 404


def _compile(params: Reader, context: Context) -> Compiled:
    common = read_common(params)
    names = params.names("index") or tuple(index.name for index in context.track.indices)
    if not names:
        params.problem("index", "is missing, and the track declares no indices")
    ignore = (_NOT_FOUND,) if params.flag("only-if-exists", True) else ()
    deletes = tuple(replace(common.request("DELETE", path_of(name)), ignore=ignore) for name in names)
    if any(_is_pattern(part) for name in names for part in name.split(",")):
        deletes = (_allow_patterns(common, False), *deletes, _allow_patterns(common, None))
    return Compiled(Calls(deletes, read_retry(params)), weight=max(1, len(names)))


def _is_pattern(name: str) -> bool:
    return "*" in name or name == "_all"


def _allow_patterns(common: Common, requires_name: bool | None) -> Request:
    # Transient: should the race die in between, the setting does not survive a restart of the cluster.
    body = json_body({"transient": {"action.destructive_requires_name": requires_name}})
    bare = replace(common, query={})
    return replace(bare.request("PUT", "/_cluster/settings", body=body), weight=0)


OPERATION = OperationType(name="delete-index", compile=_compile, admin=True)

"""`refresh`: makes everything indexed so far visible to searches."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import join_names, path_of, read_common, read_retry


def _compile(params: Reader, context: Context) -> Compiled:
    request = read_common(params).request("POST", path_of(join_names(params.names("index")), "_refresh"))
    return Compiled(Calls((request,), read_retry(params)))


OPERATION = OperationType(name="refresh", compile=_compile, admin=True)

"""`index-stats`: reads index statistics; with a `condition`, fails while a value is not the expected one."""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.condition import read_condition
from pacenote.operations.request import join_names, path_of, read_common, read_retry


def _compile(params: Reader, context: Context) -> Compiled:
    path = path_of(join_names(params.names("index")), "_stats")
    request = replace(read_common(params).request("GET", path), check=read_condition(params))
    return Compiled(Calls((request,), read_retry(params)))


OPERATION = OperationType(name="index-stats", compile=_compile, serverless=Serverless.INTERNAL)

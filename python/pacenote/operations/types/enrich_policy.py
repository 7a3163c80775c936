"""`enrich-policy`: creates enrich policies and executes them, which creates their indices.

With `delete` (the default), policies of the same names are deleted first. All indices are refreshed before
the policies are executed, because a policy reads only documents that are visible to searches.
"""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.named_resources import compile_requests, if_exists
from pacenote.operations.request import build_path, json_body, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    common = read_common(params)
    policies = params.mapping("policies")
    if not policies:
        params.problem("policies", "is missing; it must be an object that maps names to bodies")
    paths = {name: build_path("_enrich", "policy", name) for name in policies}
    requests = []
    if params.flag("delete", True):
        requests += [if_exists(common.request("DELETE", path)) for path in paths.values()]
    requests += [common.request("PUT", paths[name], body=json_body(body)) for name, body in policies.items()]
    requests.append(common.request("POST", "/_all/_refresh"))
    # Only the execution of a policy counts as work, not the requests before it.
    before = (replace(request, weight=0) for request in requests)
    wait = {"wait_for_completion": True}
    execute = (common.request("PUT", f"{path}/_execute", query=wait) for path in paths.values())
    return compile_requests(params, (*before, *execute))


OPERATION = OperationType(
    name="enrich-policy", needs_modules=("x-pack-enrich",), compile=_compile, admin=True
)

"""`enrich-policy`: creates policies of enrichment and executes them, so that their indices are there.

With `delete` (the default) policies of the same names are deleted first. Everything is refreshed before they
are executed, since a policy sees only what searches see.
"""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.named_resources import compile_requests, if_exists
from pacenote.operations.request import build_path, json_body, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    common = read_common(params)
    policies = params.mapping("policies")
    if not policies:
        params.problem("policies", "is missing, must be an object of bodies by name")
    paths = {name: build_path("_enrich", "policy", name) for name in policies}
    requests = []
    if params.flag("delete", True):
        requests += [if_exists(common.request("DELETE", path)) for path in paths.values()]
    requests += [common.request("PUT", paths[name], body=json_body(body)) for name, body in policies.items()]
    requests.append(common.request("POST", "/_all/_refresh"))
    # One policy is one piece of work, done when it is executed.
    before = (replace(request, weight=0) for request in requests)
    wait = {"wait_for_completion": True}
    execute = (common.request("PUT", f"{path}/_execute", query=wait) for path in paths.values())
    return compile_requests(params, (*before, *execute))


OPERATION = OperationType(name="enrich-policy", compile=_compile, admin=True)

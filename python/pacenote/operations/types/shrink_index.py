"""`shrink-index`: shrinks an index, or all indices that match a pattern, to fewer shards.

Each index is first moved to a single node: `shrink-node`, otherwise each data node in turn. The operation
waits for relocations before and after it shrinks an index.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from typing import Any

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import PythonRunner
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import (
    CommonParams,
    build_path,
    check_json,
    common_params,
    json_body,
    read_common,
)
from pacenote.operations.runner import (
    BuiltinResult,
    DriverClient,
    DriverResponse,
    OperationFailed,
    expected_form,
    poll,
)

SETTLE_S = 3.0
"""Seconds to wait before checking for relocations, because the engine does not start them immediately."""

POLL_S = 0.5
"""Seconds between two checks for relocations."""

_NODE = "index.routing.allocation.require._name"
_WRITES = "index.blocks.write"


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    read_common(params)
    params.required_text("source-index")
    params.required_text("target-index")
    params.required("target-body")
    params.child("target-body").mapping("settings")
    check_json(params, "target-body")
    params.text("shrink-node")
    return CompiledOperation(PythonRunner())


async def _run(
    client: DriverClient, params: Mapping[str, Any], client_state: dict[str, Any]
) -> BuiltinResult:
    common = common_params(params)
    response = await client.send(common.request("GET", build_path(params["source-index"])))
    sources = sorted(response.json_object())
    if not sources:
        raise OperationFailed(f"no index matches {params['source-index']}")
    nodes = [params["shrink-node"]] if params.get("shrink-node") else await _data_nodes(client, common)
    prefix = _common_prefix(sources)
    body = copy.deepcopy(dict(params["target-body"]))
    # These settings of the source must not be copied to the target.
    body["settings"] = {**(body.get("settings") or {}), _NODE: None, _WRITES: None}
    for number, source in enumerate(sources):
        await _move(client, common, source, nodes[number % len(nodes)])
        target = params["target-index"] + source.removeprefix(prefix)
        path = build_path(source, "_shrink", target)
        shrunk = await client.send(common.request("PUT", path, body=json_body(body)))
        _require_acknowledged(shrunk.json_object(), target)
        await _wait_for_relocations(client, common, target)
    return BuiltinResult(weight=len(sources))


def _common_prefix(names: list[str]) -> str:
    """Returns the common prefix of sorted names."""
    first, last = names[0], names[-1]
    length = next((at for at, char in enumerate(first) if last[at : at + 1] != char), len(first))
    return first[:length]


def _require_acknowledged(reply: Mapping[str, Any], target: str) -> None:
    """Raises `OperationFailed` unless all nodes have added the index and its shards are ready."""
    for key in ("acknowledged", "shards_acknowledged"):
        if reply.get(key) is False:
            raise OperationFailed(f"{target} was not created within the engine's timeout: {key} is false")


async def _data_nodes(client: DriverClient, common: CommonParams) -> list[str]:
    query = {"filter_path": "nodes.*.name,nodes.*.roles"}
    response = (await client.send(common.request("GET", "/_nodes", query=query))).json_object()
    with expected_form("the list of nodes"):
        nodes_by_id = response.get("nodes", {}).values()
        nodes = sorted(node["name"] for node in nodes_by_id if "data" in node.get("roles", ()))
    if not nodes:
        raise OperationFailed("there is no data node to shrink on; set shrink-node")
    return nodes


async def _move(client: DriverClient, common: CommonParams, index: str, node: str) -> None:
    body = json_body({"settings": {_NODE: node, _WRITES: "true"}})
    query = {"preserve_existing": True}
    await client.send(common.request("PUT", build_path(index, "_settings"), query=query, body=body))
    await _wait_for_relocations(client, common, index)


async def _wait_for_relocations(client: DriverClient, common: CommonParams, index: str) -> None:
    """Waits until no shard of the index is relocating."""
    await asyncio.sleep(SETTLE_S)
    query = {"wait_for_no_relocating_shards": True}
    health = common.request("GET", build_path("_cluster", "health", index), query=query)
    while _relocating_shards(await poll(client, health, POLL_S)):
        await asyncio.sleep(POLL_S)


def _relocating_shards(health: DriverResponse) -> Any:
    """Returns the number of relocating shards."""
    with expected_form("the health of the index"):
        return health.json_object()["relocating_shards"]


OPERATION = OperationType(
    name="shrink-index",
    compile=_compile,
    admin=True,
    serverless=ServerlessStatus.BLOCKED,
    run=_run,
    retryable=True,
)

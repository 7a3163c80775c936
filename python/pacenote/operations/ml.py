"""Requests of operations on machine learning jobs and datafeeds (Elasticsearch's `_ml`)."""

from __future__ import annotations

from collections.abc import Mapping

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import Request
from pacenote.operations.base import CompiledOperation
from pacenote.operations.named_resources import compile_requests, if_exists
from pacenote.operations.request import build_path, read_body, read_common, read_options


def create(params: FieldReader, collection: str, key: str) -> CompiledOperation:
    """Compiles the creation of the resource named by the parameter `key`, with the operation's body."""
    return compile_requests(
        params, [read_common(params).request("PUT", _path(params, collection, key), body=read_body(params))]
    )


def delete(params: FieldReader, collection: str, key: str) -> CompiledOperation:
    """Compiles the deletion of the resource named by the parameter `key`; a missing one is not a failure."""
    options = {"force": params.flag("force", False)}
    return compile_requests(
        params, [if_exists(_request(params, "DELETE", _path(params, collection, key), options))]
    )


def perform(params: FieldReader, path: str, *options: str) -> CompiledOperation:
    """Compiles an action such as `_open` or `_stop`; `options` are parameters that the request includes."""
    return compile_requests(params, [_request(params, "POST", path, read_options(params, *options))])


def action_path(params: FieldReader, collection: str, key: str, action: str) -> str:
    """Returns the path of an action on the resource named by the parameter `key`."""
    return _path(params, collection, key) + f"/{action}"


def _request(params: FieldReader, method: str, path: str, query: Mapping[str, object]) -> Request:
    return read_common(params).request(method, path, query=query)


def _path(params: FieldReader, collection: str, key: str) -> str:
    return build_path("_ml", collection, params.required_text(key))

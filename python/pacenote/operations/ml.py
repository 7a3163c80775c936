"""What operations on machine learning jobs and datafeeds have in common: Elasticsearch's `_ml` requests."""

from __future__ import annotations

from collections.abc import Mapping

from pacenote.model.field_reader import Reader
from pacenote.model.work import Request
from pacenote.operations.base import Compiled
from pacenote.operations.named_resources import compiled, if_there
from pacenote.operations.request import path_of, read_body, read_common, read_options


def create(params: Reader, collection: str, key: str) -> Compiled:
    """Puts the thing that the parameter `key` names, with the body of the operation."""
    return compiled(
        params, [read_common(params).request("PUT", _path(params, collection, key), body=read_body(params))]
    )


def delete(params: Reader, collection: str, key: str) -> Compiled:
    """Deletes it; one that is not there is no failure."""
    options = {"force": params.flag("force", False)}
    return compiled(params, [if_there(_request(params, "DELETE", _path(params, collection, key), options))])


def act(params: Reader, path: str, *options: str) -> Compiled:
    """Does something with it (`_open`, `_stop`…), with these parameters as options."""
    return compiled(params, [_request(params, "POST", path, read_options(params, *options))])


def path_to(params: Reader, collection: str, key: str, action: str) -> str:
    """The path of an action with the thing that the parameter `key` names."""
    return _path(params, collection, key) + f"/{action}"


def _request(params: Reader, method: str, path: str, query: Mapping[str, object]) -> Request:
    return read_common(params).request(method, path, query=query)


def _path(params: Reader, collection: str, key: str) -> str:
    return path_of("_ml", collection, params.required_text(key))

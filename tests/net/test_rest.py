"""Requests, responses and errors of the REST client."""

from __future__ import annotations

import pytest

from pacenote.errors import EngineError
from pacenote.net.hosts import HttpHost
from pacenote.net.http_pool import ClientConfig
from pacenote.net.rest import RestClient
from pacenote.net.url import basic_auth_header
from support.http_server import ScriptedServer

ROOT = {
    "cluster_name": "c",
    "version": {"distribution": "opensearch", "number": "3.3.0", "build_hash": "abc", "build_type": "tar"},
}


def client(server: ScriptedServer, config: ClientConfig = ClientConfig(), path: str = "") -> RestClient:
    return RestClient([HttpHost("http", "127.0.0.1", server.port, path)], 2.0, config)


def test_path_parameters_and_body_are_encoded(server: ScriptedServer) -> None:
    server.put("/pre/_x", {"a": 1})
    server.put("/pre/_bulk", b"plain text")
    rest = client(server, path="/pre")
    assert rest.get("/_x", {"pretty": True, "n": 2}) == {"a": 1}
    assert rest.request("POST", "_bulk", "{}\n") == "plain text"
    rest.request("PUT", "/_x", {"b": None})
    assert server.requests[0].target == "/pre/_x?pretty=true&n=2"
    assert server.requests[1].headers["content-type"] == "application/x-ndjson"
    assert server.requests[2].body == b'{"b": null}'


def test_an_http_error_has_the_path_status_and_reason(server: ScriptedServer) -> None:
    server.put("/i", {"error": {"type": "t", "reason": "no such index [i]"}, "status": 404}, 404)
    with pytest.raises(EngineError, match=r"GET /i failed with status 404: no such index \[i\]"):
        client(server).get("/i")
    assert client(server).exchange("GET", "/i").status == 404


def test_rejected_credentials_are_not_shown(server: ScriptedServer) -> None:
    config = ClientConfig((("authorization", basic_auth_header("bob", "s3cret")),))
    server.put("/", b"Unauthorized", 401)
    with pytest.raises(EngineError, match="status 401: Unauthorized") as caught:
        client(server, config).get("/")
    assert "credentials of --client-options or --target-hosts are wrong" in caught.value.hint
    assert "s3cret" not in f"{caught.value}{caught.value.hint}{config!r}"
    assert server.requests[0].headers["authorization"] == "Basic Ym9iOnMzY3JldA=="


def test_the_next_host_is_used_when_one_is_down(server: ScriptedServer) -> None:
    server.put("/", ROOT)
    rest = RestClient([HttpHost("http", "127.0.0.1", 1), HttpHost("http", "127.0.0.1", server.port)])
    assert rest.get("/") == ROOT

"""Control traffic: what comes back, and what is said when nothing does."""

from __future__ import annotations

import socket

import pytest

from pacenote.cluster.cluster import Cluster, existing_cluster
from pacenote.errors import EngineError
from pacenote.net.hosts import Host, parse_hosts
from pacenote.net.http_pool import Access, Proxy, is_loopback, proxy_for
from pacenote.net.rest import RestClient
from support.http_server import Server

ROOT = {
    "cluster_name": "c",
    "version": {"distribution": "opensearch", "number": "3.3.0", "build_hash": "abc", "build_type": "tar"},
}
NODES = {
    "nodes": {
        "id1": {
            "name": "n1",
            "host": "127.0.0.1",
            "os": {"name": "Linux", "pretty_name": "Debian", "allocated_processors": 2},
            "jvm": {"version": "25", "vm_vendor": "Temurin", "mem": {"heap_max_in_bytes": 1024}},
            "plugins": [{"name": "p"}],
            "modules": [{"name": "m2"}, {"name": "m1"}],
        }
    }
}


def client(server: Server, access: Access = Access(), path: str = "") -> RestClient:
    return RestClient([Host("http", "127.0.0.1", server.port, path)], 2.0, access)


def test_json_params_bodies_and_prefix(server: Server) -> None:
    server.put("/pre/_x", {"a": 1})
    server.put("/pre/_bulk", b"plain text")
    rest = client(server, path="/pre")
    assert rest.get("/_x", {"pretty": True, "n": 2}) == {"a": 1}
    assert rest.request("POST", "_bulk", "{}\n") == "plain text"
    rest.request("PUT", "/_x", {"b": None})
    assert server.seen[0][1] == "/pre/_x?pretty=true&n=2"
    assert server.seen[1][2]["content-type"] == "application/x-ndjson"
    assert server.seen[2][3] == b'{"b": null}'


def test_http_error_names_path_status_and_reason(server: Server) -> None:
    server.put("/i", {"error": {"type": "t", "reason": "no such index [i]"}, "status": 404}, 404)
    with pytest.raises(EngineError, match=r"GET /i failed with status 404: no such index \[i\]"):
        client(server).get("/i")
    assert client(server).exchange("GET", "/i").status == 404


def test_refused_credentials_are_not_shown(server: Server) -> None:
    server.put("/", b"Unauthorized", 401)
    with pytest.raises(EngineError, match="status 401: Unauthorized") as caught:
        client(server, Access.basic("bob", "s3cret")).get("/")
    assert "credentials of --client-options or --target-hosts are wrong" in caught.value.hint
    assert "s3cret" not in f"{caught.value}{caught.value.hint}{Access.basic('bob', 's3cret')!r}"
    assert server.seen[0][2]["authorization"] == "Basic Ym9iOnMzY3JldA=="


def test_the_next_host_is_asked_when_one_is_down(server: Server) -> None:
    server.put("/", ROOT)
    rest = RestClient([Host("http", "127.0.0.1", 1), Host("http", "127.0.0.1", server.port)])
    assert rest.get("/") == ROOT


def test_existing_cluster_is_described(server: Server) -> None:
    server.put("/", ROOT)
    server.put("/_nodes/os,jvm,plugins", NODES)
    cluster: Cluster
    with existing_cluster(f"127.0.0.1:{server.port}") as cluster:
        info = cluster.info()
        assert (info.distribution, info.version, info.flavor, info.build_hash) == (
            "opensearch",
            "3.3.0",
            "tar",
            "abc",
        )
        node = info.nodes[0]
        assert (node.name, node.os, node.cpus, node.heap_max_bytes) == ("n1", "Debian", 2, 1024)
        assert (node.plugins, node.modules) == (("p",), ("m1", "m2"))
        assert cluster.alive() is None


def test_hidden_nodes_are_no_error(server: Server) -> None:
    server.put("/", {"cluster_name": "s", "version": {"number": "9.2.0", "build_flavor": "serverless"}})
    server.put("/_nodes/os,jvm,plugins", {"error": "not here"}, 410)
    info = existing_cluster(server.url).info()
    assert (info.distribution, info.flavor, info.nodes) == ("elasticsearch", "serverless", ())


def test_something_else_is_no_cluster(server: Server) -> None:
    server.put("/", b"<html>")
    with pytest.raises(EngineError, match=f"127.0.0.1:{server.port} is neither"):
        existing_cluster(server.url)


def test_refused_names_the_hosts_and_what_to_check() -> None:
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:1: connection refused; \[::1\]:1: ") as caught:
        existing_cluster("127.0.0.1:1,[::1]:1")
    assert caught.value.hint == "check that it runs, and --target-hosts"


def test_silence_ends_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises(EngineError, match=f"127.0.0.1:{port}: no answer in time"):
            existing_cluster(f"127.0.0.1:{port}", timeout=0.2)


def test_tls_against_a_plain_port_says_so(server: Server) -> None:
    with pytest.raises(EngineError, match="TLS"):
        existing_cluster(f"https://127.0.0.1:{server.port}")


def test_loopback_never_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    assert proxy_for("http", "engine.example") == Proxy("http", "proxy.example", 3128)
    assert [proxy_for("http", host.host) for host in parse_hosts("127.0.0.1,[::1],localhost")[0]] == [
        None
    ] * 3
    assert is_loopback("127.8.8.8")
    assert not is_loopback("10.0.0.1")

"""Requests, responses and errors of the REST client."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, suppress

import pytest

from pacenote.errors import EngineError
from pacenote.net.hosts import HttpHost, parse_hosts
from pacenote.net.http_pool import ClientConfig
from pacenote.net.reply import FailedStatus
from pacenote.net.rest import RestClient
from pacenote.net.url import basic_auth_header
from support.http_server import HttpResponse, ScriptedServer, http_server, json_response
from support.secure import engine

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


def test_a_long_reason_is_cut_off_before_it_is_searched_for_secrets(server: ScriptedServer) -> None:
    server.put("/", {"error": {"reason": "pw=x " * (1 << 20)}}, 500)
    began_s = time.thread_time()
    with pytest.raises(EngineError, match=r"GET / failed with status 500: (pw=x )+pw=x…$"):
        client(server).get("/")
    assert time.thread_time() - began_s < 2.0


def test_a_secret_that_is_cut_off_in_a_long_reason_is_not_shown(server: ScriptedServer) -> None:
    config = ClientConfig((("authorization", basic_auth_header("bob", "s3cret-and-long")),))
    for length in range((16 << 10) - 30, 16 << 10):
        server.put(
            f"/{length}", {"error": {"reason": "." + " " * length + "Ym9iOnMzY3JldC1hbmQtbG9uZw=="}}, 500
        )
        with pytest.raises(EngineError) as caught:
            client(server, config).get(f"/{length}")
        assert "Ym9iOn" not in caught.value.message


def test_rejected_credentials_are_not_shown(server: ScriptedServer) -> None:
    config = ClientConfig((("authorization", basic_auth_header("bob", "s3cret")),))
    server.put("/", b"Unauthorized", 401)
    with pytest.raises(EngineError, match="status 401: Unauthorized") as caught:
        client(server, config).get("/")
    assert "credentials of --client-options or --target-hosts are wrong" in caught.value.hint
    assert "s3cret" not in f"{caught.value}{caught.value.hint}{config!r}"
    assert server.requests[0].headers["authorization"] == "Basic Ym9iOnMzY3JldA=="


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    config = ClientConfig((("authorization", basic_auth_header("bob", "s3cret")),))
    with http_server(lambda _: json_response({})) as other:
        redirect = HttpResponse(status, b"", (("location", f"http://bob:s3cret@{other.address}/"),))
        with http_server(lambda _: redirect) as server:
            rest = RestClient([HttpHost("http", "127.0.0.1", server.port)], 2.0, config)
            with pytest.raises(EngineError, match=f"failed with status {status}"):
                rest.get("/")
            assert len(server.requests) == 1
        assert other.requests == []


def test_the_next_host_is_used_when_one_is_down(server: ScriptedServer) -> None:
    server.put("/", ROOT)
    rest = RestClient([HttpHost("http", "127.0.0.1", 1), HttpHost("http", "127.0.0.1", server.port)])
    assert rest.get("/") == ROOT
    # The host that is down is set aside; the next request does not try it.
    assert [rest.get("/") for _ in range(2)] == [ROOT, ROOT]
    assert server.count("/") == 3


def test_requests_are_sent_to_the_hosts_in_turn(server: ScriptedServer) -> None:
    with ScriptedServer().running() as other:
        for scripted in (server, other):
            scripted.put("/", ROOT)
        rest = RestClient([HttpHost("http", "127.0.0.1", each.port) for each in (server, other)])
        for _ in range(4):
            rest.get("/")
        assert (server.count("/"), other.count("/")) == (2, 2)


def test_http_to_a_port_that_speaks_tls_suggests_https() -> None:
    with (
        engine() as secure,
        pytest.raises(EngineError, match="the port speaks TLS") as caught,
    ):
        RestClient([HttpHost("http", "127.0.0.1", secure.port)], 30.0).get("/")
    assert "https://" in caught.value.hint


def test_a_server_that_explains_that_it_expects_https_is_understood(server: ScriptedServer) -> None:
    server.put("/", b"<h1>400</h1> The plain HTTP request was sent to HTTPS port", 400)
    with pytest.raises(EngineError, match="status 400") as caught:
        client(server).get("/")
    assert "https://" in caught.value.hint


def test_a_server_that_speaks_neither_http_nor_tls_is_described() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(4096)
                        connection.sendall(b"SSH-2.0-x\r\n")

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(EngineError, match="the response is not HTTP"):
            RestClient([HttpHost("http", *listener.getsockname())], 2.0).get("/")
        listener.shutdown(socket.SHUT_RDWR)


def test_a_host_that_accepts_no_connection_is_given_up_after_the_shorter_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as waiting:
        address = full.getsockname()
        # Connections that are never accepted fill the backlog; later attempts get no response.
        for _ in range(2):
            filler = waiting.enter_context(socket.socket())
            filler.setblocking(False)
            with suppress(BlockingIOError):
                filler.connect(address)
        silent = HttpHost("http", *address)
        rest = RestClient([silent], 60.0, ClientConfig(connect_timeout_s=0.05))
        with pytest.raises(EngineError, match="timed out"):
            rest.get("/")


@pytest.mark.parametrize(
    ("prefix", "path", "status", "hint"),
    [
        ("/wrong", "/", 404, "check the path /wrong in --target-hosts: the cluster has no / there"),
        (
            "/wrong",
            "/_nodes",
            400,
            "check the path /wrong in --target-hosts: the cluster has no /_nodes there",
        ),
        (
            "",
            "/",
            404,
            "check --target-hosts: a cluster answers at its root; behind a proxy, it may need a path",
        ),
        ("", "/index", 404, "see the log of the engine"),
        ("/right", "/index", 500, "see the log of the engine"),
    ],
)
def test_a_path_that_the_server_lacks_leads_to_that_of_the_hosts(
    prefix: str, path: str, status: int, hint: str
) -> None:
    with http_server(lambda _: HttpResponse(status, b"{}")) as server:
        rest = RestClient(parse_hosts(f"{server.address}{prefix}").hosts)
        with pytest.raises(FailedStatus) as caught:
            rest.get(path)
    assert caught.value.hint.startswith(hint)


def test_an_error_of_the_engine_does_not_accuse_the_path_of_the_hosts() -> None:
    error = {"error": {"type": "index_not_found_exception", "reason": "no such index [logs]"}, "status": 404}
    with http_server(lambda _: json_response(error, 404)) as server:
        rest = RestClient(parse_hosts(f"{server.address}/es").hosts)
        with pytest.raises(FailedStatus) as caught:
            rest.get("/logs/_stats")
    assert caught.value.hint == "see the log of the engine"


@pytest.mark.parametrize("path", ["/index/_doc/..", "/../_all", "/index/./x?y=..", "/index/%2e%2E", "/.."])
def test_a_name_that_would_be_removed_from_a_path_is_not_requested(path: str) -> None:
    with http_server(lambda _: HttpResponse(200, b"{}")) as server:
        rest = RestClient(parse_hosts(server.address).hosts)
        with pytest.raises(EngineError, match="would be a request for another path"):
            rest.request("DELETE", path)
        assert server.requests == []
        assert rest.get("/a..b/...?up=..") == {}

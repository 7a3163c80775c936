"""The hosts and headers of requests, in races against real servers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from pacenote.cluster.cluster import AssembledEngine
from pacenote.errors import EngineError
from pacenote.model.client_options import AdditionalCluster, ClientOptions
from pacenote.model.race_record import RaceRecord, RecordedClient
from pacenote.model.race_request import RaceRequest
from pacenote.net.url import basic_auth_header
from pacenote.provision.layout import plan_layout
from pacenote.provision.node_facts import NodeFacts
from pacenote.provision.node_registry import NodeEntry, current_process, register
from pacenote.race.run import race
from pacenote.race.targets import parse_clusters
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response
from support.secure import engine

pytestmark = pytest.mark.process

EVERYWHERE = """
class Everywhere:
    multi_cluster = True
    async def __call__(self, multi_es, params):
        for es in multi_es.values():
            await es.perform_request(method="GET", path="/hit")
    def __repr__(self):
        return "everywhere"

def register(registry):
    registry.register_runner("everywhere", Everywhere(), async_runner=True)
"""


ME = basic_auth_header("me", "hunter2hunter2")


def _speaks_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        return True
    return False


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


class Listener:
    """Records warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def ignore(self, *_: object) -> None:
        """Ignores all other calls."""

    preparing = started = progress = task_finished = info = finished = ignore


def raced(
    tmp_path: Path, client: ClientOptions, *hosts: str, **more: Any
) -> tuple[RaceRecord, list[str], str]:
    """Runs a race with one task of four clients; returns the record, the warnings and all files' contents."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    kind = "everywhere" if "additional_clusters" in more else "raw-request"
    if kind == "everywhere":
        (folder / "track.py").write_text(EVERYWHERE)
    task = {"operation": {"operation-type": kind, "path": "/hit"}, "clients": 4, "iterations": 4}
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    listener = Listener()
    request = RaceRequest(
        race_id="r",
        home=tmp_path / "home",
        track_path=folder,
        pipeline="benchmark-only",
        target_hosts=hosts,
        client=client,
        **more,
    )
    record = race(request, listener)
    contents = [path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    return record, listener.warnings, b"\n".join(contents).decode("latin-1")


def test_credentials_and_headers_are_sent_with_every_request_and_not_stored(tmp_path: Path) -> None:
    client = ClientOptions(timeout_s=7.0, authorization=ME, headers=(("x-key", "sesame-sesame"),))
    with engine(None, authorization=ME) as first, engine(None, authorization=ME) as second:
        record, warnings, contents = raced(tmp_path, client, first.address, second.address)
        assert (record.tasks[0].error_rate, warnings) == (0.0, [])
        # The clients are distributed across the hosts.
        assert (first.count("GET /hit"), second.count("GET /hit")) == (8, 8)
        assert {request.headers["x-key"] for request in first.requests + second.requests} == {"sesame-sesame"}
        hits = [request for request in first.requests + second.requests if request.line == "GET /hit"]
        assert {request.headers["accept-encoding"] for request in hits} == {"gzip"}
        hosts = (f"http://{first.address}", f"http://{second.address}")
    expected = RecordedClient(
        hosts, authentication="basic", accept_encoding="gzip", timeout_s=7.0, headers=("x-key",)
    )
    assert record.client == expected
    assert '"x-key","<hidden>"' in contents
    assert ME not in contents
    assert "sesame-sesame" not in contents


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders to other users")
def test_a_race_that_starts_no_engine_may_be_in_the_home_of_another_user(tmp_path: Path) -> None:
    """As in a container whose folders are those of the user who started it."""
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    with engine(None) as running:
        record, warnings, _ = raced(tmp_path, ClientOptions(), running.address)
    assert (record.tasks[0].error_rate, warnings) == (0.0, [])


def test_replies_without_compression_can_be_requested(tmp_path: Path) -> None:
    with engine(None) as running:
        client = ClientOptions(headers=(("accept-encoding", "identity"),))
        record, _, _ = raced(tmp_path, client, running.address)
    hits = [request for request in running.requests if request.line == "GET /hit"]
    assert {request.headers["accept-encoding"] for request in hits} == {"identity"}
    assert (record.client.accept_encoding, record.client.headers) == ("identity", ())


@pytest.mark.skipif(not _speaks_ipv6(), reason="this machine has no IPv6 loopback")
def test_hosts_may_have_ipv6_addresses(tmp_path: Path) -> None:
    with engine(None, host="::1") as running:
        record, _, _ = raced(tmp_path, ClientOptions(), running.address)
        assert (record.tasks[0].error_rate, running.count("GET /hit")) == (0.0, 16)
        sent = {request.headers["host"] for request in running.requests if request.line == "GET /hit"}
        assert sent == {running.address}
    assert record.client.hosts == (f"http://[::1]:{running.port}",)


@pytest.mark.skipif(not _speaks_ipv6(), reason="this machine has no IPv6 loopback")
def test_credentials_prefixes_and_ipv6_addresses_can_be_combined(tmp_path: Path) -> None:
    def respond(request: HttpRequest) -> HttpResponse:
        if request.headers.get("authorization") != ME or not request.target.startswith("/es/"):
            return json_response({}, 403)
        return json_response(engine_document(request.target.removeprefix("/es")))

    with http_server(respond, host="::1") as first, http_server(respond) as second:
        hosts = [f"http://me:hunter2hunter2@{each.address}/es/" for each in (first, second)]
        record, warnings, contents = raced(tmp_path, ClientOptions(), *hosts)
        assert (record.tasks[0].error_rate, warnings) == (0.0, [])
        assert (first.count("GET /es/hit"), second.count("GET /es/hit")) == (8, 8)
        assert record.client.hosts == (f"http://{first.address}/es", f"http://{second.address}/es")
        assert "hunter2hunter2" not in contents


def test_runners_reach_every_cluster_with_its_own_credentials(tmp_path: Path) -> None:
    with engine(None) as main, engine(None, authorization=ME) as far:
        own = AdditionalCluster("far", (far.address,), ClientOptions(authorization=ME))
        record, _, contents = raced(tmp_path, ClientOptions(), main.address, additional_clusters=(own,))
        assert (record.tasks[0].error_rate, main.count("GET /hit"), far.count("GET /hit")) == (0.0, 16, 16)
        assert far.count("GET /") == 1
        assert not any("authorization" in request.headers for request in main.requests)
    assert '"others":[{"name":"far","target":{"hosts":[{"scheme":"http","host":"127.0.0.1"' in contents
    assert ME not in contents


def test_an_additional_cluster_that_rejects_the_credentials_prevents_the_race(tmp_path: Path) -> None:
    with engine(None) as main, engine(None, authorization=ME) as far:
        others = (AdditionalCluster("far", (far.address,)),)
        with pytest.raises(EngineError, match="status 401"):
            raced(tmp_path, ClientOptions(), main.address, additional_clusters=others)
        assert main.count("GET /hit") == 0
    assert not (tmp_path / "home" / "races").exists()


def test_an_untrusted_certificate_prevents_the_race(tmp_path: Path) -> None:
    with engine() as secure, pytest.raises(EngineError, match="its TLS certificate is not trusted") as caught:
        raced(tmp_path, ClientOptions(), f"https://{secure.address}")
    assert "ca_certs:FILE" in caught.value.hint
    assert not (tmp_path / "home" / "races").exists()


def test_an_engine_that_pacenote_started_is_named_for_what_it_is(tmp_path: Path) -> None:
    layout, process = plan_layout(tmp_path), current_process()
    facts = NodeFacts(
        name="n",
        cluster_name="c",
        distribution="elasticsearch",
        version="9.5.3",
        title="the core",
        absent_modules=("lang-painless",),
        address="127.0.0.1:39200",
    )
    register(layout, NodeEntry("n", layout.nodes / "n", process, process, detached=True, facts=facts))
    request = RaceRequest(race_id="r", home=tmp_path, pipeline="benchmark-only")

    def known(*hosts: str) -> AssembledEngine | None:
        return parse_clusters(dataclasses.replace(request, target_hosts=hosts))[0].assembled

    assert known("localhost:39200") == AssembledEngine("the core", ("lang-painless",))
    assert known("127.0.0.1:39201") is None

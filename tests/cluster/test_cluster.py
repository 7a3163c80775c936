"""Information about existing clusters, and the errors if they cannot be used."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from pacenote.cluster.cluster import AssembledEngine, Cluster, EmbeddedCluster, existing_cluster
from pacenote.errors import EngineError, UsageError
from pacenote.model.client_options import ClientOptions, TlsOptions
from pacenote.net.url import basic_auth_header
from pacenote.provision.distributions.opensearch import OpenSearch
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.java import JavaRuntime
from pacenote.provision.layout import create_layout
from pacenote.provision.node import Node
from pacenote.provision.node_spec import NodeSpec
from support.http_server import ScriptedServer
from support.secure import CA, engine

TRUSTED = TlsOptions(ca_file=str(CA))
ME = basic_auth_header("me", "s3cret")
JAVA = JavaRuntime(Path("/java"), "21", "", frozenset(), "test")

ROOT = {
    "cluster_name": "c",
    "version": {"distribution": "opensearch", "number": "3.3.0", "build_hash": "abc", "build_type": "tar"},
}
ARGUMENTS = ["-Dopensearch.path.home=/engine", "-javaagent:agent/own.jar", "-javaagent:/opt/apm.jar=a"]
NODES = {
    "nodes": {
        "id1": {
            "name": "n1",
            "host": "127.0.0.1",
            "os": {"name": "Linux", "pretty_name": "Debian", "allocated_processors": 2},
            "jvm": {
                "version": "25",
                "vm_vendor": "Temurin",
                "mem": {"heap_max_in_bytes": 1024},
                "input_arguments": ARGUMENTS,
            },
            "plugins": [{"name": "p"}],
            "modules": [{"name": "m2"}, {"name": "m1"}],
        }
    }
}


def fleet(tmp_path: Path, *specs: NodeSpec) -> LocalFleet:
    """Returns a fleet whose nodes are not started."""
    layout = create_layout(tmp_path, root=False)
    fleet = LocalFleet(AssembledProgram(OpenSearch(), tmp_path, JAVA), layout, tmp_path)
    fleet.nodes = tuple(Node(spec, layout, tmp_path / "engine.log") for spec in specs)
    return fleet


def test_the_startup_time_is_that_of_the_whole_cluster(tmp_path: Path) -> None:
    started = fleet(tmp_path, NodeSpec("opensearch", "3.3.0"), NodeSpec("opensearch", "3.3.0"))
    first, second = started.nodes
    first.started_at, first.start_duration_s = 10.0, 2.5
    second.started_at, second.start_duration_s = 10.5, 2.25
    assert EmbeddedCluster(started).startup_s == 2.75
    assert existing_cluster("127.0.0.1:9200").startup_s is None


def test_what_an_assembled_engine_lacks_is_known(tmp_path: Path) -> None:
    spec = NodeSpec("elasticsearch", "9.5.3", title="core", absent_modules=("reindex",))
    assert EmbeddedCluster(fleet(tmp_path, spec)).assembled == AssembledEngine("core", ("reindex",))
    assert existing_cluster("127.0.0.1:9200").assembled is None


def test_an_existing_cluster_is_described(server: ScriptedServer) -> None:
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
        assert info.profilers == ("agent apm.jar",)


def test_the_size_of_a_description_is_limited(server: ScriptedServer) -> None:
    name = "n" * 1_000_000
    version = dict.fromkeys(("distribution", "number", "build_hash", "build_type"), name)
    server.put("/", {"cluster_name": name, "version": version})
    jvm = {"input_arguments": [f"-javaagent:/{name}"]}
    node = {"name": name, "plugins": [{"name": name}], "jvm": jvm}
    server.put("/_nodes/os,jvm,plugins", {"nodes": {"a": node}})
    info = existing_cluster(server.url).info()
    (node,) = info.nodes
    assert [len(name) for name in info.profilers] == [300]
    texts = [info.distribution, info.version, info.build_hash, info.flavor, info.cluster_name]
    assert {len(text) for text in [*texts, *node.plugins]} == {300}
    assert len(node.name) == 280


def test_a_cluster_of_too_many_nodes_is_rejected(server: ScriptedServer) -> None:
    server.put("/", ROOT)
    server.put("/_nodes/os,jvm,plugins", {"nodes": {str(number): {} for number in range(10_001)}})
    with pytest.raises(EngineError, match="reports 10,001 nodes, more than 10,000"):
        existing_cluster(server.url).info()


def test_a_cluster_that_hides_its_nodes_is_described(server: ScriptedServer) -> None:
    server.put("/", {"cluster_name": "s", "version": {"number": "9.2.0", "build_flavor": "serverless"}})
    server.put("/_nodes/os,jvm,plugins", {"error": "not here"}, 410)
    info = existing_cluster(server.url).info()
    assert (info.distribution, info.flavor, info.nodes) == ("elasticsearch", "serverless", ())


def test_a_server_that_is_not_a_cluster_is_rejected(server: ScriptedServer) -> None:
    server.put("/", b"<html>")
    with pytest.raises(EngineError, match=f"127.0.0.1:{server.port} is neither"):
        existing_cluster(server.url).info()


def test_unreachable_hosts_are_named() -> None:
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:1: connection refused; \[::1\]:1: ") as caught:
        existing_cluster("127.0.0.1:1,[::1]:1").info()
    assert caught.value.hint == "check that it is running, and check --target-hosts"


def test_a_silent_host_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises(EngineError, match=f"127.0.0.1:{port}: the response timed out"):
            existing_cluster(f"127.0.0.1:{port}", timeout_s=0.2).info()


def test_https_to_a_plain_port_is_reported(server: ScriptedServer) -> None:
    with pytest.raises(EngineError, match="TLS"):
        existing_cluster(f"https://127.0.0.1:{server.port}").info()


def version(hosts: str, authorization: str | None = None) -> str:
    options = ClientOptions(tls=TRUSTED, authorization=authorization)
    with existing_cluster(hosts, options) as cluster:
        return cluster.info().version


def test_wrong_credentials_are_reported_and_never_shown() -> None:
    with engine(authorization=ME) as guarded:
        hosts = f"https://{guarded.address}"
        assert version(hosts, authorization=ME) == "3.3.0"
        assert version(f"https://me:s3cret@{guarded.address}") == "3.3.0"
        with pytest.raises(EngineError, match="status 401") as caught:
            version(hosts)
        assert "PACENOTE_CLIENT_OPTIONS" in caught.value.hint
        with pytest.raises(EngineError, match="status 401: wrong: ApiKey <hidden>") as caught:
            version(hosts, authorization="ApiKey hunter2hunter2")
        assert "wrong, expired or insufficient" in caught.value.hint
    with pytest.raises(UsageError, match="credentials in --target-hosts and in --client-options"):
        version("https://me:s3cret@127.0.0.1", authorization=ME)


def test_disabled_or_ineffective_verification_causes_a_warning() -> None:
    def warnings(hosts: str, tls: TlsOptions) -> tuple[str, ...]:
        return existing_cluster(hosts, ClientOptions(tls=tls)).warnings()

    assert warnings("https://127.0.0.1", TlsOptions(verify=False, verify_host=False)) == (
        "the TLS certificate of 127.0.0.1:443 is not verified (verify_certs:false)",
    )
    assert "ssl_assert_hostname:false" in warnings("https://127.0.0.1", TlsOptions(verify_host=False))[0]
    assert "no host is https" in warnings("127.0.0.1", TRUSTED)[0]
    assert warnings("127.0.0.1", TlsOptions()) == ()

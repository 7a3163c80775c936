"""The configuration that an engine reports, as flat facts."""

from __future__ import annotations

import contextlib
import json
import socket
import time
import tracemalloc
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pacenote.cluster import effective
from pacenote.cluster.effective import MAX_NODES, java_arguments, read_effective
from pacenote.model.node_names import NodeNames
from pacenote.model.snapshot import Snapshot
from pacenote.net.hosts import parse_hosts
from pacenote.net.rest import RestClient
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

NODE = {
    "name": "n", "version": "3.3.0", "roles": ["data"],
    "settings": {"node.name": "n", "s3.client.default.secret_key": "hunter22"},
    "process": {"id": 4711, "mlockall": False},
    "jvm": {"pid": 4711, "start_time_in_millis": 1, "version": "25", "mem": {"heap_max_in_bytes": 7},
            "input_arguments": ["-Xmx7g", "-Djavax.net.ssl.keyStorePassword=hunter22", "-Dpass=hunter22"]},
    "thread_pool": {"write": {"size": 2}},
    "plugins": [{"name": "repository-s3", "version": "3.3.0"}],
}  # fmt: skip
NODES = "/_nodes/settings,os,process,jvm,thread_pool,plugins"
REPLIES: Mapping[str, Any] = {
    "/": {"cluster_name": "c", "version": {"number": "3.3.0", "build_snapshot": False}},
    "/_cluster/settings": {
        "defaults": {"a": "1", "b": "1", "list": ["x", "y"]},
        "persistent": {"b": "2", "c": "2"},
        "transient": {"c": "3"},
    },
    NODES: {"nodes": {"id": NODE}},
    "/_all/_settings": {"logs": {"settings": {"index.codec": "best_compression", "index.uuid": "u"}}},
    "/_cluster/stats": {
        "indices": {
            "count": 3,
            "mappings": {
                "field_types": [{"count": 40}, {"count": 2}],
                "total_deduplicated_mapping_size_in_bytes": 900,
            },
        }
    },
    "/logs/_settings": {"logs": {"settings": {}, "defaults": {"index.refresh_interval": "1s"}}},
}


def read(replies: Mapping[str, Any]) -> Snapshot:
    def respond(request: HttpRequest) -> HttpResponse:
        if request.path not in replies:
            return HttpResponse(403, b'{"error": "not allowed"}')
        return json_response(replies[request.path])

    with http_server(respond) as server:
        return read_effective(RestClient(parse_hosts(server.address).hosts), NodeNames())


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return read(REPLIES)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("engine.version.number", "3.3.0"),
        ("engine.version.build_snapshot", "false"),
        ("setting.a", "1"),
        ("setting.b", "2"),
        ("setting.c", "3"),
        ("setting.list", '["x", "y"]'),
        ("node.n.roles", '["data"]'),
        ("node.n.process.mlockall", "false"),
        ("node.n.jvm.version", "25"),
        ("node.n.jvm.mem.heap_max_in_bytes", "7"),
        ("node.n.jvm.argument.-Xmx", "7g"),
        ("node.n.thread_pool.write.size", "2"),
        ("node.n.plugin.repository-s3", "3.3.0"),
        ("index.logs.codec", "best_compression"),
        ("index_default.refresh_interval", "1s"),
        ("reading.mapping.indices", "3"),
        ("reading.mapping.fields", "42"),
        ("reading.mapping.bytes", "900"),
    ],
)
def test_every_part_of_the_configuration_is_read(snapshot: Snapshot, key: str, value: str) -> None:
    assert snapshot.unread == {}
    assert snapshot.facts[key] == value


def test_what_changes_with_every_start_and_secrets_are_left_out(snapshot: Snapshot) -> None:
    text = str(snapshot)
    assert "hunter22" not in text
    assert "4711" not in text
    assert "uuid" not in text


def test_what_the_engine_does_not_report_is_left_out_with_the_reason() -> None:
    snapshot = read({"/": REPLIES["/"], "/_cluster/settings": [], "/_all/_settings": {}})
    assert set(snapshot.unread) == {"setting.*", "node.*", "reading.mapping.*"}
    assert "status 403: not allowed" in snapshot.unread["node.*"]
    assert "unexpected form" in snapshot.unread["setting.*"]
    assert snapshot.facts["engine.cluster_name"] == "c"


def test_a_configuration_that_is_too_large_to_be_stored_is_left_out_with_the_reason() -> None:
    settings = {"logs": {"settings": {f"index.sort.field{n}": "f" * (64 << 10) for n in range(200)}}}
    snapshot = read({**REPLIES, "/_all/_settings": settings})
    assert snapshot.unread["index.*"] == "the facts have more than 12 million characters"
    assert snapshot.facts["engine.cluster_name"] == "c"
    assert not any(key.startswith("index.") for key in snapshot.facts)


def hostile_node(number: int) -> dict[str, Any]:
    """Returns a node whose name would be repeated for each of its settings."""
    settings = {f"setting{index}": "1" for index in range(500)}
    return {"name": f"{number}{'n' * 300_000}", "settings": settings, "modules": [{"name": "m" * 300_000}]}


def hostile_tree() -> dict[str, Any]:
    """Returns objects within each other whose full names would have megabytes."""
    tree: dict[str, Any] = {"x" * 400: "1", "password": "hunter22"}
    for _ in range(150):
        tree = {"k" * 20_000: tree, "leaf": "1"}
    return tree


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (NODES, {"nodes": {str(number): hostile_node(number) for number in range(MAX_NODES)}}),
        (NODES, {"nodes": {"id": {**NODE, "jvm": hostile_tree(), "thread_pool": hostile_tree()}}}),
        (NODES, {"nodes": {"id": {**NODE, "jvm": {"input_arguments": ["-D" + "x" * 10**6 + "=1"]}}}}),
        ("/_all/_settings", {f"{n}{'i' * 300_000}": hostile_node(n) for n in range(20)}),
        ("/_cluster/settings", {"defaults": {"s" * 10**6: "1"}}),
        ("/", {"version": {"v" * 10**6: "1"}}),
    ],
    ids=["nodes", "depth", "arguments", "indices", "settings", "version"],
)
def test_names_are_cut_before_they_are_repeated(path: str, body: object) -> None:
    reply = json.dumps(body)
    tracemalloc.start()
    try:
        snapshot = read({**REPLIES, path: body})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert snapshot.unread == {}
    assert any("…" in key for key in snapshot.facts)
    assert max(map(len, snapshot.facts)) < 700
    assert "hunter22" not in str(snapshot)
    assert peak < 6 * len(reply) + (40 << 20)


def test_facts_are_not_collected_beyond_the_limit() -> None:
    """Values that are short in the reply, and many."""
    read_keys = list[str]()

    class Settings(dict[str, str]):
        def items(self) -> Any:
            for key in super().items():
                read_keys.append(key[0])
                yield key

    body = {"defaults": Settings({f"{'s' * 290}{index}": "1" for index in range(100_000)})}
    reading = effective._Reading(cast("RestClient", SimpleNamespace(get=lambda _path: body)))
    reading.read("setting.*", "/", effective._settings)
    assert reading.snapshot() == Snapshot({}, {"setting.*": "the facts have more than 12 million characters"})
    assert 30_000 < len(read_keys) < 50_000


def test_a_name_that_is_no_text_is_an_unexpected_form() -> None:
    snapshot = read({**REPLIES, NODES: {"nodes": {"id": {**NODE, "name": ["n"]}}}})
    assert "unexpected form" in snapshot.unread["node.*"]


def test_a_long_value_is_cut_off_before_it_is_searched_for_secrets() -> None:
    settings = {"logs": {"settings": {"index.codec": "pw=x " * (1 << 20), "index.number_of_shards": "1"}}}
    began_s = time.thread_time()
    snapshot = read({**REPLIES, "/_all/_settings": settings})
    assert time.thread_time() - began_s < 2.0
    assert snapshot.facts["index.logs.codec"].startswith("pw=x pw=x ")
    assert snapshot.facts["index.logs.codec"].endswith("…")
    assert len(snapshot.facts["index.logs.codec"]) == 64 << 10
    assert snapshot.facts["index.logs.number_of_shards"] == "1"


def test_values_that_differ_only_after_their_limit_are_equal() -> None:
    def codec(value: str) -> str:
        settings = {"logs": {"settings": {"index.codec": value}}}
        return read({**REPLIES, "/_all/_settings": settings}).facts["index.logs.codec"]

    kept = "x" * ((64 << 10) - 1)
    assert codec(f"{kept}ab") == codec(f"{kept}cd") == f"{kept}…"
    assert codec(f"{kept}a") == f"{kept}a"


def test_an_engine_that_does_not_answer_is_asked_only_for_the_first_part() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        hosts = parse_hosts(f"127.0.0.1:{server.getsockname()[1]}").hosts
        snapshot = read_effective(RestClient(hosts, timeout_s=0.05), NodeNames())
        server.setblocking(False)
        received = b""
        with contextlib.suppress(BlockingIOError):
            while True:
                with server.accept()[0] as connection:
                    received += connection.recv(1000)
    assert b"GET / HTTP" in received
    assert b"_settings" not in received
    assert set(snapshot.unread) == {"engine.*", "setting.*", "node.*", "index.*", "reading.mapping.*"}
    assert len(set(snapshot.unread.values())) == 1


def test_an_index_of_a_data_stream_has_the_name_of_the_stream_and_indices_of_the_engine_are_left_out() -> (
    None
):
    names = (".ds-logs-x-2026.11.22-000001", ".ds-logs-x-2026.11.23-000002", ".ds-old-000001", ".security-7")
    bodies = {name: {"settings": {"index.codec": name}} for name in names}
    # A setting of an older index is not one of the newest.
    bodies[names[0]]["settings"]["index.blocks.write"] = "true"
    facts = read({**REPLIES, "/_all/_settings": bodies}).facts
    assert {key: value for key, value in facts.items() if key.startswith("index.")} == {
        "index.logs-x.codec": ".ds-logs-x-2026.11.23-000002",
        "index.old.codec": ".ds-old-000001",
    }


def test_only_some_nodes_of_a_large_cluster_are_read() -> None:
    path = "/_nodes/settings,os,process,jvm,thread_pool,plugins"
    nodes = {str(number): {"name": f"n{number:03}", "version": "1"} for number in range(MAX_NODES + 5)}
    snapshot = read({**REPLIES, path: {"nodes": nodes}})
    assert sum(key.endswith(".version") and key.startswith("node.") for key in snapshot.facts) == MAX_NODES
    assert f"{MAX_NODES} of {MAX_NODES + 5} nodes" in snapshot.facts["engine.nodes_read"]


def test_options_of_the_jvm_have_names_and_the_last_one_counts() -> None:
    arguments = [
        "-Xms1g",
        "-Xms2g",
        "-Xss1m",
        "-XX:+UseG1GC",
        "-XX:-UseG1GC",
        "-XX:ErrorFile=/x=y",
        "-Da.b=c",
        "-ea",
    ]
    assert java_arguments(arguments) == {
        "-Xms": "2g",
        "-Xss": "1m",
        "-XX:UseG1GC": "false",
        "-XX:ErrorFile": "/x=y",
        "-Da.b": "c",
        "-ea": "set",
    }


def test_a_cluster_without_indices_has_no_fields() -> None:
    facts = read({
        **REPLIES,
        "/_cluster/stats": {"indices": {"count": 0, "mappings": {"field_types": []}}},
    }).facts
    assert (facts["reading.mapping.indices"], facts["reading.mapping.fields"]) == ("0", "0")
    assert "reading.mapping.bytes" not in facts


def test_an_engine_that_does_not_count_fields_has_no_number_of_them() -> None:
    for reply in ({"indices": {"count": 3}}, {}):
        snapshot = read({**REPLIES, "/_cluster/stats": reply})
        assert "reading.mapping.fields" not in snapshot.facts
        assert snapshot.unread == {}
    forbidden = read({path: reply for path, reply in REPLIES.items() if path != "/_cluster/stats"})
    assert list(forbidden.unread) == ["reading.mapping.*"]
    assert forbidden.facts["index.logs.codec"] == "best_compression"

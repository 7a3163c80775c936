"""Nodes of this machine that the race did not start are found, and sampled like those that it started."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from host.test_engine_processes import own_start_s
from pacenote.evidence.telemetry_values import telemetry_cuts
from pacenote.model.node_names import NodeNames
from pacenote.net.hosts import parse_hosts
from pacenote.net.rest import RestClient
from pacenote.race.local_engines import LocalEngines, find_local_engines
from pacenote.race.observed_host import observed_host
from pacenote.store.race_store import RaceStore
from race.test_run_telemetry import GrowingEngine, race_task
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response


def node(name: str, pid: int) -> dict[str, Any]:
    jvm = {"start_time_in_millis": round(own_start_s() * 1e3)}
    return {"name": name, "ip": "127.0.0.1", "process": {"id": pid}, "jvm": jvm}


@contextmanager
def cluster(nodes: object, folders: object) -> Iterator[RestClient]:
    """Runs a cluster with these replies, of which one that is a number is a status."""

    def respond(request: HttpRequest) -> HttpResponse:
        reply = folders if request.path == "/_nodes/stats/fs" else nodes
        return json_response({}, reply) if isinstance(reply, int) else json_response({"nodes": reply})

    with http_server(respond) as server:
        client = RestClient(parse_hosts(server.address).hosts)
        try:
            yield client
        finally:
            client.close()


def test_a_node_of_this_machine_is_sampled(tmp_path: Path) -> None:
    nodes = {"a": node("here", os.getpid()), "b": node("elsewhere", 2**22 + 1)}
    folders = {"a": {"name": "here", "fs": {"data": [{"path": str(tmp_path)}]}}}
    with cluster(nodes, folders) as client:
        local = find_local_engines(client, NodeNames())
    [engine] = local.engines
    assert (engine.name, engine.process.pid, engine.data_paths) == ("here", os.getpid(), (tmp_path,))
    assert local.missing == {"elsewhere": "no process of this machine is it"}
    assert not local.are_all_here
    host = observed_host((), (), local)
    assert host.processes == (("here", os.getpid()), ("driver", os.getpid()))
    assert [(each.node, each.path) for each in host.devices] == [("here", str(tmp_path))]
    document = host.to_document()
    assert (document["nodes"], list(document["missing_nodes"])) == (["here"], ["elsewhere"])


def test_nodes_with_one_name_have_processes_and_folders_of_their_own(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as sleep:
        started = {"jvm": {"start_time_in_millis": round(time.time() * 1e3)}}
        nodes = {"b": node("es", sleep.pid) | started, "a": node("es", os.getpid())}
        paths = {"a": tmp_path / "a", "b": tmp_path / "b"}
        folders = {key: {"name": "es", "fs": {"data": [{"path": str(paths[key])}]}} for key in ("a", "b")}
        try:
            with cluster(nodes, folders) as client:
                local = find_local_engines(client, NodeNames())
        finally:
            sleep.kill()
    places = {engine.name: (engine.process.pid, engine.data_paths) for engine in local.engines}
    assert places == {"es": (os.getpid(), (paths["a"],)), "es #2": (sleep.pid, (paths["b"],))}
    assert local.missing == {}


@pytest.mark.parametrize("nodes", [403, {"a": {"name": "n"}}, "text", {"a": node("n", 1) | {"ip": 7}}])
def test_a_cluster_that_does_not_say_it_has_no_local_nodes(nodes: object) -> None:
    with cluster(nodes, {}) as client:
        local = find_local_engines(client, NodeNames())
    assert (local.engines, len(local.missing)) == ((), 1)


@pytest.mark.parametrize("folders", [403, {"a": {}}])
def test_a_node_that_does_not_say_where_its_data_is_has_no_devices(folders: object) -> None:
    with cluster({"a": node("here", os.getpid())}, folders) as client:
        local = find_local_engines(client, NodeNames())
    assert local.are_all_here
    assert observed_host((), (), local).devices == ()
    assert not LocalEngines().are_all_here


@pytest.mark.process
def test_a_race_samples_the_process_of_an_engine_that_it_did_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = GrowingEngine()

    def respond(request: HttpRequest) -> HttpResponse:
        # The engine runs in this process.
        if request.path.startswith("/_nodes/process"):
            return json_response({"nodes": {"a": node("node-0", os.getpid())}})
        return engine.respond(request)

    assert race_task(respond, tmp_path, monkeypatch) == 0
    record = RaceStore(tmp_path / "home").load("r")
    sampler = record.telemetry["host-sampler"]
    assert isinstance(sampler, dict)
    assert (sampler["nodes"], sampler["missing_nodes"]) == (["node-0"], {})
    snapshot = (tmp_path / "home/races/r/snapshot.json").read_text()
    assert '"machine.runs": "the driver and the engine, which Pacenote did not start"' in snapshot
    assert '"node.node-0.process.' in snapshot
    assert "node-0.process.environment" not in snapshot


@pytest.mark.process
def test_a_race_samples_nodes_of_further_clusters_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have names of nodes of the cluster under test, but are neither those nor other programs."""
    engine = GrowingEngine()
    with subprocess.Popen(["sleep", "60"]) as sleep:
        started = {"jvm": {"start_time_in_millis": round(time.time() * 1e3)}}
        of_far = {"nodes": {"a": node("node-0", sleep.pid) | started, "b": node("node-1", 2**22 + 1)}}

        def respond(request: HttpRequest) -> HttpResponse:
            if request.path.startswith("/_nodes/process"):
                return json_response({"nodes": {"a": node("node-0", os.getpid())}})
            return engine.respond(request)

        def respond_far(request: HttpRequest) -> HttpResponse:
            is_wanted = request.path.startswith("/_nodes/process")
            return json_response(of_far if is_wanted else engine_document(request.target))

        try:
            with http_server(respond) as tested, http_server(respond_far) as far:
                hosts = json.dumps({"default": [tested.address], "far": [far.address]})
                assert race_task(respond, tmp_path, monkeypatch, f"--target-hosts={hosts}") == 0
        finally:
            sleep.kill()
    race = RaceStore(tmp_path / "home").races / "r"
    sampler = RaceStore(tmp_path / "home").load("r").telemetry["host-sampler"]
    assert isinstance(sampler, dict)
    assert (sampler["nodes"], sampler["further_engines"]) == (["node-0"], ["far: node-0"])
    assert sampler["missing_nodes"] == {"far: node-1": "no process of this machine is it"}
    host = telemetry_cuts(race / "telemetry.parquet").of_source("host", "task")
    assert host.counter("process.user", process="far: node-0") is not None


def test_processes_of_a_cluster_of_very_many_nodes_are_not_looked_for() -> None:
    nodes = {str(number): node(str(number), 2**22 + 1) for number in range(1_001)}
    with cluster(nodes, {}) as client:
        assert find_local_engines(client, NodeNames()).missing == {
            "*": "the cluster has more than 1,000 nodes"
        }


def test_paths_that_no_file_system_has_and_very_many_are_left_out(tmp_path: Path) -> None:
    paths = ["/with\0nul", "/" + "x" * 5_000, str(tmp_path), *(f"/{number}" for number in range(60_000))]
    name = "n" * 400
    folders = {"a": {"name": name, "fs": {"data": [{"path": path} for path in paths]}}}
    with cluster({"a": node(name, os.getpid())}, folders) as client:
        [engine] = find_local_engines(client, NodeNames()).engines
    assert len(engine.name) == 280
    assert engine.data_paths[0] == tmp_path
    assert len(engine.data_paths) == 98
    assert len(observed_host((), (), LocalEngines((engine,))).devices) == 98

"""A race waits, and drops or fills the page cache of its data, before the first task."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pacenote.cluster.cluster import EmbeddedCluster, existing_cluster
from pacenote.errors import EngineError
from pacenote.model.data_options import StartConditions, StartingState
from pacenote.model.progress import no_progress
from pacenote.provision.data_copy import DataSize
from pacenote.provision.data_sets import DataOrigin, DataSet
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.layout import EngineLayout, create_layout
from pacenote.provision.node import Node
from pacenote.provision.node_spec import NodeSpec
from pacenote.race import starting_state
from pacenote.race.starting_state import bring_about, cool_down
from provision.conftest import FakeEngine, write_fake_java
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

ORIGIN = DataOrigin("fake", "1.0", "race-1", "logs", "", "2026-11-23T08:00:00+00:00")


@pytest.fixture
def layout(tmp_path: Path) -> EngineLayout:
    return create_layout(tmp_path / "home", root=False)


def cluster(
    layout: EngineLayout, tmp_path: Path, data: DataSet | None = None, port: int = 0
) -> EmbeddedCluster:
    """Returns a cluster whose node is not started and has 64 KiB of data."""
    program = AssembledProgram(FakeEngine("healthy"), tmp_path, write_fake_java(tmp_path / "java"))
    fleet = LocalFleet(program, layout, tmp_path)
    fleet.nodes = (Node(NodeSpec("fake", "1.0"), layout, tmp_path / "engine.log"),)
    fleet.nodes[0].http_port = port
    (folder,) = fleet.nodes[0].data_paths
    folder.mkdir(parents=True)
    (folder / "_0.cfs").write_bytes(os.urandom(1 << 16))
    return EmbeddedCluster(fleet, data)


def test_a_race_without_conditions_measures_nothing(layout: EngineLayout, tmp_path: Path) -> None:
    state = bring_about(StartConditions(), cluster(layout, tmp_path), pytest.fail, no_progress)
    assert state == StartingState()


def test_the_page_cache_is_dropped_or_filled(
    layout: EngineLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = cluster(layout, tmp_path)
    dropped: list[tuple[Path, ...]] = []

    def drop(folders: Any) -> str:
        dropped.append(tuple(folders))
        return "fadvise"

    monkeypatch.setattr(starting_state, "drop_page_cache", drop)
    state = bring_about(StartConditions("cold"), used, pytest.fail, no_progress)
    assert dropped == [used.local_nodes()[0].data_paths]
    assert (state.dropped_with, state.data_bytes) == ("fadvise", 1 << 16)
    state = bring_about(StartConditions("warm"), used, pytest.fail, no_progress)
    assert state == StartingState(data_bytes=1 << 16, cached_bytes=1 << 16)


def test_data_that_does_not_fit_into_the_page_cache_is_reported(
    layout: EngineLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pacenote.provision.page_cache import CachedBytes

    monkeypatch.setattr(starting_state, "measure_page_cache", lambda _: CachedBytes(4 << 30, 1 << 30))
    warnings: list[str] = []
    bring_about(StartConditions("warm"), cluster(layout, tmp_path), warnings.append, no_progress)
    assert warnings == ["--caches=warm: only 1.0 GiB of 4.0 GiB of the data fit into the page cache"]


def test_the_data_set_is_recorded_with_how_much_of_it_is_cached(layout: EngineLayout, tmp_path: Path) -> None:
    answers = iter([(True, 408), (False, 200)])
    targets: list[str] = []

    def respond(request: HttpRequest) -> HttpResponse:
        timed_out, status = next(answers)
        targets.append(request.target)
        return json_response({"status": "yellow", "timed_out": timed_out}, status)

    data = DataSet("logs", tmp_path, ORIGIN, (1,), DataSize())
    with http_server(respond) as server:
        used = cluster(layout, tmp_path, data, int(server.address.rpartition(":")[2]))
        state = bring_about(StartConditions(), used, pytest.fail, no_progress)
    assert (state.data_set, state.stored_by, state.data_bytes) == ("logs", "race-1", 1 << 16)
    # It begins when no shard recovers any more.
    assert len(targets) == 2
    assert "wait_for_no_initializing_shards=true" in targets[0]


def test_an_existing_cluster_is_only_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    existing = existing_cluster("127.0.0.1:9200")
    assert bring_about(StartConditions("cold", 3.0), existing, pytest.fail, no_progress) == StartingState()
    assert clock.now == 3.0


class Clock:
    """A clock that moves only when the code sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(starting_state.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(starting_state.time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_the_wait_shows_progress_and_ends_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, seen = Clock(monkeypatch), list[tuple[str, int, int]]()
    cool_down(1.2, lambda: None, lambda *step: seen.append(step))
    assert clock.now == pytest.approx(1.2)
    assert seen[0] == ("cooling down", 0, 1)
    with pytest.raises(EngineError, match="node a has ended"):
        cool_down(60, lambda: "node a has ended" if clock.now > 5 else None, no_progress)
    assert clock.now < 7

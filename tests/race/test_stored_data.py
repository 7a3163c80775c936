"""The data of the engine is stored after a race that ran to its end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.cluster.cluster import EmbeddedCluster, existing_cluster
from pacenote.model.data_options import DataOptions
from pacenote.model.engine_options import EngineOptions
from pacenote.model.race_request import RaceRequest
from pacenote.provision.data_sets import find_data_set, list_data_sets
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.layout import EngineLayout, create_layout
from pacenote.provision.node_spec import NodeSpec
from pacenote.race import stored_data
from pacenote.race.stored_data import storing_data
from pacenote.verdict.determine import Verdict
from provision.conftest import FakeEngine, write_fake_java
from support.records import record

pytestmark = pytest.mark.process

RECORD = replace(
    record("race-1"),
    complete=True,
    verdict=Verdict("valid"),
)


class Told:
    """What the user was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.warnings: list[str] = []


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineLayout:
    monkeypatch.setattr(stored_data, "create_layout", partial(create_layout, root=False))
    return create_layout(tmp_path / "home", root=False)


@pytest.fixture
def cluster(layout: EngineLayout, tmp_path: Path) -> Iterator[EmbeddedCluster]:
    program = AssembledProgram(FakeEngine("healthy"), tmp_path, write_fake_java(tmp_path / "java"))
    fleet = LocalFleet(program, layout, tmp_path / "artifacts")
    fleet.start([NodeSpec("fake", "1.0", heap="128m", start_timeout_s=5)])
    (folder,) = fleet.nodes[0].data_paths
    (folder / "index").write_bytes(b"1234567")
    with EmbeddedCluster(fleet) as running:
        yield running


def request(tmp_path: Path, data: DataOptions) -> RaceRequest:
    return RaceRequest(race_id="race-1", home=tmp_path / "home", track="t", engine=EngineOptions(data=data))


def test_complete_races_store_the_data(
    cluster: EmbeddedCluster, layout: EngineLayout, tmp_path: Path, told: Told
) -> None:
    keep = request(tmp_path, DataOptions("keep", "logs"))
    with storing_data(keep, told.notes.append, told.warnings.append) as store, cluster:
        store(cluster, RECORD)
    assert told.warnings == []
    assert told.notes == ["data set 'logs' is stored (7 B): --data=restore:logs starts with it"]
    stored = find_data_set(layout, "logs")
    assert stored is not None
    assert (stored.origin.race_id, stored.origin.distribution, stored.paths) == ("race-1", "fake", (1,))


def test_a_void_race_stores_its_data_with_a_warning(
    cluster: EmbeddedCluster, layout: EngineLayout, tmp_path: Path, told: Told
) -> None:
    keep = request(tmp_path, DataOptions("keep", "logs"))
    with storing_data(keep, told.notes.append, told.warnings.append) as store, cluster:
        store(cluster, replace(RECORD, verdict=Verdict("void")))
    assert told.warnings == ["data set 'logs' is stored, although the race is void"]
    assert len(list_data_sets(layout)) == 1


@pytest.mark.parametrize("end", ["incomplete", "fresh", "restore", "error", "existing"])
def test_other_races_store_nothing(
    cluster: EmbeddedCluster, layout: EngineLayout, tmp_path: Path, told: Told, end: str
) -> None:
    mode = end if end in ("fresh", "restore") else "keep"
    options = DataOptions(mode, "logs")  # type: ignore[arg-type]
    keep = request(tmp_path, options)
    used = existing_cluster("127.0.0.1:9200") if end == "existing" else cluster
    with (
        pytest.raises(KeyboardInterrupt) if end == "error" else used,
        storing_data(keep, told.notes.append, told.warnings.append) as store,
        cluster,
    ):
        store(used, replace(RECORD, complete=end != "incomplete"))
        if end == "error":
            raise KeyboardInterrupt
    stopped = ["data set 'logs' is not stored: the race did not run to its end"]
    assert told.warnings == (stopped if end == "incomplete" else [])
    assert told.notes == []
    assert list_data_sets(layout) == ()
    assert not list(layout.data.glob(".build-*"))

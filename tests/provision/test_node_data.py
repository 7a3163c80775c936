"""A node starts with a copy of stored data, and its data is kept when it has stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import DiskError, EngineError, UsageError
from pacenote.model.data_options import DataOptions
from pacenote.provision.data_copy import data_size
from pacenote.provision.data_sets import DataOrigin, DataSet, DataSetWriter
from pacenote.provision.engine_data import check_initial_data, initial_data, with_initial_data
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_spec import NodeSpec
from provision.conftest import start_node
from support.disks import small_disk

Fake = Callable[[str], AssembledProgram]

ORIGIN = DataOrigin("fake", "1.0", "race-1", "logs", "", "2026-11-23T08:00:00+00:00")


def store(layout: EngineLayout, paths: int = 1, size: int = 4) -> DataSet:
    writer = DataSetWriter(layout, "logs", ORIGIN)
    for number, target in enumerate(writer.targets(0, paths)):
        target.mkdir()
        (target / "stored").write_bytes(bytes([number] * size))
    return writer.commit((paths,))


@pytest.mark.process
def test_a_node_starts_with_a_copy_and_leaves_the_original_alone(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    data = store(layout)
    (own,) = with_initial_data([spec], data)
    with start_node(own, fake("healthy"), layout, tmp_path / "artifacts") as node:
        (folder,) = node.data_paths
        assert (folder / "stored").read_bytes() == bytes(4)
        (folder / "stored").write_bytes(b"changed")
    assert data_size(data.folder / "nodes") == data.size
    assert list(layout.nodes.iterdir()) == []


@pytest.mark.process
def test_each_data_path_gets_its_part(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    paths = (tmp_path / "first", tmp_path / "second")
    for path in paths:
        path.mkdir()
    two = replace(spec, data_paths=paths)
    data = store(layout, paths=2)
    check_initial_data(data, [two], layout)
    (own,) = with_initial_data([two], data)
    writer = DataSetWriter(layout, "again", ORIGIN)
    with start_node(own, fake("healthy"), layout, tmp_path / "artifacts") as node:
        assert [(folder / "stored").read_bytes() for folder in node.data_paths] == [bytes(4), b"\1\1\1\1"]
        node.keep_data(writer.targets(0, 2))
    assert node.data_problem is None
    again = writer.commit((2,))
    assert [(folder / "stored").read_bytes() for folder in again.folders(0)] == [bytes(4), b"\1\1\1\1"]
    assert [list(path.iterdir()) for path in paths] == [[], []]


@pytest.mark.process
@pytest.mark.parametrize("preserve", [False, True])
def test_the_data_of_a_node_is_kept_when_it_has_stopped(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path, preserve: bool
) -> None:
    writer = DataSetWriter(layout, "logs", ORIGIN)
    node = start_node(replace(spec, preserve=preserve), fake("healthy"), layout, tmp_path / "artifacts")
    (node.data_paths[0] / "written").write_bytes(b"index")
    node.keep_data(writer.targets(0, 1))
    assert node.data_problem == "node rally-node-0 has not stopped"
    node.stop()
    assert node.data_problem is None
    (folder,) = writer.commit((1,)).folders(0)
    assert (folder / "written").read_bytes() == b"index"
    assert (node.data_paths[0] / "written").exists() is preserve


@pytest.mark.process
def test_the_data_of_a_node_that_was_killed_is_not_kept(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    writer = DataSetWriter(layout, "logs", ORIGIN)
    with start_node(spec, fake("healthy"), layout, tmp_path / "artifacts") as node:
        node.keep_data(writer.targets(0, 1))
        os.kill(node.pid, signal.SIGKILL)
    assert "killed" in (node.data_problem or "")
    writer.discard()
    assert list(layout.data.iterdir()) == []


def test_the_initial_data_depends_on_the_mode(layout: EngineLayout) -> None:
    assert initial_data(DataOptions("keep", "logs"), layout) is None
    with pytest.raises(UsageError, match="there is no data set 'logs'"):
        initial_data(DataOptions("restore", "logs"), layout)
    data = store(layout)
    for mode in ("keep", "restore"):
        assert initial_data(DataOptions(mode, "logs"), layout) == data  # type: ignore[arg-type]
    assert initial_data(DataOptions(), layout) is None


def test_data_that_does_not_suit_the_nodes_is_refused(layout: EngineLayout, spec: NodeSpec) -> None:
    data = store(layout)
    check_initial_data(data, [spec], layout)
    with pytest.raises(EngineError, match=r"is of fake 1\.0, not of fake 2\.0"):
        check_initial_data(data, [replace(spec, version="2.0")], layout)
    with pytest.raises(EngineError, match="is of 1 node, not of 2 nodes"):
        check_initial_data(data, [spec, spec], layout)
    (data.folders(0)[0] / "stored").unlink()
    with pytest.raises(EngineError, match="data set 'logs' is damaged"):
        check_initial_data(data, [spec], layout)


def test_a_copy_that_does_not_fit_is_refused(layout: EngineLayout, spec: NodeSpec, tmp_path: Path) -> None:
    data = store(layout, size=100_000)
    with small_disk(tmp_path / "disk", 400) as disk, pytest.raises(DiskError, match="a copy of data set"):
        check_initial_data(data, [replace(spec, data_paths=(disk,))], layout)

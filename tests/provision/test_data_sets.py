"""Data sets are stored completely or not at all, and only used for the engine that they were stored with."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pacenote.errors import DiskError, EngineError, UsageError
from pacenote.provision.cleanup import remove_stale_files
from pacenote.provision.data_copy import move_data
from pacenote.provision.data_sets import (
    DataOrigin,
    DataSet,
    DataSetWriter,
    check_data_set,
    check_data_set_name,
    check_not_replaced,
    check_room,
    check_unchanged,
    delete_data_set,
    find_data_set,
    get_data_set,
    list_data_sets,
)
from pacenote.provision.layout import EngineLayout
from support.disks import small_disk

ORIGIN = DataOrigin("opensearch", "3.3.0", "race-1", "logs", "append", "2026-11-23T08:00:00+00:00")


def node_data(folder: Path, content: bytes = b"data") -> Path:
    (folder / "nodes/0/indices/u/0/index").mkdir(parents=True)
    (folder / "nodes/0/indices/u/0/index/_0.cfs").write_bytes(content)
    return folder


def store(layout: EngineLayout, tmp_path: Path, name: str = "logs", content: bytes = b"data") -> DataSet:
    writer = DataSetWriter(layout, name, ORIGIN)
    for node in range(2):
        for path, target in enumerate(writer.targets(node, 1)):
            move_data(node_data(tmp_path / f"node-{node}-{path}", content), target)
    return writer.commit((1, 1))


def test_a_data_set_is_stored_listed_and_deleted(layout: EngineLayout, tmp_path: Path) -> None:
    assert list_data_sets(layout) == ()
    stored = store(layout, tmp_path)
    assert list_data_sets(layout) == (stored,)
    assert find_data_set(layout, "logs") == stored
    assert (stored.size.files, stored.size.bytes, stored.paths) == (2, 8, (1, 1))
    (folder,) = stored.folders(1)
    assert (folder / "nodes/0/indices/u/0/index/_0.cfs").read_bytes() == b"data"
    assert str(stored).startswith("logs (8 B, opensearch 3.3.0, track logs, stored 2026-")
    delete_data_set(layout, "logs")
    assert find_data_set(layout, "logs") is None
    assert [path.name for path in layout.data.iterdir()] == [".lock"]
    with pytest.raises(UsageError, match="there is no data set 'logs'"):
        delete_data_set(layout, "logs")


def test_storing_again_replaces_the_data_set(layout: EngineLayout, tmp_path: Path) -> None:
    store(layout, tmp_path)
    assert store(layout, tmp_path, content=b"more data").size.bytes == 18
    check_unchanged(get_data_set(layout, "logs"))
    assert sorted(path.name for path in layout.data.iterdir()) == [".lock", "logs"]


def test_what_was_not_stored_completely_is_no_data_set(layout: EngineLayout, tmp_path: Path) -> None:
    store(layout, tmp_path)
    writer = DataSetWriter(layout, "other", ORIGIN)
    node_data(writer.targets(0, 1)[0])
    assert [data.name for data in list_data_sets(layout)] == ["logs"]
    # A process that was killed leaves this behind.
    for build in layout.data.glob(".build-*"):
        os.utime(build, (0, time.time() - 7200))
    remove_stale_files(layout)
    # It may still be copied.
    assert len(list(layout.data.glob(".build-*"))) == 1
    for build in layout.data.glob(".build-*"):
        os.utime(build, (0, time.time() - 100_000))
    remove_stale_files(layout)
    assert sorted(path.name for path in layout.data.iterdir()) == [".lock", "logs"]
    writer.discard()
    (layout.data / "logs" / "data.json").write_text("{")
    with pytest.raises(EngineError, match=r"data set 'logs' cannot be read: .*data\.json is miss") as caught:
        get_data_set(layout, "logs")
    assert "pacenote delete data --id=logs" in caught.value.hint
    delete_data_set(layout, "logs")


def test_a_data_set_of_another_engine_is_refused(layout: EngineLayout, tmp_path: Path) -> None:
    data = store(layout, tmp_path)
    check_data_set(data, "opensearch", "3.3.0", (1, 1))
    for engine, message in (
        (("opensearch", "3.8.0", (1, 1)), "is of opensearch 3.3.0, not of opensearch 3.8.0"),
        (("elasticsearch", "3.3.0", (1, 1)), "is of opensearch 3.3.0, not of elasticsearch 3.3.0"),
        (("opensearch", "3.3.0", (1,)), "is of 2 nodes, not of 1 node"),
        (("opensearch", "3.3.0", (2, 2)), "is of 2 nodes, not of 2 nodes with 2 data paths"),
    ):
        with pytest.raises(EngineError, match=message):
            check_data_set(data, *engine)


def test_a_data_set_with_other_files_than_stored_is_refused(layout: EngineLayout, tmp_path: Path) -> None:
    data = store(layout, tmp_path)
    (folder,) = data.folders(0)
    file = folder / "nodes/0/indices/u/0/index/_0.cfs"
    check_unchanged(data)
    # As an engine that writes to a shared file would do.
    file.write_bytes(b"DATA")
    os.utime(file, ns=(0, data.size.newest_ns + 1))
    with pytest.raises(EngineError, match="data set 'logs' is damaged: a file was changed"):
        check_unchanged(data)
    file.unlink()
    with pytest.raises(EngineError, match="it has 1 file of 4 bytes instead of 2 files of 8 bytes") as caught:
        check_unchanged(data)
    assert "\n" not in caught.value.message


def test_an_unknown_name_is_refused_with_those_that_exist(layout: EngineLayout, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no data set 'x'") as caught:
        get_data_set(layout, "x")
    assert caught.value.hint == "none exists; a race with --data=keep:x stores it"
    store(layout, tmp_path, "a")
    store(layout, tmp_path, "b")
    with pytest.raises(UsageError) as caught:
        get_data_set(layout, "x")
    assert caught.value.hint.startswith("those that exist: a, b; ")
    for name in ("", "../x", ".build-1", "a/b", "x" * 65, "-a"):
        with pytest.raises(UsageError, match="cannot be the name of a data set"):
            check_data_set_name(name)


def test_a_copy_needs_room_on_its_disk(layout: EngineLayout, tmp_path: Path) -> None:
    data = store(layout, tmp_path, content=b"x" * 100_000)
    check_room(data, 0, [layout.nodes / "n" / "data"])
    with small_disk(tmp_path / "disk", 400) as disk, pytest.raises(DiskError, match="a copy of data set 'l"):
        check_room(data, 0, [disk / "n" / "data"])


def test_a_data_set_that_is_replaced_while_it_is_copied_is_not_used(
    layout: EngineLayout, tmp_path: Path
) -> None:
    copied = store(layout, tmp_path)
    check_not_replaced(layout, copied)
    replaced = store(layout, tmp_path / "other", content=b"new")
    problem = "data set 'logs' was replaced or deleted while it was copied"
    with pytest.raises(EngineError, match=problem):
        check_not_replaced(layout, copied)
    delete_data_set(layout, "logs")
    with pytest.raises(EngineError, match=problem):
        check_not_replaced(layout, replaced)

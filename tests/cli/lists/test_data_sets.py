"""`pacenote list data` and `pacenote delete data`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacenote.provision.data_sets import DataOrigin, DataSetWriter
from pacenote.provision.layout import EngineLayout, create_layout

ORIGIN = DataOrigin("opensearch", "3.3.0", "race-1", "logs", "append", "2026-11-23T08:00:00+00:00")


@pytest.fixture
def layout(home: Path, monkeypatch: pytest.MonkeyPatch) -> EngineLayout:
    # Otherwise root's engines would be outside of the test's folder.
    monkeypatch.setattr("pacenote.provision.layout.os.geteuid", lambda: 1000)
    monkeypatch.setattr("pacenote.provision.layout.check_ownership", lambda folder: None)
    made = create_layout(home)
    for name in ("big", "small"):
        writer = DataSetWriter(made, name, ORIGIN)
        (folder,) = writer.targets(0, 1)
        folder.mkdir()
        (folder / "file").write_bytes(bytes(5000 if name == "big" else 7))
        writer.commit((1,))
    return made


def test_data_sets_are_listed(run, layout: EngineLayout) -> None:
    code, out, _ = run("list", "data")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split()[:4] == ["Name", "Engine", "Nodes", "Size"]
    assert lines[2].split()[:6] == ["big", "opensearch", "3.3.0", "1", "4.9", "KiB"]
    (big, small) = json.loads(run("list", "data", "--format=json")[1])
    assert (small["name"], small["version"], small["nodes"], small["bytes"]) == ("small", "3.3.0", 1, 7)
    assert (big["race_id"], big["folder"]) == ("race-1", str(layout.data / "big"))


def test_data_sets_are_deleted_by_name(run, layout: EngineLayout) -> None:
    assert run("delete", "data", "--id=big", "--dry-run") == (0, "would delete data set big\n", "")
    for more in ((), ("--dry-run",)):
        code, out, err = run("delete", "data", "--id=big,..", *more)
        assert (code, out) == (2, "")
        assert "--id: '..' cannot be the name of a data set" in err
    code, out, err = run("delete", "data", "--id=big,other")
    assert (code, out) == (2, "")
    assert "there is no data set 'other'" in err
    assert run("delete", "data", "--id=big,small") == (
        0,
        "deleted data set big\ndeleted data set small\n",
        "",
    )
    assert run("list", "data")[1] == "No data sets found; --data=keep:NAME stores one.\n"

"""The files of nodes among the artifacts of a race."""

from __future__ import annotations

from pathlib import Path

from pacenote.store.node_files import RECORDINGS, node_files


def test_files_are_found_by_node(tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    for name in ("one.jfr", "node-0/two.jfr.gz", "node-0/three.jfr", "node-0/gc.log"):
        (artifacts / name).parent.mkdir(parents=True, exist_ok=True)
        (artifacts / name).touch()
    names = {node: [path.name for path in files] for node, files in node_files(artifacts, RECORDINGS).items()}
    assert names == {"": ["one.jfr"], "node-0": ["three.jfr", "two.jfr.gz"]}
    assert node_files(tmp_path / "none", RECORDINGS) == {}


def test_links_are_left_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "other.jfr").touch()
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    (artifacts / "one.jfr").symlink_to(outside / "other.jfr")
    (artifacts / "node-0").symlink_to(outside)
    assert node_files(artifacts, RECORDINGS) == {}
    (tmp_path / "linked").symlink_to(outside)
    assert node_files(tmp_path / "linked", RECORDINGS) == {}

"""A folder in which others have left more than an unfinished capture is not completed: it would be a track of
theirs, whose code runs, under the name of one that Pacenote has made of data alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capture.conftest import COUNT, TrackCreator
from capture.test_create import interrupted
from pacenote.cli.main import main
from pacenote.errors import UsageError
from pacenote.plugins.load import load_plugins
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import open_track

UNKNOWN = (
    *(
        "track.py",
        "workload.py",
        "__init__.py",
        "module/__init__.py",
        "module/",
        "rally.helpers",
        "README.md",
    ),
    *(
        "operations/zz.json",
        "challenges/zz.json",
        "challenges/default.json/x.json",
    ),
    *("operations/inner/default.json", "indices/x.py", "templates/x.py", "notes-documents.json/x", "a.bz2"),
    *(".create-track.json/x", "TRACK.PY", "line\nbreak.json", "mine/track.json"),
    *("part.j2", "module.so", "_module/__init__.py"),
)
HIDDEN = (
    *(".nfs000000000012d68700000001", ".DS_Store", ".gitignore", ".git/config", ".git/hooks/check.py"),
    *("operations/.nfs0001", "indices/.DS_Store", "operations/.default.json", "operations/.git/x.json"),
    *(".create-track.lock.new", ".track.py", "._track.py", ".pacenote/__init__.py", ".workload.json"),
)
"""What no track loads, and file systems and other programs leave in any folder."""
OF_OTHER_SOURCES = ("logs-documents.json", "logs-documents-1k.json.bz2", "indices/logs.json")


def _put(folder: Path, name: str) -> None:
    path = folder / name
    if name.endswith("/"):
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{{ 1 / 0 }}")


def _paths(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("name", UNKNOWN)
def test_nothing_is_read_or_written_for_a_folder_with_files_of_others(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _put(creator.folder, name)
    before = _paths(creator.folder)
    monkeypatch.setattr(creator.cluster, "answer", lambda *_: pytest.fail("the cluster was read"))
    with pytest.raises(UsageError, match="is not a file that this create-track writes") as caught:
        creator.create()
    assert str(creator.folder / name.partition("/")[0]) in caught.value.message
    assert caught.value.hint == "remove it, or choose another --output-path"
    assert _paths(creator.folder) == before


@pytest.mark.parametrize("is_late", [False, True])
def test_hidden_files_stay_as_they_are_and_no_part_of_the_track(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    search = creator.cluster.search

    def put_all() -> None:
        for name in HIDDEN:
            _put(creator.folder, name)

    def search_later(body: dict[str, Any]) -> tuple[int, object]:
        put_all()
        return search(body)

    if is_late:
        monkeypatch.setattr(creator.cluster, "search", search_later)
    else:
        put_all()
        (creator.folder / ".link").symlink_to("/")
    assert sorted(creator.create()) == list(range(COUNT))
    assert {(creator.folder / name).read_text() for name in HIDDEN} == {"{{ 1 / 0 }}"}
    # Also when the user adds code and collects all files of a folder.
    track = creator.folder / "track.json"
    track.write_text(track.read_text().replace("/default.json", "/*.json"))
    (creator.folder / "track.py").write_text("def register(registry): pass\n")
    assert load_track(open_track(creator.folder), {}, RenderOptions(now=0)).challenges
    with load_plugins(creator.folder / "track.py"):
        pass


@pytest.mark.parametrize("name", OF_OTHER_SOURCES)
def test_files_of_other_sources_are_found_when_the_sources_are_known(
    creator: TrackCreator, name: str
) -> None:
    _put(creator.folder, name)
    with pytest.raises(UsageError, match=f"{name} is not a file that this create-track writes"):
        creator.create()
    assert creator.cluster.searches == 0
    assert not (creator.folder / "track.json").exists()


@pytest.mark.parametrize("name", ["track.py", "operations/zz.json", "indices/zz.json"])
def test_what_comes_while_documents_are_read_is_found(
    creator: TrackCreator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    search = creator.cluster.search

    def search_later(body: dict[str, Any]) -> tuple[int, object]:
        _put(creator.folder, name)
        return search(body)

    with monkeypatch.context() as patch:
        patch.setattr(creator.cluster, "search", search_later)
        with pytest.raises(UsageError, match=f"{name} is not a file that this create-track writes"):
            creator.create()
    assert not (creator.folder / "track.json").exists()
    searches = creator.cluster.searches
    (creator.folder / name).unlink()
    assert sorted(creator.create()) == list(range(COUNT))
    # The documents were stored.
    assert creator.cluster.searches == searches


@pytest.mark.parametrize("has_begun", [False, True])
def test_what_an_interrupted_capture_leaves_is_completed(creator: TrackCreator, *, has_begun: bool) -> None:
    creator.create()
    written = _paths(creator.folder)
    (creator.folder / "track.json").unlink()
    if has_begun:
        interrupted(creator)
    for name in (".create-track.lock", ".create-track.json.new", ".track.json.new"):
        (creator.folder / name).touch()
    for name in ("operations", "challenges", "indices"):
        (creator.folder / name / ".default.json.new").touch()
    (creator.folder / "indices" / ".default.json.new").rename(creator.folder / "indices" / ".notes.json.new")
    (creator.folder / ".notes-documents.json.bz2.new").touch()
    assert sorted(creator.create()) == list(range(COUNT))
    assert _paths(creator.folder) == written


def test_a_created_track_has_no_other_parts(creator: TrackCreator) -> None:
    creator.create()
    before = load_track(open_track(creator.folder), {}, RenderOptions(now=0))
    for name in ("operations/zz.json", "challenges/zz.json"):
        _put(creator.folder, name)
    after = load_track(open_track(creator.folder), {}, RenderOptions(now=0))
    assert after.challenges == before.challenges


def test_nothing_beside_the_folder_of_a_created_track_runs(
    creator: TrackCreator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a `track.py` could import it, and a created track has none."""
    creator.create()
    marker = tmp_path / "marker"
    names = ("track", "mine", "json", "rally", "esrally", "jinja2", "sitecustomize", "__init__", "conftest")
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"open({str(marker)!r}, 'w')\ndef register(registry): pass\n")
    for name in ("rally.helpers", "track.json", "pacenote.toml"):
        (tmp_path / name).write_text("{{ 1 / 0 }}")
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    arguments = ("--pipeline=benchmark-only", "--target-hosts=127.0.0.1:9", "--dry-run", "--offline")
    code = main(["race", f"--track-path={creator.folder}", *arguments])
    assert (code, json.loads((creator.folder / "operations/default.json").read_text())["name"]) == (
        0,
        "match-all",
    )
    assert "match-all" in capsys.readouterr().out
    assert not marker.exists()

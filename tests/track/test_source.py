"""Tracks are found by name and by path."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import TrackError
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import BUNDLED_TRACKS, FolderRepository, find_track, open_track, read_text


def test_a_bundled_track_is_found_by_name() -> None:
    source = find_track("http_logs")
    assert source.name == "http_logs"
    assert source.file.name == "track.json"
    assert "http_logs" in BUNDLED_TRACKS.names()


def test_the_error_about_an_unknown_name_suggests_similar_ones() -> None:
    with pytest.raises(TrackError) as caught:
        find_track("http_log")
    assert 'there is no track "http_log" (did you mean "http_logs"?)' in caught.value.message
    assert "--track-path" in caught.value.hint


def test_names_may_have_several_parts(tmp_path: Path) -> None:
    (tmp_path / "elastic" / "logs").mkdir(parents=True)
    (tmp_path / "elastic" / "logs" / "track.json").write_text("{}")
    repository = FolderRepository(tmp_path)
    assert list(repository.names()) == ["elastic/logs"]
    assert find_track("elastic/logs", (repository,)).name == "elastic/logs"


def test_a_name_cannot_lead_out_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "track.json").write_text("{}")
    with pytest.raises(TrackError):
        find_track("../outside", (FolderRepository(tmp_path / "inside"),))


def test_a_path_is_a_folder_or_a_json_file(tmp_path: Path) -> None:
    (tmp_path / "track.json").write_text("{}")
    (tmp_path / "mine.json").write_text("{}")
    assert open_track(tmp_path).name == tmp_path.name
    assert open_track(tmp_path / "track.json").name == tmp_path.name
    assert open_track(tmp_path / "mine.json").name == "mine"
    assert open_track(tmp_path / "mine.json").root == tmp_path


def test_workload_json_can_also_be_the_entry_file(tmp_path: Path) -> None:
    (tmp_path / "workload.json").write_text("{}")
    assert open_track(tmp_path).file.name == "workload.json"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nowhere", "does not exist"),
        ("empty", "does not contain track.json"),
        ("notes.txt", "is not a track"),
    ],
)
def test_a_path_without_a_track_is_reported(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(TrackError) as caught:
        open_track(tmp_path / name)
    assert text in caught.value.message
    assert str(tmp_path / name) in caught.value.message
    assert caught.value.hint


def test_bytes_that_are_not_utf_8_are_reported(tmp_path: Path) -> None:
    (tmp_path / "track.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(TrackError, match="not UTF-8 text: byte 7"):
        read_text(tmp_path / "track.json")


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match="No such file"):
        read_text(tmp_path / "track.json")


def write_track(root: Path, body: str) -> Path:
    root.mkdir(parents=True)
    indices = '[{"name": "i", "body": "body.json"}]'
    (root / "track.json").write_text(f'{{"version": 2, "indices": {indices}, "schedule": [{body}]}}')
    (root / "body.json").write_text("{}")
    return root


def load(root: Path, *, anywhere: bool = False) -> None:
    source = open_track(root)
    if anywhere:
        source = replace(source, boundary=None)
    load_track(source, {}, RenderOptions(now=0))


TASK = '{"operation": {"operation-type": "raw-request", "path": "/"}}'


@pytest.mark.parametrize(
    "include",
    [
        '{{ rally.collect(parts="../outside/task.json") }}',
        '{{ rally.collect(parts="PATH/task.json") }}',
        '{{ rally.collect(parts="linked.json") }}',
        '{{ rally.collect(parts="folder/*.json") }}',
        '{% include "../outside/task.json" %}',
        '{% include "linked.json" %}',
        '{% for part in glob("../outside/*.json") %}{% include part %}{% endfor %}',
    ],
)
def test_a_fragment_outside_of_the_track_is_refused(tmp_path: Path, include: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "task.json").write_text(TASK)
    root = write_track(tmp_path / "track", include.replace("PATH", str(outside)))
    (root / "linked.json").symlink_to(outside / "task.json")
    (root / "folder").symlink_to(outside)
    with pytest.raises(TrackError, match="outside of") as caught:
        load(root)
    assert "--allow-outside-paths" in caught.value.hint
    load(root, anywhere=True)


@pytest.mark.parametrize("name", ["body.json", "track.py"])
def test_a_body_or_a_plug_in_that_is_a_link_out_of_the_track_is_refused(tmp_path: Path, name: str) -> None:
    root = write_track(tmp_path / "track", TASK)
    (tmp_path / "outside").write_text("{}")
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(tmp_path / "outside")
    with pytest.raises(TrackError, match="outside of"):
        load(root)
    load(root, anywhere=True)


def test_tracks_of_a_work_tree_share_files(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "shared.json").write_text(TASK)
    root = write_track(tmp_path / "elastic" / "logs", '{{ rally.collect(parts="../../shared.json") }}')
    load(root)

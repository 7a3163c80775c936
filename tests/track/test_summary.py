"""Summaries of tracks that others wrote: one that is odd does not hide the others."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pacenote.track.source import FolderRepository
from pacenote.track.summary import summarize_tracks


def write(root: Path, name: str, track: Mapping[str, object]) -> None:
    (root / name).mkdir()
    (root / name / "track.json").write_text(json.dumps(track))


@pytest.mark.parametrize(
    "challenge", [{"default": True}, {"default": True, "name": 7}, {"default": True, "name": [1]}]
)
def test_a_default_challenge_without_a_name_that_is_text_is_shown(
    tmp_path: Path, challenge: Mapping[str, object]
) -> None:
    write(tmp_path, "good", {"challenges": [{"name": "one"}]})
    write(tmp_path, "odd", {"challenges": [challenge]})
    good, odd = summarize_tracks(FolderRepository(tmp_path))
    assert (good.default_challenge, odd.default_challenge) == ("one", str(challenge.get("name", "")))


@pytest.fixture
def nested(tmp_path: Path) -> Iterator[Path]:
    """A folder with 1,500 folders in each other, which Python's own functions cannot remove."""
    folder = tmp_path / "nested"
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-r", str(folder)], check=True)


def test_folders_may_be_nested_deeply(nested: Path, tmp_path: Path) -> None:
    write(nested, "good", {"challenges": [{"name": "one"}]})
    descriptor = os.open(nested / "good", os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    (good,) = summarize_tracks(FolderRepository(nested), tmp_path / "cache")
    assert good.default_challenge == "one"


def test_a_cache_is_not_written_to_what_a_link_leads_to(tmp_path: Path) -> None:
    root, cache, mine = (tmp_path / name for name in ("tracks", "cache", "mine"))
    for folder in (root, cache):
        folder.mkdir()
    write(root, "good", {"challenges": [{"name": "one"}]})
    summarize_tracks(FolderRepository(root), cache)
    (file,) = cache.iterdir()
    file.unlink()
    mine.write_text("mine")
    for link in (file, file.with_name(f"{file.name}.{os.getpid()}")):
        link.symlink_to(mine)
    summarize_tracks(FolderRepository(root), cache)
    assert mine.read_text() == "mine"
    assert not file.is_symlink()
    assert json.loads(file.read_text())["tracks"]

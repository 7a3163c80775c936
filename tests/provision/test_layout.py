"""Engine files lie where the node's user can read them and nobody else can write them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision.layout import check_owned, find_place


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


def test_ordinary_users_keep_everything_at_home(tmp_path: Path) -> None:
    place = find_place(tmp_path / "home", root=False)
    assert place.root == (tmp_path / "home" / "engines").resolve()
    assert place.user is None
    assert all(folder.is_dir() for folder in (place.jars, place.installs, place.java, place.nodes))


def test_root_in_a_closed_home_moves_to_the_shared_folder(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    place = find_place(tmp_path / "closed" / "home", root=True, shared=shared)
    assert place.root.parent == shared
    assert place.root.stat().st_mode & 0o777 == 0o755
    assert place.user is not None
    assert place.user.uid != 0
    assert find_place(tmp_path / "closed" / "home", root=True, shared=shared).root == place.root
    assert find_place(tmp_path / "closed" / "other", root=True, shared=shared).root != place.root


def test_a_link_or_an_open_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(EngineError, match="is not a folder"):
        check_owned(tmp_path / "link")
    (tmp_path / "real").chmod(0o777)
    with pytest.raises(EngineError, match="can be written by other users"):
        check_owned(tmp_path / "real")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_somebody_elses_folder_is_refused(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    root = find_place(tmp_path / "closed", root=True, shared=shared).root
    os.chown(root, 65534, 65534)
    with pytest.raises(EngineError, match="belongs to user 65534"):
        find_place(tmp_path / "closed", root=True, shared=shared)

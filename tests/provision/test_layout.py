"""The node's user can read the engines' files, and other users cannot write to them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.provision.layout import check_ownership, create_layout, plan_layout


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


def test_an_ordinary_users_layout_is_in_the_home_folder(tmp_path: Path) -> None:
    layout = create_layout(tmp_path / "home", root=False)
    assert layout.root == (tmp_path / "home" / "engines").resolve()
    assert layout.user is None
    assert all(folder.is_dir() for folder in (layout.jars, layout.installs, layout.java, layout.nodes))


def test_root_with_a_private_home_uses_the_shared_folder(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    layout = create_layout(tmp_path / "closed" / "home", root=True, shared=shared)
    assert layout.root.parent == shared
    assert layout.root.stat().st_mode & 0o777 == 0o755
    assert layout.user is not None
    assert layout.user.uid != 0
    assert create_layout(tmp_path / "closed" / "home", root=True, shared=shared).root == layout.root
    assert create_layout(tmp_path / "closed" / "other", root=True, shared=shared).root != layout.root


def test_a_link_or_a_folder_that_others_can_write_to_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(EngineError, match="is not a folder"):
        check_ownership(tmp_path / "link")
    (tmp_path / "real").chmod(0o777)
    with pytest.raises(EngineError, match="can be written by other users"):
        check_ownership(tmp_path / "real")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a folder")
def test_a_folder_that_belongs_to_another_user_is_rejected(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    root = create_layout(tmp_path / "closed", root=True, shared=shared).root
    os.chown(root, 65534, 65534)
    with pytest.raises(EngineError, match="belongs to user 65534"):
        create_layout(tmp_path / "closed", root=True, shared=shared)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a folder")
def test_a_shared_folder_that_another_user_created_first_is_never_used(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    planned = plan_layout(tmp_path / "closed", root=True, shared=shared).root
    planned.mkdir()
    os.chown(planned, 65534, 65534)
    # Commands that only list or remove something do not create the layout.
    with pytest.raises(EngineError, match="belongs to user 65534"):
        plan_layout(tmp_path / "closed", root=True, shared=shared)
    planned.rmdir()
    planned.symlink_to(tmp_path)
    with pytest.raises(EngineError, match="is not a folder"):
        plan_layout(tmp_path / "closed", root=True, shared=shared)


@pytest.mark.parametrize("mode", [0o777, 0o707, 0o1777])
def test_a_home_that_others_can_write_to_is_rejected(tmp_path: Path, mode: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    with pytest.raises(EngineError, match=f"the home folder {home} can be written by other users"):
        create_layout(home, root=False)
    home.chmod(0o770)
    create_layout(home, root=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another group")
def test_only_the_group_of_the_user_may_write_to_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 0, 65534)
    home.chmod(0o770)
    with pytest.raises(EngineError, match="can be written by other users"):
        create_layout(home, root=False)


def test_a_home_below_a_folder_of_all_users_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(EngineError, match=f"{tmp_path / 'open'} can be written by other users"):
        create_layout(tmp_path / "open" / "home", root=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_root_does_not_use_the_home_of_another_user(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    with pytest.raises(EngineError, match=f"{home} belongs to user 65534"):
        create_layout(home, root=False)


@pytest.mark.parametrize("root", [True, False])
def test_the_planned_layout_equals_the_created_one(tmp_path: Path, root: bool) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    planned = plan_layout(tmp_path / "a" / "home", root=root, shared=shared)
    assert not (tmp_path / "a").exists()
    assert planned == create_layout(tmp_path / "a" / "home", root=root, shared=shared)

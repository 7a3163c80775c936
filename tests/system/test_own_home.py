"""The home folder is one that no other user can exchange."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.errors import EngineError, StoreError
from pacenote.provision.layout import plan_layout
from pacenote.system.own_home import check_own_home, claim_home
from support.planted_links import OTHER, shared_folder


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return shared_folder(tmp_path)


@pytest.mark.parametrize("kind", ["folder", "link", "dangling", "loop"])
@pytest.mark.parametrize("home", ["planted", "planted/home"])
def test_a_home_that_another_user_has_made_where_all_may_is_not_used(
    shared: Path, home: str, kind: str
) -> None:
    planted = shared / "planted"
    if kind == "folder":
        planted.mkdir()
    else:
        (shared.parent / "mine").mkdir()
        planted.symlink_to({"link": shared.parent / "mine", "loop": planted}.get(kind, "missing"))
    os.lchown(planted, OTHER, OTHER)
    with pytest.raises(StoreError, match=f"{planted} belongs to user {OTHER}"):
        claim_home(shared / home)
    for use in (check_own_home, plan_layout):
        with pytest.raises(EngineError, match=f"{planted} belongs to user {OTHER}"):
            use(shared / home)


@pytest.mark.parametrize("home", ["home", "folder/home"])
def test_a_missing_home_is_created_where_another_user_could_create_it(shared: Path, home: str) -> None:
    claim_home(shared / home)
    assert (shared / home).is_dir()
    check_own_home(shared / home, must_exist=True)


def test_a_missing_home_is_not_created_elsewhere(tmp_path: Path) -> None:
    claim_home(tmp_path / "folder" / "home")
    assert list(tmp_path.iterdir()) == []
    check_own_home(tmp_path / "home")
    with pytest.raises(EngineError, match="is replaced or removed"):
        check_own_home(tmp_path / "home", must_exist=True)


def test_a_home_of_another_user_may_be_read_but_nothing_in_it_is_run(shared: Path) -> None:
    home = shared.parent / "theirs"
    home.mkdir()
    os.chown(home, OTHER, OTHER)
    claim_home(home)
    with pytest.raises(EngineError, match=f"{home} belongs to user {OTHER}"):
        check_own_home(home)

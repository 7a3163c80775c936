"""Which files and folders another user could replace."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pacenote.system.ownership import (
    create_folder,
    exchangeable_folder,
    is_writable_by_others,
    open_shared_lock,
    replaceable_file,
    replaceable_folder,
)
from support.access_lists import let_write, let_write_new

OTHER = 65534
GROUP = 4242

Give = Callable[..., Path]


@pytest.fixture
def inner(tmp_path: Path) -> Path:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def give() -> Give:
    """Gives a path to a user and a group, which only root can do."""
    if os.getuid() != 0:
        pytest.skip("only root can give folders to other users")

    def give(path: Path, user: int = 0, group: int = 0, mode: int | None = None) -> Path:
        os.lchown(path, user, group)
        if mode is not None:
            path.chmod(mode)
        return path

    return give


@pytest.fixture
def ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets this process look like one of an ordinary user in several groups."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 1000)
    monkeypatch.setattr(os, "getgroups", lambda: [1000, GROUP])


def test_a_folder_is_replaceable_if_others_may_rename_it(inner: Path) -> None:
    assert replaceable_folder(inner) == ""
    inner.parent.chmod(0o777)
    assert replaceable_folder(inner) == f"{inner.parent} can be written by other users"
    inner.parent.chmod(0o1777)
    assert replaceable_folder(inner) == ""


def test_what_does_not_exist_cannot_be_replaced(inner: Path) -> None:
    assert replaceable_folder(inner / "c" / "d") == ""
    inner.chmod(0o777)
    assert replaceable_folder(inner / "c" / "d") == f"{inner} can be written by other users"


@pytest.mark.parametrize("name", ["a", "a/b"])
def test_the_folder_of_another_user_is_replaceable(inner: Path, give: Give, name: str) -> None:
    folder = give(inner.parents[1] / name, OTHER)
    assert replaceable_folder(inner).startswith(f"{folder} belongs to user {OTHER}")


def test_a_link_of_another_user_is_replaceable_where_all_may_create_links(tmp_path: Path, give: Give) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "shared").mkdir()
    give(tmp_path / "shared", mode=0o1777)
    link = tmp_path / "shared" / "link"
    link.symlink_to("../mine")
    assert replaceable_folder(link) == ""
    give(link, OTHER)
    assert replaceable_folder(link).startswith(f"{link} belongs to user {OTHER}")


def test_the_folders_to_which_a_link_leads_are_checked(inner: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "absolute").symlink_to(tmp_path / "link" / "b")
    assert replaceable_folder(tmp_path / "absolute") == ""
    inner.parent.chmod(0o777)
    assert replaceable_folder(tmp_path / "absolute") == f"{inner.parent} can be written by other users"


@pytest.mark.parametrize("link", ["", "link"])
def test_the_folder_to_which_two_dots_lead_is_shared(tmp_path: Path, give: Give, link: str) -> None:
    """As /tmp is: there, another user may have created the next folder, or the file."""
    shared, mine, evil = (tmp_path / name for name in ("shared", "shared/mine", "shared/evil"))
    for folder in (shared, mine, evil):
        folder.mkdir()
    give(shared, mode=0o1777)
    give(evil, OTHER)
    (mine / "link").symlink_to("../evil")
    path = mine / link if link else mine / ".." / "evil"
    assert replaceable_folder(path).startswith(f"{evil} belongs to user {OTHER}")
    assert replaceable_file(path / "file").startswith(f"{evil} belongs to user {OTHER}")
    assert create_folder(path / "new").startswith(f"{evil} belongs to user {OTHER}")
    assert not (evil / "new").exists()
    # The same of a group that trusts its members elsewhere.
    give(evil, OTHER, GROUP, 0o775)
    assert replaceable_folder(path).startswith(f"{evil} belongs to user {OTHER}")


def test_a_folder_that_is_missing_is_exchangeable(inner: Path) -> None:
    assert exchangeable_folder(inner) == ""
    missing = inner / "c"
    assert exchangeable_folder(missing) == f"{missing} is replaced or removed"
    missing.write_text("a file")
    assert exchangeable_folder(missing) == f"{missing} is replaced or removed"
    too_long = inner / ("x" * 300)
    assert (
        exchangeable_folder(too_long) == f"{too_long} cannot be looked at ({os.strerror(errno.ENAMETOOLONG)})"
    )


def test_a_folder_in_which_all_may_create_files_is_exchangeable_but_not_one_in_it(inner: Path) -> None:
    inner.parent.chmod(0o1777)
    assert exchangeable_folder(inner) == ""
    assert exchangeable_folder(inner.parent).endswith("is a folder in which all users may create files")
    inner.chmod(0o777)
    assert exchangeable_folder(inner) == f"{inner} can be written by other users"


def test_a_default_list_does_not_make_a_folder_exchangeable(inner: Path) -> None:
    let_write_new(inner, users={OTHER})
    assert replaceable_folder(inner)
    assert exchangeable_folder(inner) == ""
    let_write(inner, users={OTHER})
    assert exchangeable_folder(inner).startswith(f"{inner} can be written by user {OTHER}")


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert replaceable_folder(tmp_path / "one") == ""


def test_root_trusts_the_user_who_called_sudo(
    inner: Path, give: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(inner, OTHER)
    for value in ("", "1000", "x", "²"):
        monkeypatch.setenv("SUDO_UID", value)
        assert replaceable_folder(inner) != ""
    monkeypatch.setenv("SUDO_UID", str(OTHER))
    assert replaceable_folder(inner) == ""


def test_root_does_not_trust_a_group(inner: Path, give: Give) -> None:
    give(inner, 0, GROUP, 0o2775)
    assert replaceable_folder(inner) == f"{inner} can be written by other users"
    give(inner, 0, 0, 0o2775)
    assert replaceable_folder(inner) == ""


@pytest.mark.usefixtures("ordinary_user")
def test_an_ordinary_user_may_use_a_folder_of_root(inner: Path) -> None:
    assert replaceable_folder(inner) == ""


@pytest.mark.usefixtures("ordinary_user")
def test_an_ordinary_user_may_share_folders_through_a_group(inner: Path, give: Give) -> None:
    give(inner.parent, 0, GROUP, 0o2775)
    give(inner, OTHER, GROUP, 0o2775)
    assert replaceable_folder(inner) == ""
    give(inner, OTHER, OTHER, 0o755)
    assert replaceable_folder(inner).startswith(f"{inner} belongs to user {OTHER}")
    # In a folder of all users, the group of a folder does not say who has created it.
    give(inner, OTHER, GROUP, 0o2775)
    give(inner.parent, 0, GROUP, 0o1777)
    assert replaceable_folder(inner).startswith(f"{inner} belongs to user {OTHER}")


def test_the_owner_of_a_named_folder_may_be_trusted(inner: Path, give: Give) -> None:
    give(inner, OTHER)
    assert replaceable_folder(inner, trusts_owner=True) == ""
    give(inner, OTHER, GROUP, 0o775)
    assert replaceable_folder(inner, trusts_owner=True) == f"{inner} can be written by other users"
    give(inner, OTHER, mode=0o755)
    give(inner.parent, mode=0o1777)
    assert replaceable_folder(inner, trusts_owner=True).startswith(f"{inner} belongs to user {OTHER}")


def test_a_file_is_replaceable_if_others_may_write_to_it(inner: Path, give: Give) -> None:
    file = inner / "file"
    assert replaceable_file(file) == ""
    file.touch(0o644)
    assert replaceable_file(file) == ""
    give(file, OTHER)
    assert replaceable_file(file).startswith(f"{file} belongs to user {OTHER}")
    give(file, mode=0o666)
    assert replaceable_file(file) == f"{file} can be written by other users"


def test_code_is_not_named_by_a_folder_in_which_all_users_may_create_files(inner: Path) -> None:
    inner.chmod(0o1777)
    assert replaceable_folder(inner) == ""
    problem = replaceable_folder(inner, trusts_owner=True)
    assert problem == f"{inner} is a folder in which all users may create files"


def test_a_folder_is_replaceable_if_its_access_control_list_lets_others_write(inner: Path) -> None:
    """The permissions show the mask of the list as those of the group."""
    let_write(inner.parent, users={0, os.geteuid()}, groups={os.getegid()})
    assert replaceable_folder(inner) == ""
    assert not is_writable_by_others(inner.parent)
    let_write(inner.parent, users={54321})
    by_list = "by its access control list"
    assert replaceable_folder(inner) == f"{inner.parent} can be written by user 54321, {by_list}"
    assert is_writable_by_others(inner.parent)
    let_write(inner.parent, groups={54321})
    assert replaceable_folder(inner) == f"{inner.parent} can be written by group 54321, {by_list}"
    assert is_writable_by_others(inner.parent)
    inner.parent.chmod(0o755)
    assert replaceable_folder(inner) == ""


@pytest.mark.usefixtures("ordinary_user")
def test_a_list_may_name_a_trusted_group_but_not_one_of_its_members(inner: Path, give: Give) -> None:
    """Who is a member is not looked up, as for the owner of a folder."""
    give(inner, 1000, 1000)
    let_write(inner, groups={GROUP})
    assert replaceable_folder(inner) == ""
    let_write(inner, users={OTHER})
    assert f"can be written by user {OTHER}" in replaceable_folder(inner)


def test_a_file_is_replaceable_if_its_access_control_list_lets_others_write(inner: Path) -> None:
    file = inner / "file"
    file.touch(0o644)
    let_write(file, users={54321})
    assert "can be written by user 54321" in replaceable_file(file)


def test_a_sticky_folder_is_shared_with_those_of_its_access_control_list(inner: Path, give: Give) -> None:
    let_write(inner.parent, users={54321})
    inner.parent.chmod(inner.parent.stat().st_mode | 0o1000)
    assert replaceable_folder(inner) == ""
    give(inner, 54321)
    assert replaceable_folder(inner) == f"{inner} belongs to user 54321"


@pytest.mark.parametrize("umask", [0, 0o022])
@pytest.mark.parametrize(
    ("folder", "lock"), [(0o755, 0o600), (0o700, 0o600), (0o2775, 0o660), (0o1777, 0o660)]
)
def test_a_lock_is_opened_by_those_who_can_write_to_its_folder(
    inner: Path, folder: int, lock: int, umask: int
) -> None:
    """The others could lock it, too."""
    inner.chmod(folder)
    before = os.umask(umask)
    try:
        os.close(open_shared_lock(inner / "new"))
        (inner / "old").touch(0o666)
        os.close(open_shared_lock(inner / "old"))
    finally:
        os.umask(before)
    for name in ("new", "old"):
        assert (inner / name).stat().st_mode & 0o777 == lock


def test_the_permissions_of_a_file_that_is_linked_to_a_lock_do_not_change(inner: Path) -> None:
    """Others could otherwise read a file by a link in a folder that they share."""
    inner.chmod(0o2775)
    secret = inner.parent / "secret"
    secret.touch(0o600)
    (inner / "lock").hardlink_to(secret)
    os.close(open_shared_lock(inner / "lock"))
    assert secret.stat().st_mode & 0o777 == 0o600


def test_a_lock_on_a_file_system_without_permissions_is_opened(
    inner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAT refuses to change the permissions that it shows for all files."""

    def refuse(_descriptor: int, _mode: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    (inner / "lock").touch(0o755)
    monkeypatch.setattr(os, "fchmod", refuse)
    os.close(open_shared_lock(inner / "lock"))


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize(
    ("listed", "who"),
    [
        ({"users": {54321}}, "user 54321"),
        ({"groups": {54321}}, "group 54321"),
        ({"others": True}, "other users"),
    ],
)
def test_a_default_list_may_not_let_others_write_to_what_is_created(
    inner: Path, listed: dict[str, Any], who: str, *, exists: bool
) -> None:
    """What is created gets the permissions of the list, whatever the umask is."""
    folder = inner if exists else inner / "new" / "home"
    let_write_new(inner, users={os.geteuid()}, groups={os.getegid()}, owning_group=True)
    assert replaceable_folder(folder) == ""
    let_write_new(inner, **listed)
    by_list = "write to what is created in it, by its default access control list"
    assert replaceable_folder(folder) == f"{inner} lets {who} {by_list}"
    assert create_folder(folder) == f"{inner} lets {who} {by_list}"
    assert folder.exists() == exists
    # Of a folder that leads to the last one, nothing is created in it.
    let_write_new(inner.parent, **listed)
    os.removexattr(inner, "system.posix_acl_default")
    assert replaceable_folder(inner) == ""


def test_a_default_list_does_not_count_for_a_folder_of_one_user(inner: Path) -> None:
    """So it is with the folders of races, experiments and installations."""
    let_write_new(inner, users={54321}, others=True)
    private = inner / "private"
    private.mkdir(mode=0o700)
    assert private.stat().st_mode & 0o077 == 0
    assert not is_writable_by_others(private)


def test_a_folder_that_another_user_has_created_meanwhile_is_not_used(
    tmp_path: Path, give: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Path.mkdir` is replaced, because only so does it always happen between the check and the creation."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    mkdir = Path.mkdir

    def mkdir_of_other(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        mkdir(path, mode, parents, exist_ok)
        give(path, OTHER)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", mkdir_of_other)
        problem = create_folder(shared / "new")
    assert problem.startswith(f"{shared / 'new'} belongs to user {OTHER}")
    assert create_folder(shared / "mine") == ""

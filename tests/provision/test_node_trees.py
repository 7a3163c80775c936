"""Folders that a node has written are removed at any depth, and nothing outside of them."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from pacenote.provision import node_registry
from pacenote.provision.data_folders import (
    create_data_folder,
    data_folder,
    indices_folder,
)
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_trees import give_tree, take_tree
from pacenote.provision.page_cache import measure_page_cache
from pacenote.system.folder_trees import remove_tree, walk_files
from provision.nested import DEEP, nested, shallow_stack


def test_a_folder_is_removed_that_is_deeper_than_files_may_be_open(tmp_path: Path) -> None:
    nested(tmp_path / "tree", 40)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_file = os.open(tmp_path, os.O_RDONLY)
    os.close(next_file)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_file + 20, hard))
    try:
        remove_tree(tmp_path / "tree")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not (tmp_path / "tree").exists()


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    nested(tmp_path / "tree", DEEP)
    (tmp_path / "link").symlink_to(tmp_path / "tree")
    with shallow_stack():
        remove_tree(tmp_path / "link")
    assert (tmp_path / "tree" / "d" / "d").is_dir()
    remove_tree(tmp_path / "tree")


def test_a_node_cannot_prevent_its_removal(layout: EngineLayout, tmp_path: Path) -> None:
    data = data_folder(tmp_path, "n-1")
    create_data_folder(data, "n-1", layout)
    for folder in (layout.nodes / "n-1", layout.nodes / "n-1" / "logs", indices_folder(data)):
        nested(folder, DEEP)
    entry = node_registry.NodeEntry("n-1", layout.nodes / "n-1", node_registry.current_process(), None)
    with shallow_stack():
        node_registry.remove_files(layout, replace(entry, data_folders=(data,)))
    assert (entry.folder.exists(), data.exists()) == (False, False)


def test_only_a_limited_depth_is_read(tmp_path: Path) -> None:
    nested(tmp_path / "tree", DEEP)
    with pytest.raises(OSError, match="nested more than 64 times"):
        list(walk_files(tmp_path / "tree"))
    # Its pages are only an observation.
    assert measure_page_cache([tmp_path / "tree"]).bytes == 0
    remove_tree(tmp_path / "tree")


def test_files_are_listed_with_their_folders(tmp_path: Path) -> None:
    nested(tmp_path / "tree", 2)
    listed = {name: sorted(names) for name, names, _ in walk_files(tmp_path / "tree")}
    assert listed == {"tree": ["file"], "d": []}


def _ends(action: Callable[[], object]) -> bool:
    """Returns whether an action ends within 20 s."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(20.0)
    return not thread.is_alive()


def _exchange(folder: Path, kind: Literal["pipe", "link"], outside: Path) -> None:
    folder.rename(outside / folder.name)
    if kind == "pipe":
        os.mkfifo(folder)
    else:
        folder.symlink_to(outside)


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_takes_the_place_of_a_folder_while_it_is_walked_is_not_opened(
    tmp_path: Path, kind: Literal["pipe", "link"]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    nested(tmp_path / "tree", 2)
    walked = walk_files(tmp_path / "tree")
    listed = [next(walked)[:2]]
    _exchange(tmp_path / "tree" / "d", kind, outside)
    assert _ends(lambda: listed.extend((name, names) for name, names, _ in walked))
    assert listed == [("tree", ["file"])]


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_takes_the_place_of_a_folder_while_it_is_removed_is_not_opened(
    tmp_path: Path, kind: Literal["pipe", "link"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its user exchanges it after it was found to be a folder, and before it is opened. `os.open` is
    replaced, because only so does the exchange always happen between these two calls.
    """
    outside = tmp_path / "outside"
    outside.mkdir()
    nested(tmp_path / "tree", 2)
    open_file = os.open

    def exchange_first(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if str(path) == "d" and not (outside / "d").exists():
            _exchange(tmp_path / "tree" / "d", kind, outside)
        return open_file(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", exchange_first)
    assert _ends(lambda: remove_tree(tmp_path / "tree"))
    monkeypatch.undo()
    assert (outside / "d").is_dir()
    assert not (tmp_path / "tree").exists()


@contextmanager
def _mounted(kind: str, options: str, folder: Path) -> Generator[None, None, None]:
    command = ["mount", "-t", kind, "-o", options, "none", folder]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"{kind} cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_the_rest_of_a_folder_is_removed_if_one_in_it_cannot_be(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    nested(tree, 3)
    with _mounted("tmpfs", "size=1m", tree / "d" / "d"):
        (tree / "d" / "d" / "other").touch()
        remove_tree(tree)
        assert [path.name for path in tree.rglob("*")] == ["d", "d", "other"]
    remove_tree(tree)
    assert not tree.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_a_folder_of_the_image_of_a_container_is_removed(tmp_path: Path) -> None:
    """The kernel does not rename folders of a lower layer."""
    for name in ("lower", "upper", "work", "merged"):
        (tmp_path / name).mkdir()
    nested(tmp_path / "lower" / "tree", 3)
    options = f"lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/work,redirect_dir=off"
    with _mounted("overlay", options, tmp_path / "merged"):
        remove_tree(tmp_path / "merged" / "tree")
        assert list((tmp_path / "merged").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take files of another user")
def test_what_a_tool_has_written_can_afterwards_be_changed_only_by_root(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "tool").touch()
    (tree / "d" / "link").symlink_to("../tool")
    for path in (tree, *tree.rglob("*")):
        os.lchown(path, 65534, 65534)
        if not path.is_symlink():
            path.chmod(0o6777)
    take_tree(tree)
    for path in (tree, *tree.rglob("*")):
        assert path.lstat().st_uid == 0
        assert path.is_symlink() or path.stat().st_mode & 0o7777 == 0o755
    assert (tree / "d" / "link").samefile(tree / "tool")
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


_LEFT = "exec 3<>tool; echo ready; read line; printf changed >&3; : > new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_a_process_that_a_tool_left_cannot_change_what_was_taken(tmp_path: Path) -> None:
    """It still has a file open, and works in the folder."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "tool").write_text("program")
    for path in (tree, tree / "tool"):
        os.chown(path, 65534, 65534)
    pipe = subprocess.PIPE
    shell = ["/bin/sh", "-c", _LEFT]
    with subprocess.Popen(shell, stdin=pipe, stdout=pipe, cwd=tree, user=65534, group=65534) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        take_tree(tree)
        process.communicate(b"\n")
    assert [path.name for path in tree.iterdir()] == ["tool"]
    assert (tree / "tool").read_text() == "program"


@pytest.mark.parametrize("target", ["/etc", "../other", "d/up/../other"])
def test_a_link_that_leads_out_is_not_taken(tmp_path: Path, target: str) -> None:
    (tmp_path / "tree" / "d").mkdir(parents=True)
    (tmp_path / "tree" / "d" / "up").symlink_to("..")
    (tmp_path / "tree" / "link").symlink_to(target)
    with pytest.raises(OSError, match="link is a link that leads out of its folder"):
        take_tree(tmp_path / "tree")
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


def test_links_that_lead_through_too_many_others_are_not_taken(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    for number in range(60):
        (tmp_path / "tree" / f"link{number}").symlink_to(f"link{number + 1}")
    with pytest.raises(OSError, match="is a link that leads out of its folder, or through too many links"):
        take_tree(tmp_path / "tree")


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_file_that_may_be_of_another_user_is_not_taken(tmp_path: Path, kind: str) -> None:
    (tmp_path / "tree").mkdir()
    if kind == "link":
        (tmp_path / "secret").write_text("secret")
        (tmp_path / "secret").chmod(0o600)
        (tmp_path / "tree" / "link").hardlink_to(tmp_path / "secret")
    else:
        os.mkfifo(tmp_path / "tree" / "pipe")
    with pytest.raises(OSError, match=f"{kind} is not a regular file with one name"):
        take_tree(tmp_path / "tree")
    assert kind == "pipe" or (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders to other users")
def test_a_folder_is_given_after_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new owner could otherwise replace a folder in it by a link while its content is given. The
    functions are replaced to see the owners meanwhile: afterwards, every order has the same result.
    """
    (tmp_path / "tree" / "d" / "d").mkdir(parents=True)
    (tmp_path / "tree" / "d" / "d" / "file").touch()
    (tmp_path / "tree" / "d" / "link").symlink_to("/etc")
    chown, fchown, given = os.chown, os.fchown, []

    def chown_inside(name: str, user: int, group: int, *, dir_fd: int, follow_symlinks: bool) -> None:
        given.append(os.fstat(dir_fd).st_uid)
        chown(name, user, group, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    def fchown_open(descriptor: int, user: int, group: int) -> None:
        given.append(os.stat("..", dir_fd=descriptor).st_uid)
        fchown(descriptor, user, group)

    monkeypatch.setattr(os, "chown", chown_inside)
    monkeypatch.setattr(os, "fchown", fchown_open)
    give_tree(tmp_path / "tree", 65534, 65534)
    assert given == [0] * 5
    assert {path.lstat().st_uid for path in tmp_path.rglob("*")} == {65534}
    assert os.stat("/etc").st_uid == 0  # noqa: PTH116


_FILLING = (
    "echo ready; n=0; while [ $n -lt 1000000 ]; do n=$((n+1)); true >f$n; true >d/f$n; done 2>/dev/null"
)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_a_folder_is_removed_in_which_another_user_creates_files(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "d").mkdir(parents=True)
    for path in (tree, tree / "d"):
        os.chown(path, 65534, 65534)
    command = ["/bin/sh", "-c", _FILLING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tree, user=65534, group=65534) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        remove_tree(tree)
        # The removal did not have to wait until it gave up.
        assert process.poll() is None
        process.kill()
    assert not tree.exists()

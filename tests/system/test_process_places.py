"""Nothing is looked at in the mounts of another process.

A user can mount a file system there in which every look waits for a program of that user; here it is one that
others do not see.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.errors import EvidenceError
from pacenote.evidence.gc_log import GcLogReader
from pacenote.host.disks import read_disks
from pacenote.host.facts import Facts
from pacenote.net.jvm_attach import _Jvm
from pacenote.race.local_engines import _paths
from pacenote.system import paths
from pacenote.system.paths import exists, is_dir, is_file, leads_through_proc, open_place
from pacenote.system.process import works_below
from pacenote.system.process_places import process_place
from pacenote.system.regular_files import open_regular_file, read_regular_file, read_stored_file
from support.unreadable_paths import bound_by_permissions

ENTER = """
mount -t tmpfs none "$1" && mkdir "$1/tmp" && echo x > "$1/tmp/inner" && cd "$1/tmp" && echo && read line
"""


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[int]:
    """Runs a process that works in a mount of its own, at a folder of which all others see the one below."""
    (tmp_path / "tmp").mkdir()
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("needs unshare")
    command = [unshare, "-Urm", "sh", "-c", ENTER, "sh", str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        if not process.stdout.readline():
            pytest.skip("this user cannot make namespaces")
        yield process.pid
        process.communicate()


def test_a_process_in_another_mount_does_not_work_here(inside: int, tmp_path: Path) -> None:
    assert (Path(f"/proc/{inside}/cwd").readlink()) == tmp_path / "tmp"
    assert not works_below(inside, tmp_path)
    for link in ("cwd", "root"):
        with pytest.raises(OSError, match="is in a mount of other processes"), process_place(inside, link):
            pass


def test_a_process_works_where_this_one_sees_it(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as process:
        assert works_below(process.pid, tmp_path)
        assert not works_below(process.pid, tmp_path / "other")
        with process_place(process.pid, "cwd") as place:
            assert os.path.samestat(os.fstat(place), tmp_path.stat())
        process.kill()


def test_a_folder_that_another_process_has_got_of_such_a_mount_is_not_entered(
    inside: int, tmp_path: Path
) -> None:
    """It has the mounts of this process, but works in a folder of others."""
    folder = os.open(f"/proc/{inside}/cwd", os.O_PATH)
    try:
        with subprocess.Popen(["sleep", "60"], preexec_fn=lambda: os.fchdir(folder)) as process:
            assert not works_below(process.pid, tmp_path)
            with pytest.raises(OSError, match="is in a mount of other"), process_place(process.pid, "cwd"):
                pass
            process.kill()
    finally:
        os.close(folder)


def test_a_jvm_with_mounts_of_its_own_is_not_asked(inside: int) -> None:
    with pytest.raises(OSError, match="is in a mount of other processes"):
        _Jvm(inside, "1", os.geteuid()).open_socket()


def test_a_link_into_the_mounts_of_a_process_is_not_followed(inside: int, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    for target in (f"/proc/{inside}/root{tmp_path}/tmp", f"/proc/{inside}/cwd", "/proc/self/root/tmp"):
        seen.unlink(missing_ok=True)
        seen.symlink_to(target)
        assert leads_through_proc(seen)
        assert leads_through_proc(Path(target))
        assert not exists(seen)
        assert not is_dir(seen)
        assert not is_file(seen / "inner")
        for read in (read_regular_file, read_stored_file, open_regular_file):
            with pytest.raises(OSError, match="symbolic links, or one in /proc"):
                read(seen / "inner")
        node = {"fs": {"data": [{"path": str(seen)}, {"path": target}, {"path": str(tmp_path)}]}}
        assert _paths(node) == (tmp_path,)
        with pytest.raises(EvidenceError, match="leads through a link in /proc"):
            GcLogReader([seen / "inner"])
        facts = Facts()
        read_disks(facts, Path("/proc"), Path("/sys"), {"data": seen})
        assert facts.snapshot().facts.get("disk.data.mount_point") != str(tmp_path)


def test_other_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").write_text("x")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to(tmp_path / "b/../b/file")
    (tmp_path / "loop").symlink_to("loop")
    assert is_file(tmp_path / "c")
    assert read_regular_file(tmp_path / "c") == b"x"
    assert not exists(tmp_path / "loop")
    place = open_place(tmp_path / "c", follows_last=False)
    try:
        assert os.readlink("", dir_fd=place) == str(tmp_path / "b/../b/file")
    finally:
        os.close(place)
    assert not leads_through_proc(tmp_path / "c")


def test_an_absolute_path_needs_no_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a user who has called `sudo -u` in a folder of their own."""
    (tmp_path / "file").write_text("x")
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.chdir(closed)
    tmp_path.chmod(0o755)
    closed.chmod(0)
    with bound_by_permissions():
        try:
            assert exists(tmp_path / "file")
            assert read_regular_file(tmp_path / "file") == b"x"
        finally:
            closed.chmod(0o700)


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM])
def test_a_kernel_without_the_call_follows_links_as_it_does(
    tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    monkeypatch.setattr(paths, "_openat2", lambda *_: (-1, code))
    assert is_file(tmp_path / "link")
    assert read_regular_file(tmp_path / "link") == b"x"
    assert not exists(tmp_path / "missing")

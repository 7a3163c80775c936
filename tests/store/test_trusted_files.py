"""What is stored about trusted files."""

import json
import os
import stat
from pathlib import Path

import pytest

from pacenote.errors import StoreError
from pacenote.store.trusted_files import TrustedFiles, writable_by_others
from pacenote.system.access_list import FileAccess, writers_of
from pacenote.system.regular_files import read_with_access
from support.access_lists import let_write


def test_a_file_is_trusted_until_it_changes(tmp_path):
    trusted, file = TrustedFiles(tmp_path / "home"), Path("/a/b.toml")
    assert trusted.trust_in(file, b"x") == "unknown"
    trusted.add(file, b"x")
    assert trusted.trust_in(file, b"x") == "trusted"
    assert trusted.trust_in(file, b"y") == "changed"
    assert trusted.trust_in(Path("/a/c/b.toml"), b"x") == "unknown"
    assert trusted.remove(file)
    assert not trusted.remove(file)
    assert trusted.trust_in(file, b"x") == "unknown"


def test_only_the_user_may_read_what_is_trusted(tmp_path):
    path = Path(os.fsdecode(b"/a/\xff.toml"))
    TrustedFiles(tmp_path).add(path, b"x")
    assert stat.S_IMODE((tmp_path / "trusted.json").stat().st_mode) == 0o600
    assert set(TrustedFiles(tmp_path).hashes()) == {path}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 1}', '{"files": [1]}', "[" * 100_000, "\xff"])
def test_a_damaged_file_trusts_nothing(tmp_path, text):
    (tmp_path / "trusted.json").write_text(text)
    with pytest.raises(StoreError, match="is damaged"):
        TrustedFiles(tmp_path).trust_in(Path("/a"), b"")


def test_a_file_that_others_may_have_written_trusts_nothing(tmp_path):
    file = tmp_path / "trusted.json"
    file.write_text(json.dumps({"files": {}}))
    file.chmod(0o666)
    with pytest.raises(StoreError, match="all users may write to it"):
        TrustedFiles(tmp_path).trust_in(Path("/a"), b"")


_BY_LIST = "others may write to it by its access control list (`chmod g-w`)"


def _status(mode=0o644, user=None, group=None):
    user = os.geteuid() if user is None else user
    group = os.getegid() if group is None else group
    return os.stat_result((stat.S_IFREG | mode, 1, 1, 1, user, group, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (_status(), ""),
        (_status(user=0), ""),
        (_status(user=54321), "it belongs to another user (uid 54321)"),
        (_status(0o666), "all users may write to it (`chmod o-w`)"),
        (_status(0o664, group=54321), "its group may write to it (`chmod g-w`)"),
    ],
)
def test_users_that_may_write_are_found(tmp_path, status, reason):
    assert writable_by_others(FileAccess(status, writers_of(tmp_path, status))) == reason


def _problem(file):
    return writable_by_others(read_with_access(file)[1])


def test_users_that_may_write_by_an_access_control_list_are_found(tmp_path):
    file = tmp_path / "file"
    file.touch()
    let_write(file, users={0, os.geteuid()})
    assert _problem(file) == ""
    for others in ({"users": {54321}}, {"groups": {54321}}):
        let_write(file, **others)
        assert _problem(file) == _BY_LIST
    file.chmod(0o644)
    assert _problem(file) == ""


def test_the_access_control_list_is_that_of_the_file_that_was_read(tmp_path):
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("theirs")
    let_write(file, users={54321})
    other.write_text("mine")
    other.chmod(0o664)
    content, access = read_with_access(file)
    other.replace(file)
    assert (content, writable_by_others(access)) == (b"theirs", _BY_LIST)

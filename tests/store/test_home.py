"""The location of the home folder."""

import os
import pwd
from pathlib import Path

import pytest

from pacenote.errors import StoreError
from pacenote.store.home import default_home


def test_an_environment_variable_sets_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path))
    assert default_home() == tmp_path
    monkeypatch.delenv("PACENOTE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    assert default_home() == tmp_path / "user" / ".pacenote"


def test_an_empty_variable_counts_as_unset(tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_home() == tmp_path / ".pacenote"
    monkeypatch.setenv("HOME", "")
    assert default_home() == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".pacenote"
    monkeypatch.setenv("PACENOTE_HOME", "~/lab")
    assert default_home() == Path(pwd.getpwuid(os.getuid()).pw_dir) / "lab"


def test_a_user_without_a_folder_needs_a_variable(tmp_path, monkeypatch):
    def unknown(_: int) -> None:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("PACENOTE_HOME", "")
    with pytest.raises(StoreError, match="the home folder of the user is not known"):
        default_home()
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path))
    assert default_home() == tmp_path

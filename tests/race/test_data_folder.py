"""Files cannot be written outside a data folder, and other files in it are left alone."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.errors import CorpusError
from pacenote.race.data_folder import atomic_file, exclusive_folder, path_inside


@pytest.fixture
def corpora() -> Iterator[Path]:
    """A folder that every user can enter."""
    with tempfile.TemporaryDirectory(prefix="pacenote-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_paths_outside_the_data_folder_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="would be written outside"):
        path_inside(tmp_path, "a/../../b", "notes")
    assert path_inside(tmp_path, "elastic/logs", "notes") == tmp_path / "elastic" / "logs"


def test_only_partial_files_of_the_same_name_are_removed(tmp_path: Path) -> None:
    names = ["a.json.Ab12.partial", "a.json.offset.Cd34.partial", "b.json.Ef56.partial", "thesis.v2.partial"]
    for name in names:
        (tmp_path / name).touch()
    with exclusive_folder(tmp_path, ("a.json",)):
        pass
    assert sorted(path.name for path in tmp_path.glob("*.partial")) == names[2:]


def test_a_pipe_instead_of_the_lock_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    with exclusive_folder(tmp_path, ()):
        assert (tmp_path / ".lock").is_fifo()


def test_a_folder_that_cannot_be_locked_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(CorpusError, match="cannot write"), exclusive_folder(tmp_path, ()):
        pass


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / ".lock").symlink_to(tmp_path / "created")
    with pytest.raises(CorpusError), exclusive_folder(tmp_path / "corpus", []):
        pass
    assert not (tmp_path / "created").exists()


def test_the_mode_of_a_file_that_another_user_links_to_does_not_change(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch(0o600)
    with atomic_file(tmp_path / "corpus" / "a.json"):
        (partial,) = (tmp_path / "corpus").iterdir()
        partial.unlink()
        partial.symlink_to(secret)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_another_user_cannot_lock_a_data_folder(corpora: Path) -> None:
    """A user who can open the lock, also only to read it, could let races wait for ever."""
    with exclusive_folder(corpora, ()):
        pass
    command = ["flock", "--nonblock", str(corpora / ".lock"), "true"]
    done = subprocess.run(command, user=65534, group=65534, extra_groups=[], capture_output=True, text=True)
    assert "Permission denied" in done.stderr

"""Only regular files are opened, and nothing stays open that is refused."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.fetch.disk import read_small_file
from pacenote.system.regular_files import open_regular_file, read_regular_file, read_with_access
from support.descriptors import unchanged_descriptors


def _make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, _make_socket])
@pytest.mark.parametrize("read", [open_regular_file, read_regular_file, read_with_access, read_small_file])
def test_what_is_not_a_regular_file_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], None],
    read: Callable[[Path], object],
) -> None:
    monkeypatch.chdir(tmp_path)  # The address of a socket is short.
    make(Path("x"))
    with unchanged_descriptors(), pytest.raises(OSError, match=r"not a regular file|No such device"):
        read(Path("x"))


def test_a_file_below_an_open_folder_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    (tmp_path / "link").symlink_to("file")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with unchanged_descriptors(), open_regular_file("file", folder=folder) as file:
            assert file.read() == b"content"
        with unchanged_descriptors(), pytest.raises(OSError, match="symbolic links"):
            open_regular_file("link", os.O_NOFOLLOW, folder=folder)
    finally:
        os.close(folder)

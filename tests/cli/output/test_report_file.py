"""The file of `--report-file` is checked before a race."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.cli.output.report_file import check_report_file
from pacenote.errors import UsageError


def test_a_pipe_without_a_reader_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert check_report_file(pipe) == pipe
    assert pipe.is_fifo()


def test_a_link_to_a_file_that_does_not_exist_stays(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "report.md")
    assert check_report_file(link) == link
    assert link.is_symlink()
    assert list(tmp_path.iterdir()) == [link]


def test_a_link_to_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file" / "report.md")
    with pytest.raises(UsageError, match=r"--report-file .*/link cannot be written"):
        check_report_file(tmp_path / "link")

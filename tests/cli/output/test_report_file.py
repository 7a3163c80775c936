"""The file of `--report-file` is checked before a race."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.cli.output.export_file import replaced_file
from pacenote.cli.output.page_file import write_page_file
from pacenote.cli.output.report_file import check_report_file, write_report_file
from pacenote.errors import StoreError, UsageError


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


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder such as /tmp."""
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def _write_export(file: Path, text: str) -> None:
    with replaced_file(file) as path:
        path.write_text(text)


@pytest.mark.parametrize("name", ["report.md", "folder/report.md"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_nothing_is_written_to_what_another_user_has_put_there_meanwhile(
    shared: Path, name: str, kind: str
) -> None:
    """The path is checked before a race, which takes hours."""
    report = shared / name
    assert check_report_file(report) == report
    report.parent.mkdir(exist_ok=True)
    mine = shared.parent / "mine"
    mine.write_text("mine")
    if kind == "link":
        report.symlink_to(mine)
    else:
        report.touch()
    for path in {report, shared / Path(name).parts[0]}:
        os.lchown(path, 54321, 54321)
    with pytest.raises(StoreError, match="belongs to user 54321"):
        write_report_file(report, "text", None)
    with pytest.raises(StoreError, match="belongs to user 54321"):
        write_page_file(report, "text")
    with pytest.raises(StoreError, match="belongs to user 54321"):
        _write_export(report, "text")
    with pytest.raises(UsageError, match="belongs to user 54321"):
        check_report_file(report)
    assert mine.read_text() == "mine"
    assert kind == "link" or report.read_text() == ""


def test_files_of_ones_own_are_written_in_a_folder_such_as_tmp(shared: Path) -> None:
    report = shared / "report.md"
    for _ in range(2):
        assert write_report_file(report, "text", None) == report
    assert report.read_text() == "texttext"
    for text in ("long", "new"):
        write_page_file(report, text)
    assert report.read_text() == "new"
    _write_export(report, "rows")
    assert report.read_text() == "rows"
